package tryout

import (
	"slices"
	"strings"
	"testing"

	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

var motd = identity{"motd", "1.0.0"}

func TestStagesAreFollowedByTheirCheck(t *testing.T) {
	for _, mode := range packagefile.Modes() {
		want := []packagefile.Mode{mode}
		if !mode.IsCheck() {
			want = append(want, mode+"-check")
		}
		got := Trial{Mode: mode}.modes()
		if !slices.Equal(got, want) || !got[len(got)-1].Known() {
			t.Errorf("%s: got %q, want %q", mode, got, want)
		}
	}
}

// TestEnviron: what the operator sets wins over what the package's env has.
func TestEnviron(t *testing.T) {
	got := map[string]string{}
	for _, item := range (Trial{Env: []string{"A=1=2", "HOME=/x", "SKYHOOK_NODE_ORDER=9", "SKYHOOK_HOST_NAMESPACES=mount"}}).environ(motd) {
		name, value, _ := strings.Cut(item, "=")
		got[name] = value
	}
	for name, want := range map[string]string{
		"A": "1=2", "SKYHOOK_HOST_NAMESPACES": "", "HOME": "/x", "SKYHOOK_NODE_ORDER": "0", "COPY_RESOLV": "false",
		"SKYHOOK_LOG_DIR": "/var/log/skyhook/tryout", "SKYHOOK_ROOT_DIR": "/var/lib/skyhook/tryout",
		"SKYHOOK_RESOURCE_ID": "tryout-00000000-0000-4000-8000-000000000000-1_motd_1.0.0",
	} {
		if got[name] != want {
			t.Errorf("%s: got %q, want %q", name, got[name], want)
		}
	}
}

func TestNodeMetadata(t *testing.T) {
	files, err := Trial{Version: "1.2.3"}.nodeMetadata(motd)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"annotations.json": `{}`,
		"labels.json":      `{"kubernetes.io/hostname":"tryout","kubernetes.io/os":"linux"}`,
		"packages.json":    `{"agentVersion":"1.2.3","packages":{"motd":{"name":"motd","version":"1.0.0","image":"registry.example/motd"}}}`,
	} {
		if string(files[name]) != want {
			t.Errorf("%s: got %s, want %s", name, files[name], want)
		}
	}
	if len(files) != 3 {
		t.Errorf("%d files", len(files))
	}
}
