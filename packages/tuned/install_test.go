//go:build integration

package tuned_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/skyhook-operator/skyhook/test/hostroot"
)

func TestUnknownStep(t *testing.T) {
	newDebian(t).fail("prepare", `unknown step "prepare"`, "known steps")
}

func TestEveryDistribution(t *testing.T) {
	tests := map[string]struct {
		osRelease string
		tool      string
	}{
		"Debian":        {"ID=debian\n", "apt-get"},
		"Ubuntu":        {"NAME=\"Ubuntu\"\nID=ubuntu\nID_LIKE=debian\n", "apt-get"},
		"Mint":          {"ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n", "apt-get"},
		"RHEL 9":        {"ID=\"rhel\"\nID_LIKE=\"fedora\"\n", "dnf"},
		"RHEL 7":        {"ID=\"rhel\"\nID_LIKE=\"fedora\"\n", "yum"},
		"Rocky":         {"ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n", "dnf"},
		"AlmaLinux":     {"ID='almalinux'\nID_LIKE='rhel centos fedora'\n", "dnf"},
		"CentOS":        {"ID=\"centos\"\n", "yum"},
		"Amazon 2":      {"ID=\"amzn\"\nID_LIKE=\"centos rhel fedora\"\n", "yum"},
		"Amazon 2023":   {"ID=\"amzn\"\nID_LIKE=\"fedora\"\n", "dnf"},
		"Oracle":        {"ID=\"ol\"\nID_LIKE=\"fedora\"\n", "dnf"},
		"Fedora":        {"ID=fedora\n", "dnf"},
		"by likeness":   {"ID=mylinux\nID_LIKE=\"other rhel\"\n", "dnf"},
		"SLES":          {"ID=\"sles\"\nID_LIKE=\"suse\"\n", "zypper"},
		"openSUSE Leap": {"ID=\"opensuse-leap\"\nID_LIKE=\"suse opensuse\"\n", "zypper"},
		"upper case":    {"ID=Debian\n", "apt-get"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tools := aptTools
			if test.tool != "apt-get" {
				tools = []string{test.tool, "rpm"}
			}
			h := newHost(t, distribution{test.osRelease, tools})
			h.succeed("install", "install-check")
			if want := []string{"bash", "dbus", "libglib", "python3-gi", "tuned"}; !slices.Equal(h.installed(), want) {
				t.Errorf("installed: %v", h.installed())
			}
			if calls := h.Read("/fake/calls"); strings.Contains(calls, "upgrade") || strings.Contains(calls, "update") {
				t.Errorf("the host was upgraded, or its lists fetched for nothing:\n%s", calls)
			}
		})
	}
}

func TestHostsThatAreNotSupported(t *testing.T) {
	tests := map[string]struct {
		distribution
		words []string
	}{
		"other family":    {distribution{"ID=arch\nID_LIKE=\"\"\n", nil}, []string{`ID="arch"`, `ID_LIKE=""`, "Debian"}},
		"image based":     {distribution{"ID=cos\nID_LIKE=chromiumos\n", nil}, []string{`ID="cos"`, `ID_LIKE="chromiumos"`, "supported"}},
		"read-only root":  {distribution{"ID=\"sle-micro\"\nID_LIKE=\"suse\"\n", []string{"zypper", "rpm"}}, []string{`"sle-micro"`, "read-only", "transactional-update pkg install tuned"}},
		"its newer name":  {distribution{"ID=\"sl-micro\"\nID_LIKE=\"suse\"\n", []string{"zypper", "rpm"}}, []string{`"sl-micro"`, "read-only"}},
		"its open sister": {distribution{"ID=opensuse-microos\nID_LIKE=\"suse opensuse\"\n", []string{"zypper", "rpm"}}, []string{"read-only"}},
		"no os-release":   {distribution{"", nil}, []string{`ID=""`}},
		"without manager": {distribution{"ID=debian\n", nil}, []string{"looked for: apt-get"}},
		"neither of two":  {distribution{"ID=rhel\n", nil}, []string{"looked for: dnf yum"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			newHost(t, test.distribution).fail("install", test.words...)
		})
	}
}

// TestTunedIsThereOnAnyHost: nothing has to be installed there.
func TestTunedIsThereOnAnyHost(t *testing.T) {
	for _, id := range []string{"sle-micro", "arch"} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, distribution{"ID=" + id + "\n", nil})
			h.admin("cp -a /fake/files/tuned/. /; systemctl start tuned.service")
			before := h.Snapshot(watched...)
			h.configMap(everything)
			h.succeed("install", "install-check", "config", "config-check", "uninstall", "uninstall-check")
			h.ExpectSnapshot(before, watched...)
		})
	}
}

