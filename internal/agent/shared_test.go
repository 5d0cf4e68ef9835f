//go:build integration

package agent_test

import (
	"os"
	"strings"
	"testing"
)

// as makes the host's runs be those of a package that the Skyhook calls so.
func (h *host) as(name string) {
	h.Env["SKYHOOK_RESOURCE_ID"] = "demo-uid-1_" + name + "_1.1.0"
}

// TestTwoPackagesMadeFromOneImage: each runs its steps, has its results, and
// leaves without taking the other's state away.
func TestTwoPackagesMadeFromOneImage(t *testing.T) {
	h := newHost(t)
	h.define("apply", h.Script("a.sh", "echo $SKYHOOK_RESOURCE_ID >>/ran"))
	h.define("apply-check", h.Script("ac.sh", "[[ $SKYHOOK_RESOURCE_ID != *_two_* ]]"))
	h.define("uninstall", h.Script("u.sh", ""))
	h.define("upgrade", h.Script("up.sh", "echo $PREVIOUS_VERSION >>/previous"))
	for _, name := range []string{"one", "two", "one"} {
		h.as(name)
		h.succeed("apply")
	}
	h.ExpectLines("/ran", "demo-uid-1_one_1.1.0", "demo-uid-1_two_1.1.0")

	h.as("one")
	h.succeed("apply-check")
	h.as("two")
	h.fail("apply-check", "step ac.sh exited 1")
	if got := h.Read(stateDir, "packages/one/check_results"); got != "ac.sh False" || !h.Has(stateDir, "packages/one/apply-check_ALL_CHECKED") {
		t.Errorf("results of one: %q", got)
	}
	if got := h.Read(stateDir, "packages/two/check_results"); got != "ac.sh True" || h.Has(stateDir, "packages/two/apply-check_ALL_CHECKED") {
		t.Errorf("results of two: %q", got)
	}
	for _, name := range []string{"one", "two"} {
		h.as(name)
		h.succeed("upgrade")
	}
	h.ExpectLines("/previous", "1.1.0", "unknown")

	h.succeed("uninstall")
	h.succeed("uninstall-check")
	if left := h.find(stateDir + "/packages/two/*"); len(left) != 1 || !h.Has(stateDir, "packages/one/check_results") {
		t.Errorf("state: %q", h.find(stateDir+"/packages/*/*"))
	}
	for _, name := range []string{"one", "two"} {
		h.as(name)
		h.succeed("apply")
	}
	if got := strings.Join(h.Lines("/ran")[2:], " "); got != "demo-uid-1_two_1.1.0" {
		t.Errorf("ran again: %s", got)
	}
}

// TestRootDirIsTakenBack: uninstall removes what the package shipped and
// brings back what that replaced; a new version does so for what it dropped.
func TestRootDirIsTakenBack(t *testing.T) {
	h := newHost(t)
	h.define("apply", h.Script("a.sh", ""))
	h.define("upgrade", h.Script("a.sh", ""))
	h.define("uninstall", h.Script("u.sh", "cat /etc/tool/conf >>/ran"))
	h.Write("/etc/motd", "the host's")
	h.Write(copyDir+"/root_dir/etc/motd", "the package's")
	h.Write(copyDir+"/root_dir/etc/tool/conf", "conf\n")
	h.Write(copyDir+"/root_dir/etc/tool/old", "")
	h.succeed("apply")
	h.Must(os.RemoveAll(h.Path(copyDir, "root_dir/etc/tool/old")))
	h.succeed("upgrade")
	if h.Has("/etc/tool/old") || h.Read("/etc/motd") != "the package's" {
		t.Error("upgrade")
	}
	h.succeed("uninstall")
	h.succeed("uninstall-check")
	h.ExpectLines("/ran", "conf")
	if h.Has("/etc/tool") || h.Read("/etc/motd") != "the host's" || h.Has(stateDir, "packages/tuning/root_dir.json") {
		t.Errorf("after uninstall: %q", append(h.find("/etc/*"), h.find(stateDir+"/packages/*/*")...))
	}
}

// TestUninstallMayRunAgain: its steps and checks have the files that the
// package shipped until all of it is over, and are not run again after that.
func TestUninstallMayRunAgain(t *testing.T) {
	h := newHost(t)
	h.define("apply", h.Script("a.sh", ""))
	h.define("uninstall", h.Script("u.sh", "cat /etc/tool/conf >>/ran"))
	h.define("uninstall-check", h.Script("uc.sh", "cat /etc/tool/conf >>/ran; exit $(cat /fails)"))
	h.Write(copyDir+"/root_dir/etc/tool/conf", "conf\n")
	h.Write("/fails", "1")
	h.succeed("apply")
	h.succeed("uninstall")
	h.fail("uninstall-check", "uc.sh exited 1")
	h.succeed("uninstall")
	h.Write("/fails", "0")
	h.succeed("uninstall-check")
	h.ExpectLines("/ran", "conf", "conf", "conf", "conf")
	if h.Has("/etc/tool") {
		t.Error("the package's files are left")
	}
	for _, mode := range []string{"uninstall", "uninstall-check"} {
		if r := h.succeed(mode); !strings.Contains(r.Stdout, "has been uninstalled from this copy already") {
			t.Errorf("%s:\n%s", mode, r.Stdout)
		}
	}
	h.ExpectLines("/ran", "conf", "conf", "conf", "conf")
	h.succeed("apply")
	h.succeed("uninstall")
	if n := len(h.Lines("/ran")); n != 5 {
		t.Errorf("after another installation it ran %d times", n)
	}
}

// TestFileOfAnotherPackageIsRefused: no step runs, and the other package is not
// disturbed. One that left without an uninstall does not count.
func TestFileOfAnotherPackageIsRefused(t *testing.T) {
	for metadata, refused := range map[string]bool{`{"packages": {"new": {}}}`: false, `{"packages": {"new": {}, "old": {}}}`: true, "none": true} {
		h := newHost(t)
		h.define("apply", h.Script("a.sh", "echo $SKYHOOK_RESOURCE_ID >>/ran"))
		h.define("uninstall", h.Script("u.sh", ""))
		h.Write(copyDir+"/root_dir/etc/tool", "x")
		h.Write(copyDir+"/node-metadata/packages.json", metadata)
		h.as("old")
		h.succeed("apply")
		h.as("new")
		h.Write(copyDir+"/root_dir/etc/tool", "y")
		h.Write(copyDir+"/root_dir/etc/more", "y")
		if refused {
			h.fail("apply", `package new ships "/etc/tool", where package old of the same Skyhook has put its own already`)
			h.ExpectLines("/ran", "demo-uid-1_old_1.1.0")
			if h.Read("/etc/tool") != "x" || h.Has("/etc/more") {
				t.Errorf("%s: the host has %q", metadata, h.find("/etc/*"))
			}
		} else {
			h.succeed("apply")
			if h.Read("/etc/tool") != "y" {
				t.Errorf("%s: the package's file did not come", metadata)
			}
		}
		h.uninstall()
		if h.Read("/etc/tool") != "x" || h.Has("/etc/more") {
			t.Errorf("%s: after the uninstall the host has %q", metadata, h.find("/etc/*"))
		}
	}
}

func TestPackageWithoutRootDirAnyMore(t *testing.T) {
	h := newHost(t)
	h.define("apply", h.Script("a.sh", ""))
	h.Write(copyDir+"/root_dir/etc/tool", "")
	h.succeed("apply")
	h.Must(os.RemoveAll(h.Path(copyDir, "root_dir")))
	h.succeed("apply")
	if h.Has("/etc/tool") {
		t.Error("a file of an earlier version is still there")
	}
}
