package cli

import (
	"bytes"
	"runtime/debug"
	"testing"
	"time"
)

// TestRevision is what tells two builds of a checkout apart.
func TestRevision(t *testing.T) {
	for _, tt := range []struct {
		name     string
		settings []debug.BuildSetting
		want     string
	}{
		{"a release", nil, "1.2.3"},
		{"a checkout", []debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789abcdef"}}, "1.2.3 (0123456789ab)"},
		{
			"a changed checkout",
			[]debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789abcdef"}, {Key: "vcs.modified", Value: "true"}},
			"1.2.3 (0123456789ab-dirty)",
		},
		{"no checkout", []debug.BuildSetting{{Key: "vcs.modified", Value: "true"}}, "1.2.3"},
	} {
		if got := withRevision("1.2.3", revision(&debug.BuildInfo{Settings: tt.settings}, true)); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	if got := revision(nil, false); got != "" {
		t.Errorf("without build info: %q", got)
	}
}

// TestVersionNames prints one name in a line, as every read does.
func TestVersionNames(t *testing.T) {
	var out bytes.Buffer
	root := Root("1.2.3", time.Now)
	root.SetOut(&out)
	root.SetArgs([]string{"version", "--client-only", "-o", "name"})
	if err := root.Execute(); err != nil || out.String() != "plugin/1.2.3\n" {
		t.Errorf("error %v, printed %q", err, out.String())
	}
}
