package main

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"k8s.io/utils/ptr"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// event is one thing that happens during a soak.
type event struct {
	// At is when, from the beginning on.
	At   time.Duration `json:"at"`
	Kind string        `json:"kind"`
	// Target is a Skyhook or a node.
	Target string `json:"target,omitempty"`
	// Node is the number of one that joins; Rack, to which rack one moves.
	Node int    `json:"node,omitempty"`
	Rack string `json:"rack,omitempty"`
	// Want is how a Skyhook is to be from then on.
	Want *v1alpha1.Skyhook `json:"-"`
}

// Kinds of events, beside the edits.
const (
	kindKill     = "kill"
	kindJoin     = "join"
	kindLeave    = "leave"
	kindMove     = "move"
	kindRecreate = "recreate"
	kindRestore  = "restore"
)

// lane is what an event has to wait for: all earlier ones of its lane.
func (e event) lane() string {
	switch e.Kind {
	case kindKill:
		return kindKill
	case kindJoin, kindLeave, kindMove:
		return "nodes"
	}
	return e.Target
}

// soakPlan is what to do in a soak. The same values give the same events.
type soakPlan struct {
	Nodes  int
	Length time.Duration
	Seed   uint64
	// Churn is how many nodes join in a minute. As many leave, and as many move to another rack.
	Churn int
	Kills int
}

// events of the whole soak in their order. The last ones undo what would keep a Skyhook from being complete.
func (p soakPlan) events() []event {
	all := slices.Concat(p.edits(), p.churn(), p.kills())
	slices.SortStableFunc(all, func(a, b event) int { return cmp.Compare(a.At, b.At) })
	return all
}

// random numbers of a purpose, so that more of one kind of event changes no other.
func (p soakPlan) random(purpose uint64) *rand.Rand { return rand.New(rand.NewPCG(p.Seed, purpose)) }

// halves are the events of the first half and those of the second, whose times begin anew.
func (p soakPlan) halves() (first, second []event) {
	all := p.events()
	n := slices.IndexFunc(all, func(e event) bool { return e.At > p.middle() })
	first, second = all[:n], all[n:]
	for i := range second {
		second[i].At -= p.middle()
	}
	return first, second
}

func (p soakPlan) middle() time.Duration { return p.Length / 2 }

// still is how long an operator rests: what waits a minute after each start is over then, and the runtime has given
// back what it does not need. A short soak has not that much time.
func (p soakPlan) still() time.Duration { return min(3*time.Minute, p.Length/4) }

// kills are spread evenly over the first third: the last operator has worked for a while before the rest in the middle.
func (p soakPlan) kills() []event {
	const share = 1.0 / 3
	r, all := p.random(1), []event(nil)
	for i := range p.Kills {
		at := share * (float64(i) + 0.1 + 0.5*r.Float64()) / float64(p.Kills)
		all = append(all, event{At: time.Duration(at * float64(p.Length)), Kind: kindKill})
	}
	return all
}

// churn takes nodes away and brings others, so that their number stays, and moves some.
func (p soakPlan) churn() []event {
	if p.Churn == 0 {
		return nil
	}
	r, all, present := p.random(2), []event(nil), []string(nil)
	for i := range p.Nodes {
		present = append(present, nodeName(i))
	}
	every := time.Minute / time.Duration(p.Churn)
	for i := range int(p.Length / every) {
		at := func() time.Duration { return time.Duration((float64(i) + r.Float64()) * float64(every)) }
		join := event{At: at(), Kind: kindJoin, Node: p.Nodes + i, Target: nodeName(p.Nodes + i)}
		leaving, moving := r.IntN(len(present)), r.IntN(len(present)-1)
		leave := event{At: at(), Kind: kindLeave, Target: present[leaving]}
		present = slices.Delete(present, leaving, leaving+1)
		move := event{At: at(), Kind: kindMove, Target: present[moving], Rack: rack(r.IntN(racks))}
		present = append(present, join.Target)
		all = append(all, join, leave, move)
	}
	return all
}

