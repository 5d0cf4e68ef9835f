package state

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

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
	must(t, err)
	return string(raw)
}

func present(elements ...string) bool {
	_, err := os.Stat(filepath.Join(elements...))
	return err == nil
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func TestFlag(t *testing.T) {
	at := Dir{Path: "/h"}
	pkg := newPackage("1.1.1")
	tests := map[string]struct {
		step packagefile.Step
		want string
	}{
		"name and version":      {script("run.sh"), "/h/flags/tuning/1.1.1/run.sh_W11fWzBd"},
		"arguments":             {script("run.sh", "apply"), "/h/flags/tuning/1.1.1/run.sh_WydhcHBseSddX1swXQ=="},
		"return codes":          {packagefile.Step{Path: "run.sh", ReturnCodes: numbers("0", "1")}, "/h/flags/tuning/1.1.1/run.sh_W11fWzAsIDFd"},
		"a script in a folder":  {script("a/run.sh"), "/h/flags/tuning/1.1.1/a/run.sh_W11fWzBd"},
		"a slash in the marker": {script("run.sh", "?>?>?>"), "/h/flags/tuning/1.1.1/run.sh_Wyc/Pj8+Pz4nXV9bMF0="},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := at.Flag(pkg, test.step); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestFlag_LongArgumentsStillHaveAFlag(t *testing.T) {
	at := Dir{Path: t.TempDir()}
	pkg := newPackage("1.0.0")
	long, other := script("run.sh", strings.Repeat("x", 500)), script("run.sh", strings.Repeat("x", 501))
	must(t, at.SetDone(pkg, long, false, noon))
	if !at.IsDone(pkg, long) || at.IsDone(pkg, other) {
		t.Error("flags of long arguments are not told apart")
	}
}

func TestSetDone_CreatesMissingParentDirectories(t *testing.T) {
	at := Dir{Path: filepath.Join(t.TempDir(), "a/b")}
	pkg, step := newPackage("1.0.0"), script("sub/run.sh")
	if at.IsDone(pkg, step) {
		t.Fatal("set before")
	}
	must(t, at.SetDone(pkg, step, false, noon))
	if got, want := read(t, at.Flag(pkg, step)), "last_run: 2026-11-20T11:00:00.123456\nstep_always_runs: False"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	must(t, at.SetDone(pkg, step, true, noon))
	if got := read(t, at.Flag(pkg, step)); !strings.HasSuffix(got, "step_always_runs: True") {
		t.Errorf("got %q", got)
	}
}

func TestStart(t *testing.T) {
	at := Dir{Path: filepath.Join(t.TempDir(), "state")}
	must(t, at.Start())
	must(t, at.Start())
	if got := read(t, at.flags(), "START"); got != "" {
		t.Errorf("content %q", got)
	}
}

func TestForgetSteps(t *testing.T) {
	at := Dir{Path: t.TempDir()}
	known, gone := script("run.sh", "?>?>?>"), script("gone.sh")
	now, old := newPackage("1.1.0", known), newPackage("1.0.0", known)
	must(t, at.SetDone(now, known, false, noon))
	must(t, at.SetDone(now, gone, false, noon))
	must(t, at.SetDone(old, known, false, noon))
	neighbour := &packagefile.Package{Name: "tuned", Version: "1.0.0"}
	must(t, at.SetDone(neighbour, known, false, noon))

	must(t, at.ForgetSteps(now))
	if at.IsDone(now, known) || at.IsDone(old, known) {
		t.Error("steps of the package count as done")
	}
	if !at.IsDone(now, gone) || !at.IsDone(neighbour, known) {
		t.Error("flags of unknown steps or of other packages are gone")
	}
	must(t, at.ForgetSteps(now))
	must(t, Dir{Path: filepath.Join(t.TempDir(), "none")}.ForgetSteps(now))
}

// TestFlagsOfPackagesMadeFromOneImage: the files are shared, what they say is
// not. Flags that name no package are those of agents in the field.
func TestFlagsOfPackagesMadeFromOneImage(t *testing.T) {
	dir := t.TempDir()
	one, two, unnamed := Dir{Path: dir, Package: "one", Copy: "one-1.0.0-uid-7"}, Dir{Path: dir, Package: "two"}, Dir{Path: dir}
	step, fielded := script("run.sh"), script("field.sh")
	pkg := newPackage("1.1.0", step, fielded)
	isSet := func(step packagefile.Step, inOne, inTwo, inUnnamed bool) {
		t.Helper()
		if one.IsDone(pkg, step) != inOne || two.IsDone(pkg, step) != inTwo || unnamed.IsDone(pkg, step) != inUnnamed {
			t.Errorf("set for one %v, two %v, unnamed %v", one.IsDone(pkg, step), two.IsDone(pkg, step), unnamed.IsDone(pkg, step))
		}
	}
	must(t, one.SetDone(pkg, step, false, noon))
	isSet(step, true, false, true)
	for range 2 {
		must(t, two.SetDone(pkg, step, false, noon))
	}
	isSet(step, true, true, true)
	if got, want := read(t, one.Flag(pkg, step)), "last_run: 2026-11-20T11:00:00.123456\nstep_always_runs: False\npackage: one one-1.0.0-uid-7\npackage: two"; got != want {
		t.Errorf("flag %q", got)
	}

	must(t, unnamed.SetDone(pkg, fielded, false, noon))
	isSet(fielded, true, true, true)
	must(t, one.SetDone(pkg, fielded, true, noon))
	isSet(fielded, true, true, true)

	must(t, one.ForgetSteps(pkg))
	isSet(step, false, true, true)
	isSet(fielded, false, false, false)
	must(t, two.ForgetSteps(pkg))
	isSet(step, false, false, false)
}

// TestCopiesOfSteps: the copies that a package's steps ran from last, in all versions.
func TestCopiesOfSteps(t *testing.T) {
	dir := t.TempDir()
	one, two := Dir{Path: dir, Package: "one"}, Dir{Path: dir, Package: "two", Copy: "two-1"}
	pkg, old := newPackage("1.1.0"), newPackage("1.0.0")
	run := func(s Dir, from string, pkg *packagefile.Package, step packagefile.Step) {
		t.Helper()
		s.Copy = from
		must(t, s.SetDone(pkg, step, false, noon))
	}
	run(Dir{Path: dir}, "unknown", pkg, script("a.sh"))
	run(one, "one-1", old, script("sub/a.sh"))
	run(one, "one-1", old, script("a.sh"))
	run(one, "one-2", pkg, script("a.sh"))
	run(one, "one-3", pkg, script("b.sh"))
	run(one, "one-4", pkg, script("b.sh"))
	run(two, "two-1", pkg, script("b.sh"))
	got, err := one.copiesOfSteps(pkg)
	must(t, err)
	want := map[string][]string{}
	for name, copies := range map[string][]string{"a.sh": {"one-1", "one-2"}, "sub/a.sh": {"one-1"}, "b.sh": {"one-4"}} {
		step, err := filepath.Rel(one.Flags(pkg), one.Flag(pkg, script(name)))
		must(t, err)
		want[step] = copies
	}
	if !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, err := one.copiesOfSteps(&packagefile.Package{Name: "none", Version: "1.0.0"}); err != nil || len(got) != 0 {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestForgetSteps_OtherVersionsOfOtherPackagesStay(t *testing.T) {
	dir := t.TempDir()
	one, two := Dir{Path: dir, Package: "one"}, Dir{Path: dir, Package: "two"}
	step, gone := script("sub/run.sh"), script("gone.sh")
	now, old := newPackage("1.1.0"), newPackage("1.0.0")
	must(t, two.SetDone(old, step, false, noon))
	must(t, one.SetDone(old, step, false, noon))
	must(t, one.SetDone(old, gone, false, noon))
	must(t, one.ForgetSteps(now))
	if one.IsDone(old, step) || one.IsDone(old, gone) || !two.IsDone(old, step) {
		t.Error("flags of another version")
	}
	must(t, two.ForgetSteps(now))
	if present(dir, "flags/tuning/1.0.0") {
		t.Error("an empty directory is left")
	}
}

func TestRecordChecks(t *testing.T) {
	at, pkg := Dir{Path: t.TempDir(), Package: "one"}, newPackage("1.0.0")
	good, bad := Check{Path: "a.sh"}, Check{Path: "b.sh", Failed: true}
	expect := func(results string, verdicts ...string) {
		t.Helper()
		for _, dir := range []string{at.flags(), at.Own(pkg)} {
			found, _ := filepath.Glob(filepath.Join(dir, "*_ALL_CHECKED"))
			for i := range found {
				found[i] = filepath.Base(found[i])
			}
			if got := read(t, dir, "check_results"); got != results || !slices.Equal(found, verdicts) {
				t.Errorf("%s: results %q, verdicts %q", dir, got, found)
			}
		}
	}
	must(t, at.RecordChecks(pkg, packagefile.ApplyCheck, []Check{good, good}))
	expect("a.sh False\na.sh False", "apply-check_ALL_CHECKED")
	must(t, at.RecordChecks(pkg, packagefile.ConfigCheck, []Check{bad}))
	expect("b.sh True", "apply-check_ALL_CHECKED")
	must(t, at.RecordChecks(pkg, packagefile.ApplyCheck, []Check{good, bad}))
	expect("a.sh False\nb.sh True")
}

func TestErrorsAreReported(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o644))
	at := Dir{Path: file}
	pkg := newPackage("1.0.0", script("run.sh"))
	for name, err := range map[string]error{
		"start":      at.Start(),
		"set":        at.SetDone(pkg, script("run.sh"), false, noon),
		"checks":     at.RecordChecks(pkg, packagefile.ApplyCheck, []Check{{}}),
		"forget":     at.ForgetSteps(pkg),
		"copies":     at.RemoveOldCopies(pkg),
		"interrupts": at.RemoveOldInterrupts("s-" + uid + "-3_a_1.0.0"),
	} {
		if err == nil {
			t.Errorf("%s: no error below a file", name)
		}
	}
}
