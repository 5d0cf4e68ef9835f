//go:build integration

package tutorial

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

const repository = "../.."

// TestPackages does what the tutorial for authors of packages says: each
// command block, one after the other, as one would in a shell.
func TestPackages(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Fatal("the tutorial tries a package on this machine, which needs root")
	}
	raw, err := os.ReadFile(repository + "/docs/packages.md")
	if err != nil {
		t.Fatal(err)
	}
	// The folder that the tutorial works in is one of this test.
	work := t.TempDir()
	page := strings.ReplaceAll(string(raw), "/tmp/tutorial", work)
	blocks, err := section(page, "Tutorial: a package in ten minutes")
	if err != nil {
		t.Fatal(err)
	}
	outputs := follow(t, copyRepository(t), blocks)
	for i, b := range blocks {
		switch b.language {
		case "sh":
		case "text":
			if i == 0 || blocks[i-1].language != "sh" {
				t.Errorf("line %d: no command is before this output", b.line)
			} else if got := outputs[i-1]; !shows(b.text, got) {
				t.Errorf("line %d: the commands before printed\n%s", b.line, got)
			}
		case "yaml":
			if err := yaml.UnmarshalStrict([]byte(b.text), new(v1alpha1.Skyhook)); err != nil {
				t.Errorf("line %d: no Skyhook: %v", b.line, err)
			}
		default:
			t.Errorf("line %d: a block of %q is not checked; make it sh, text or yaml", b.line, b.language)
		}
	}
}

// follow runs the command blocks in one shell that begins in dir, and returns
// the output of each by its index.
func follow(t *testing.T, dir string, blocks []block) map[int]string {
	t.Helper()
	const mark = "\x1e"
	var script strings.Builder
	script.WriteString("set -euo pipefail\n")
	for i, b := range blocks {
		if b.language == "sh" {
			fmt.Fprintf(&script, "%s\nprintf '%s%d%s'\n", b.text, `\036`, i, `\036`)
		}
	}
	cmd := exec.Command("bash", "-c", script.String())
	cmd.Dir = dir
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, strings.ReplaceAll(out.String(), mark, "\n"))
	}
	outputs := map[int]string{}
	parts := strings.Split(out.String(), mark)
	for i := 0; i+1 < len(parts); i += 2 {
		var index int
		if _, err := fmt.Sscan(parts[i+1], &index); err != nil {
			t.Fatalf("the output has a mark of its own: %q", parts[i+1])
		}
		outputs[index] = parts[i]
	}
	return outputs
}

// copyRepository makes a copy to build in, of the files as they are now.
func copyRepository(t *testing.T) string {
	t.Helper()
	list := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = repository
	names, err := list.Output()
	if err != nil {
		t.Fatalf("list the repository's files: %v", err)
	}
	dir := filepath.Join(t.TempDir(), "skyhook")
	for name := range strings.SplitSeq(strings.TrimSuffix(string(names), "\x00"), "\x00") {
		if err := copyFile(filepath.Join(repository, name), filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("copy the repository: %v", err)
		}
	}
	return dir
}

func copyFile(from, to string) error {
	info, err := os.Stat(from)
	if err != nil || info.IsDir() {
		return err
	}
	raw, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, raw, info.Mode())
}
