package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestRefused: what could only fail later, or would do something else, is refused before anything starts.
func TestRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ args, want string }{
		{"-operator /nowhere/operator plain:5", "/nowhere/operator"},
		{"-memory 99999999999999 plain:5", "-memory is 99999999999999; it is in MiB"},
		{"-timeout 0s plain:5", "-timeout is 0s"},
		{"-idle -1s plain:5", "-idle is -1s"},
		{"-container -1s plain:5", "-container is -1s"},
		{"-soak -1h 50", "-soak is -1h"},
		{"-phases config plain:5", "must begin with either install or adopt"},
		{"-phases floor,config plain:5", "after floor comes install"},
		{"-phases install,install plain:5", "name each other phase once"},
		{"-phases install,uninstall,config plain:5", "in the order [floor install adopt edit config"},
		{"-phases install,adopt plain:5", "must begin with either install or adopt"},
		{"-report " + filepath.Dir(file) + " plain:5", "is a folder"},
		{"-report " + file + "/scale.txt plain:5", "the report cannot be written"},
		{"-out " + file + "/out -report " + filepath.Dir(file) + "/x.json plain:5", "folder for logs and profiles"},
	} {
		f, err := parseFlags(append([]string{"-operator", self, "-out", t.TempDir()}, strings.Fields(c.args)...))
		if err == nil {
			if err = f.check(); err == nil {
				err = f.measure(t.Context())
			}
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.args, err, c.want)
		}
	}
}

// TestSoakRefused: a fleet that is too small for the Skyhooks of a soak is told what it needs.
func TestSoakRefused(t *testing.T) {
	for nodes, want := range map[string]string{
		"10":   `a soak needs at least 48 nodes, so that each Skyhook has some; got "10"`,
		"many": `got "many"`, "48": "", "": "say how many nodes",
	} {
		f := flags{runs: strings.Fields(nodes), soak: soakPlan{Length: time.Hour}}
		if _, err := f.soakPlan(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", nodes, err, want)
		}
	}
}

// TestFolderOfOne: a second process would delete the logs and the kubeconfig of the first.
func TestFolderOfOne(t *testing.T) {
	f := flags{out: t.TempDir()}
	report := filepath.Join(f.out, "scale.txt")
	release, err := f.reserve(report)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.reserve(report); err == nil || !strings.Contains(err.Error(), "another scale uses the folder") {
		t.Errorf("got %v while the first one runs", err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	if release, err = f.reserve(report); err != nil {
		t.Fatalf("after the first one: %v", err)
	}
	if err := release(); err != nil {
		t.Error(err)
	}
}

// TestReportIsKept: a report that cannot be written leaves the one before it.
func TestReportIsKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "scale.txt")
	if err := writeReport(file, []byte("before")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(file+".part", 0o700); err != nil { // as good as a full disk
		t.Fatal(err)
	}
	if err := writeReport(file, nil); err == nil {
		t.Error("a report that cannot be written is no error")
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != "before" {
		t.Errorf("the earlier report is now %q, %v", got, err)
	}
}

// TestFolders: a size that is measured once more leaves what the first one left.
func TestFolders(t *testing.T) {
	f, err := parseFlags([]string{"-out", "x", "plain:50", "plain:200", "plain:50x2"})
	if err != nil {
		t.Fatal(err)
	}
	runs, err := f.plan()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range runs {
		got = append(got, r.folder)
	}
	if want := []string{"x/plain-50x2", "x/plain-200x2", "x/plain-50x2-2"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestFloorWhereThereIsOne: other worlds and larger fleets are measured without it, and so is all where no time counts.
func TestFloorWhereThereIsOne(t *testing.T) {
	for args, want := range map[string]int{
		"plain:1000": 5, "plain:1001": 4, "interrupt:50": 4, "-times=false plain:50": 4, "-phases floor,install plain:5": 2,
	} {
		f, err := parseFlags(strings.Fields(args))
		if err != nil {
			t.Fatal(err)
		}
		runs, err := f.plan()
		if err != nil || len(runs) != 1 || len(runs[0].phases) != want {
			t.Errorf("%s: %+v, %v; want %d phases", args, runs, err, want)
		}
	}
}

// TestProfilesOfOneOfTwo: of a size that was measured twice, the profiles of the result that missed a range are kept, and
// of both if their mean missed a ratio.
func TestProfilesOfOneOfTwo(t *testing.T) {
	f := flags{profiles: profilesMissed}
	for name, c := range map[string]struct {
		missed func(all []Result) Result
		want   []int
	}{
		"one":        {func(all []Result) Result { return all[0] }, []int{1, 0}},
		"their mean": {func(all []Result) Result { return means(all)[all[0].name()] }, []int{1, 1}},
	} {
		var all []Result
		for range 2 {
			r := resultOf(50, nil)
			r.folder = t.TempDir()
			if err := os.WriteFile(filepath.Join(r.folder, "install-cpu-0.pb.gz"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			all = append(all, r)
		}
		if err := f.judge([]missed{{c.missed(all), "too much"}}, all); err == nil {
			t.Errorf("%s: no error", name)
		}
		for i, want := range c.want {
			if kept, _ := filepath.Glob(all[i].profiles()); len(kept) != want {
				t.Errorf("%s: result %d: %v, want %d", name, i, kept, want)
			}
		}
	}
}
