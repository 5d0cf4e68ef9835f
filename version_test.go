package skyhook

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
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
		if got := With("1.2.3", revision(&debug.BuildInfo{Settings: tt.settings}, true)); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	if got := revision(nil, false); got != "" {
		t.Errorf("without build info: %q", got)
	}
}

// programs are all that cmd has, with how each is asked and what it answers before the version.
var programs = map[string]struct {
	ask    []string
	answer string
}{
	"skyhook-operator": {[]string{"version"}, "skyhook-operator "},
	"skyhook-agent":    {[]string{"version"}, ""},
	"skyhook":          {[]string{"version", "--client-only"}, "Skyhook plugin:\t"},
}

// TestPlainBuild: what somebody builds from a checkout without any flags says of which version and which commit it is.
func TestPlainBuild(t *testing.T) {
	want := projectVersion(t) + noted(t)
	bin := build(t, "-buildvcs=auto", "./cmd/...") // the default, unless GOFLAGS has another
	built, err := filepath.Glob(bin + "*")
	if err != nil || len(built) != len(programs) {
		t.Fatalf("built %v, %v; how is each asked for its version?", built, err)
	}
	for name, p := range programs {
		if got := answer(t, bin+name, p.ask...); !strings.HasPrefix(got, p.answer+want) {
			t.Errorf("%s says %q, want %q", name, got, p.answer+want)
		}
	}
}

// TestBuildOutsideGit: a source archive has the version alone.
func TestBuildOutsideGit(t *testing.T) {
	bin := build(t, "-buildvcs=false", "./cmd/skyhook-agent")
	if got, want := answer(t, bin+"skyhook-agent", "version"), projectVersion(t)+"\n"; got != want {
		t.Errorf("says %q, want %q", got, want)
	}
}

// TestLinkedVersion: a build can be given another version, by the name that images and Dockerfiles use.
func TestLinkedVersion(t *testing.T) {
	const variable = "github.com/skyhook-operator/skyhook.linked"
	bin := build(t, "-buildvcs=false", "-ldflags=-X "+variable+"=v9.8.7", "./cmd/skyhook-agent")
	if got := answer(t, bin+"skyhook-agent", "version"); got != "v9.8.7\n" {
		t.Errorf("says %q", got)
	}
	for _, path := range []string{"build/images/programs.go", "build/operator.Dockerfile", "build/agent.Dockerfile"} {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(raw), variable) {
			t.Errorf("%s does not set %s", path, variable)
		}
	}
}

// noted is what a program says of the commit that it was built from. The go command finds no commit in a worktree of
// git, whose .git is a file, nor in a source archive.
func noted(t *testing.T) string {
	t.Helper()
	if info, err := os.Stat(".git"); err != nil || !info.IsDir() {
		return "\n"
	}
	commit, err := exec.Command("git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		t.Fatal(err)
	}
	return " (" + strings.TrimSpace(string(commit))
}

// build returns the folder, with a slash at its end, that has what go build made.
func build(t *testing.T, args ...string) string {
	t.Helper()
	bin := t.TempDir() + "/"
	if out, err := exec.Command("go", append([]string{"build", "-o", bin}, args...)...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return bin
}

func answer(t *testing.T, program string, args ...string) string {
	t.Helper()
	out, err := exec.Command(program, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", program, err, out)
	}
	return string(out)
}

func projectVersion(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile("VERSION")
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(raw))
}

// TestChartHasTheLicence: the chart is packaged from its folder alone, and passed on without the repository.
func TestChartHasTheLicence(t *testing.T) {
	for _, name := range []string{"LICENSE", "NOTICE"} {
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile("charts/skyhook-operator/" + name); err != nil || !bytes.Equal(got, want) {
			t.Errorf("the chart's %s is not that of the repository: %v", name, err)
		}
	}
}
