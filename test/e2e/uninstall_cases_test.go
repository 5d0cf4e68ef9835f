//go:build e2e && nightly

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
	tag, err := name.NewTag(here(t).Registry()+"/"+repository+":1.1.0", name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	index, err := remote.Index(tag, remote.WithContext(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	if err := here(t).PushIndex(t.Context(), index, "ghcr.io/"+repository+":1.0.0"); err != nil {
		t.Fatal(err)
	}
}

// casePackages are the packages of the cases, side by side in one Skyhook.
func casePackages(file string) map[string]v1alpha1.Package {
	undone := scripted(undoable(file + "-undone"))
	undone.ConfigMap["uninstall.sh"] = `echo "uninstall-$COMMENT-$(cat $SKYHOOK_DIR/configmaps/data)" >> ` + file + "-undone"
	undone.ConfigMap["data"] = "d"
	// All run one script at the same time, and five logs of a script are kept: those of "silent" are to be among them.
	quiet := corev1.EnvVar{Name: "SKYHOOK_AGENT_WRITE_LOGS", Value: "false"}
	undone.Env = []corev1.EnvVar{{Name: "COMMENT", Value: "c"}, quiet}
	silent := scripted(map[string]string{"apply.sh": journal(file+"-silent", "apply")})
	installed := scripted(undoable(file + "-installed"))
	installed.Uninstall.Enabled = ptr.To(false)
	late := scripted(undoable(file + "-late"))
	late.Uninstall, late.DependsOn = nil, map[string]string{"undone": "1.1.0"}
	lowered := scripted(undoable(file + "-lowered"))
	lowered.ConfigMap["uninstall.sh"] = journal(file+"-lowered", "uninstall-of-1.1.0")
	lowered.Env = []corev1.EnvVar{quiet}
	return map[string]v1alpha1.Package{
		"undone": undone, "silent": silent, "installed": installed, "lowered": lowered, "late": late,
	}
}

// TestUninstallCases: what an uninstall does, by what the package has and says.
func TestUninstallCases(t *testing.T) {
	const file = "/skyhook-cases"
	node := ownNode(t)
	pushLower(t)
	w := &wish{name: "cases", nodes: []string{node}, packages: casePackages(file)}
	late := w.packages["late"]
	delete(w.packages, "late")
	w.install(t, file+"-undone", file+"-silent", file+"-installed", file+"-late", file+"-lowered")

	// Both are changed at once, and a package joins that depends on one that goes.
	w.packages["late"] = late
	w.edit("undone", uninstallNow)
	w.edit("silent", uninstallNow)
	w.change(t, "lowered", uninstallNow)
	untilRemembered(t, node, "cases", "installed|1.1.0")

	t.Run("enabled, with scripts: undone with configMap and env", func(t *testing.T) {
		marks(t, node, file+"-undone", "apply", "uninstall-c-d")
	})
	t.Run("enabled, without uninstall.sh: nothing is done, and it counts as uninstalled", func(t *testing.T) {
		marks(t, node, file+"-silent", "apply")
		logs := onHost(t, node, "sh", "-c", "cat /var/log/skyhook/cases/shellscript/1.1.0/*.log")
		contains(t, "the log of the steps", logs, "uninstall.sh")
	})
	t.Run("not enabled, not on any node: may leave the spec", func(t *testing.T) {
		until(t, "cases", "late is blocked", func(s *v1alpha1.Skyhook) bool {
			c := meta.FindStatusCondition(s.Status.Conditions, "Blocked")
			return c != nil && strings.HasPrefix(c.Message, "package late depends on undone, which has been uninstalled;")
		})
		delete(w.packages, "late")
		w.apply(t)
		untilReady(t, "cases")
		absent(t, node, file+"-late")
	})
	t.Run("not enabled, installed: may leave the spec, and stays on the node", func(t *testing.T) {
		out, err := w.try(t, "installed", func(p *v1alpha1.Package) { p.Uninstall.Apply = true })
		if err == nil {
			t.Errorf("apply without enabled is accepted: %s", out)
		}
		contains(t, "the error", out, "spec.packages[installed].uninstall.apply: Invalid value", "requires uninstall.enabled")
		delete(w.packages, "installed")
		w.apply(t)
		n := untilRemembered(t, node, "cases", "installed|1.1.0")
		untilReady(t, "cases")
		marks(t, node, file+"-installed", "apply")
		if n.Labels["skyhook.nvidia.com/status_cases"] == "" {
			t.Error("the label of the Skyhook is gone from the node")
		}
	})
	t.Run("uninstalled, then lowered", func(t *testing.T) {
		w.change(t, "lowered", func(p *v1alpha1.Package) {
			keep(p)
			p.Version, p.ConfigMap["apply.sh"] = "1.0.0", journal(file+"-lowered", "apply-of-1.0.0")
		})
		untilRemembered(t, node, "cases", "installed|1.1.0", "lowered|1.0.0")
		untilReady(t, "cases")
		marks(t, node, file+"-lowered", "apply", "uninstall-of-1.1.0", "apply-of-1.0.0")
	})
	t.Run("whenRemoved: a lowered version is undone as it was installed", func(t *testing.T) {
		w.edit("lowered", func(p *v1alpha1.Package) {
			p.Version = "1.1.0"
			p.ConfigMap["upgrade.sh"] = journal(file+"-lowered", "upgrade-to-1.1.0")
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
		got := strings.Fields(onHost(t, node, "cat", file+"-lowered"))
		if want := "upgrade-to-1.1.0 uninstall-of-1.1.0 apply-of-1.0.0"; !strings.HasSuffix(strings.Join(got, " "), want) {
			t.Errorf("ran %v, want at the end %s", got, want)
		}
		w.change(t, "lowered", func(p *v1alpha1.Package) {
			p.ConfigMap["uninstall.sh"] = journal(file+"-lowered", "uninstall-of-1.0.0")
		})
		untilReady(t, "cases")
	})
	w.delete(t)
	untilRemembered(t, node, "cases", "installed|1.1.0")
	marks(t, node, file+"-installed", "apply")
}
