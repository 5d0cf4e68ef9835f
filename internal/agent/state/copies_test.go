package state

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

const (
	uid   = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
	other = "00000000-9dad-11d1-80b4-00c04fd430c8"
)

func makeDirs(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		must(t, os.MkdirAll(filepath.Join(dir, name, "content"), 0o755))
	}
}

func list(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

func TestParseCopy(t *testing.T) {
	tests := map[string]struct {
		pkg, name string
		want      int64
		ok        bool
	}{
		"plain":                         {"tuning", "tuning-1.1.0-" + uid + "-7", 7, true},
		"a version with hyphens":        {"tuning", "tuning-1.1.0-rc-1-" + uid + "-7", 7, true},
		"calendar version":              {"tuning", "tuning-2024.7.7-test-" + uid + "-7", 7, true},
		"two parts":                     {"tuning", "tuning-5.4-" + uid + "-7", 7, true},
		"another package":               {"tuned", "tuning-1.1.0-" + uid + "-7", 0, false},
		"a package with a longer name":  {"tuning", "tuning-b-1.1.0-" + uid + "-7", 0, false},
		"its name goes on with a digit": {"tuning", "tuning-1-1.1.0-" + uid + "-7", 0, false},
		"no uid":                        {"tuning", "tuning-1.1.0-uid-7", 0, false},
		"no generation":                 {"tuning", "tuning-1.1.0-" + uid, 0, false},
		"too large a generation":        {"tuning", "tuning-1.1.0-" + uid + "-99999999999999999999", 0, false},
		"other folders":                 {"tuning", "flags", 0, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, ok := parseCopy(test.pkg, test.name)
			if ok != test.ok || ok && (got != generation{uid: uid, number: test.want}) {
				t.Errorf("got %+v, %v", got, ok)
			}
		})
	}
}

func TestParseResource(t *testing.T) {
	pkg, g, ok := parseResource("my-skyhook-" + uid + "-12_tuning_1.1.0")
	if !ok || pkg != "tuning" || (g != generation{uid: uid, number: 12}) {
		t.Errorf("got %s %+v %v", pkg, g, ok)
	}
	for _, id := range []string{"", "a_b_c", "x-" + uid + "-1_a", "x-" + uid + "-1_a_b_c", uid + "-1_a_b"} {
		if _, _, ok := parseResource(id); ok {
			t.Errorf("%q was read", id)
		}
	}
}

// use makes copies that the agent has worked from.
func use(t *testing.T, dir string, names ...string) {
	t.Helper()
	makeDirs(t, dir, names...)
	for _, name := range names {
		must(t, UseCopy(filepath.Join(dir, name)), UseCopy(filepath.Join(dir, name)))
	}
}

// ran notes that a step was last run from copies, each in a version of its own.
func (d Dir) ran(t *testing.T, step string, copies []string) {
	t.Helper()
	for i, name := range copies {
		d.Copy = name
		must(t, d.SetDone(newPackage(fmt.Sprintf("1.0.%d", i)), script(step), false, noon))
	}
}

func TestRemoveCopies(t *testing.T) {
	copyOf := func(generation string) string { return "a-1.0.0-" + uid + "-" + generation }
	others := func(generation string) string { return "a-1.0.0-" + other + "-" + generation }
	tests := map[string]struct {
		ranFrom map[string][]string
		left    []string
	}{
		"nothing":                        {nil, []string{"11", "13", "14"}},
		"a step":                         {map[string][]string{"a.sh": {copyOf("2")}}, []string{"11", "13", "14", "2"}},
		"a step of this one":             {map[string][]string{"a.sh": {copyOf("13")}}, []string{"11", "13", "14"}},
		"a step of two versions":         {map[string][]string{"a.sh": {copyOf("10"), copyOf("9")}}, []string{"10", "11", "13", "14"}},
		"two steps":                      {map[string][]string{"a.sh": {copyOf("2"), copyOf("13")}, "b.sh": {copyOf("9")}}, []string{"11", "13", "14", "9"}},
		"a copy that is not there":       {map[string][]string{"a.sh": {copyOf("0")}}, []string{"11", "13", "14"}},
		"a step of a deleted Skyhook":    {map[string][]string{"a.sh": {others("99")}}, []string{"11", "13", "14", "of another"}},
		"a step that was run again here": {map[string][]string{"a.sh": {others("99"), copyOf("2")}}, []string{"11", "13", "14", "2"}},
		"no name of a copy":              {map[string][]string{"a.sh": {"a-1.0.0", "b-1.0.0-" + uid + "-20"}}, []string{"11", "13", "14"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			at := Dir{Path: dir, Package: "a", Copy: copyOf("13")}
			for step, copies := range test.ranFrom {
				at.ran(t, step, copies)
			}
			kept := []string{"a-b-1.0.0-" + uid + "-1", "b-1.0.0-" + uid + "-1", "flags", "packages"}
			use(t, dir, kept...)
			use(t, dir, others("99"), copyOf("2"), copyOf("9"), copyOf("10"), copyOf("11"), copyOf("13"), copyOf("14"))
			// Nobody knows what an agent that leaves no note has run from it.
			makeDirs(t, dir, copyOf("1"))
			must(t, at.RemoveOldCopies(newPackage("1.0.0")), Dir{Path: dir, Package: "a", Copy: "flags"}.RemoveOldCopies(newPackage("1.0.0")))
			want := append(slices.Clone(kept), copyOf("1"))
			for _, generation := range test.left {
				if generation == "of another" {
					want = append(want, others("99"))
				} else {
					want = append(want, copyOf(generation))
				}
			}
			slices.Sort(want)
			if got := list(t, dir); !slices.Equal(got, want) {
				t.Errorf("left %q, want %q", got, want)
			}
			must(t, at.RemoveAllCopies())
			want = append(slices.Clone(kept), copyOf("13"), copyOf("14"))
			slices.Sort(want)
			if got := list(t, dir); !slices.Equal(got, want) {
				t.Errorf("after the package went: left %q, want %q", got, want)
			}
		})
	}
}

func TestRemoveOldInterrupts(t *testing.T) {
	at := Dir{Path: t.TempDir()}
	dir := at.interrupts()
	current := "s-" + uid + "-3_a_1.0.0"
	kept := []string{current, "s-" + uid + "-3_a_0.9.0", "s-" + uid + "-4_a_1.0.0", "s-" + uid + "-1_b_1.0.0", "else"}
	makeDirs(t, dir, kept...)
	makeDirs(t, dir, "s-"+uid+"-2_a_1.0.0", "s-"+uid+"-1_a_0.8.0", "s-"+other+"-9_a_1.0.0")
	must(t, at.RemoveOldInterrupts(current), at.RemoveOldInterrupts("no id"), Dir{Path: filepath.Join(dir, "none")}.RemoveOldInterrupts(current))
	slices.Sort(kept)
	if got := list(t, dir); !slices.Equal(got, kept) {
		t.Errorf("left %q, want %q", got, kept)
	}
}
