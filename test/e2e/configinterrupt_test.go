//go:build e2e && nightly

package e2e

import (
	"maps"
	"testing"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/test/testbed"
)

// configRun is a Skyhook on one node whose configMap changes again and again, and what its steps left there so far. Its
// package restarts cron when it is installed, and when keys "cron*" change; key "motd" asks for an interrupt that does
// nothing; all others ask for none.
type configRun struct {
	name, file, node string
	config           map[string]string
	want             []string
	start            string
}

func newConfigRun(t *testing.T, name string) *configRun {
	file, node := "/skyhook-"+name, ownNode(t)
	r := &configRun{name: name, file: file, node: node, start: cronStart(t, node), config: steps(file)}
	r.config["config.sh"] = `echo "config-$(cat $SKYHOOK_DIR/configmaps/{cron-a,cron-b,motd,other} 2>/dev/null | tr -d '\n')" >> ` + file
	maps.Copy(r.config, map[string]string{"cron-a": "a1", "cron-b": "b1", "motd": "m1", "other": "o1"})
	return r
}

func (r *configRun) manifest() string {
	return with(skyhook(r.name, r.config), "", cronRestart+`
configInterrupts:
  "cron*": {type: service, services: [cron]}
  motd: {type: noop}`)
}

// change applies the manifest with some keys changed; an empty value removes the key.
func (r *configRun) change(t *testing.T, keys map[string]string) {
	t.Helper()
	maps.Copy(r.config, keys)
	maps.DeleteFunc(r.config, func(_, value string) bool { return value == "" })
	mustKubectl(t, r.manifest(), "apply", "-f", "-")
}

// expect waits for completion and checks what happened on the node since the last time: the steps, and whether cron was
// restarted.
func (r *configRun) expect(t *testing.T, restarted bool, added ...string) {
	t.Helper()
	untilReady(t, r.name)
	r.want = append(r.want, added...)
	marks(t, r.node, r.file, r.want...)
	now := cronStart(t, r.node)
	if (now != r.start) != restarted {
		t.Errorf("cron was started at %s and now at %s, want a restart: %v", r.start, now, restarted)
	}
	r.start = now
	if getNode(t, r.node).Spec.Unschedulable {
		t.Error("the node is still cordoned")
	}
}

func TestConfigInterrupts(t *testing.T) {
	r := newConfigRun(t, "configs")
	applyTo(t, []string{r.node}, r.name, r.manifest(), r.file)
	r.expect(t, true, "apply", "config-a1b1m1o1", "post")

	t.Run("key changed", func(t *testing.T) {
		r.change(t, map[string]string{"motd": "m2"})
		r.expect(t, false, "config-a1b1m2o1", "post")
	})
	t.Run("glob changed", func(t *testing.T) {
		runDeployment(t, "in-the-way", r.node)
		maps.Copy(r.config, map[string]string{"cron-b": "b2"})
		plan := rehearse(t, r.name, r.manifest())
		r.change(t, nil)
		r.expect(t, true, "config-a1b2m2o1", "post")
		plan.came(t, "config interrupt:service post-interrupt", "default/in-the-way-")
	})
	t.Run("a key without interrupt changed", func(t *testing.T) {
		r.change(t, map[string]string{"other": "o2"})
		r.expect(t, false, "config-a1b2m2o2")
	})
	t.Run("key removed", func(t *testing.T) {
		r.change(t, map[string]string{"cron-b": ""})
		r.expect(t, true, "config-a1m2o2", "post")
	})
	t.Run("changed while running", func(t *testing.T) {
		// Of two changes only the first asks for an interrupt, and it never gets through: it is not forgotten.
		script := r.config["config.sh"]
		r.change(t, map[string]string{"cron-a": "a2", "config.sh": script + "\nuntil [ -e " + r.file + "-never ]; do sleep 0.3; done"})
		awaitMark(t, r.node, r.file, "config-a2m2o2")
		r.change(t, map[string]string{"other": "o3", "config.sh": script})
		r.expect(t, true, "config-a2m2o2", "config-a2m2o3", "post")
	})
	t.Run("changed after an error", func(t *testing.T) {
		script := r.config["config.sh"]
		r.change(t, map[string]string{"cron-a": "a3", "config.sh": "exit 1"})
		until(t, r.name, "erroring", func(s *v1alpha1.Skyhook) bool { return s.Status.Nodes.Erroring == 1 })
		r.change(t, map[string]string{"config.sh": script})
		r.expect(t, true, "config-a3m2o3", "post")
	})
	t.Run("a node joins after a change", func(t *testing.T) { joinAfterChange(t, r) })
}

// joinAfterChange adds a node after a change without interrupt: it is installed from the start, with the package's own
// interrupt, and the node that is done stays so.
func joinAfterChange(t *testing.T, r *configRun) {
	r.change(t, map[string]string{"other": "o4"})
	r.expect(t, false, "config-a3m2o4")
	node := join(t, testbed.Join{})
	before := cronStart(t, node)
	label(t, []string{node})
	until(t, r.name, "2/2 complete", func(s *v1alpha1.Skyhook) bool { return s.Status.CompleteNodes == "2/2" })
	marks(t, node, r.file, "apply", "config-a3m2o4", "post")
	if cronStart(t, node) == before {
		t.Error("the new node's cron was not restarted")
	}
	r.expect(t, false)
}
