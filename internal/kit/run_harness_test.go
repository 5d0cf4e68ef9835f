//go:build integration

package kit_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/skyhook-operator/skyhook/internal/kit/tryout"
	"github.com/skyhook-operator/skyhook/test/hostroot"
)

// trial is a package in an author's folder, and a root to try it against.
type trial struct {
	*author
	// dir is the author's working directory.
	dir string
	// overlay is empty for trials that change the root itself.
	overlay string
}

func newTrial(t *testing.T) *trial {
	t.Helper()
	r := &trial{author: newAuthor(t), dir: t.TempDir()}
	r.Config["package_name"], r.Config["package_version"] = "motd", "1.0.0"
	r.Must(os.Mkdir(r.Path("/sys"), 0o755))
	// That of the machine is to be seen in its place.
	r.Must(os.Remove(r.Path("/dev/null")))
	return r
}

func newOverlayTrial(t *testing.T) *trial {
	t.Helper()
	r := newTrial(t)
	r.overlay = filepath.Join(overlayParent(t), "try")
	return r
}

// overlayParent is a folder in which an overlay can be; that of temporary files
// is no such folder where the machine is a container.
func overlayParent(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	const overlayFS = 0x794C7630
	var stat syscall.Statfs_t
	if err := syscall.Statfs(dir, &stat); err != nil {
		t.Fatal(err)
	}
	if stat.Type != overlayFS {
		return dir
	}
	dir, err := os.MkdirTemp("/dev/shm", "overlay-") //nolint:usetesting // the other is on an overlay
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// file is a path in the author's folder.
func (r *trial) file(elements ...string) string {
	return filepath.Join(append([]string{r.dir}, elements...)...)
}

func (r *trial) put(name, content string) {
	r.T.Helper()
	r.Must(os.MkdirAll(filepath.Dir(r.file(name)), 0o755))
	r.Must(os.WriteFile(r.file(name), []byte(content), 0o755))
}

// stage gives the package a script for a mode, and its check one that ends
// with success.
func (r *trial) stage(mode, body string) {
	r.T.Helper()
	for name, script := range map[string]string{mode: body, mode + "-check": "exit 0"} {
		if strings.HasSuffix(name, "-check-check") || name != mode && r.Modes()[name] != nil {
			continue
		}
		path := name + ".sh"
		r.put("motd/skyhook_dir/"+path, "#!/bin/bash\n"+script+"\n")
		r.Modes()[name] = []hostroot.Step{hostroot.NewStep(path)}
	}
}

func (r *trial) save() {
	r.T.Helper()
	raw, err := json.Marshal(r.Config)
	r.Must(err)
	r.put("motd/config.json", string(raw))
}

// arguments are those of a run of a stage.
func (r *trial) arguments(mode string, options ...string) []string {
	args := []string{"run", "--root", r.Root}
	if r.overlay != "" {
		args = append(args, "--overlay", r.overlay)
	}
	return append(append(args, options...), r.file("motd"), mode)
}

// try runs a stage and returns the report.
func (r *trial) try(mode string, options ...string) (tryout.Report, result) {
	r.T.Helper()
	r.save()
	ran := r.run(r.arguments(mode, append(options, "-o", "json")...)...)
	var report tryout.Report
	if err := json.Unmarshal([]byte(ran.Stdout), &report); err != nil {
		r.T.Fatalf("%s: exit %d, %v\n%s%s", mode, ran.Code, err, ran.Stdout, ran.Stderr)
	}
	return report, ran
}

// pass runs a stage that must succeed.
func (r *trial) pass(mode string, options ...string) tryout.Report {
	r.T.Helper()
	report, ran := r.try(mode, options...)
	if ran.Code != 0 || !report.Succeeded {
		r.T.Fatalf("%s: exit %d\n%s%s", mode, ran.Code, ran.Stdout, ran.Stderr)
	}
	return report
}

// listed renders changes as lines: kind, path, aspects, files below.
func listed(changes []tryout.Change) []string {
	var lines []string
	for _, c := range changes {
		line := c.Kind + " " + c.Path
		if len(c.Aspects) > 0 {
			line += " " + strings.Join(c.Aspects, " ")
		}
		if c.Below > 0 {
			line += fmt.Sprintf(" +%d", c.Below)
		}
		lines = append(lines, line)
	}
	return lines
}

func (r *trial) expectChanges(what string, got []tryout.Change, want ...string) {
	r.T.Helper()
	if !slices.Equal(listed(got), want) {
		r.T.Errorf("%s: got %q, want %q", what, listed(got), want)
	}
}

// snapshot is the content of the root by path, to see that it stays.
func (r *trial) snapshot() map[string]string {
	r.T.Helper()
	files := map[string]string{}
	r.Must(filepath.Walk(r.Root, func(path string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		stat := info.Sys().(*syscall.Stat_t)
		files[path] = fmt.Sprint(info.Mode(), stat.Uid, stat.Gid, stat.Mtim, info.Size())
		return nil
	}))
	return files
}

func (r *trial) expectUntouched(before map[string]string) {
	r.T.Helper()
	if after := r.snapshot(); !maps.Equal(before, after) {
		r.T.Errorf("the root itself changed: %v\nwas %v", after, before)
	}
}
