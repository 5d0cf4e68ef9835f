package tryout

import (
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

var motd = identity{"motd", "1.0.0", 1}

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

// TestSkyhookName: what the CRD takes, as like to the package's name as can be.
func TestSkyhookName(t *testing.T) {
	valid := regexp.MustCompile(`^[a-z]([-a-z0-9]{0,41}[a-z0-9])?$`)
	for name, want := range map[string]string{
		"motd": "motd", "nvidia_setup": "nvidia-setup", "My.Package": "my-package", "9lives": "lives", "_x_": "x", "42": "package", "é": "package",
		strings.Repeat("a", 42) + "_b": strings.Repeat("a", 42),
	} {
		if got := SkyhookName(name); got != want || !valid.MatchString(got) {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func TestIgnoredCommands(t *testing.T) {
	var (
		c      told
		passed strings.Builder
	)
	const text = "[out]1 Running in chroot, ignoring command 'is-active'\nx\n[err]2 Running in chroot, ignoring request: start\nRunning in chroot, ignoring command 'start'\n"
	w := c.watch(&passed)
	for _, r := range text {
		if _, err := io.WriteString(w, string(r)); err != nil {
			t.Fatal(err)
		}
	}
	if got := c.ignored(); !slices.Equal(got, []string{"is-active", "start"}) || passed.String() != text {
		t.Errorf("got %q and %q", got, &passed)
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