// Edits come as fast as the fleet can follow: each is followed by the time that its pods take at this many a second,
// half or one and a half times. So most of them end before the next one, and some do not.
const (
	soakPodRate = 35.0
	soakPause   = 3 * time.Second
)

// edits change the Skyhooks one after another, and make them at last what they were, but for their versions. In the
// middle all continue that are paused or disabled, so that they become complete.
func (p soakPlan) edits() []event {
	r, all := p.random(3), []event(nil)
	now, busy := map[string]*v1alpha1.Skyhook{}, map[string]time.Duration{}
	for _, part := range soakParts {
		now[part.name] = part.skyhook()
	}
	rested := false
	for at := soakPause; at < p.Length; {
		if !rested && at > p.middle() {
			rested, all = true, append(all, p.release(now)...)
		}
		part, e := choose(r, now)
		if at < busy[part.name] {
			at += soakPause
			continue
		}
		if !e.change(r, part, now[part.name]) {
			continue
		}
		all = append(all, event{At: at, Kind: e.kind, Target: part.name, Want: now[part.name].DeepCopy()})
		takes := time.Duration(float64(p.Nodes) * part.share() * e.pods / soakPodRate * float64(time.Second))
		if e.kind == kindRecreate {
			busy[part.name] = at + 2*takes // the next edits are for the new one
		}
		at += max(soakPause, time.Duration((0.5+r.Float64())*float64(takes)))
	}
	if !rested { // the last edit came before
		all = append(all, p.release(now)...)
	}
	for _, part := range soakParts {
		s := now[part.name]
		restore(part, s)
		all = append(all, event{At: p.Length, Kind: kindRestore, Target: part.name, Want: s.DeepCopy()})
	}
	return all
}

// release continues, in the middle, all Skyhooks that are paused or disabled.
func (p soakPlan) release(now map[string]*v1alpha1.Skyhook) []event {
	var all []event
	for _, part := range soakParts {
		if e := undo(now[part.name]); e != nil {
			e.change(nil, part, now[part.name])
			all = append(all, event{At: p.middle(), Kind: e.kind, Target: part.name, Want: now[part.name].DeepCopy()})
		}
	}
	return all
}

// choose takes an edit of a Skyhook. Of those that are paused or disabled, one is continued with every other edit, as
// others wait for it.
func choose(r *rand.Rand, now map[string]*v1alpha1.Skyhook) (part, edit) {
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if e := undo(now[name]); e != nil && r.IntN(2) == 0 {
			return partOf(name), *e
		}
	}
	chosen := soakParts[0] // all nodes take long, so that comes less often
	if r.IntN(8) > 0 {
		chosen = soakParts[1+r.IntN(len(soakParts)-1)]
	}
	n := 0
	for _, e := range soakEdits {
		n += e.weight
	}
	n = r.IntN(n)
	for _, e := range soakEdits {
		if n -= e.weight; n < 0 {
			return chosen, e
		}
	}
	panic("the weights do not add up")
}

// restore makes of a Skyhook what it was at the beginning; its packages keep their versions.
func restore(p part, s *v1alpha1.Skyhook) {
	first := p.skyhook()
	for name := range s.Spec.Packages {
		if _, ok := first.Spec.Packages[name]; !ok {
			delete(s.Spec.Packages, name)
		}
	}
	s.Annotations = nil
	s.Spec.Priority, s.Spec.InterruptionBudget = first.Spec.Priority, first.Spec.InterruptionBudget
}

// edit is one way to change a Skyhook.
type edit struct {
	kind   string
	weight int
	// pods that it leads to on each node, about.
	pods float64
	// change reports false if the Skyhook, as it is, cannot be changed so.
	change func(*rand.Rand, part, *v1alpha1.Skyhook) bool
}

