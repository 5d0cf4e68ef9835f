//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// breaker is the package of a Skyhook that newStuck made whose interrupt fails.
const breaker = "breaker"

// stuck is a Skyhook on one node whose package "breaker" is in the midst of an interrupt that fails again and again.
type stuck struct {
	*wish
	node, file string
}

// newStuck applies a Skyhook and waits until its interrupt fails. Config of package "breaker" breaks the service that
// the interrupt restarts. shape changes the packages before they are applied.
func newStuck(t *testing.T, name string, shape func(*stuck)) *stuck {
	t.Helper()
	s := &stuck{node: ownNode(t), file: "/skyhook-" + name}
	unit, broken := "/run/systemd/system/"+name+".service", s.file+"-broken"
	onHost(t, s.node, "sh", "-c", fmt.Sprintf(`printf '[Service]\nType=oneshot\nExecStart=/usr/bin/test ! -e %s\n' > %s`, broken, unit))
	scripts := steps(s.file)
	scripts["config.sh"] += "\ntouch " + broken
	s.wish = &wish{name: name, nodes: []string{s.node}, packages: map[string]v1alpha1.Package{breaker: {
		Version: "1.1.0", Image: "ghcr.io/nvidia/skyhook-packages/shellscript", ConfigMap: scripts,
		Interrupt: &v1alpha1.Interrupt{Type: v1alpha1.InterruptService, Services: []string{name}},
	}}}
	if shape != nil {
		shape(s)
	}
	ready(t, name, s.nodes, []string{s.file, s.file + "-beside", broken, unit})
	t.Cleanup(func() { s.release(t) })
	s.apply(t)
	key := breaker + "|" + s.packages[breaker].Version
	untilNode(t, s.node, "the interrupt fails", func(n *corev1.Node) bool {
		e := entryOf(n, name, key)
		return e.Stage == v1alpha1.StageInterrupt && e.State == v1alpha1.StateErroring
	})
	if a := untilAnyAttention(t, name, s.node); !strings.Contains(a.Message, "systemctl restart "+name) {
		t.Errorf("attention does not name the service that fails: %+v", a)
	}
	return s
}

// release lets go of a Skyhook that did not get on, which would hold the node against the tests after it.
func (s *stuck) release(t *testing.T) {
	if !t.Failed() {
		return
	}
	mustKubectl(t, "", "delete", "skyhook", s.name, "--ignore-not-found", "--wait=false")
	if out, err := kubectl(t, "", "patch", "skyhook", s.name, "--type=merge", "-p", `{"metadata":{"finalizers":null}}`); err != nil {
		t.Logf("the Skyhook went by itself: %s", out)
	}
}

// repaired is a config script that repairs the service.
func (s *stuck) repaired() string { return journal(s.file, "repaired") + "\nrm " + s.file + "-broken" }

// beside gives the Skyhook a healthy package beside the one that fails.
func (s *stuck) beside(p v1alpha1.Package) {
	for hook, what := range map[string]string{"apply.sh": "apply", "post_interrupt.sh": "post", "uninstall.sh": "uninstall"} {
		p.ConfigMap[hook] = journal(s.file+"-beside", what)
	}
	s.packages["neighbour"] = p
}

// undoneBeside gives it one that is uninstalled when the Skyhook is deleted.
func (s *stuck) undoneBeside() { s.beside(scripted(map[string]string{})) }

// spent lets the interrupt fail once and for all.
func (s *stuck) spent() {
	s.edit(breaker, func(p *v1alpha1.Package) { p.MaxRetries = ptr.To[int32](0) })
}

// untilAnyAttention waits until the status names a node, for whatever reason.
func untilAnyAttention(t *testing.T, name, node string) v1alpha1.NodeAttention {
	t.Helper()
	var found v1alpha1.NodeAttention
	until(t, name, "attention for "+node, func(s *v1alpha1.Skyhook) bool {
		for _, a := range s.Status.Attention {
			if a.Node == node {
				found = a
				return true
			}
		}
		return false
	})
	return found
}

// within waits until nothing is missing any more; missing tells what is.
func within(t *testing.T, limit time.Duration, skyhook string, missing func() []string) {
	t.Helper()
	var last []string
	start := time.Now()
	err := wait.PollUntilContextTimeout(t.Context(), 200*time.Millisecond, limit, true, func(context.Context) (bool, error) {
		last = missing()
		return len(last) == 0, nil
	})
	if err != nil {
		t.Fatalf("still after %s:\n- %s\n%s", limit, strings.Join(last, "\n- "), describe(t, skyhook))
	}
	t.Logf("took %.1f s", time.Since(start).Seconds())
}

// untilFree waits until a Skyhook is complete with the spec as it is now and nothing of any Skyhook holds the node.
func untilFree(t *testing.T, name, node string) {
	t.Helper()
	within(t, patience, name, func() []string { return append(incomplete(t, name), occupied(t, node)...) })
}

// untilGone waits until a deleted Skyhook is gone and nothing of any Skyhook holds the node.
func untilGone(t *testing.T, name, node string) {
	t.Helper()
	within(t, patience, name, func() []string {
		lacks := occupied(t, node)
		err := here(t).client.Get(t.Context(), client.ObjectKey{Name: name}, &v1alpha1.Skyhook{})
		if !apierrors.IsNotFound(err) {
			lacks = append(lacks, fmt.Sprintf("Skyhook %s is still there (error %v)", name, err))
		}
		return lacks
	})
}

// incomplete tells what a Skyhook lacks to be complete.
func incomplete(t *testing.T, name string) []string {
	t.Helper()
	s := getSkyhook(t, name)
	if s.Status.ObservedGeneration == s.Generation && s.Status.Status == v1alpha1.StatusComplete {
		return nil
	}
	lacks := []string{fmt.Sprintf("Skyhook %s, generation %d, is %s with generation %d", name, s.Generation, s.Status.Status, s.Status.ObservedGeneration)}
	for _, a := range s.Status.Attention {
		lacks = append(lacks, fmt.Sprintf("%s %s %s: %s", a.Node, a.Status, a.Reason, a.Message))
	}
	return lacks
}

// occupied tells what of any Skyhook is left on a node: our cordon, package pods.
func occupied(t *testing.T, node string) []string {
	t.Helper()
	var lacks []string
	if getNode(t, node).Spec.Unschedulable {
		lacks = append(lacks, "node "+node+" is cordoned")
	}
	var pods corev1.PodList
	if err := here(t).client.List(t.Context(), &pods, client.InNamespace("skyhook"), client.HasLabels{"skyhook.nvidia.com/name"}); err != nil {
		t.Fatal(err)
	}
	for i := range pods.Items {
		if p := &pods.Items[i]; p.Spec.NodeName == node {
			lacks = append(lacks, fmt.Sprintf("pod %s is on node %s, %s", p.Name, node, p.Status.Phase))
		}
	}
	return lacks
}
