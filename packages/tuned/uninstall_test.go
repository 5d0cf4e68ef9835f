//go:build integration

package tuned_test

import (
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/skyhook-operator/skyhook/test/hostroot"
)

// everything has a profile that changes the boot menu, and files of each kind.
var everything = map[string]string{
	"web": web, "boot": "[bootloader]\ncmdline=+quiet\n", "x_script": script, "tuned_profile": "boot",
}

// TestUninstallLeavesNothing: whatever the host was like before, and however
// far the package had come.
func TestUninstallLeavesNothing(t *testing.T) {
	hosts := map[string]string{
		"bare":                    "true",
		"rival":                   "echo >/usr/lib/systemd/system/cpupower.service; systemctl start cpupower.service",
		"there, running":          "apt-get install tuned; tuned-adm profile plain",
		"there, automatic":        "apt-get install tuned",
		"there, switched off":     "apt-get install tuned; tuned-adm off",
		"there, two profiles":     "apt-get install tuned; tuned-adm profile balanced plain",
		"there, stopped":          "apt-get install tuned; systemctl stop tuned.service",
		"there, disabled":         "apt-get install tuned; systemctl disable tuned.service",
		"there, neither":          "apt-get install tuned; systemctl stop tuned.service; systemctl disable tuned.service",
		"there, never ran":        "apt-get install tuned; systemctl stop tuned.service; : >/etc/tuned/active_profile; : >/etc/tuned/profile_mode",
		"there, with own files":   "apt-get install tuned; mkdir -p /etc/tuned/web /etc/tuned/scripts; echo a >/etc/tuned/web/tuned.conf; echo b >/etc/tuned/scripts/x_script",
		"there, with own folders": "apt-get install tuned; mkdir -p /etc/tuned/web /etc/tuned/scripts",
		"there, with boot profile": "apt-get install tuned; mkdir /etc/tuned/mine; echo '[bootloader]' >/etc/tuned/mine/tuned.conf;" +
			"tuned-adm profile mine",
		"there, grub ends well": "apt-get install tuned; echo >>/etc/default/grub",
		"without grub":          "rm -r /etc/default",
	}
	steps := map[string][]string{
		"nothing": nil,
		"install": {"install", "install-check"},
		"config":  {"install", "config", "config-check"},
	}
	for hostName, prepare := range hosts {
		for name, run := range steps {
			// How a profile leaves does not matter before there is one.
			if name != "config" && !slices.Contains([]string{"bare", "rival", "there, running", "there, neither", "there, never ran"}, hostName) {
				continue
			}
			t.Run(hostName+" "+name, func(t *testing.T) {
				t.Parallel()
				h := newDebian(t)
				h.admin(prepare)
				before := h.Snapshot(watched...)
				h.configMap(everything)
				h.succeed(run...)
				h.succeed("uninstall", "uninstall-check")
				h.ExpectSnapshot(before, watched...)
			})
		}
	}
}

func TestEverythingTwice(t *testing.T) {
	t.Parallel()
	h := newDebian(t)
	before := h.Snapshot(watched...)
	h.configMap(everything)
	h.succeed("install", "install", "config", "config", "config-check", "uninstall", "uninstall", "uninstall-check")
	h.ExpectSnapshot(before, watched...)
	h.succeed("uninstall-check", "uninstall", "uninstall-check")
	h.ExpectSnapshot(before, watched...)
}

// TestUninstallStopsAtMounts: what somebody has mounted in a folder of tuned's is theirs.
func TestUninstallStopsAtMounts(t *testing.T) {
	t.Parallel()
	for name, point := range map[string]string{"the folder": "/var/log/tuned", "below it": "/var/log/tuned/old logs"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := ready(t)
			// The pretended host keeps its logs elsewhere, and its kernel tells where they are, with a code for the space.
			h.Must(os.RemoveAll(h.Path("/var/log")))
			h.Must(os.MkdirAll(h.Path("/srv/log"), 0o755))
			h.Must(os.Symlink("../srv/log", h.Path("/var/log")))
			behind := strings.Replace(point, "/var/log", "/srv/log", 1)
			h.Must(os.MkdirAll(h.Path(behind), 0o755))
			h.Must(syscall.Mount("tmpfs", h.Path(behind), "tmpfs", 0, ""))
			t.Cleanup(func() { h.Must(syscall.Unmount(h.Path(behind), syscall.MNT_DETACH)) })
			h.Write(behind+"/theirs", "")
			h.Write("/var/lib/tuned/state", "")
			told := strings.ReplaceAll(behind, " ", `\040`)
			h.Write("/proc/self/mountinfo", "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:40 / "+told+"-2 rw - tmpfs tmpfs rw\n3 1 0:41 / "+told+" rw - tmpfs tmpfs rw\n")
			r := h.succeed("uninstall")
			h.succeed("uninstall-check")
			if !h.Has(behind + "/theirs") {
				t.Error("what was mounted is gone")
			}
			if h.Has("/var/lib/tuned") {
				t.Error("a folder without a mount stays")
			}
			if want := "warning: left /var/log/tuned: something is mounted at " + told; !strings.Contains(r.Stdout, want) {
				t.Errorf("no %q in %q", want, r.Stdout)
			}
		})
	}
}