var soakEdits = []edit{
	{"config", 6, 1, changeConfig},
	{"upgrade", 4, 2, upgrade},
	{"add", 3, 2, addPackage},
	{"remove", 3, 1, removePackage},
	{"budget", 2, 0, changeBudget},
	{"priority", 2, 0, changePriority},
	{"pause", 2, 0, annotate(v1alpha1.AnnotationPause)},
	{"disable", 2, 0, annotate(v1alpha1.AnnotationDisable)},
	{kindRecreate, 1, 5, recreate},
}

// undo is the edit that continues a paused or disabled Skyhook; nil for any other.
func undo(s *v1alpha1.Skyhook) *edit {
	for key, kind := range map[string]string{v1alpha1.AnnotationPause: "resume", v1alpha1.AnnotationDisable: "enable"} {
		if s.Annotations[key] != "" {
			return &edit{kind: kind, change: func(_ *rand.Rand, _ part, s *v1alpha1.Skyhook) bool {
				delete(s.Annotations, key)
				return true
			}}
		}
	}
	return nil
}

func annotate(key string) func(*rand.Rand, part, *v1alpha1.Skyhook) bool {
	return func(_ *rand.Rand, _ part, s *v1alpha1.Skyhook) bool {
		if len(s.Annotations) > 0 {
			return false
		}
		s.Annotations = map[string]string{key: "true"}
		return true
	}
}

func somePackage(r *rand.Rand, s *v1alpha1.Skyhook) string {
	names := slices.Sorted(maps.Keys(s.Spec.Packages))
	return names[r.IntN(len(names))]
}

func changeConfig(r *rand.Rand, _ part, s *v1alpha1.Skyhook) bool {
	name := somePackage(r, s)
	pkg := s.Spec.Packages[name]
	pkg.ConfigMap = map[string]string{"settings.conf": fmt.Sprintf("threads = %d\nlevel = info\n", r.IntN(1<<30))}
	s.Spec.Packages[name] = pkg
	return true
}

func upgrade(r *rand.Rand, _ part, s *v1alpha1.Skyhook) bool {
	name := somePackage(r, s)
	pkg := s.Spec.Packages[name]
	var minor int
	if _, err := fmt.Sscanf(pkg.Version, "1.%d.0", &minor); err != nil {
		panic(err) // versions come from here
	}
	pkg.Version = fmt.Sprintf("1.%d.0", minor+1)
	s.Spec.Packages[name] = pkg
	return true
}

// extras are the most packages that edits add.
const extras = 2

func addPackage(r *rand.Rand, p part, s *v1alpha1.Skyhook) bool {
	name := fmt.Sprintf("extra-%d", r.IntN(extras))
	if _, ok := s.Spec.Packages[name]; ok {
		return false
	}
	s.Spec.Packages[name] = p.newPackage(name)
	return true
}

func removePackage(r *rand.Rand, _ part, s *v1alpha1.Skyhook) bool {
	name := fmt.Sprintf("extra-%d", r.IntN(extras))
	_, ok := s.Spec.Packages[name]
	delete(s.Spec.Packages, name)
	return ok
}

func changeBudget(r *rand.Rand, p part, s *v1alpha1.Skyhook) bool {
	if p.policy {
		return false
	}
	before := *s.Spec.InterruptionBudget.Percent
	s.Spec.InterruptionBudget.Percent = ptr.To([]int{25, 50, 100}[r.IntN(3)])
	return *s.Spec.InterruptionBudget.Percent != before
}

func changePriority(r *rand.Rand, _ part, s *v1alpha1.Skyhook) bool {
	before := s.Spec.Priority
	s.Spec.Priority = 50 * (1 + r.IntN(6))
	return s.Spec.Priority != before
}

// recreate deletes the Skyhook, which uninstalls everything, and creates it again as it was. Of one that is paused or
// disabled nothing is uninstalled.
func recreate(_ *rand.Rand, _ part, s *v1alpha1.Skyhook) bool { return len(s.Annotations) == 0 }
