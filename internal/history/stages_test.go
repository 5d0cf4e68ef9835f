package history

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

func key(pkg, version string) Key {
	return Key{Package: pkg, Version: version, Stage: v1alpha1.StageApply}
}

// runs adds one for each number of seconds.
func runs(s Stages, k Key, seconds ...int) Stages {
	for _, n := range seconds {
		s = s.Add(k, time.Duration(n)*time.Second)
	}
	return s
}

func TestAdd(t *testing.T) {
	many := make([]int, 200)
	for i := range many {
		many[i] = i + 1
	}
	for _, c := range []struct {
		name     string
		seconds  []int
		kept     int
		p50, p95 int
	}{
		{"one", []int{7}, 1, 7, 7},
		{"two", []int{9, 3}, 2, 3, 9},
		{"an outlier", []int{5, 5, 5, 900}, 4, 5, 900},
		{"twenty", many[:20], 20, 10, 19},
		{"only the last count, but for the number", many, 64, 168, 197},
		{"at least a second", []int{0}, 1, 1, 1},
		{"a time that cannot be", []int{1 << 30}, 1, 3600000, 3600000},
	} {
		s := runs(nil, key("a", "1"), c.seconds...)
		if len(s) != 1 || s[0].Count != len(c.seconds) || len(s[0].Recent) != c.kept ||
			s[0].P50.Duration != time.Duration(c.p50)*time.Second || s[0].P95.Duration != time.Duration(c.p95)*time.Second {
			t.Errorf("%s: %+v", c.name, s)
		}
		if err := s.check(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestMerge(t *testing.T) {
	a := runs(runs(nil, key("a", "1"), 1, 2), key("b", "1"), 3)
	b := runs(runs(nil, key("c", "1"), 4), key("a", "1"), 5)
	before := encode(a) + encode(b)
	want := runs(runs(runs(nil, key("b", "1"), 3), key("c", "1"), 4), key("a", "1"), 1, 2, 5)
	if d := cmp.Diff(want, a.Merge(b)); d != "" {
		t.Errorf("merged (-want +got):\n%s", d)
	}
	if after := encode(a) + encode(b); after != before {
		t.Errorf("what was merged changed: %s, not %s", after, before)
	}
	var all Stages
	for i := range 100 {
		all = runs(all, key("a", fmt.Sprint(i%80)), i+1)
	}
	if len(all) != MaxStages || all[0].Version != "36" || all[MaxStages-1].Version != "19" {
		t.Errorf("%d are kept, from %s to %s", len(all), all[0].Version, all[len(all)-1].Version)
	}
}

func TestEstimate(t *testing.T) {
	reboot := Key{Package: "a", Version: "1", Stage: v1alpha1.StageInterrupt, Interrupt: v1alpha1.InterruptReboot}
	s := runs(runs(runs(runs(nil, key("a", "1"), 10, 20, 30), key("a", "2"), 40), key("b", "1"), 50, 60, 70), reboot, 600)
	with := func(k Key, change func(*Key)) Key {
		change(&k)
		return k
	}
	for _, c := range []struct {
		name string
		of   Key
		want Estimate
	}{
		{"the version", key("a", "1"), Estimate{20 * time.Second, BasisVersion, 3}},
		{"another version", key("a", "3"), Estimate{20 * time.Second, BasisPackage, 4}},
		{"another package", key("c", "1"), Estimate{40 * time.Second, BasisSkyhook, 7}},
		{"another stage", with(key("a", "1"), func(k *Key) { k.Stage = v1alpha1.StageConfig }), Estimate{}},
		{"a reboot of another package", with(reboot, func(k *Key) { k.Package = "b" }), Estimate{10 * time.Minute, BasisSkyhook, 1}},
		{"another interrupt", with(reboot, func(k *Key) { k.Interrupt = v1alpha1.InterruptService }), Estimate{}},
	} {
		got, ok := s.Estimate(c.of)
		if got != c.want || ok != (c.want.Runs > 0) {
			t.Errorf("%s: %+v, %t", c.name, got, ok)
		}
	}
}

// TestStore: what is written is read again, and what a person made of it is told, and no more.
func TestStore(t *testing.T) {
	rollouts, _ := Rollouts(nil).Next(Seen{Generation: 1, Author: "edit", Incomplete: 3, Now: start})
	rollouts, _ = rollouts.Next(Seen{Generation: 2, Incomplete: 3, Now: at(3).Time})
	stages := runs(runs(nil, key("a", "1"), 10, 20), key("b", "1"), 5)
	good := Data(rollouts, stages)
	with := func(key, value string) map[string]string {
		return map[string]string{keyRollouts: good[keyRollouts], keyStages: good[keyStages], key: value}
	}
	for _, c := range []struct {
		name             string
		data             map[string]string
		rollouts, stages string // what the errors say
	}{
		{"as written", good, "", ""},
		{"nothing", nil, "", ""},
		{"nothing so far", Data(nil, nil), "", ""},
		{"other keys", with("note", "hello"), "", ""},
		{"no JSON", with(keyRollouts, "{"), "rollouts cannot be read: unexpected end", ""},
		{"another type", with(keyStages, `{"a":1}`), "", "stages cannot be read: json"},
		{"out of order", with(keyRollouts, `[{"generation":1,"started":"2026-01-02T03:04:05Z"},{"generation":2}]`), "not in the order", ""},
		{"two that are open", with(keyRollouts, `[{"generation":2,"started":"2026-01-02T03:04:05Z"},{"generation":1,"started":"2026-01-02T03:04:05Z"}]`), "not in the order", ""},
		{"times that cannot be", with(keyStages, `[{"package":"a","stage":"apply","count":1,"recent":[-1]}]`), "", "times that cannot be"},
		{"times that overflow", with(keyStages, `[{"package":"a","stage":"apply","count":1,"recent":[99999999999]}]`), "", "stages cannot be read: json"},
		{"no name", with(keyStages, `[{"stage":"apply","count":1,"recent":[1]}]`), "", "without its name"},
		{"a count that cannot be", with(keyStages, `[{"package":"a","stage":"apply","count":0,"recent":[1]}]`), "", "times that cannot be"},
		{"a book", with(keyStages, strings.Repeat("[", MaxBytes+1)), "", "too long"},
	} {
		r, rerr := ReadRollouts(c.data)
		s, serr := ReadStages(c.data)
		check := func(what string, err error, want string, empty bool) {
			t.Helper()
			if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || !empty) {
				t.Errorf("%s: %s: %v", c.name, what, err)
			}
		}
		check("rollouts", rerr, c.rollouts, len(r) == 0)
		check("stages", serr, c.stages, len(s) == 0)
		if c.data[keyRollouts] == good[keyRollouts] && cmp.Diff(encode(rollouts), encode(r)) != "" {
			t.Errorf("%s: rollouts %+v", c.name, r)
		}
		if c.data[keyStages] == good[keyStages] && cmp.Diff(stages, s) != "" {
			t.Errorf("%s: stages %+v", c.name, s)
		}
	}
	many, err := ReadStages(map[string]string{keyStages: "[" + strings.Repeat(`{"package":"a","stage":"apply","count":1,"recent":[1]},`, 200) +
		`{"package":"a","version":"2","stage":"apply","count":1,"recent":[1]}]`})
	if err != nil || len(many) != 2 || many[0].Count != 200 || len(many[0].Recent) != maxRecent {
		t.Errorf("many of the same become %+v, %v", many, err)
	}
}

// TestSize: with the longest of everything, all of it fits many times into what an object may have, which is 1 MiB.
func TestSize(t *testing.T) {
	var r Rollouts
	for i := range 100 {
		s := Seen{Generation: 1<<62 + int64(i), Author: strings.Repeat("\x00", 500), Incomplete: 1 << 40, Failed: 1 << 40, Now: at(i).Time}
		r, _ = r.Next(s)
	}
	var stages Stages
	for i := range 100 {
		// The schema allows 43 characters for the name of a package, and 63 for a version.
		k := Key{
			Package: strings.Repeat("p", 43), Version: fmt.Sprintf("%063d", i), Stage: v1alpha1.StageUninstallInterrupt,
			Interrupt: v1alpha1.InterruptRestartAllServices,
		}
		for range 100 {
			stages = stages.Add(k, 10*maxTook)
		}
		stages[len(stages)-1].Count = 1 << 60
	}
	data := Data(r, stages)
	size := len(data[keyRollouts]) + len(data[keyStages])
	t.Logf("%d bytes", size)
	if len(r) != MaxRollouts || len(stages) != MaxStages || size > MaxBytes {
		t.Errorf("%d rollouts and %d stages have %d bytes, more than %d", len(r), len(stages), size, MaxBytes)
	}
	if _, err := ReadRollouts(data); err != nil {
		t.Error(err)
	}
	var raw []json.RawMessage
	if err := json.Unmarshal([]byte(data[keyStages]), &raw); err != nil || len(raw) != MaxStages {
		t.Errorf("%d stages, %v", len(raw), err)
	}
	if _, err := ReadStages(data); err != nil {
		t.Error(err)
	}
}