func TestUninstallMakesTheBootMenuAgain(t *testing.T) {
	t.Parallel()
	h := ready(t)
	h.configMap(everything)
	h.succeed("config")
	grub := h.Read("/etc/default/grub")
	h.Write("/etc/default/grub", strings.Replace(grub, "quiet", "splash", 1)) // the admin's own change stays
	h.Write("/fake/breaks/update-grub", "now")
	h.fail("uninstall", "update-grub failed", "broken")
	h.Remove("/fake/breaks/update-grub")
	h.succeed("uninstall", "uninstall-check")
	if got := h.Read("/etc/default/grub"); got != "GRUB_CMDLINE_LINUX_DEFAULT=\"splash\"\n" || h.calls("update-grub") != 2 {
		t.Errorf("%q after %d calls", got, h.calls("update-grub"))
	}
}

func TestUninstallWithoutBootProfileLeavesTheMenuAlone(t *testing.T) {
	t.Parallel()
	h := ready(t)
	h.configMap(map[string]string{"tuned_profile": "plain"})
	h.succeed("config", "uninstall", "uninstall-check")
	if h.calls("update-grub") != 0 {
		t.Error("update-grub ran")
	}
}

func TestWhatOthersNeedStays(t *testing.T) {
	type row struct {
		command string
		stays   []string
		tuned   bool
	}
	tests := map[string]row{
		"nothing":            {"true", nil, false},
		"library needed":     {"apt-get install monitor", []string{"libglib", "monitor", "python3-gi"}, false},
		"tuned needed":       {"apt-get install cockpit", []string{"cockpit", "libglib", "python3-gi", "tuned"}, true},
		"asked for":          {"apt-get install python3-gi", []string{"libglib", "python3-gi"}, false},
		"removed, with rest": {"apt-get purge tuned python3-gi libglib", nil, false},
	}
	hostroot.Each(t, tests, ready, func(t *testing.T, h *host, test row) {
		h.configMap(everything)
		h.succeed("config")
		h.admin(test.command)
		h.succeed("uninstall", "uninstall-check")
		want := append([]string{"bash", "dbus"}, test.stays...)
		slices.Sort(want)
		if got := h.installed(); !slices.Equal(got, want) {
			t.Errorf("installed: %v", got)
		}
		if h.Has("/usr/bin/tuned-adm") != test.tuned || h.Has("/etc/tuned/web") || h.Has("/etc/tuned/scripts") {
			t.Error("tuned or our files are wrong")
		}
	})
}

func TestTunedRemovedByHand(t *testing.T) {
	tests := map[string]string{
		"settings left":  ". /fake/packages; systemctl stop tuned.service; systemctl disable tuned.service; delete tuned",
		"purged":         ". /fake/packages; systemctl stop tuned.service; systemctl disable tuned.service; purge tuned",
		"still running":  ". /fake/packages; purge tuned",
		"only the files": "rm /usr/bin/tuned*",
	}
	for name, command := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newDebian(t)
			before := h.Snapshot(watched...)
			h.configMap(everything)
			h.succeed("install", "config")
			h.admin(command)
			h.succeed("uninstall", "uninstall-check")
			h.ExpectSnapshot(before, watched...)
		})
	}
}

func TestTunedOfOthersRemovedByHand(t *testing.T) {
	t.Parallel()
	h := newDebian(t)
	before := h.Snapshot(watched...)
	h.admin("apt-get install tuned")
	h.configMap(everything)
	h.succeed("install", "config")
	h.admin("systemctl stop tuned.service; systemctl disable tuned.service; apt-get purge tuned python3-gi libglib")
	h.succeed("uninstall", "uninstall-check")
	h.ExpectSnapshot(before, watched...)
}

