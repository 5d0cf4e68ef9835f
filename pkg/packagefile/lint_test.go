package packagefile_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

// must ends the test at an error.
func must(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// shippable is a package without faults, changed by the edits.
func shippable(t testing.TB, edits ...func(fstest.MapFS)) fstest.MapFS {
	fsys := tree(config(t), "skyhook_dir/run.sh", "skyhook_dir/run_check.sh")
	for _, edit := range edits {
		edit(fsys)
	}
	return fsys
}

func put(name, content string, mode fs.FileMode) func(fstest.MapFS) {
	return func(fsys fstest.MapFS) { fsys[name] = &fstest.MapFile{Data: []byte(content), Mode: mode} }
}

func link(name, target string) func(fstest.MapFS) { return put(name, target, fs.ModeSymlink|0o777) }

// paths makes the apply step and its check run other scripts.
func paths(t testing.TB, apply, check string) func(fstest.MapFS) {
	return put("config.json", string(config(t, modes(map[string]any{"apply": []any{step(apply)}, "apply-check": []any{step(check)}}))), 0o644)
}

// configText changes the text of config.json.
func configText(t testing.TB, from, to string) func(fstest.MapFS) {
	text := string(config(t))
	if !strings.Contains(text, from) {
		t.Fatalf("no %s in %s", from, text)
	}
	return put("config.json", strings.Replace(text, from, to, 1), 0o644)
}

func TestLint_FindsNothing(t *testing.T) {
	const elf = "\x7fELF\x02\r\n"
	tests := map[string][]func(fstest.MapFS){
		"a plain package":                   nil,
		"a program instead of a script":     {put("skyhook_dir/run.sh", elf, 0o755)},
		"a library that scripts source":     {put("skyhook_dir/lib.sh", "log() { echo; }\n", 0o644)},
		"CR and LF where it does no harm":   {put("skyhook_dir/run.sh", "#!/usr/bin/python3\nprint(1)\r\n", 0o755)},
		"data with any line ends":           {put("skyhook_dir/data.txt", "a\r\n", 0o644)},
		"env finds the interpreter":         {put("skyhook_dir/run.sh", "#!/usr/bin/env bash\n", 0o755)},
		"a space before the interpreter":    {put("skyhook_dir/run.sh", "#! /bin/sh -e\n", 0o755)},
		"executable for the owner alone":    {put("skyhook_dir/run.sh", "#!/bin/sh\n", 0o700)},
		"no line end after the interpreter": {put("skyhook_dir/run.sh", "#!/bin/sh", 0o755)},
		"a link to a script of the package": {link("skyhook_dir/run.sh", "sub/real"), put("skyhook_dir/sub/real", "#!/bin/sh\n", 0o755)},
		"a link to the configMap":           {link("skyhook_dir/settings", "../configmaps/sysctl.conf")},
		"links within root_dir":             {link("root_dir/etc/a", "../usr/b"), link("root_dir/etc/c", ".")},
		"a link to a file of the host":      {link("root_dir/etc/a", "/usr/lib/b")},
		"a script for the host, as it is":   {put("root_dir/usr/bin/x.sh", "echo\r\n", 0o644)},
		"keys of one's own":                 {configText(t, `"modes"`, `"description":"x","maintainer":"y","modes"`)},
		"the same key in two objects":       {configText(t, `"modes"`, `"a":{"k":1},"b":[{"k":1},{"k":1}],"modes"`)},
	}
	for name, edits := range tests {
		t.Run(name, func(t *testing.T) {
			pkg, report, err := packagefile.Lint(t.Context(), shippable(t, edits...))
			if err != nil || pkg == nil || len(report.Errors)+len(report.Warnings) != 0 {
				t.Errorf("package %v, report %+v, error %v", pkg, report, err)
			}
		})
	}
}

// TestLint_ExecutableBits: without them a script runs all the same, as the agent sets them.
func TestLint_ExecutableBits(t *testing.T) {
	for name, edit := range map[string]func(fstest.MapFS){
		"skyhook_dir/run.sh":       put("skyhook_dir/run.sh", "#!/bin/sh\n", 0o644),
		"skyhook_dir/run_check.sh": put("skyhook_dir/run_check.sh", "\x7fELF", 0o644),
		"skyhook_dir/lib/x.sh":     put("skyhook_dir/lib/x.sh", "#!/bin/sh\n", 0o644),
	} {
		_, report, err := packagefile.Lint(t.Context(), shippable(t, edit))
		if err != nil || len(report.Errors) != 0 || len(report.Warnings) != 1 {
			t.Fatalf("%s: report %+v, error %v", name, report, err)
		}
		if got := report.Warnings[0]; got.File != name || got.Message != "is not executable" || !strings.Contains(got.Fix, "chmod +x") {
			t.Errorf("got %+v", got)
		}
	}
}

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"a b": "a b", "é–…": "é–…", "\x1b]0;x\a": `\x1b]0;x\a`, "a\nb": `a\nb`, "\u009b31m": `\u009b31m`, "\u202eab": `\u202eab`, "a\xffb": `a\xffb`, "\x7f": `\x7f`,
	} {
		if got := packagefile.Printable(text); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
	p := packagefile.Problem{File: "skyhook_dir/\x1b[31m", Message: "is a link to a\rb", Fix: "x"}
	if got, want := p.String(), `skyhook_dir/\x1b[31m: is a link to a\rb; x`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestLint_Errors(t *testing.T) {
	const run = "skyhook_dir/run.sh"
	tests := map[string]struct {
		edit                        func(fstest.MapFS)
		file, pointer, message, fix string
	}{
		"no #! line":                   {put(run, "echo\n", 0o755), run, "", "does not begin with #!", "#!/bin/bash"},
		"an empty script":              {put(run, "", 0o755), run, "", "does not begin with #!", "#!/bin/bash"},
		"a byte order mark":            {put(run, "\xef\xbb\xbf#!/bin/sh\n", 0o755), run, "", "byte order mark", "without"},
		"CR and LF":                    {put(run, "#!/bin/sh\r\necho\r\n", 0o755), run, "", "CR and LF", "dos2unix"},
		"#! without an interpreter":    {put(run, "#!\necho", 0o755), run, "", "without an interpreter", "#!/bin/bash"},
		"CR and LF, and options":       {put(run, "#!/bin/sh -e\r\necho\n", 0o755), run, "", "CR and LF", "eol=lf"},
		"CR and LF in a later line":    {put(run, "#!/bin/sh\necho\ntouch a\r\n", 0o755), run, "", "line 3 ends with CR", "dos2unix"},
		"CR and LF in a library":       {put("skyhook_dir/lib.sh", "a=1\r\n", 0o644), "skyhook_dir/lib.sh", "", "line 1 ends with CR", `printf 'text\r\n'`},
		"an interpreter without path":  {put(run, "#!bash\n", 0o755), run, "", "interpreter bash without its path", "#!/usr/bin/env bash"},
		"a library with a bad #! line": {put("skyhook_dir/lib.sh", "#!sh\n", 0o755), "skyhook_dir/lib.sh", "", "interpreter sh", "/usr/bin/env sh"},
		"a link to a bad script": {
			func(fsys fstest.MapFS) { link(run, "real")(fsys); put("skyhook_dir/real", "echo\n", 0o755)(fsys) },
			run, "", "does not begin with #!", "#!/bin/bash",
		},
		"another case":           {paths(t, "Run.sh", "run_check.sh"), "config.json", "/modes/apply/0/path", "does not exist", "write it as run.sh"},
		"a link to nothing":      {link("skyhook_dir/run.sh", "gone.sh"), "config.json", "/modes/apply/0/path", "a link that leads to no file", "relative path"},
		"backslashes":            {paths(t, `a\run.sh`, "run_check.sh"), "config.json", "/modes/apply/0/path", "does not exist", "by '/'"},
		"an absolute link":       {link("skyhook_dir/x", "/etc/passwd"), "skyhook_dir/x", "", "out of the package", "relative path"},
		"a link that climbs":     {link("skyhook_dir/a/x", "../../../x"), "skyhook_dir/a/x", "", "out of the package", "copy it"},
		"a link out of root_dir": {link("root_dir/etc/x", "../../skyhook_dir/run.sh"), "root_dir/etc/x", "", "out of root_dir", "absolute"},
		"a pipe":                 {put("skyhook_dir/p", "", fs.ModeNamedPipe), "skyhook_dir/p", "", "named pipe", "remove"},
		"a socket":               {put("root_dir/run/s", "", fs.ModeSocket), "root_dir/run/s", "", "socket", "remove"},
		"a device":               {put("root_dir/dev/null", "", fs.ModeDevice|fs.ModeCharDevice), "root_dir/dev/null", "", "device", "remove"},
		"an endless name":        {put("root_dir/"+strings.Repeat(strings.Repeat("x", 239)+"/", 18), "", 0o644), "root_dir/" + strings.Repeat("x", 91) + "…", "", "a name of 4", "may have 4096"},
		"endless folders":        {put("root_dir/"+strings.Repeat("a/", 64)+"b", "", 0o644), "root_dir/" + strings.Repeat("a/", 45) + "a…", "", "more than 64 folders", "move it"},
		"root_dir is a file":     {put("root_dir", "", 0o644), "root_dir", "", "not a folder", "folder"},
		"root_dir is a link":     {link("root_dir", "skyhook_dir"), "root_dir", "", "not a folder", "folder"},
		"a key twice":            {configText(t, `"package_name"`, `"package_name":"x","package_name"`), "config.json", "/package_name", "more than once", "last"},
		"a key three times":      {configText(t, `"package_name"`, `"package_name":"x","package_name":"y","package_name"`), "config.json", "/package_name", "more than once", "last"},
		"a key of a step twice":  {configText(t, `"on_host"`, `"on_host":false,"on_host"`), "config.json", "/modes/apply/0/on_host", "more than once", "last"},
		"a mode twice":           {configText(t, `"apply":`, `"apply":[],"apply":`), "config.json", "/modes/apply", "more than once", "last"},
		"what Load finds too":    {configText(t, `"1.2.3"`, `"v1"`), "config.json", "/package_version", `"v1"`, "semantic version"},
		"no config.json":         {func(fsys fstest.MapFS) { delete(fsys, "config.json") }, "config.json", "", "does not exist", "add it"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, report, err := packagefile.Lint(t.Context(), shippable(t, test.edit))
			if err != nil || len(report.Errors) != 1 {
				t.Fatalf("report %+v, error %v", report, err)
			}
			got := report.Errors[0]
			if got.File != test.file || got.Pointer != test.pointer || !strings.Contains(got.Message, test.message) || !strings.Contains(got.Fix, test.fix) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestLint_Warnings(t *testing.T) {
	tests := map[string]struct {
		edit                   func(fstest.MapFS)
		file, pointer, message string
		fix                    string
	}{
		"camel case":        {configText(t, `"modes"`, `"packageName":"x","modes"`), "config.json", "/packageName", "ignored", "package_name"},
		"capital":           {configText(t, `"modes"`, `"Modes":{},"modes"`), "config.json", "/Modes", "ignored", "modes"},
		"hyphen":            {configText(t, `"modes"`, `"schema-version":"v1","modes"`), "config.json", "/schema-version", "ignored", "schema_version"},
		"letter missing":    {configText(t, `"modes"`, `"expected_config_file":[],"modes"`), "config.json", "/expected_config_file", "ignored", "expected_config_files"},
		"letters swapped":   {configText(t, `"modes"`, `"pakcage_version":"1","modes"`), "config.json", "/pakcage_version", "ignored", "package_version"},
		"not a tag":         {configText(t, `"1.2.3"`, `"1.2.3+build.4"`), "config.json", "/package_version", "tag of an image", "'+'"},
		"long way round":    {paths(t, "./run.sh", "./run.sh"), "config.json", "/modes/apply/0/path", "shortest", "write it as run.sh"},
		"nothing checks it": {paths(t, "run.sh", "other.sh"), "config.json", "/modes/apply/0/path", "no check step", "run_check.sh"},
		"two of a kind":     {put("root_dir/etc/X", "", 0o644), "root_dir/etc/x", "", "upper and lower case", "rename"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			fsys := shippable(t, test.edit)
			put("skyhook_dir/other.sh", "#!/bin/sh\n", 0o755)(fsys)
			put("root_dir/etc/x", "", 0o644)(fsys)
			pkg, report, err := packagefile.Lint(t.Context(), fsys)
			if err != nil || pkg == nil || len(report.Errors) != 0 {
				t.Fatalf("report %+v, error %v", report, err)
			}
			if !slices.ContainsFunc(report.Warnings, func(p packagefile.Problem) bool {
				return p.File == test.file && p.Pointer == test.pointer && strings.Contains(p.Message, test.message) && strings.Contains(p.Fix, test.fix)
			}) {
				t.Errorf("warnings: %+v", report.Warnings)
			}
		})
	}
}

// TestLint_IsStricterThanLoad: what an author has to fix, hosts go on to accept.
func TestLint_IsStricterThanLoad(t *testing.T) {
	fsys := shippable(t, put("skyhook_dir/run.sh", "echo\r\n", 0o644), configText(t, `"package_name"`, `"package_name":"x","Modes":1,"package_name"`),
		link("skyhook_dir/x", "/etc"), put("root_dir/p", "", fs.ModeNamedPipe))
	if pkg, report, err := packagefile.Load(fsys); err != nil || pkg == nil || len(report.Warnings) != 1 {
		t.Errorf("Load: report %+v, error %v", report, err)
	}
	pkg, report, err := packagefile.Lint(t.Context(), fsys)
	if err != nil || pkg == nil || len(report.Errors) != 5 || len(report.Warnings) != 2 {
		t.Errorf("Lint: package %v, report %+v, error %v", pkg, report, err)
	}
}

func TestLint_AllAtOnceWithoutConfig(t *testing.T) {
	fsys := shippable(t, put("skyhook_dir/x.sh", "#!/bin/sh\n", 0o644))
	delete(fsys, "config.json")
	pkg, report, err := packagefile.Lint(t.Context(), fsys)
	if err != nil || pkg != nil || len(report.Errors) != 1 || len(report.Warnings) != 1 {
		t.Errorf("package %v, report %+v, error %v", pkg, report, err)
	}
}

// TestLintPath with the links and pipes of a real file system.
func TestLintPath(t *testing.T) {
	dir := packageFolder(t)
	for _, name := range []string{dir, filepath.Join(dir, "config.json")} {
		if pkg, report, err := packagefile.LintPath(t.Context(), name); err != nil || pkg == nil || report.Err() != nil {
			t.Errorf("%s: report %v, error %v", name, report.Err(), err)
		}
	}
	err := errors.Join(
		os.Mkdir(filepath.Join(dir, "root_dir"), 0o755),
		syscall.Mkfifo(filepath.Join(dir, "root_dir/pipe"), 0o644),
		os.Symlink("/etc/passwd", filepath.Join(dir, "skyhook_dir/passwd")),
	)
	must(t, err)
	_, report, err := packagefile.LintPath(t.Context(), dir)
	if err != nil || len(report.Errors) != 2 || !strings.Contains(report.Err().Error(), "named pipe") {
		t.Errorf("report %v, error %v", report.Err(), err)
	}
	if _, _, err := packagefile.LintPath(t.Context(), filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing folder: %v", err)
	}
}

func TestLint_TroubleWithReadingIsNoFaultOfThePackage(t *testing.T) {
	for _, broken := range []string{"skyhook_dir/run.sh", "skyhook_dir/sub"} {
		fsys := brokenFS{shippable(t, put("skyhook_dir/sub/x", "", 0o644)), broken}
		if _, _, err := packagefile.Lint(t.Context(), fsys); err == nil || !strings.Contains(err.Error(), "disk on fire") {
			t.Errorf("%s: %v", broken, err)
		}
	}
}

// brokenFS cannot open one file.
type brokenFS struct {
	fstest.MapFS
	name string
}

func (b brokenFS) Open(name string) (fs.File, error) {
	if name == b.name {
		return nil, errors.New("disk on fire")
	}
	return b.MapFS.Open(name)
}

func (b brokenFS) ReadDir(name string) ([]fs.DirEntry, error) {
	if name == b.name {
		return nil, errors.New("disk on fire")
	}
	return b.MapFS.ReadDir(name)
}

// TestLint_IsDoneWithFoldersWithoutEnd: of those only the first is looked at.
func TestLint_IsDoneWithFoldersWithoutEnd(t *testing.T) {
	dir := packageFolder(t)
	deep, err := os.OpenRoot(dir)
	must(t, err)
	t.Cleanup(func() { _ = deep.Close() })
	must(t, deep.MkdirAll("root_dir/"+strings.Repeat("aA/", 3000), 0o755))
	_, report, err := packagefile.LintPath(t.Context(), dir)
	if err != nil || len(report.Errors) != 1 || !strings.Contains(report.Errors[0].Message, "more than 64 folders") {
		t.Errorf("report %v, error %v", report.Err(), err)
	}
}

// TestLint_IsStopped: a folder may have any number of files.
func TestLint_IsStopped(t *testing.T) {
	ctx, stop := context.WithCancelCause(t.Context())
	stop(errors.New("stopped by a signal"))
	if _, _, err := packagefile.Lint(ctx, shippable(t)); err == nil || !strings.Contains(err.Error(), "stopped by a signal") {
		t.Errorf("got %v", err)
	}
}

// TestLintPath_WaitsForNobody to write into a pipe.
func TestLintPath_WaitsForNobody(t *testing.T) {
	dir := t.TempDir()
	must(t, syscall.Mkfifo(filepath.Join(dir, "config.json"), 0o644))
	if _, _, err := packagefile.LintPath(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "config.json is not a regular file") {
		t.Errorf("got %v", err)
	}
}

func TestCheckName(t *testing.T) {
	for name, want := range map[string]string{
		"root_dir/a":                    "",
		strings.Repeat("a/", 64) + "b":  "",
		strings.Repeat("a/", 65) + "b":  "is in more than 64 folders",
		strings.Repeat("a", 255):        "",
		"b/" + strings.Repeat("a", 256): "has 256 bytes between two slashes",
		strings.Repeat("é", 2049):       "has a name of 4098 bytes",
	} {
		problem, bad := packagefile.CheckName(name)
		if bad != (want != "") || problem.Message != want || bad != (problem.Fix != "") || len(problem.File) > 110 || !utf8.ValidString(problem.File) {
			t.Errorf("%.20s…: %+v", name, problem)
		}
	}
}

func TestProblem_NamesItsPlatform(t *testing.T) {
	p := packagefile.Problem{File: "config.json", Pointer: "/modes", Message: "is bad", Fix: "fix it", Platform: "linux/arm64"}
	if got := p.String(); got != "linux/arm64: config.json /modes: is bad; fix it" {
		t.Error(got)
	}
}

// FuzzLint must find what is doubled, and never be stopped by what it finds.
func FuzzLint(f *testing.F) {
	f.Add(config(f))
	f.Add([]byte(`{"a":1,"a":[{"b":1,"b":{}}],"packageName":"x"}`))
	f.Add([]byte(`{"":{"":0,"":0},"\ud800":1}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		fsys := shippable(t, put("config.json", string(raw), 0o644))
		_, lint, err := packagefile.Lint(t.Context(), fsys)
		must(t, err)
		_, load, err := packagefile.Load(fsys)
		if err != nil || len(lint.Errors) < len(load.Errors) {
			t.Errorf("Lint finds %v\nLoad finds %v", lint.Errors, load.Errors)
		}
	})
}
