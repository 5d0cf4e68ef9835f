//go:build integration

package available

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const root = "../.."

// nowhere is an address where nothing answers.
const nowhere = "http://127.0.0.1:9/debian"

// ask runs the script of a repository and returns what it prints, and whether all can be had.
func ask(t *testing.T, dir string, args ...string) (said string, all bool) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), filepath.Join(dir, "tools/available"), args...).CombinedOutput()
	var status *exec.ExitError
	if err != nil && (!errors.As(err, &status) || status.ExitCode() != 1) {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out), err == nil
}

// TestNamesWhatCannotBeHad: in a repository that wants one thing of each kind that never was, these are named, and
// nothing else is.
func TestNamesWhatCannotBeHad(t *testing.T) {
	dir := t.TempDir()
	write := func(file, text string) {
		t.Helper()
		name := filepath.Join(dir, file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o700)); err != nil {
			t.Fatal(err)
		}
	}
	for file, change := range map[string][2]string{
		"tools/available":              {},
		"tools/npm":                    {"axe-core) version=", "axe-core) version=999."},
		"tools/chromium":               {"fonts-dejavu-core)", "no-such-fonts)"},
		"test/testbed/rootfs.go":       {`"cron"`, `"no-such-cron"`},
		"test/testbed/repository.go":   {`"tuned"`, `"no-such-tuned"`},
		"build/images/debian.go":       {`"bash-static"`, `"no-such-bash"`},
		"tools/gotestsum/go.mod":       {"gotest.tools/gotestsum v", "gotest.tools/gotestsum v999."},
		"test/testbed/k8s-1.31/go.mod": {"github.com/spf13/pflag v1", "github.com/spf13/pflag v1.999"},
	} {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), change[0]) {
			t.Fatalf("%s has no %q", file, change[0])
		}
		write(file, strings.Replace(string(text), change[0], change[1], 1))
	}
	write("go.mod", "module m\n\ngo 1.26\n\nrequire github.com/spf13/cobra v1.999.0\n")
	for _, args := range [][]string{{"init", "--quiet"}, {"add", "."}} {
		if out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v: %s", args, err, out)
		}
	}

	said, all := ask(t, dir)
	wanted := []string{
		"gotest.tools/gotestsum@v999.", "github.com/spf13/pflag@v1.999", "github.com/spf13/cobra@v1.999.0",
		"no-such-fonts", "no-such-cron", "no-such-tuned", "no-such-bash", "axe-core 999.",
	}
	for _, want := range wanted {
		if !strings.Contains(said, want) {
			t.Errorf("%s is not named", want)
		}
	}
	if lines := strings.Count(said, "\n"); all || lines != len(wanted) {
		t.Errorf("%d lines, %t, want %d and an error:\n%s", lines, all, len(wanted), said)
	}
}

// TestArchiveOutOfReach: one sentence says so, unless the cache has what comes from there.
func TestArchiveOutOfReach(t *testing.T) {
	mirror := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/dists/bookworm/Release" {
			http.NotFound(answer, r)
		}
	}))
	defer mirror.Close()
	dir := t.TempDir()
	config := filepath.Join(dir, "apt.conf")
	err := errors.Join(
		os.WriteFile(config, fmt.Appendf(nil, "Dir::Etc::sourcelist %q;\nDir::Etc::sourceparts \"-\";\n", dir+"/sources.list"), 0o600),
		os.WriteFile(dir+"/sources.list", []byte("deb "+nowhere+" bookworm main\n"), 0o600),
		os.MkdirAll(dir+"/warm/rootfs-1", 0o700), os.MkdirAll(dir+"/failed/rootfs-1.tmp", 0o700))
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		mirror, cache string
		want          bool
	}{
		"the nodes' mirror": {nowhere, "cold", false},
		"apt's sources":     {mirror.URL, "cold", false},
		"warm":              {nowhere, "warm", true},
		"a failed build":    {nowhere, "failed", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("APT_CONFIG", config)
			t.Setenv("DEBIAN_MIRROR", test.mirror)
			t.Setenv("SKYHOOK_CACHE", filepath.Join(dir, test.cache))
			said, reached := ask(t, root, "unless", "rootfs-*")
			if reached != test.want {
				t.Errorf("reached: %t, want %t", reached, test.want)
			}
			if !reached && (strings.Count(said, "\n") != 1 || !strings.HasPrefix(said, "Debian's archive cannot be reached ("+nowhere) ||
				!strings.Contains(said, "DEBIAN_MIRROR")) || reached && said != "" {
				t.Errorf("it says: %s", said)
			}
		})
	}
}

// TestSilence: hosts that take requests and never answer end the question, in words.
func TestSilence(t *testing.T) {
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer silent.Close()
	t.Setenv("PATIENCE", "2")
	t.Setenv("GOPROXY", silent.URL)
	t.Setenv("npm_config_registry", silent.URL)
	said, all := ask(t, root)
	for _, want := range []string{"Go modules: not every answer came within 2 s; check GOPROXY (" + silent.URL, "npm package axe-core"} {
		if all || !strings.Contains(said, want) {
			t.Errorf("no %q in: %s", want, said)
		}
	}
}
