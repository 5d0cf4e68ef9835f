//go:build integration

package tuned_test

import (
	"maps"
	"testing"

	"github.com/skyhook-operator/skyhook/test/hostroot"
)

// inAnother is the package of another Skyhook on the same host.
func (h *host) inAnother() *host {
	other := &host{&hostroot.Host{T: h.T, Root: h.Root, Env: maps.Clone(h.Env)}}
	other.Env["SKYHOOK_ROOT_DIR"] = "/var/lib/skyhook/other"
	other.Env["SKYHOOK_RESOURCE_ID"] = "other-uid-1_tuning_1.4.0"
	return other
}

// TestLastPackageRemovesTuned: whichever of two packages installed it, and whichever goes first, also if that is cut off.
func TestLastPackageRemovesTuned(t *testing.T) {
	theirs := map[string]string{"db": web, "tuned_profile": "db"}
	for name, prepare := range map[string]string{"bare": "true", "there, running": "apt-get install tuned; tuned-adm profile plain"} {
		for who, installerGoes := range map[string]bool{"installer first": true, "installer last": false} {
			t.Run(name+", "+who, func(t *testing.T) {
				t.Parallel()
				h := newDebian(t)
				h.admin(prepare)
				pristine := h.Snapshot(watched...)
				h.configMap(everything)
				h.succeed("install", "config", "config-check")
				h.configMap(theirs)
				h.inAnother().succeed("install", "config", "config-check")
				keys := theirs
				if !installerGoes {
					h, keys = h.inAnother(), everything
				}
				for n := 1; ; n += stride {
					goes := h.clone()
					crashed := goes.crash("uninstall", n)
					goes.succeed("uninstall", "uninstall-check")
					goes.configMap(keys)
					stays := goes.beside()
					stays.succeed("install", "install-check", "config", "config-check", "uninstall", "uninstall-check")
					stays.ExpectSnapshot(pristine, watched...)
					if t.Failed() || !crashed {
						break
					}
				}
			})
		}
	}
}

// beside is the package that is not this one.
func (h *host) beside() *host {
	if h.Env["SKYHOOK_ROOT_DIR"] != "/var/lib/skyhook/other" {
		return h.inAnother()
	}
	other := h.inAnother()
	other.Env["SKYHOOK_ROOT_DIR"], other.Env["SKYHOOK_RESOURCE_ID"] = "/var/lib/skyhook/demo", "demo-uid-1_tuning_1.4.0"
	return other
}