func TestInstallOnce(t *testing.T) {
	t.Parallel()
	h := newDebian(t)
	h.succeed("install", "install", "install-check")
	if n := h.calls("apt-get"); n != 1 {
		t.Errorf("%d runs of apt-get", n)
	}
}

func TestInstallFetchesListsOnlyIfNeeded(t *testing.T) {
	t.Parallel()
	h := newDebian(t)
	h.admin("mv /fake/repository/tuned /fake/upstream/")
	h.succeed("install", "install-check")
	if h.calls("apt-get -y") != 3 {
		t.Errorf("calls:\n%s", h.Read("/fake/calls"))
	}
}

// TestNoServiceOfTheHostRestarts: with apt-get as an admin would run it, one
// would.
func TestNoServiceOfTheHostRestarts(t *testing.T) {
	t.Parallel()
	h := newDebian(t)
	h.admin("mv /fake/repository/tuned /fake/upstream/")
	h.succeed("install", "uninstall", "uninstall-check")
	if n := h.calls("needrestart"); n != 0 {
		t.Errorf("needrestart ran %d times", n)
	}
	h.admin("apt-get install monitor")
	if h.calls("needrestart") != 1 {
		t.Error("this host has no needrestart")
	}
}

func TestInstallAfterDpkgWasInterrupted(t *testing.T) {
	t.Parallel()
	h := newDebian(t)
	h.Write("/fake/interrupted", "")
	h.succeed("install", "install-check")
}

// TestHalfUnpackedPackage: dpkg was killed, and does not go on by itself.
func TestHalfUnpackedPackage(t *testing.T) {
	for name, then := range map[string][]string{"install": {"install", "install-check"}, "uninstall": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newDebian(t)
			before := h.Snapshot(watched...)
			h.Write("/fake/breaks/apt-get", "install")
			h.fail("install", "apt-get cannot install tuned")
			h.Remove("/fake/breaks/apt-get")
			h.Write("/fake/installed/libglib", "ii\n")
			h.Write("/fake/half", "libglib\n")
			h.Write("/fake/interrupted", "")
			h.succeed(then...)
			h.succeed("uninstall", "uninstall-check")
			h.ExpectSnapshot(before, watched...)
		})
	}
}

func TestInstallFailures(t *testing.T) {
	type row struct {
		command string
		words   []string
	}
	tests := map[string]row{
		"no such package":   {"rm /fake/repository/tuned", []string{"apt-get cannot install tuned", "Unable to locate package tuned"}},
		"broken manager":    {"echo install >/fake/breaks/apt-get", []string{"apt-get cannot install tuned", "broken"}},
		"package of others": {"rm -r /fake/files/tuned/usr/bin", []string{"has no tuned and tuned-adm"}},
		"no start":          {"echo start >/fake/breaks/systemctl", []string{"cannot start the service tuned", "Job for tuned.service failed"}},
		"masked":            {"echo >/fake/masked/tuned.service", []string{"masked", "systemctl unmask tuned"}},
	}
	hostroot.Each(t, tests, newDebian, func(_ *testing.T, h *host, test row) {
		h.admin(test.command)
		h.fail("install", test.words...)
	})
}

func TestInstallCheckFailures(t *testing.T) {
	type row struct {
		command string
		words   []string
	}
	tests := map[string]row{
		"no daemon":   {"rm /usr/bin/tuned", []string{"the host has no tuned"}},
		"no client":   {"rm /usr/bin/tuned-adm", []string{"the host has no tuned-adm"}},
		"not running": {"systemctl stop tuned.service", []string{"does not run", `"inactive"`}},
		"not enabled": {"systemctl disable tuned.service", []string{"not enabled", `"disabled"`}},
	}
	hostroot.Each(t, tests, newDebian, func(_ *testing.T, h *host, test row) {
		h.succeed("install")
		h.admin(test.command)
		h.fail("install-check", test.words...)
	})
}

func TestTunedRemovedByHandComesBack(t *testing.T) {
	t.Parallel()
	h := newDebian(t)
	before := h.Snapshot(watched...)
	h.succeed("install")
	h.admin("apt-get purge tuned")
	h.admin("apt-get install monitor") // somebody else's from here on
	h.succeed("install", "install-check", "uninstall", "uninstall-check")
	if got := h.installed(); !slices.Equal(got, []string{"bash", "dbus", "libglib", "monitor", "python3-gi"}) {
		t.Errorf("installed: %v", got)
	}
	h.admin("apt-get purge monitor libglib python3-gi")
	h.ExpectSnapshot(before, watched...)
}
