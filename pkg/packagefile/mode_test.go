package packagefile_test

import (
	"testing"

	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

func TestMode(t *testing.T) {
	if n := len(packagefile.Modes()); n != 10 {
		t.Errorf("%d modes", n)
	}
	tests := []struct {
		mode                           packagefile.Mode
		check                          packagefile.Mode
		known, isCheck, remove, update bool
	}{
		{packagefile.Apply, packagefile.ApplyCheck, true, false, false, false},
		{packagefile.ApplyCheck, packagefile.ApplyCheck, true, true, false, false},
		{packagefile.Uninstall, packagefile.UninstallCheck, true, false, true, false},
		{packagefile.UninstallCheck, packagefile.UninstallCheck, true, true, true, false},
		{packagefile.Upgrade, packagefile.UpgradeCheck, true, false, false, true},
		{packagefile.UpgradeCheck, packagefile.UpgradeCheck, true, true, false, true},
		{packagefile.PostInterrupt, packagefile.PostInterruptCheck, true, false, false, false},
		{"interrupt", "interrupt-check", false, false, false, false},
		{"", "-check", false, false, false, false},
	}
	for _, test := range tests {
		m := test.mode
		if m.Check() != test.check || m.Known() != test.known || m.IsCheck() != test.isCheck ||
			m.IsUninstall() != test.remove || m.IsUpgrade() != test.update {
			t.Errorf("%q: check %q, known %v, is check %v, uninstall %v, upgrade %v",
				m, m.Check(), m.Known(), m.IsCheck(), m.IsUninstall(), m.IsUpgrade())
		}
	}
}

func TestFolderOf(t *testing.T) {
	for name, want := range map[string]string{"a/config.json": "a", "config.json": ".", "a/b": "a/b"} {
		if got := packagefile.FolderOf(name); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}
