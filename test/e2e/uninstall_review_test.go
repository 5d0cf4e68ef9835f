//go:build e2e

package e2e

import (
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// pushLower gives the registry the shellscript package as an older version, too.
func pushLower(t *testing.T) {
	t.Helper()
	const repository = "nvidia/skyhook-packages/shellscript"
	tag, err := name.NewTag(bed.Registry()+"/"+repository+":1.1.0", name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	index, err := remote.Index(tag, remote.WithContext(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	if err := bed.PushIndex(t.Context(), index, "ghcr.io/"+repository+":1.0.0"); err != nil {
		t.Fatal(err)
	}
}

// reviewed are the packages of the cases, side by side in one Skyhook.
func reviewed(file string) map[string]v1alpha1.Package {
	case1 := scripted(undoable(file + "-1"))
	case1.ConfigMap["uninstall.sh"] = `echo "uninstall-$COMMENT-$(cat $SKYHOOK_DIR/configmaps/data)" >> ` + file + "-1"
	case1.ConfigMap["data"] = "d"
	// All run one script at the same time, and five logs of a script are kept: those of "silent" are to be among them.
	quiet := corev1.EnvVar{Name: "SKYHOOK_AGENT_WRITE_LOGS", Value: "false"}
	case1.Env = []corev1.EnvVar{{Name: "COMMENT", Value: "c"}, quiet}
	silent := scripted(map[string]string{"apply.sh": journal(file+"-21", "apply")})
	installed := scripted(undoable(file + "-22"))
	installed.Uninstall.Enabled = ptr.To(false)
	late := scripted(undoable(file + "-late"))
	late.Uninstall, late.DependsOn = nil, map[string]string{"case1": "1.1.0"}
	lowered := scripted(undoable(file + "-b"))
	lowered.ConfigMap["uninstall.sh"] = journal(file+"-b", "uninstall-of-1.1.0")
	lowered.Env = []corev1.EnvVar{quiet}
	return map[string]v1alpha1.Package{"case1": case1, "silent": silent, "installed": installed, "lowered": lowered, "late": late}
}

// TestUninstallCases has the cases of the design's review, by their numbers.
func TestUninstallCases(t *testing.T) {
	const file = "/skyhook-cases"
	node := ownNode(t)
	pushLower(t)
	w := &wish{name: "cases", nodes: []string{node}, packages: reviewed(file)}
	late := w.packages["late"]
	delete(w.packages, "late")
	w.install(t, file+"-1", file+"-21", file+"-22", file+"-late", file+"-b")

	// Both are changed at once, and a package joins that depends on one that goes.
	w.packages["late"] = late
	w.edit("case1", uninstallNow)
	w.edit("silent", uninstallNow)
	w.change(t, "lowered", uninstallNow)
	untilRemembered(t, node, "cases", "installed|1.1.0")

	t.Run("case 1: enabled, with scripts: undone with configMap and env", func(t *testing.T) {
		marks(t, node, file+"-1", "apply", "uninstall-c-d")
	})
	t.Run("case 2.1: enabled, without uninstall.sh: nothing is done, and it counts as uninstalled", func(t *testing.T) {
		marks(t, node, file+"-21", "apply")
		logs := onHost(t, node, "sh", "-c", "cat /var/log/skyhook/cases/shellscript/1.1.0/*.log")
		contains(t, "the log of the steps", logs, "uninstall.sh")
	})
	t.Run("case 2.2: not enabled, not on any node: may leave the spec", func(t *testing.T) {
		until(t, "cases", "late is blocked", func(s *v1alpha1.Skyhook) bool {
			c := meta.FindStatusCondition(s.Status.Conditions, "Blocked")
			return c != nil && strings.HasPrefix(c.Message, "package late depends on case1, which has been uninstalled;")
		})
		delete(w.packages, "late")
		w.apply(t)
		untilReady(t, "cases")
		absent(t, node, file+"-late")
	})
	t.Run("case 2.2: not enabled, installed: may leave the spec, and stays on the node", func(t *testing.T) {
		out, err := w.try(t, "installed", func(p *v1alpha1.Package) { p.Uninstall.Apply = true })
		if err == nil {
			t.Errorf("apply without enabled is accepted: %s", out)
		}
		contains(t, "the error", out, "spec.packages[installed].uninstall.apply: Invalid value", "requires uninstall.enabled")
		delete(w.packages, "installed")
		w.apply(t)
		n := untilRemembered(t, node, "cases", "installed|1.1.0")
		untilReady(t, "cases")
		marks(t, node, file+"-22", "apply")
		if n.Labels["skyhook.nvidia.com/status_cases"] == "" {
			t.Error("the label of the Skyhook is gone from the node")
		}
	})
	t.Run("workflow B: uninstall, then lower the version", func(t *testing.T) {
		w.change(t, "lowered", func(p *v1alpha1.Package) {
			keep(p)
			p.Version, p.ConfigMap["apply.sh"] = "1.0.0", journal(file+"-b", "apply-of-1.0.0")
		})
		untilRemembered(t, node, "cases", "installed|1.1.0", "lowered|1.0.0")
		untilReady(t, "cases")
		marks(t, node, file+"-b", "apply", "uninstall-of-1.1.0", "apply-of-1.0.0")
	})
	t.Run("whenRemoved: a lowered version is undone as it was installed", func(t *testing.T) {
		w.edit("lowered", func(p *v1alpha1.Package) {
			p.Version = "1.1.0"
			p.ConfigMap["upgrade.sh"] = journal(file+"-b", "upgrade-to-1.1.0")
		})
		plan := rehearse(t, "cases", w.manifest(t))
		w.apply(t)
		untilRemembered(t, node, "cases", "installed|1.1.0", "lowered|1.1.0")
		untilReady(t, "cases")
		plan.came(t, "upgrade config")
		w.change(t, "lowered", func(p *v1alpha1.Package) {
			p.Version, p.ConfigMap["uninstall.sh"], p.Uninstall.WhenRemoved = "1.0.0", "exit 1", v1alpha1.WhenRemovedUninstall
		})
		untilRemembered(t, node, "cases", "installed|1.1.0", "lowered|1.0.0")
		untilReady(t, "cases")
		got := strings.Fields(onHost(t, node, "cat", file+"-b"))
		if want := "upgrade-to-1.1.0 uninstall-of-1.1.0 apply-of-1.0.0"; !strings.HasSuffix(strings.Join(got, " "), want) {
			t.Errorf("ran %v, want at the end %s", got, want)
		}
		w.change(t, "lowered", func(p *v1alpha1.Package) { p.ConfigMap["uninstall.sh"] = journal(file+"-b", "uninstall-of-1.0.0") })
		untilReady(t, "cases")
	})
	w.delete(t)
	untilRemembered(t, node, "cases", "installed|1.1.0")
	marks(t, node, file+"-22", "apply")
}
