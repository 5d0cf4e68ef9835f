package main

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

func somePlan(seed uint64) soakPlan {
	return soakPlan{Nodes: 5000, Length: time.Hour, Seed: seed, Churn: 10, Kills: 3}
}

// TestPlanIsRepeatable: the seed alone decides, and kills and churn change no edit.
func TestPlanIsRepeatable(t *testing.T) {
	first := somePlan(7).events()
	if diff := cmp.Diff(first, somePlan(7).events()); diff != "" {
		t.Errorf("the same seed gives other events:\n%s", diff)
	}
	if cmp.Equal(somePlan(7).edits(), somePlan(8).edits()) {
		t.Error("another seed gives the same edits")
	}
	calm := somePlan(7)
	calm.Churn, calm.Kills = 0, 0
	if diff := cmp.Diff(somePlan(7).edits(), calm.events()); diff != "" {
		t.Errorf("without churn and kills, the edits are others:\n%s", diff)
	}
	if !slices.IsSortedFunc(first, func(a, b event) int { return int(a.At - b.At) }) {
		t.Error("the events are not in their order")
	}
}

// TestPlanHasEverything: every kind of edit comes, and about as many as the fleet can follow.
func TestPlanHasEverything(t *testing.T) {
	edits := counts{}
	for seed := range uint64(20) {
		kinds := counts{}
		for _, e := range somePlan(seed).events() {
			kinds[e.Kind]++
			edits[e.Kind]++
		}
		if kinds[kindKill] != 3 || kinds[kindJoin] != 600 || kinds[kindLeave] != 600 || kinds[kindMove] != 600 ||
			kinds[kindRestore] != float64(len(soakParts)) {
			t.Errorf("seed %d: %v", seed, kinds)
		}
		if n := len(somePlan(seed).edits()); n < 50 || n > 400 {
			t.Errorf("seed %d: %d edits", seed, n)
		}
	}
	for _, kind := range []string{"resume", "enable"} {
		if edits[kind] == 0 {
			t.Errorf("no %s", kind)
		}
	}
	for _, e := range soakEdits {
		if edits[e.kind] == 0 {
			t.Errorf("no %s", e.kind)
		}
	}
}

// TestPlanEnds: at the end nothing holds a Skyhook, each has its first packages alone, and no version was ever lowered.
func TestPlanEnds(t *testing.T) {
	for seed := range uint64(50) {
		versions := map[string]int{}
		last := map[string]*v1alpha1.Skyhook{}
		for _, e := range somePlan(seed).edits() {
			last[e.Target] = e.Want
			var minor int
			if _, err := fmt.Sscanf(e.Want.Spec.Packages["package-0"].Version, "1.%d.0", &minor); err != nil {
				t.Fatal(err)
			}
			if before := versions[e.Target]; minor < before {
				t.Fatalf("seed %d: %s: 1.%d.0 after 1.%d.0", seed, e.Target, minor, before)
			}
			versions[e.Target] = minor
		}
		for _, p := range soakParts {
			s, first := last[p.name], p.skyhook()
			if len(s.Annotations) > 0 || len(s.Spec.Packages) != len(first.Spec.Packages) ||
				s.Spec.Priority != first.Spec.Priority ||
				!cmp.Equal(s.Spec.InterruptionBudget, first.Spec.InterruptionBudget) {
				t.Errorf("seed %d: %s is at last %v %+v", seed, p.name, s.Annotations, s.Spec)
			}
		}
	}
}

// TestRecreatedIsLeftAlone: while a Skyhook is recreated, and while it is held, nothing else happens to it that would
// not work.
func TestRecreatedIsLeftAlone(t *testing.T) {
	held := map[string]bool{}
	for _, e := range somePlan(3).edits() {
		if e.Kind == kindRecreate && held[e.Target] {
			t.Errorf("%s is recreated at %s while it is held", e.Target, e.At)
		}
		held[e.Target] = len(e.Want.Annotations) > 0
		if len(e.Want.Annotations) > 1 {
			t.Errorf("%s is paused and disabled", e.Target)
		}
	}
}

// TestChurn: only nodes that are there leave or move, and as many are there at the end as at the beginning.
func TestChurn(t *testing.T) {
	p := somePlan(5)
	p.Nodes = 60
	there := map[string]bool{}
	for i := range p.Nodes {
		there[nodeName(i)] = true
	}
	for _, e := range p.churn() {
		switch {
		case e.Kind == kindJoin:
			there[e.Target] = true
		case !there[e.Target]:
			t.Fatalf("%s of %s, which is not there", e.Kind, e.Target)
		case e.Kind == kindLeave:
			delete(there, e.Target)
		}
	}
	if len(there) != p.Nodes {
		t.Errorf("%d nodes at the end", len(there))
	}
}

// TestHalves: nothing happens twice or not at all, the times of the second begin anew, and in the middle nothing is held.
func TestHalves(t *testing.T) {
	for seed := range uint64(50) {
		p := somePlan(seed)
		if seed%2 == 1 {
			p.Length = time.Minute // with large fleets, an edit or two
		}
		first, second := p.halves()
		if got := len(first) + len(second); got != len(p.events()) {
			t.Errorf("seed %d: %d events of %d", seed, got, len(p.events()))
		}
		held := map[string]bool{}
		for _, e := range first {
			if e.Want != nil {
				held[e.Target] = len(e.Want.Annotations) > 0
			}
		}
		for name, is := range held {
			if is {
				t.Errorf("seed %d: %s is held in the middle", seed, name)
			}
		}
		if at := first[len(first)-1].At; at > p.middle() {
			t.Errorf("seed %d: the first half ends at %s", seed, at)
		}
		if begin, end := second[0].At, second[len(second)-1].At; begin > time.Minute || end != p.Length-p.middle() {
			t.Errorf("seed %d: the second half is from %s to %s", seed, begin, end)
		}
		for _, e := range second {
			if e.Kind == kindKill {
				t.Errorf("seed %d: a kill after the middle", seed)
			}
		}
	}
}

// TestKills: one in each ninth of the first third.
func TestKills(t *testing.T) {
	for seed := range uint64(50) {
		for i, e := range somePlan(seed).kills() {
			if begin := time.Duration(i) * 400 * time.Second; e.At < begin || e.At > begin+4*time.Minute {
				t.Errorf("seed %d: kill %d at %s", seed, i, e.At)
			}
		}
	}
}

func TestSoakCourse(t *testing.T) {
	for node, fails := range map[string]bool{
		nodeName(39): false, nodeName(40): true, nodeName(107): true, nodeName(108): false,
	} {
		if got := soakCourse(node).Fails; got != fails {
			t.Errorf("%s: %t", node, got)
		}
	}
	for _, p := range soakParts {
		s := p.skyhook()
		n := 0
		for i := range 2 * racks {
			if selects(s, newNode(i)) {
				n++
			}
		}
		if want := 2 * len(p.racks()); n != want {
			t.Errorf("%s selects %d of %d nodes, not %d", p.name, n, 2*racks, want)
		}
	}
}
