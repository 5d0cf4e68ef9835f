package rollout_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/rollout"
)

// TestStopOfAMovedMember: the canary moves to another compartment and is complete there.
func TestStopOfAMovedMember(t *testing.T) {
	s := skyhook(0)
	in := rollout.Input{Skyhook: s, Now: now, Policy: policy(t, withCompartment("gpu"))}
	planAll(&in,
		"n1; n2; n3", "n1 erroring; n2; n3", "n1 erroring done=4/0; n2; n3", "n1 erroring done=4/0 tier=gpu; n2; n3",
		"n1 begun done=4/0 tier=gpu; n2; n3", "n1 complete done=4/0/1 tier=gpu; n2; n3",
	)
	if stateOf(s.Status, rollout.DefaultCompartment).ShouldStop {
		t.Error("n1 is complete, and the stop of the compartment that it left stays")
	}
}

// TestManyStoppedIt: more nodes than a state names are bad, and all of them are repaired.
func TestManyStoppedIt(t *testing.T) {
	const many = 8
	s := skyhook(0)
	in := rollout.Input{Skyhook: s, Now: now, Policy: policy(t, "default: {budget: {count: 8}, strategy: {fixed: {initialBatch: 8, failureThreshold: 1, safetyLimit: 100}}}")}
	step := func(each func(i int) string) {
		list := []string{"x1", "x2"}
		for i := range many {
			list = append(list, fmt.Sprintf("n%d %s", i, each(i)))
		}
		in.Nodes = nodes(strings.Join(list, "; "))
		s.Status = rollout.Plan(in)
	}
	step(func(int) string { return "" })
	step(func(int) string { return "erroring" })
	step(func(i int) string { return fmt.Sprintf("erroring done=4/%d", i) })
	done := map[string]bool{} // who gets a permit becomes complete
	for range many {
		for _, p := range s.Status.Permits {
			if done[p.Node] = true; strings.HasPrefix(p.Node, "x") && stateOf(s.Status, rollout.DefaultCompartment).ShouldStop {
				t.Fatalf("%s begins while the rollout is stopped", p.Node)
			}
		}
		step(func(i int) string {
			if done[fmt.Sprintf("n%d", i)] {
				return fmt.Sprintf("complete done=4/%d/1", i)
			}
			return fmt.Sprintf("begun done=4/%d", i)
		})
	}
	for i := range many {
		if name := fmt.Sprintf("n%d", i); !done[name] {
			t.Errorf("%s stopped the rollout, is repaired, and never gets a permit", name)
		}
	}
}

// TestUnreadableMember: nobody knows what became of the canary.
func TestUnreadableMember(t *testing.T) {
	s := skyhook(0)
	in := rollout.Input{Skyhook: s, Now: now, Policy: policy(t, stopAtOnce1)}
	planAll(&in,
		"n1; n2; n3; n4", "n1 in_progress; n2; n3; n4", "n1 begun held=NodeStateMalformed; n2; n3; n4",
		"n1 begun held=NodeStateMalformed done=4/0; n2; n3; n4",
	)
	if !stateOf(s.Status, rollout.DefaultCompartment).ShouldStop || text(s.Status.Permits) != "" {
		t.Errorf("others begin: %s", text(s.Status.Permits))
	}
}

// TestReplacedBesideTheNextBatch: the canary is replaced under its name, and the next batch begins before the new node has
// given the permit back: that permit makes no second member, however long it stays.
func TestReplacedBesideTheNextBatch(t *testing.T) {
	s := skyhook(0)
	in := rollout.Input{Skyhook: s, Now: now, Policy: policy(t, "default: {budget: {count: 4}, strategy: {fixed: {initialBatch: 1, failureThreshold: 2, safetyLimit: 100}}}")}
	in.Nodes = nodes("n1; n2; n3; n4; n5")
	s.Status = rollout.Plan(in)
	in.Nodes[0].Created, in.Now = now.Add(time.Minute), now.Add(2*time.Minute)
	for range 4 {
		s.Status = rollout.Plan(in)
		if free := unrevoked(s.Status.Permits); free > 1 {
			t.Errorf("%d nodes may work in a batch of 1: %s", free, text(s.Status.Permits))
		}
	}
}

// TestProgressIsOfTheContent: nodes that are complete with the content before do not switch the canary off.
func TestProgressIsOfTheContent(t *testing.T) {
	s := skyhook(0)
	in := rollout.Input{Skyhook: s, Now: now, Policy: policy(t, "default: {budget: {count: 4}, strategy: {fixed: {initialBatch: 1, failureThreshold: 1}}}")}
	step := func(at string) {
		in.Nodes = nodes(at)
		s.Status = rollout.Plan(in)
	}
	step("n1; n2; n3; n4; n5; n6")
	step("n1 complete done=4/0; n2; n3; n4; n5; n6")
	step("n1 complete; n2 complete done=4/1; n3; n4; n5; n6")
	step("n1 complete; n2 complete; n3 complete done=4/2; n4; n5; n6")
	s.Generation++
	s.Spec.Packages = map[string]v1alpha1.Package{"p": {Version: "2"}}
	step("n1 complete; n2 complete; n3 complete; n4 complete done=4/3; n5; n6")
	step("n1 complete; n2 complete; n3 complete; n4 complete; n5 erroring; n6")
	if !stateOf(s.Status, rollout.DefaultCompartment).ShouldStop {
		t.Errorf("the canary of the new content is bad, and others begin: %s", text(s.Status.Permits))
	}
}
