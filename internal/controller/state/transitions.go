package state

import (
	"cmp"
	"slices"
	"sync"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// Transitions are what nodes went through since their Skyhook was planned last, so that one event of the Skyhook tells of
// all of them: one for each node would be most of the writes of a rollout. A restart loses those of a second; the
// records of the nodes have what became of them. Nil keeps none. It is ready for use, by several goroutines.
type Transitions struct {
	mu sync.Mutex
	// of is by name of the Skyhook.
	of map[string]map[Transition]*Told
}

// Transition is one kind of thing that happens to nodes.
type Transition struct {
	// Type and Reason are those of the event.
	Type, Reason     string
	Stage            v1alpha1.Stage
	State            v1alpha1.State
	Package, Version string
}

// Told is a transition with the nodes that it happened to.
type Told struct {
	Transition
	// Nodes are sorted, each once.
	Nodes []string
	// Message is what the first of Nodes said first.
	Message string
}

// Action is the action of an event about a stage. It has the package because a recorder takes two events of one object
// that differ in their text alone for the same one, and drops the text of the second.
func Action(stage v1alpha1.Stage, pkg string) string {
	if pkg == "" {
		return cmp.Or(string(stage), "Pass")
	}
	return string(stage) + "/" + pkg
}

// Add notes a transition.
func (t *Transitions) Add(skyhook, node, message string, what Transition) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of == nil {
		t.of = map[string]map[Transition]*Told{}
	}
	if t.of[skyhook] == nil {
		t.of[skyhook] = map[Transition]*Told{}
	}
	told := t.of[skyhook][what]
	if told == nil {
		told = &Told{Transition: what}
		t.of[skyhook][what] = told
	}
	at, known := slices.BinarySearch(told.Nodes, node)
	if known {
		return
	}
	told.Nodes = slices.Insert(told.Nodes, at, node)
	if at == 0 { // the event names this node before the message
		told.Message = message
	}
}

// Take returns what was noted of a Skyhook, and forgets it: by package, then by stage.
func (t *Transitions) Take(skyhook string) []Told {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []Told
	for _, told := range t.of[skyhook] {
		all = append(all, *told)
	}
	delete(t.of, skyhook)
	slices.SortFunc(all, func(a, b Told) int {
		return cmp.Or(cmp.Compare(a.Package, b.Package), cmp.Compare(a.Version, b.Version), cmp.Compare(a.Stage, b.Stage),
			cmp.Compare(a.State, b.State), cmp.Compare(a.Reason, b.Reason))
	})
	return all
}
