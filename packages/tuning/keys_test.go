//go:build integration

package tuning_test

import (
	"os"
	"path/filepath"
	"testing"
)

// dangle takes a key out of the configMap, but leaves the link that a copy of an
// earlier mount has made for it.
func (h *host) dangle(key string) {
	h.T.Helper()
	h.Must(os.Remove(h.Path(filepath.Join(h.Env["SKYHOOK_DIR"], "configmaps", "..2026_11_20", key))))
}

// TestKeysThatAreGone but for a link are none: their drop-ins are not empty, but
// undone, and a check does not pass before.
func TestKeysThatAreGone(t *testing.T) {
	t.Parallel()
	for _, systemctl := range []string{"with systemctl", "without systemctl"} {
		t.Run(systemctl, func(t *testing.T) {
			t.Parallel()
			h := newDebian(t)
			if systemctl == "without systemctl" {
				h.Must(os.Remove(h.Path("/usr/bin/systemctl")))
			}
			before := h.Snapshot(watched...)
			h.configMap(map[string]string{"service_cron.conf": "[Service]\nNice=5\n", "sysctl.conf": "vm.swappiness=10\n", "unknown": ""})
			h.succeed("config", "config-check")
			for _, key := range []string{"service_cron.conf", "sysctl.conf", "unknown"} {
				h.dangle(key)
			}
			h.Must(os.Symlink("..data/old.conf", h.Path(h.Env["SKYHOOK_DIR"], "configmaps/old.conf")))
			h.Write(cronDropIn, "")
			h.Must(os.Remove(h.Path(sysctlDropIn)))
			h.fail("config-check", cronDropIn+" is left, though the configMap has no key for cron.service")
			h.Write(cronDropIn, "[Service]\nNice=5\n")
			h.succeed("config", "config-check", "post-interrupt-check")
			h.ExpectSnapshot(before, watched...)
		})
	}
}

// TestUnitsCheckSeesTheDropIn, whether or not systemd is there to ask.
func TestUnitsCheckSeesTheDropIn(t *testing.T) {
	t.Parallel()
	const wanted = "[Service]\nLimitNOFILE=5\nNice=3\n"
	contents := []string{"", "[Service]\n", "[Service]\nLimitNOFILE=5\nNice=3", wanted + "#\n", "\x00\x00", wanted + "\x00\n[Service]\nNice=4\n"}
	for key, unit := range map[string]string{
		"service_cron.conf": "cron.service", "service_none.conf": "none.service", "service_a.b@.conf": "a.b@.service", "service_docker.socket.conf": "docker.socket",
	} {
		for _, systemctl := range []string{"with systemctl", "without systemctl"} {
			t.Run(key+" "+systemctl, func(t *testing.T) {
				t.Parallel()
				h := newDebian(t)
				if systemctl == "without systemctl" {
					h.Must(os.Remove(h.Path("/usr/bin/systemctl")))
				}
				h.configure(map[string]string{key: wanted})
				file := "/etc/systemd/system/" + unit + ".d/999-demo_web-tuning.conf"
				for _, content := range contents {
					h.Write(file, content)
					h.fail("config-check", file+" is not what "+key+" wants")
				}
				h.succeed("config", "config-check")
				h.Must(os.Remove(h.Path(file)))
				h.fail("config-check", file+" is not what "+key+" wants")
			})
		}
	}
}
