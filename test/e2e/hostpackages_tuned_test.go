//go:build e2e && nightly

package e2e

import (
	"strings"
	"testing"
)

// withPolkit installs the one package below tuned that leaves something behind by design: Debian never removes the
// account of polkitd. Most hosts have it anyway; with it there before, nothing at all may be left of tuned.
func withPolkit(t *testing.T, node string) {
	t.Helper()
	t.Cleanup(func() { onCleanNode(t, node, "apt-get purge --yes --auto-remove polkitd") })
	onHost(t, node, "sh", "-c", "apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends polkitd")
}

// sysctlsOf are the lines of a profile's section [sysctl].
func sysctlsOf(profile string) string {
	_, after, _ := strings.Cut(profile, "[sysctl]\n")
	section, _, _ := strings.Cut(after, "\n[")
	return section
}

// tuned checks that a profile is active on a node, that tuned finds nothing amiss, and that its sysctls are the
// kernel's.
func tuned(t *testing.T, node, name, profile string) {
	t.Helper()
	if got, want := strings.TrimSpace(onHost(t, node, "tuned-adm", "active")), "Current active profile: "+name; got != want {
		t.Errorf("node %s: %s, want %s", node, got, want)
	}
	onHost(t, node, "tuned-adm", "verify")
	hasSettings(t, node, sysctlsOf(profile))
}

// TestTuned takes the package of examples/tuned.yaml through its life: tuned comes from Debian with apt, has the
// profiles of the configMap, and goes again with everything it brought.
func TestTuned(t *testing.T) {
	node := ownNode(t)
	withPolkit(t, node)
	absent(t, node, "/usr/sbin/tuned")
	w := exampleWish(t, "tuned.yaml", "tuned", node)
	config := func(key string) string { return w.packages["tuned"].ConfigMap[key] }
	name := strings.TrimSpace(config("tuned_profile"))
	before := hostState(t, node)
	w.install(t)

	t.Run("installed", func(t *testing.T) {
		tuned(t, node, name, config(name))
		onHost(t, node, "systemctl", "is-active", "tuned")
		onHost(t, node, "systemctl", "is-enabled", "tuned")
	})
	t.Run("the profile changes", func(t *testing.T) {
		reconfigure(t, w, "tuned", map[string]string{name: "[main]\nsummary=Changed\n[sysctl]\nnet.core.somaxconn=2345\nvm.swappiness=23\n"})
		tuned(t, node, name, config(name))
	})
	t.Run("another profile comes, and the first one goes", func(t *testing.T) {
		reconfigure(t, w, "tuned", map[string]string{
			"e2e-other": "[sysctl]\nnet.core.somaxconn=3456\n", "tuned_profile": "e2e-other", name: "",
		})
		tuned(t, node, "e2e-other", config("e2e-other"))
		absent(t, node, "/etc/tuned/"+name)
	})
	t.Run("an upgrade changes nothing", func(t *testing.T) {
		state := hostState(t, node)
		upgrade(t, w, "tuned")
		sameHost(t, node, state)
		tuned(t, node, "e2e-other", config("e2e-other"))
	})
	t.Run("uninstalled with the Skyhook", func(t *testing.T) {
		w.delete(t)
		nothingLeft(t, w.name)
		sameHost(t, node, before)
		absent(t, node, "/usr/sbin/tuned")
		absent(t, node, "/lib/systemd/system/tuned.service")
	})
}
