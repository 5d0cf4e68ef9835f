//go:build integration

// Package packages_test holds what skyhook package validate says about packages,
// broken and valid, by running the compiled program over them.
package packages_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/skyhook-operator/skyhook/test/hostroot"
	"github.com/skyhook-operator/skyhook/test/inputs"
)

var (
	program  string
	template = hostroot.Template{Tools: []string{"bash", "cat", "cp", "env", "mkdir"}}
)

func TestMain(m *testing.M) {
	os.Exit(template.Main(m, func(work, _ string) error {
		program = filepath.Join(work, "skyhook")
		return errors.Join(inputs.Build("../../cmd/skyhook", program), inputs.Files("broken", "valid"))
	}))
}

type problem struct{ File, Pointer, Message, Fix string }

type report struct {
	Valid            bool
	Errors, Warnings []problem
}

// validate runs the command on a package and wants its exit code to be that.
func validate(t *testing.T, code int, args ...string) report {
	t.Helper()
	template.Make(t)
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(program, append([]string{"package", "validate", "-o", "json"}, args...)...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	_ = cmd.Run()
	var got report
	if err := json.Unmarshal(stdout.Bytes(), &got); err != nil || cmd.ProcessState.ExitCode() != code || got.Valid != (code == 0) || stderr.Len() > 0 {
		t.Fatalf("exit %d, want %d\n%s%s", cmd.ProcessState.ExitCode(), code, &stdout, &stderr)
	}
	return got
}

// expectation is an expect.json.
type expectation struct {
	// What is the fault, for the list in README.md.
	What string
	problem
	// Warning says that it is none of the errors.
	Warning bool
	// Pipe is a named pipe to make, which git cannot keep.
	Pipe string
}

func folders(t *testing.T, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) == 0 {
		t.Fatalf("%s: %q, error %v", pattern, found, err)
	}
	return found
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// copied is a copy of a broken package, with what git cannot keep.
func copied(t *testing.T, dir string) (string, expectation) {
	t.Helper()
	var want expectation
	if err := json.Unmarshal(read(t, filepath.Join(dir, "expect.json")), &want); err != nil {
		t.Fatal(err)
	}
	target := filepath.Join(t.TempDir(), "package")
	if err := os.CopyFS(target, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(target, "expect.json")); err != nil {
		t.Fatal(err)
	}
	if want.Pipe == "" {
		return target, want
	}
	pipe := filepath.Join(target, want.Pipe)
	if err := os.MkdirAll(filepath.Dir(pipe), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(pipe, 0o644); err != nil {
		t.Fatal(err)
	}
	return target, want
}

func TestBroken(t *testing.T) {
	all := folders(t, "broken/*")
	if len(all) < 40 {
		t.Errorf("only %d packages", len(all))
	}
	for _, dir := range all {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			pkg, want := copied(t, dir)
			got := validate(t, 1, "--strict", pkg)
			found := got.Errors
			if want.Warning {
				found = append(found, got.Warnings...)
			}
			if len(found) != 1 {
				t.Fatalf("want one, got %+v", got)
			}
			e := found[0]
			if e.File != want.File || e.Pointer != want.Pointer || !strings.Contains(e.Message, want.Message) || !strings.Contains(e.Fix, want.Fix) {
				t.Errorf("got  %+v\nwant %+v", e, want.problem)
			}
			if want.Message == "" || want.Fix == "" {
				t.Error("expect.json has no words to look for")
			}
			mend(t, pkg)
			validate(t, 0, "--strict", pkg)
		})
	}
}

// mend puts right the one file in which a package differs from the valid one.
func mend(t *testing.T, pkg string) {
	t.Helper()
	const valid = "valid/minimal"
	is, should := files(t, pkg), files(t, valid)
	var wrong []string
	for name, content := range is {
		if should[name] != content {
			wrong = append(wrong, name)
		}
	}
	for name := range should {
		if _, there := is[name]; !there {
			wrong = append(wrong, name)
		}
	}
	slices.Sort(wrong)
	// What is in a folder that should be a file is that file's fault.
	wrong = slices.CompactFunc(wrong, func(a, b string) bool { return strings.HasPrefix(a, b+"/") || strings.HasPrefix(b, a+"/") })
	if len(wrong) != 1 {
		t.Fatalf("it differs from %s in %q, want one file", valid, wrong)
	}
	err := os.RemoveAll(filepath.Join(pkg, wrong[0]))
	if _, needed := should[wrong[0]]; needed && err == nil {
		err = exec.Command("cp", filepath.Join(valid, wrong[0]), filepath.Join(pkg, wrong[0])).Run()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// files describes what a package holds, by name: type, executable, content.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	result := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		result[name] = fmt.Sprint(entry.Type(), info.Mode()&0o100)
		if entry.Type().IsRegular() {
			result[name] += string(read(t, path))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func TestValid(t *testing.T) {
	for _, dir := range folders(t, "valid/*") {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			if got := validate(t, 0, "--strict", dir); len(got.Errors)+len(got.Warnings) != 0 {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestReadmeListsEveryFault and no other.
func TestReadmeListsEveryFault(t *testing.T) {
	readme := string(read(t, "README.md"))
	all := folders(t, "broken/*")
	for _, dir := range all {
		_, want := copied(t, dir)
		if line := "| `" + filepath.Base(dir) + "` | " + want.What + " |\n"; !strings.Contains(readme, line) {
			t.Errorf("no line %s", line)
		}
	}
	if rows := strings.Count(readme, "\n| `"); rows != len(all) {
		t.Errorf("%d rows for %d packages", rows, len(all))
	}
}
