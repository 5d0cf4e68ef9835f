package packagefile_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

func tree(raw []byte, files ...string) fstest.MapFS {
	fsys := fstest.MapFS{packagefile.ConfigFile: {Data: raw, Mode: 0o644}}
	for _, file := range files {
		fsys[file] = &fstest.MapFile{Data: []byte("#!/bin/sh\n"), Mode: 0o755}
	}
	return fsys
}

func TestLoad_ListsEveryMissingScript(t *testing.T) {
	pkg, report, err := packagefile.Load(tree(config(t)))
	if err != nil || pkg != nil {
		t.Fatalf("package %v, error %v", pkg, err)
	}
	text := report.Err().Error()
	for _, want := range []string{"/modes/apply/0/path", "skyhook_dir/run.sh", "/modes/apply-check/0/path", "skyhook_dir/run_check.sh"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
}

func TestLoad_FilesAndSchemaTogether(t *testing.T) {
	_, report, err := packagefile.Load(tree(config(t, unset("package_version")), "skyhook_dir/run.sh"))
	must(t, err)
	if len(report.Errors) != 2 {
		t.Errorf("want the missing key and the missing file: %v", report.Err())
	}
}

func TestLoad_NoConfig(t *testing.T) {
	pkg, report, err := packagefile.Load(fstest.MapFS{})
	if err != nil || pkg != nil || len(report.Errors) != 1 || report.Errors[0].Fix == "" {
		t.Errorf("package %v, report %+v, error %v", pkg, report, err)
	}
}

func TestLoad_ScriptIsADirectory(t *testing.T) {
	fsys := tree(config(t), "skyhook_dir/run_check.sh", "skyhook_dir/run.sh/inner")
	_, report, err := packagefile.Load(fsys)
	if err != nil || len(report.Errors) != 1 || !strings.Contains(report.Errors[0].Message, "not a regular file") {
		t.Errorf("report %v, error %v", report.Err(), err)
	}
}

func TestLoad_UnsafePathIsNeverLookedAt(t *testing.T) {
	fsys := spyFS{FS: tree(config(t, firstStep(set("path", "../../etc/passwd"))), "skyhook_dir/run_check.sh"), t: t}
	_, report, err := packagefile.Load(fsys)
	if err != nil || len(report.Errors) != 1 {
		t.Errorf("report %v, error %v", report.Err(), err)
	}
}

// spyFS fails the test when a path outside the package is opened.
type spyFS struct {
	fs.FS
	t *testing.T
}

func (s spyFS) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) || strings.Contains(name, "passwd") {
		s.t.Errorf("opened %s", name)
	}
	return s.FS.Open(name)
}

func TestLoad_Warnings(t *testing.T) {
	two := func(a, b string) []byte {
		return config(t, modes(map[string]any{"apply": []any{step(a)}, "apply-check": []any{step(b)}}))
	}
	tests := map[string]struct {
		raw   []byte
		files []string
		want  []string
	}{
		"script as check":  {two("foo.sh", "foo.sh"), []string{"skyhook_dir/foo.sh"}, nil},
		"other check":      {two("foo.sh", "bar.sh"), []string{"skyhook_dir/foo.sh", "skyhook_dir/bar.sh"}, []string{"foo_check.sh"}},
		"without ending":   {two("foo", "bar"), []string{"skyhook_dir/foo", "skyhook_dir/bar"}, []string{"foo_check"}},
		"in a folder":      {two("a.d/foo", "a.d/foo_check"), []string{"skyhook_dir/a.d/foo", "skyhook_dir/a.d/foo_check"}, nil},
		"dot in its place": {two("./foo.sh", "foo_check.sh"), []string{"skyhook_dir/foo.sh", "skyhook_dir/foo_check.sh"}, []string{"./foo_check.sh"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			pkg, report, err := packagefile.Load(tree(test.raw, test.files...))
			if err != nil || pkg == nil {
				t.Fatalf("error %v, report %v", err, report.Err())
			}
			if len(report.Warnings) != len(test.want) {
				t.Fatalf("warnings: %v", report.Warnings)
			}
			for i, want := range test.want {
				if !strings.Contains(report.Warnings[i].Fix, want) {
					t.Errorf("warning %v, want %s", report.Warnings[i], want)
				}
			}
		})
	}
}

func TestLoad_WarnsOfScriptsThatAreNotExecutable(t *testing.T) {
	fsys := tree(config(t), "skyhook_dir/run.sh", "skyhook_dir/run_check.sh")
	fsys["skyhook_dir/run.sh"].Mode = 0o644
	pkg, report, err := packagefile.Load(fsys)
	if err != nil || pkg == nil || len(report.Warnings) != 1 || !strings.Contains(report.Warnings[0].Fix, "chmod +x") {
		t.Errorf("warnings %v, error %v", report.Warnings, err)
	}
}

// packageFolder writes a valid package to a new folder.
func packageFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	must(t, os.CopyFS(dir, tree(config(t), "skyhook_dir/run.sh", "skyhook_dir/run_check.sh")))
	return dir
}

func TestOpen_FolderOrConfig(t *testing.T) {
	dir := packageFolder(t)
	for _, name := range []string{dir, filepath.Join(dir, "config.json")} {
		pkg, report, err := packagefile.Open(name)
		if err != nil || pkg == nil {
			t.Errorf("%s: error %v, report %v", name, err, report.Err())
		}
	}
	if _, _, err := packagefile.Open(filepath.Join(dir, "skyhook_dir/run.sh")); err == nil {
		t.Error("any file was taken for a package")
	}
	if _, _, err := packagefile.Open(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing folder: %v", err)
	}
}

func TestOpen_ScriptOutsideThePackageIsRefused(t *testing.T) {
	dir := packageFolder(t)
	outside := filepath.Join(t.TempDir(), "outside.sh")
	must(t, os.WriteFile(outside, []byte("#!/bin/sh\n"), 0o755))
	script := filepath.Join(dir, "skyhook_dir/run.sh")
	must(t, errors.Join(os.Remove(script), os.Symlink(outside, script)))
	_, report, err := packagefile.Open(dir)
	if err != nil || len(report.Errors) != 1 || report.Errors[0].Pointer != "/modes/apply/0/path" {
		t.Errorf("report %v, error %v", report.Err(), err)
	}
}

func TestOpen_OversizedConfig(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "config.json"), bytes.Repeat([]byte(" "), 5<<20), 0o644))
	if _, _, err := packagefile.Open(dir); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("got %v", err)
	}
}

func TestDescribe(t *testing.T) {
	pkg, _ := packagefile.Parse(config(t))
	var b strings.Builder
	must(t, pkg.Describe(&b))
	for _, want := range []string{"package tuning 1.2.3", "needs config map key sysctl.conf", "apply ", "run.sh", "apply-check"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	if err := pkg.Describe(brokenWriter{}); err == nil {
		t.Error("a failing writer was ignored")
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("closed") }