func TestPreviousProfileIsGone(t *testing.T) {
	t.Parallel()
	h := newDebian(t)
	h.admin("apt-get install tuned; mkdir /etc/tuned/mine; echo '[sysctl]' >/etc/tuned/mine/tuned.conf; tuned-adm profile mine")
	h.configMap(everything)
	h.succeed("install", "config")
	h.Remove("/etc/tuned/mine")
	if r := h.succeed("uninstall"); !strings.Contains(r.Stdout, "'mine' doesn't exist") || !strings.Contains(r.Stdout, "switching tuned off") {
		t.Errorf("stdout:\n%s", r.Stdout)
	}
	h.succeed("uninstall-check")
	if h.active() != "" {
		t.Errorf("active %q", h.active())
	}
}

func TestUninstallFailures(t *testing.T) {
	type row struct {
		command, fix string
		words        []string
	}
	tests := map[string]row{
		"packages":   {"echo Dpkg::Options::=--force-confold purge >/fake/breaks/apt-get", "rm /fake/breaks/apt-get", []string{"apt-get cannot remove", "broken"}},
		"plan":       {"echo -s >/fake/breaks/apt-get", "rm /fake/breaks/apt-get", []string{"apt-get cannot tell what goes with", "broken"}},
		"stop":       {"echo stop >/fake/breaks/systemctl", "rm /fake/breaks/systemctl", []string{"cannot stop the service tuned", "Job for"}},
		"disable":    {"echo disable >/fake/breaks/systemctl", "rm /fake/breaks/systemctl", []string{"cannot disable the service tuned"}},
		"no manager": {"mv /usr/bin/apt-get /", "mv /apt-get /usr/bin/", []string{"looked for: apt-get"}},
	}
	hostroot.Each(t, tests, newDebian, func(_ *testing.T, h *host, test row) {
		before := h.Snapshot(watched...)
		h.configMap(everything)
		h.succeed("install", "config")
		h.admin(test.command)
		h.fail("uninstall", test.words...)
		h.fail("uninstall-check", "has not run to its end")
		h.admin(test.fix)
		h.succeed("uninstall", "uninstall-check")
		h.ExpectSnapshot(before, watched...)
	})
}

func TestUninstallCheckFailures(t *testing.T) {
	type row struct {
		command string
		words   []string
	}
	tests := map[string]row{
		"binary":  {"cp /bin/ls /usr/bin/tuned", []string{"/usr/bin/tuned is still there"}},
		"profile": {"mkdir -p /etc/tuned/web; echo >/etc/tuned/web/tuned.conf", []string{"/etc/tuned/web/tuned.conf is still there"}},
		"script":  {"mkdir -p /etc/tuned/scripts; echo >/etc/tuned/scripts/x_script", []string{"x_script is still there"}},
		"running": {"echo >/fake/active/tuned.service", []string{"still runs"}},
		"enabled": {"systemctl enable tuned.service", []string{"still enabled"}},
	}
	hostroot.Each(t, tests, ready, func(_ *testing.T, h *host, test row) {
		h.configMap(everything)
		h.succeed("config", "uninstall")
		h.Write("/usr/lib/systemd/system/tuned.service", "[Service]\n")
		h.admin(test.command)
		h.fail("uninstall-check", test.words...)
	})
}

// TestInstallAgain: also when nobody has checked the uninstall.
func TestInstallAgain(t *testing.T) {
	t.Parallel()
	h := newDebian(t)
	before := h.Snapshot(watched...)
	h.configMap(everything)
	h.succeed("install", "config", "uninstall", "install", "install-check", "config", "config-check", "uninstall", "uninstall-check")
	h.ExpectSnapshot(before, watched...)
}

// TestRecordsOfOtherPackagesStay: their records are apart.
func TestRecordsOfOtherPackagesStay(t *testing.T) {
	t.Parallel()
	h := ready(t)
	h.Write("/var/lib/skyhook/demo/tuned/other/before", "present=yes\n")
	h.configMap(everything)
	h.succeed("config", "uninstall", "uninstall-check")
	if !h.Has("/var/lib/skyhook/demo/tuned/other/before") || h.Has(stateDir) {
		t.Error("wrong record removed")
	}
}
