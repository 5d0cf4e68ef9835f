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
	h.define("apply", h.Script("a.sh", ""))
	h.define("config", h.Script("c.sh", "if [[ -e /edit ]]; then echo edited >>/etc/motd; fi; exit $(cat /fails)"))
	h.define("uninstall", h.Script("u.sh", "if [[ -e /edit ]]; then echo undone >>/etc/motd; fi"))
	h.Write("/fails", "0")
	h.Write("/etc/motd", "the host's")
	h.Write(copyDir+"/root_dir/etc/motd", "the package's")
	h.Write(copyDir+"/root_dir/etc/new", "new")
	return h
}

func (h *host) uninstall() result {
	h.T.Helper()
	h.succeed("uninstall")
	return h.succeed("uninstall-check")
}

// kept finds the one file that was set aside.
func (h *host) kept() (content string) {
	h.T.Helper()
	found := h.find(stateDir + "/packages/tuning/kept/*")
	if len(found) != 1 {
		h.T.Errorf("kept %q", found)
		return ""
	}
	return h.Read(found[0])
}

// TestFilesThatOthersChangedSinceStay: an update of the host's own packages is
// not taken back with the package of ours.
func TestFilesThatOthersChangedSinceStay(t *testing.T) {
	t.Run("uninstall", func(t *testing.T) {
		h := newShippingHost(t)
		h.succeed("apply")
		h.Write("/etc/motd", "an update")
		h.Write("/etc/new", "an update, too")
		r := h.uninstall()
		if h.Read("/etc/motd") != "an update" || h.Read("/etc/new") != "an update, too" || h.kept() != "the host's" {
			t.Errorf("motd %q", h.Read("/etc/motd"))
		}
		for _, path := range []string{"/etc/motd", "/etc/new", h.find(stateDir + "/packages/tuning/kept/*")[0]} {
			if !strings.Contains(r.Stderr, `"`+path+`"`) {
				t.Errorf("no word of %s:\n%s", path, r.Stderr)
			}
		}
	})
	t.Run("a version that does not ship it any more", func(t *testing.T) {
		h := newShippingHost(t)
		h.succeed("apply")
		h.Write("/etc/motd", "an update")
		h.Must(os.Remove(h.Path(copyDir, "root_dir/etc/motd")))
		if r := h.succeed("apply"); !strings.Contains(r.Stderr, `"/etc/motd" stays`) || h.Read("/etc/motd") != "an update" {
			t.Errorf("motd %q\n%s", h.Read("/etc/motd"), r.Stderr)
		}
	})
	t.Run("the package ships its own again, and goes", func(t *testing.T) {
		h := newShippingHost(t)
		h.succeed("apply")
		h.Write("/etc/motd", "an update")
		r := h.succeed("config")
		if h.Read("/etc/motd") != "the package's" || !strings.Contains(r.Stderr, `"/etc/motd"`) {
			t.Errorf("motd %q\n%s", h.Read("/etc/motd"), r.Stderr)
		}
		h.uninstall()
		if h.Read("/etc/motd") != "an update" || h.Has(stateDir, "packages/tuning/kept") {
			t.Errorf("motd %q", h.Read("/etc/motd"))
		}
	})
}

// TestFilesThatThePackageChangedGo: its steps may edit what it ships.
func TestFilesThatThePackageChangedGo(t *testing.T) {
	for name, fails := range map[string]string{"the step succeeds": "0", "the step fails": "1"} {
		t.Run(name, func(t *testing.T) {
			h := newShippingHost(t)
			h.succeed("apply")
			h.Write("/edit", "")
			h.Write("/fails", fails)
			h.run("config")
			if h.Read("/etc/motd") == "the package's" {
				t.Fatal("the step has not edited the file")
			}
			h.Write("/fails", "0")
			h.succeed("config")
			r := h.uninstall()
			if h.Read("/etc/motd") != "the host's" || h.Has("/etc/new") || h.Has(stateDir, "packages/tuning/kept") {
				t.Errorf("motd %q\n%s", h.Read("/etc/motd"), r.Stderr)
			}
		})
	}
}

// TestNamesThatAreNotUTF8 come to the host and go again.
func TestNamesThatAreNotUTF8(t *testing.T) {
	h := newShippingHost(t)
	name := "/etc/\xe4/\xf6"
	h.Write(copyDir+"/root_dir"+name, "")
	h.succeed("apply")
	h.succeed("config")
	if !h.Has(name) {
		t.Error("it did not come")
	}
	h.uninstall()
	if h.Has("/etc/\xe4") {
		t.Error("it stays")
	}
}
