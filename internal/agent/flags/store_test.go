package flags_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skyhook-operator/skyhook/internal/agent/flags"
	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 123456789, time.FixedZone("", 3600))

func newPackage(version string, steps ...packagefile.Step) *packagefile.Package {
	return &packagefile.Package{
		Name: "tuning", Version: version,
		Modes: map[packagefile.Mode][]packagefile.Step{packagefile.Apply: steps},
	}
}

func script(path string, arguments ...string) packagefile.Step {
	return packagefile.Step{Path: path, Arguments: arguments, ReturnCodes: numbers("0")}
}

func read(t *testing.T, elements ...string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(elements...))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func present(elements ...string) bool {
	_, err := os.Stat(filepath.Join(elements...))
	return err == nil
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestPath(t *testing.T) {
	store := flags.Store{Dir: "/h/flags"}
	pkg := newPackage("1.1.1")
	tests := map[string]struct {
		step packagefile.Step
		want string
	}{
		"make_flag_path_has_package_name": {script("run.sh"), "/h/flags/tuning/1.1.1/run.sh_W11fWzBd"},
		"make_flag_path_uses_args":        {script("run.sh", "apply"), "/h/flags/tuning/1.1.1/run.sh_WydhcHBseSddX1swXQ=="},
		"make_flag_path_uses_returncodes": {packagefile.Step{Path: "run.sh", ReturnCodes: numbers("0", "1")}, "/h/flags/tuning/1.1.1/run.sh_W11fWzAsIDFd"},
		"script_in_a_folder":              {script("a/run.sh"), "/h/flags/tuning/1.1.1/a/run.sh_W11fWzBd"},
		"slash_in_marker":                 {script("run.sh", "?>?>?>"), "/h/flags/tuning/1.1.1/run.sh_Wyc/Pj8+Pz4nXV9bMF0="},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := store.Path(pkg, test.step); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestPath_LongArgumentsStillHaveAFlag(t *testing.T) {
	store := flags.Store{Dir: t.TempDir()}
	pkg := newPackage("1.0.0")
	long, other := script("run.sh", strings.Repeat("x", 500)), script("run.sh", strings.Repeat("x", 501))
	must(t, store.Set(pkg, long, false, noon))
	if !store.IsSet(pkg, long) || store.IsSet(pkg, other) {
		t.Error("flags of long arguments are not told apart")
	}
}

func TestSet_CreatesMissingParentDirectories(t *testing.T) {
	store := flags.Store{Dir: filepath.Join(t.TempDir(), "a/b/flags")}
	pkg, step := newPackage("1.0.0"), script("sub/run.sh")
	if store.IsSet(pkg, step) {
		t.Fatal("set before")
	}
	must(t, store.Set(pkg, step, false, noon))
	if got, want := read(t, store.Path(pkg, step)), "last_run: 2026-11-20T11:00:00.123456\nstep_always_runs: False"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	must(t, store.Set(pkg, step, true, noon))
	if got := read(t, store.Path(pkg, step)); !strings.HasSuffix(got, "step_always_runs: True") {
		t.Errorf("got %q", got)
	}
}

func TestStart(t *testing.T) {
	store := flags.Store{Dir: filepath.Join(t.TempDir(), "flags")}
	must(t, store.Start())
	must(t, store.Start())
	if got := read(t, store.Dir, "START"); got != "" {
		t.Errorf("content %q", got)
	}
}

func TestClearPackage(t *testing.T) {
	store := flags.Store{Dir: t.TempDir()}
	known, gone := script("run.sh", "?>?>?>"), script("gone.sh")
	now, old := newPackage("1.1.0", known), newPackage("1.0.0", known)
	must(t, store.Set(now, known, false, noon))
	must(t, store.Set(now, gone, false, noon))
	must(t, store.Set(old, known, false, noon))
	neighbour := &packagefile.Package{Name: "tuned", Version: "1.0.0"}
	must(t, store.Set(neighbour, known, false, noon))

	must(t, store.ClearPackage(now))
	if store.IsSet(now, known) || store.IsSet(old, known) {
		t.Error("steps of the package count as done")
	}
	if !store.IsSet(now, gone) || !store.IsSet(neighbour, known) {
		t.Error("flags of unknown steps or of other packages are gone")
	}
	must(t, store.ClearPackage(now))
	must(t, flags.Store{Dir: filepath.Join(t.TempDir(), "none")}.ClearPackage(now))
}

// TestFlagsOfPackagesMadeFromOneImage: the files are shared, what they say is
// not. Flags that name no package are those of agents in the field.
func TestFlagsOfPackagesMadeFromOneImage(t *testing.T) {
	dir := t.TempDir()
	one, two, unnamed := flags.Store{Dir: dir, Package: "one", Folder: "one-1.0.0-uid-7"}, flags.Store{Dir: dir, Package: "two"}, flags.Store{Dir: dir}
	step, fielded := script("run.sh"), script("field.sh")
	pkg := newPackage("1.1.0", step, fielded)
	isSet := func(step packagefile.Step, inOne, inTwo, inUnnamed bool) {
		t.Helper()
		if one.IsSet(pkg, step) != inOne || two.IsSet(pkg, step) != inTwo || unnamed.IsSet(pkg, step) != inUnnamed {
			t.Errorf("set for one %v, two %v, unnamed %v", one.IsSet(pkg, step), two.IsSet(pkg, step), unnamed.IsSet(pkg, step))
		}
	}
	must(t, one.Set(pkg, step, false, noon))
	isSet(step, true, false, true)
	for range 2 {
		must(t, two.Set(pkg, step, false, noon))
	}
	isSet(step, true, true, true)
	if got, want := read(t, one.Path(pkg, step)), "last_run: 2026-11-20T11:00:00.123456\nstep_always_runs: False\npackage: one one-1.0.0-uid-7\npackage: two"; got != want {
		t.Errorf("flag %q", got)
	}

	must(t, unnamed.Set(pkg, fielded, false, noon))
	isSet(fielded, true, true, true)
	must(t, one.Set(pkg, fielded, true, noon))
	isSet(fielded, true, true, true)

	must(t, one.ClearPackage(pkg))
	isSet(step, false, true, true)
	isSet(fielded, false, false, false)
	must(t, two.ClearPackage(pkg))
	isSet(step, false, false, false)
}

// TestFolders: the copies that a package's steps ran from last, in all versions.
func TestFolders(t *testing.T) {
	dir := t.TempDir()
	one, two := flags.Store{Dir: dir, Package: "one"}, flags.Store{Dir: dir, Package: "two", Folder: "two-1"}
	pkg, old := newPackage("1.1.0"), newPackage("1.0.0")
	run := func(s flags.Store, folder string, pkg *packagefile.Package, step packagefile.Step) {
		t.Helper()
		s.Folder = folder
		must(t, s.Set(pkg, step, false, noon))
	}
	run(flags.Store{Dir: dir}, "unknown", pkg, script("a.sh"))
	run(one, "one-1", old, script("sub/a.sh"))
	run(one, "one-1", old, script("a.sh"))
	run(one, "one-2", pkg, script("a.sh"))
	run(one, "one-3", pkg, script("b.sh"))
	run(one, "one-4", pkg, script("b.sh"))
	run(two, "two-1", pkg, script("b.sh"))
	got, err := one.Folders(pkg)
	must(t, err)
	want := map[string][]string{}
	for name, folders := range map[string][]string{"a.sh": {"one-1", "one-2"}, "sub/a.sh": {"one-1"}, "b.sh": {"one-4"}} {
		step, err := filepath.Rel(one.PackageDir(pkg), one.Path(pkg, script(name)))
		must(t, err)
		want[step] = folders
	}
	if !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, err := one.Folders(&packagefile.Package{Name: "none", Version: "1.0.0"}); err != nil || len(got) != 0 {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestClearPackage_OtherVersionsOfOtherPackagesStay(t *testing.T) {
	dir := t.TempDir()
	one, two := flags.Store{Dir: dir, Package: "one"}, flags.Store{Dir: dir, Package: "two"}
	step, gone := script("sub/run.sh"), script("gone.sh")
	now, old := newPackage("1.1.0"), newPackage("1.0.0")
	must(t, two.Set(old, step, false, noon))
	must(t, one.Set(old, step, false, noon))
	must(t, one.Set(old, gone, false, noon))
	must(t, one.ClearPackage(now))
	if one.IsSet(old, step) || one.IsSet(old, gone) || !two.IsSet(old, step) {
		t.Error("flags of another version")
	}
	must(t, two.ClearPackage(now))
	if present(dir, "tuning", "1.0.0") {
		t.Error("an empty directory is left")
	}
}

func TestRecordChecks(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "flags")
	good, bad := flags.Check{Path: "a.sh"}, flags.Check{Path: "b.sh", Failed: true}

	must(t, flags.RecordChecks(dir, packagefile.ApplyCheck, []flags.Check{good, good}))
	if got := read(t, dir, "check_results"); got != "a.sh False\na.sh False" {
		t.Errorf("results %q", got)
	}
	if !present(dir, "apply-check_ALL_CHECKED") {
		t.Error("no verdict after success")
	}
	must(t, flags.RecordChecks(dir, packagefile.ConfigCheck, []flags.Check{bad}))
	must(t, flags.RecordChecks(dir, packagefile.ApplyCheck, []flags.Check{good, bad}))
	if got := read(t, dir, "check_results"); got != "a.sh False\nb.sh True" {
		t.Errorf("results %q", got)
	}
	if present(dir, "apply-check_ALL_CHECKED") || present(dir, "config-check_ALL_CHECKED") {
		t.Error("a verdict is left after failure")
	}
}

func TestStore_ErrorsAreReported(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o644))
	store := flags.Store{Dir: file}
	pkg := newPackage("1.0.0", script("run.sh"))
	for name, err := range map[string]error{
		"start":  store.Start(),
		"set":    store.Set(pkg, script("run.sh"), false, noon),
		"checks": flags.RecordChecks(store.Dir, packagefile.ApplyCheck, []flags.Check{{}}),
		"clear":  store.ClearPackage(pkg),
	} {
		if err == nil {
			t.Errorf("%s: no error below a file", name)
		}
	}
}
