package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func resultOf(nodes int, figures map[string]float64) Result {
	return Result{World: "plain", Phase: phaseInstall, Nodes: nodes, Packages: 2, Figures: figures}
}

func TestRanges(t *testing.T) {
	r, err := readRanges([]byte(`
results:
  plain/install/50x2: {writesPerNode: {max: 17}, seconds: {min: 1, max: 9}, kubeletWritesPerNode: {min: 5}}
  plain/install/9999x2: {seconds: {max: 1}}
ratios:
- {world: plain, phase: install, figure: cpuPerNode, of: 200x2, to: 50x2, max: 1.2}
- {world: plain, phase: install, figure: cpuPerNode, of: 9999x2, to: 50x2, max: 0}
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name         string
		small, large map[string]float64
		want         []string
	}{
		{
			"all is well",
			map[string]float64{"writesPerNode": 17, "seconds": 1, "kubeletWritesPerNode": 5, "cpuPerNode": 10},
			map[string]float64{"cpuPerNode": 12},
			nil,
		},
		{
			"each end",
			map[string]float64{"writesPerNode": 17.5, "seconds": 0.5, "kubeletWritesPerNode": 4, "cpuPerNode": 10},
			map[string]float64{"cpuPerNode": 10},
			[]string{
				"plain/install/50x2: seconds is 0.5 s, allowed is 1 to 9 (",
				"plain/install/50x2: writesPerNode is 17.5 , allowed is at most 17 (",
				"plain/install/50x2: kubeletWritesPerNode is 4 , allowed is at least 5 (",
			},
		},
		{
			"a ratio",
			map[string]float64{"writesPerNode": 17, "seconds": 1, "kubeletWritesPerNode": 5, "cpuPerNode": 10},
			map[string]float64{"cpuPerNode": 13},
			[]string{"plain/install/200x2: cpuPerNode is 1.3 times that of 50x2 (13 to 10), allowed is at most 1.2"},
		},
		{
			"a ratio of nothing",
			map[string]float64{"writesPerNode": 17, "seconds": 1, "kubeletWritesPerNode": 5, "cpuPerNode": 10},
			nil,
			[]string{"plain/install/200x2: cpuPerNode is NaN times that of 50x2"},
		},
		{
			"what was not measured",
			map[string]float64{"writesPerNode": 17, "kubeletWritesPerNode": 5, "cpuPerNode": 10},
			map[string]float64{"cpuPerNode": 10},
			[]string{"plain/install/50x2: seconds was not measured, allowed is 1 to 9 ("},
		},
	} {
		found := r.check([]Result{resultOf(50, c.small), resultOf(200, c.large)})
		if len(found) != len(c.want) {
			t.Errorf("%s: %+v", c.name, found)
			continue
		}
		for i, m := range found {
			if !strings.HasPrefix(m.Text, c.want[i]) {
				t.Errorf("%s: %q, want %q", c.name, m.Text, c.want[i])
			}
		}
	}
}

// TestRatioBetween: a size that was measured before and after the other one counts as it is between them.
func TestRatioBetween(t *testing.T) {
	r, err := readRanges([]byte(`
ratios: [{world: plain, phase: install, figure: cpuPerNode, of: 200x2, to: 50x2, max: 1.2}]`))
	if err != nil {
		t.Fatal(err)
	}
	before, after := resultOf(50, map[string]float64{"cpuPerNode": 9, "rssPeak": 1}), resultOf(50, map[string]float64{"cpuPerNode": 11})
	for cpu, want := range map[float64]int{12: 0, 12.1: 1} {
		if found := r.check([]Result{before, resultOf(200, map[string]float64{"cpuPerNode": cpu}), after}); len(found) != want {
			t.Errorf("%v: %+v", cpu, found)
		}
	}
}

// TestMostOfSeveral: what is a most stays one; a mean of peaks would be less memory than the operator had.
func TestMostOfSeveral(t *testing.T) {
	for _, f := range figures {
		got, measured := f.ofAll([]Result{resultOf(50, map[string]float64{f.Name: 3}), resultOf(50, map[string]float64{f.Name: 1})})
		want := 2.0
		if strings.Contains(f.Meaning, "the most ") || strings.Contains(f.Meaning, "largest ") ||
			strings.Contains(f.Meaning, "none took longer") {
			want = 3
		}
		if got != want || !measured {
			t.Errorf("%s: %v %v, want %v", f.Name, got, measured, want)
		}
	}
}

// TestUntimed keeps counts and sizes, which another program on the machine does not change.
func TestUntimed(t *testing.T) {
	r, err := readRanges([]byte(`
results:
  plain/install/50x2: {writesPerNode: {max: 17}, seconds: {max: 9}, rssPeak: {max: 100}, idleMillicores: {max: 20}}
ratios:
- {world: plain, phase: install, figure: cpuPerNode, of: 200x2, to: 50x2, max: 1.2}
- {world: plain, phase: install, figure: writesPerNode, of: 200x2, to: 50x2, max: 1.2}
`))
	if err != nil {
		t.Fatal(err)
	}
	found := r.untimed().check([]Result{
		resultOf(50, map[string]float64{"writesPerNode": 18, "seconds": 10, "rssPeak": 101, "idleMillicores": 21, "cpuPerNode": 10}),
		resultOf(200, map[string]float64{"writesPerNode": 27, "cpuPerNode": 20}),
	})
	var got []string
	for _, m := range found {
		got = append(got, strings.Fields(m.Text)[1])
	}
	if want := []string{"writesPerNode", "rssPeak", "writesPerNode"}; !slices.Equal(got, want) {
		t.Errorf("missed %v, want %v", got, want)
	}
	if all := len(r.check(nil)) + len(r.Results["plain/install/50x2"]) + len(r.Ratios); all != 6 {
		t.Errorf("the ranges changed: %d", all)
	}
}

func TestUnknownFiguresAreRefused(t *testing.T) {
	for _, text := range []string{
		"results: {plain/install/50x2: {second: {max: 1}}}",
		"ratios: [{world: plain, phase: install, figure: second, of: 200x2, to: 50x2, max: 1}]",
		"ratios: [{world: plain, phase: install, figure: seconds, per: writesPerNode, of: 200x2, to: 50x2, max: 1}]",
		"results: {plain/install/50x2: {seconds: {most: 1}}}",
		"results: {plane/install/50x2: {seconds: {max: 1}}}",
		"results: {plain/instal/50x2: {seconds: {max: 1}}}",
		"results: {plain/install/50: {seconds: {max: 1}}}",
		"ratios: [{world: plain, phase: install, figure: seconds, of: 200x2, to: 50, max: 1}]",
	} {
		if _, err := readRanges([]byte(text)); err == nil {
			t.Errorf("%s is accepted", text)
		}
	}
}

// TestRangesFile: what the file names exists; a name that is wrong would never be checked.
func TestRangesFile(t *testing.T) {
	r, err := readRanges(rangesFile)
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, 0, len(r.Results))
	for name := range r.Results {
		names = append(names, name)
	}
	for _, ratio := range r.Ratios {
		names = append(names, ratio.World+"/"+string(ratio.Phase)+"/"+ratio.Of, ratio.World+"/"+string(ratio.Phase)+"/"+ratio.To)
		if ratio.Min == nil && ratio.Max == nil {
			t.Errorf("ratio %+v allows everything", ratio)
		}
	}
	for _, name := range names {
		parts := strings.Split(name, "/")
		if len(parts) != 3 || !slices.Contains(worldNames(), parts[0]) || !slices.Contains(phases, Phase(parts[1])) {
			t.Errorf("%s is no world/phase/size", name)
			continue
		}
		if _, size, err := parseRun(parts[0] + ":" + parts[2]); err != nil || size.String() != parts[2] {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRuns(t *testing.T) {
	for text, want := range map[string]Size{"plain:50": {50, 2}, "plain:10000x3": {10000, 3}} {
		if world, got, err := parseRun(text); err != nil || world != "plain" || got != want {
			t.Errorf("%s: %s, %v, %v", text, world, got, err)
		}
	}
	for text, want := range map[string]string{
		"plane:50": `no world "plane"; known are failing, five,`, "50": `no world "50"`, "plain": "no size", "plain:": "no size",
		"plain:0x2": "no size", "plain:50x": "no size", "plain:-1": "no size",
		"plain:50x0": "no size; write nodes and packages as whole numbers from 1 on, like plain:500x2",
	} {
		if world, size, err := parseRun(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is %s, %v; %v", text, world, size, err)
		}
	}
	if got, err := choosePhases("install,upgrade"); err != nil || !slices.Equal(got, []Phase{phaseInstall, phaseUpgrade}) {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := choosePhases("install,"); err == nil || !strings.Contains(err.Error(), `no phase ""; known are [floor install`) {
		t.Errorf("%v", err)
	}
}

// TestFailingNodes: as many as the world says, and not all in one place.
func TestFailingNodes(t *testing.T) {
	for percent, want := range map[int][]int{0: nil, 5: {19, 39, 59, 79, 99}, 100: {0, 1, 2}} {
		var got []int
		for i := range 100 {
			if (World{Failing: percent}).fails(i) {
				got = append(got, i)
			}
		}
		if percent == 100 {
			got = got[:3]
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%d %% (-want +got):\n%s", percent, diff)
		}
	}
}
