//go:build integration

package agent_test

import (
	"os"
	"strings"
	"testing"
)

// newShippingHost has a package that ships a file over one of the host's, and
// one that is new.
func newShippingHost(t *testing.T) *host {
	t.Helper()
	h := newHost(t)
	h.define("apply", h.script("a.sh", ""))
	h.define("config", h.script("c.sh", "if [[ -e /edit ]]; then echo edited >>/etc/motd; fi; exit $(cat /fails)"))
	h.define("uninstall", h.script("u.sh", "if [[ -e /edit ]]; then echo undone >>/etc/motd; fi"))
	h.write("/fails", "0")
	h.write("/etc/motd", "the host's")
	h.write(copyDir+"/root_dir/etc/motd", "the package's")
	h.write(copyDir+"/root_dir/etc/new", "new")
	return h
}

func (h *host) uninstall() result {
	h.t.Helper()
	h.succeed("uninstall")
	return h.succeed("uninstall-check")
}

// kept finds the one file that was set aside.
func (h *host) kept() (content string) {
	h.t.Helper()
	found := h.find(stateDir + "/packages/tuning/kept/*")
	if len(found) != 1 {
		h.t.Errorf("kept %q", found)
		return ""
	}
	return h.read(found[0])
}

// TestFilesThatOthersChangedSinceStay: an update of the host's own packages is
// not taken back with the package of ours.
func TestFilesThatOthersChangedSinceStay(t *testing.T) {
	t.Run("uninstall", func(t *testing.T) {
		h := newShippingHost(t)
		h.succeed("apply")
		h.write("/etc/motd", "an update")
		h.write("/etc/new", "an update, too")
		r := h.uninstall()
		if h.read("/etc/motd") != "an update" || h.read("/etc/new") != "an update, too" || h.kept() != "the host's" {
			t.Errorf("motd %q", h.read("/etc/motd"))
		}
		for _, path := range []string{"/etc/motd", "/etc/new", h.find(stateDir + "/packages/tuning/kept/*")[0]} {
			if !strings.Contains(r.stderr, `"`+path+`"`) {
				t.Errorf("no word of %s:\n%s", path, r.stderr)
			}
		}
	})
	t.Run("a version that does not ship it any more", func(t *testing.T) {
		h := newShippingHost(t)
		h.succeed("apply")
		h.write("/etc/motd", "an update")
		h.must(os.Remove(h.path(copyDir, "root_dir/etc/motd")))
		if r := h.succeed("apply"); !strings.Contains(r.stderr, `"/etc/motd" stays`) || h.read("/etc/motd") != "an update" {
			t.Errorf("motd %q\n%s", h.read("/etc/motd"), r.stderr)
		}
	})
	t.Run("the package ships its own again, and goes", func(t *testing.T) {
		h := newShippingHost(t)
		h.succeed("apply")
		h.write("/etc/motd", "an update")
		r := h.succeed("config")
		if h.read("/etc/motd") != "the package's" || !strings.Contains(r.stderr, `"/etc/motd"`) {
			t.Errorf("motd %q\n%s", h.read("/etc/motd"), r.stderr)
		}
		h.uninstall()
		if h.read("/etc/motd") != "an update" || h.has(stateDir, "packages/tuning/kept") {
			t.Errorf("motd %q", h.read("/etc/motd"))
		}
	})
}

// TestFilesThatThePackageChangedGo: its steps may edit what it ships.
func TestFilesThatThePackageChangedGo(t *testing.T) {
	for name, fails := range map[string]string{"the step succeeds": "0", "the step fails": "1"} {
		t.Run(name, func(t *testing.T) {
			h := newShippingHost(t)
			h.succeed("apply")
			h.write("/edit", "")
			h.write("/fails", fails)
			h.run("config")
			if h.read("/etc/motd") == "the package's" {
				t.Fatal("the step has not edited the file")
			}
			h.write("/fails", "0")
			h.succeed("config")
			r := h.uninstall()
			if h.read("/etc/motd") != "the host's" || h.has("/etc/new") || h.has(stateDir, "packages/tuning/kept") {
				t.Errorf("motd %q\n%s", h.read("/etc/motd"), r.stderr)
			}
		})
	}
}

// TestNamesThatAreNotUTF8 come to the host and go again.
func TestNamesThatAreNotUTF8(t *testing.T) {
	h := newShippingHost(t)
	name := "/etc/\xe4/\xf6"
	h.write(copyDir+"/root_dir"+name, "")
	h.succeed("apply")
	h.succeed("config")
	if !h.has(name) {
		t.Error("it did not come")
	}
	h.uninstall()
	if h.has("/etc/\xe4") {
		t.Error("it stays")
	}
}
