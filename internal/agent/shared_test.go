package agent_test

import (
	"os"
	"strings"
	"testing"
)

// as makes the host's runs be those of a package that the Skyhook calls so.
func (h *host) as(name string) {
	h.env["SKYHOOK_RESOURCE_ID"] = "demo-uid-1_" + name + "_1.1.0"
}

// TestTwoPackagesMadeFromOneImage: each runs its steps, has its results, and
// leaves without taking the other's state away.
func TestTwoPackagesMadeFromOneImage(t *testing.T) {
	h := newHost(t)
	h.define("apply", h.script("a.sh", "echo $SKYHOOK_RESOURCE_ID >>/ran"))
	h.define("apply-check", h.script("ac.sh", "[[ $SKYHOOK_RESOURCE_ID != *_two_* ]]"))
	h.define("uninstall", h.script("u.sh", ""))
	h.define("upgrade", h.script("up.sh", "echo $PREVIOUS_VERSION >>/previous"))
	for _, name := range []string{"one", "two", "one"} {
		h.as(name)
		h.succeed("apply")
	}
	h.expectLines("/ran", "demo-uid-1_one_1.1.0", "demo-uid-1_two_1.1.0")

	h.as("one")
	h.succeed("apply-check")
	h.as("two")
	h.fail("apply-check", "step ac.sh exited 1")
	if got := h.read(stateDir, "packages/one/check_results"); got != "ac.sh False" || !h.has(stateDir, "packages/one/apply-check_ALL_CHECKED") {
		t.Errorf("results of one: %q", got)
	}
	if got := h.read(stateDir, "packages/two/check_results"); got != "ac.sh True" || h.has(stateDir, "packages/two/apply-check_ALL_CHECKED") {
		t.Errorf("results of two: %q", got)
	}
	for _, name := range []string{"one", "two"} {
		h.as(name)
		h.succeed("upgrade")
	}
	h.expectLines("/previous", "1.1.0", "unknown")

	h.succeed("uninstall")
	h.succeed("uninstall-check")
	if h.has(stateDir, "packages/two") || !h.has(stateDir, "packages/one") {
		t.Errorf("state: %q", h.find(stateDir+"/packages/*"))
	}
	for _, name := range []string{"one", "two"} {
		h.as(name)
		h.succeed("apply")
	}
	if got := strings.Join(h.lines("/ran")[2:], " "); got != "demo-uid-1_two_1.1.0" {
		t.Errorf("ran again: %s", got)
	}
}

// TestRootDirIsTakenBack: uninstall removes what the package shipped and
// brings back what that replaced; a new version does so for what it dropped.
func TestRootDirIsTakenBack(t *testing.T) {
	h := newHost(t)
	h.define("apply", h.script("a.sh", ""))
	h.define("upgrade", h.script("a.sh", ""))
	h.define("uninstall", h.script("u.sh", "cat /etc/tool/conf >>/ran"))
	h.write("/etc/motd", "the host's")
	h.write(copyDir+"/root_dir/etc/motd", "the package's")
	h.write(copyDir+"/root_dir/etc/tool/conf", "conf\n")
	h.write(copyDir+"/root_dir/etc/tool/old", "")
	h.succeed("apply")
	h.must(os.RemoveAll(h.path(copyDir, "root_dir/etc/tool/old")))
	h.succeed("upgrade")
	if h.has("/etc/tool/old") || h.read("/etc/motd") != "the package's" {
		t.Error("upgrade")
	}
	h.succeed("uninstall")
	h.succeed("uninstall-check")
	h.expectLines("/ran", "conf")
	if h.has("/etc/tool") || h.read("/etc/motd") != "the host's" || h.has(stateDir, "packages/tuning") {
		t.Errorf("after uninstall: %q", append(h.find("/etc/*"), h.find(stateDir+"/packages/*")...))
	}
}

func TestPackageWithoutRootDirAnyMore(t *testing.T) {
	h := newHost(t)
	h.define("apply", h.script("a.sh", ""))
	h.write(copyDir+"/root_dir/etc/tool", "")
	h.succeed("apply")
	h.must(os.RemoveAll(h.path(copyDir, "root_dir")))
	h.succeed("apply")
	if h.has("/etc/tool") {
		t.Error("a file of an earlier version is still there")
	}
}
