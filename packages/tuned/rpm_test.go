//go:build integration

package tuned_test

import (
	"slices"
	"strings"
	"testing"
)

func TestUninstallOnRPM(t *testing.T) {
	for tool, distribution := range rpmTools {
		t.Run(tool, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, distribution)
			before := h.Snapshot(watched...)
			h.configMap(everything)
			h.succeed("install", "config", "config-check")
			if r := h.succeed("uninstall"); !strings.Contains(r.Stdout, "make the boot menu again") {
				t.Errorf("%s: nothing said of the boot menu", tool)
			}
			h.succeed("uninstall-check")
			h.ExpectSnapshot(before, watched...)
		})
	}
}

// TestParametersOfTheKernelGo, though a tuned that is stopped leaves them.
func TestParametersOfTheKernelGo(t *testing.T) {
	tests := map[string]struct{ before, later, says string }{
		"running":                    {"true", "true", ""},
		"stopped":                    {"true", "systemctl stop tuned.service", ""},
		"does not start":             {"true", "systemctl stop tuned.service; echo start >/fake/breaks/systemctl", "could not leave the profile"},
		"removed by hand":            {"true", ". /fake/packages; purge tuned", ""},
		"of others":                  {"dnf install tuned; systemctl start tuned.service", "true", ""},
		"of others, stopped":         {"dnf install tuned; systemctl start tuned.service", "systemctl stop tuned.service", ""},
		"of others, with parameters": {"dnf install tuned; systemctl start tuned.service; mkdir /etc/tuned/mine; echo '[bootloader]' >/etc/tuned/mine/tuned.conf; tuned-adm profile mine", "true", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, rpmTools["dnf"])
			h.admin(test.before)
			before := h.Read("/boot/grub2/grubenv")
			h.configMap(everything)
			h.succeed("install", "config")
			if got := h.Read("/boot/grub2/grubenv"); !strings.Contains(got, "tuned_params=quiet\n") {
				t.Fatalf("grubenv %q", got)
			}
			h.admin(test.later)
			r := h.run("uninstall")
			if after := h.Read("/boot/grub2/grubenv"); r.Code != 0 || !strings.Contains(r.Stdout, test.says) || after != before {
				t.Errorf("was %q, is %q; %+v", before, after, r)
			}
			h.succeed("uninstall-check")
		})
	}
}

// TestOnRPMOthersInstallMeanwhile: an installation may be tried for days.
func TestOnRPMOthersInstallMeanwhile(t *testing.T) {
	tests := map[string]struct {
		tool, meanwhile, later string
		stays                  []string
	}{
		"what tuned does not need":     {"dnf", "dnf install docker", "true", []string{"docker"}},
		"what tuned needs, asked for":  {"dnf", "dnf install libglib", "true", []string{"libglib"}},
		"asked for with yum":           {"yum", "yum install libglib", "true", []string{"libglib"}},
		"asked for with zypper":        {"zypper", "zypper install libglib", "true", []string{"libglib"}},
		"asked for later, with yum":    {"yum", "true", "yum install python3-gi", []string{"libglib", "python3-gi"}},
		"what needs what tuned needs":  {"yum", "yum install monitor", "true", []string{"libglib", "monitor", "python3-gi"}},
		"what needs tuned":             {"dnf", "true", "dnf install cockpit", []string{"cockpit", "libglib", "python3-gi", "tuned"}},
		"the same, in two versions":    {"dnf", "touch /fake/twice/libglib", "true", nil},
		"tuned itself in two versions": {"zypper", "touch /fake/twice/tuned", "true", nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, rpmTools[test.tool])
			h.Write("/fake/breaks/"+test.tool, "tuned")
			h.fail("install", test.tool+" cannot install tuned")
			h.Remove("/fake/breaks/" + test.tool)
			h.admin(test.meanwhile)
			h.succeed("install")
			h.admin(test.later)
			h.succeed("uninstall", "uninstall-check")
			want := append([]string{"bash", "dbus"}, test.stays...)
			slices.Sort(want)
			if got := h.installed(); !slices.Equal(got, want) {
				t.Errorf("installed: %v, want %v", got, want)
			}
		})
	}
}

// TestOnRPMOnlyTunedGoes where nobody can tell what else is ours.
func TestOnRPMOnlyTunedGoes(t *testing.T) {
	tests := map[string]struct{ tool, before, after string }{
		"needs not told":            {"dnf", "echo --whatprovides >/fake/breaks/rpm", "true"},
		"requirements not told":     {"zypper", "echo '[%{REQUIRENAME}\\n]' >/fake/breaks/rpm", "true"},
		"reasons not told (dnf)":    {"dnf", "true", "echo --userinstalled >/fake/breaks/dnf"},
		"reasons not told (yum)":    {"yum", "true", "rm -r /var/lib/yum"},
		"reasons not told (zypper)": {"zypper", "true", "rm -r /var/lib/zypp"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, rpmTools[test.tool])
			h.admin(test.before)
			h.succeed("install")
			h.admin(test.after)
			h.succeed("uninstall", "uninstall-check")
			if got := h.installed(); !slices.Equal(got, []string{"bash", "dbus", "libglib", "python3-gi"}) {
				t.Errorf("installed: %v", got)
			}
		})
	}
}

func TestOnRPMTheDatabaseIsLocked(t *testing.T) {
	t.Parallel()
	h := newHost(t, rpmTools["dnf"])
	before := h.Snapshot(watched...)
	h.succeed("install")
	h.Write("/fake/breaks/rpm", "--test")
	h.fail("uninstall", "rpm cannot tell what needs", "broken")
	h.Remove("/fake/breaks/rpm")
	h.succeed("uninstall", "uninstall-check")
	h.ExpectSnapshot(before, watched...)
}
