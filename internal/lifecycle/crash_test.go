package lifecycle_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
)

const skyhookName = "demo"

// simulated is a node, the pods that the API server has for it, and an operator that may stop after any of its writes
// and whose cache of pods may lag behind.
//
// The cache is never older than what this operator created itself: the controller sees to that.
type simulated struct {
	t    *rapid.T
	spec lifecycle.Packages
	now  time.Time

	annotations, labels map[string]string

	// lists are all states that the API server's list of pods was in; seen is the oldest that the cache may still show.
	lists []map[string]livePod
	seen  int

	permit *v1alpha1.Permit
	order  int32
	hold   *lifecycle.Hold

	created int
	// through has the stages that really ended well: "a|1.0 config" to the config that the pod had.
	through map[string]string
	// installed has the version of each package whose apply or upgrade ended well last.
	installed map[string]string
}

// livePod is a pod with what it was created from.
type livePod struct {
	lifecycle.Pod
	config string
}

func newSimulated(t *rapid.T) *simulated {
	return &simulated{
		t: t, now: now, annotations: map[string]string{}, labels: map[string]string{},
		lists: []map[string]livePod{{}}, through: map[string]string{}, installed: map[string]string{},
	}
}

func (s *simulated) live() map[string]livePod { return s.lists[len(s.lists)-1] }

// change makes a new state of the list of pods.
func (s *simulated) change(f func(map[string]livePod)) {
	next := maps.Clone(s.live())
	f(next)
	s.lists = append(s.lists, next)
}

func (s *simulated) record() record.Node {
	n, err := record.Read(skyhookName, s.annotations)
	if err != nil {
		s.t.Fatalf("the record cannot be read: %v", err)
	}
	return n
}

// pass is one pass of the operator with the list of pods at index view, cut off after the given number of writes.
// It reports whether it had nothing to do.
func (s *simulated) pass(view, writes int) bool {
	s.seen = max(s.seen, view)
	o := lifecycle.Observation{
		Packages: s.spec, Record: s.record(), Permit: s.permit, Hold: s.hold, Now: s.now, ConfigReady: map[string]bool{},
	}
	for name := range s.spec {
		o.ConfigReady[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(s.lists[view])) {
		o.Pods = append(o.Pods, s.lists[view][name].Pod)
	}
	d := lifecycle.Next(o)
	var steps []func()
	patch, err := record.Write(skyhookName, d.Record, s.annotations, s.labels)
	if err != nil {
		s.t.Fatal(err)
	}
	if !patch.Empty() {
		steps = append(steps, func() { s.write(patch) })
	}
	for _, p := range d.Delete {
		steps = append(steps, func() { s.remove(p) })
	}
	for _, start := range d.Start {
		steps = append(steps, func() { s.create(start) })
	}
	for _, step := range steps[:min(writes, len(steps))] {
		step()
		s.check()
	}
	return len(steps) == 0
}

func (s *simulated) write(p record.Patch) {
	for target, changes := range map[*map[string]string]map[string]*string{&s.annotations: p.Annotations, &s.labels: p.Labels} {
		for k, v := range changes {
			if v == nil {
				delete(*target, k)
			} else {
				(*target)[k] = *v
			}
		}
	}
	if s.permit != nil && s.record().Done == record.PermitToken(*s.permit) && len(s.busy()) > 0 {
		s.t.Fatalf("the permit is given back while %v are at work", s.busy())
	}
}

// busy are the pods that may still do something.
func (s *simulated) busy() []string {
	var names []string
	for name, p := range s.live() {
		if p.Outcome != lifecycle.Done {
			names = append(names, name)
		}
	}
	return names
}

// remove deletes like the API server: only the very pod that is meant, at once if it is done.
func (s *simulated) remove(p lifecycle.Pod) {
	s.change(func(pods map[string]livePod) {
		live, ok := pods[p.Name]
		switch {
		case !ok || live.UID != p.UID:
		case p.Outcome == lifecycle.Done:
			delete(pods, p.Name)
		default:
			live.Terminating = true
			pods[p.Name] = live
		}
	})
}

func (s *simulated) create(start lifecycle.Start) {
	pkg := s.spec[start.Package]
	name := fmt.Sprintf("%s-%s-%s", start.Package, pkg.Version, start.Stage)
	if _, taken := s.live()[name]; taken {
		return
	}
	s.mayCreate(start, pkg)
	s.created++
	s.change(func(pods map[string]livePod) {
		p := livePod{config: fmt.Sprint(pkg.Config)}
		p.Name, p.Package, p.Version, p.Stage, p.Run = name, start.Package, pkg.Version, start.Stage, start.Run
		p.UID, p.Hash, p.Created = types.UID(strconv.Itoa(s.created)), pkg.Hash, s.now
		pods[name] = p
	})
	s.seen = len(s.lists) - 1
}

// mayCreate checks what must be true on the node when a stage starts.
func (s *simulated) mayCreate(start lifecycle.Start, pkg lifecycle.Package) {
	switch {
	case s.permit == nil || s.record().Done == record.PermitToken(*s.permit):
		s.t.Fatalf("%v starts without a permit", start)
	case s.hold != nil:
		s.t.Fatalf("%v starts although the node is held", start)
	}
	key := record.Key(start.Package, pkg.Version)
	if start.Stage == v1alpha1.StageConfig && s.installed[start.Package] != pkg.Version {
		s.t.Fatalf("config of %s starts, but what is installed is %q", key, s.installed[start.Package])
	}
	for dep, version := range pkg.DependsOn {
		if config, ok := s.through[record.Key(dep, version)]; !ok || config != fmt.Sprint(s.spec[dep].Config) {
			s.t.Fatalf("%s starts stage %s before %s %s is complete", key, start.Stage, dep, version)
		}
	}
}

func (s *simulated) check() {
	owner := map[string]string{}
	for name, p := range s.live() {
		if other, two := owner[p.Package]; two {
			s.t.Fatalf("package %s has two pods: %s and %s", p.Package, other, name)
		}
		owner[p.Package] = name
	}
}

// end lets a pod come to an outcome as the kubelet would tell it.
func (s *simulated) end(name string, outcome lifecycle.Outcome) {
	s.change(func(pods map[string]livePod) {
		p := pods[name]
		if p.Outcome == lifecycle.Done || p.Outcome == lifecycle.Lost {
			return
		}
		p.Outcome, p.Reason, p.Message = outcome, "", ""
		if outcome == lifecycle.Failing || outcome == lifecycle.Lost {
			p.Restarts, p.Reason, p.Message = p.Restarts+1, "Failed", "because"
		}
		if outcome == lifecycle.Done {
			s.ended(p)
		}
		pods[name] = p
	})
}

func (s *simulated) ended(p livePod) {
	if p.Stage == v1alpha1.StageConfig {
		s.through[record.Key(p.Package, p.Version)] = p.config
		return
	}
	s.installed[p.Package] = p.Version
	delete(s.through, record.Key(p.Package, p.Version))
}

func (s *simulated) anyPod() string {
	names := slices.Sorted(maps.Keys(s.live()))
	if len(names) == 0 {
		s.t.Skip("no pods")
	}
	return rapid.SampledFrom(names).Draw(s.t, "pod")
}

// grant takes an acknowledged permit back and gives another one while there is work.
func (s *simulated) grant() {
	if s.permit != nil && s.record().Done == record.PermitToken(*s.permit) {
		s.permit = nil
	}
	if s.permit == nil && s.hold == nil && !lifecycle.Complete(s.spec, s.record()) {
		s.permit = &v1alpha1.Permit{Node: "node", Order: s.order, Generation: 1}
		s.order++
	}
}

// specs draws specs whose versions only rise: what a step did cannot be undone by going back to an older one.
type specs struct{ a, b int }

func (v *specs) draw(t *rapid.T) lifecycle.Packages {
	v.a += rapid.IntRange(0, 1).Draw(t, "raise a")
	v.b += rapid.IntRange(0, 1).Draw(t, "raise b")
	a := fmt.Sprintf("a@1.%d", v.a)
	hash := rapid.IntRange(1, 2).Draw(t, "hash")
	text := fmt.Sprintf("%s#%d{k=%d}", a, hash, rapid.IntRange(1, 2).Draw(t, "config of a"))
	shape := rapid.IntRange(0, 2).Draw(t, "shape")
	if shape > 0 {
		text += fmt.Sprintf("; b@1.%d#%d", v.b, hash) + fmt.Sprintf("{k=%d}<%s", rapid.IntRange(1, 2).Draw(t, "config of b"), a)
	}
	if shape > 1 {
		text += fmt.Sprintf("; c@1.0<%s<b@1.%d; d@1.0", a, v.b)
	}
	return packages(t, text)
}

func TestNodeSurvivesFaults(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, spec := newSimulated(t), &specs{}
		s.spec = spec.draw(t)
		t.Repeat(map[string]func(*rapid.T){
			"pass": func(t *rapid.T) {
				s.pass(rapid.IntRange(s.seen, len(s.lists)-1).Draw(t, "view"), 100)
			},
			"pass that is cut off": func(t *rapid.T) {
				s.pass(rapid.IntRange(s.seen, len(s.lists)-1).Draw(t, "view"), rapid.IntRange(0, 4).Draw(t, "writes"))
				s.seen = len(s.lists) - 1 // the next operator starts with a list of its own
			},
			"pod changes": func(t *rapid.T) {
				s.end(s.anyPod(), rapid.SampledFrom([]lifecycle.Outcome{
					lifecycle.Running, lifecycle.Done, lifecycle.Done, lifecycle.Failing, lifecycle.Stuck, lifecycle.Lost,
				}).Draw(t, "outcome"))
			},
			"somebody deletes a pod": func(*rapid.T) {
				name := s.anyPod()
				s.change(func(pods map[string]livePod) { p := pods[name]; p.Terminating = true; pods[name] = p })
			},
			"pod is gone": func(*rapid.T) {
				name := s.anyPod()
				if !s.live()[name].Terminating {
					t.Skip("not terminating")
				}
				s.change(func(pods map[string]livePod) { delete(pods, name) })
			},
			"time": func(t *rapid.T) {
				s.now = s.now.Add(time.Duration(rapid.IntRange(0, 400).Draw(t, "seconds")) * time.Second)
			},
			"spec":   func(t *rapid.T) { s.spec = spec.draw(t) },
			"permit": func(*rapid.T) { s.grant() },
			"hold": func(t *rapid.T) {
				s.hold = rapid.SampledFrom([]*lifecycle.Hold{
					nil, nil,
					{Status: v1alpha1.StatusPaused, Reason: "Paused"},
					{Status: v1alpha1.StatusBlocked, Release: true, Reason: "Taint"},
				}).Draw(t, "hold")
			},
			"": func(*rapid.T) { s.check() },
		})
		s.settle()
	})
}

// settle lets everything succeed from now on, and demands the same end as on a new node.
func (s *simulated) settle() {
	s.hold = nil
	// Per package: an old pod to get rid of, two stages and their passes, a backoff; and the permit's way round.
	rounds := 10*len(s.spec) + 10
	for range rounds {
		s.grant()
		idle := s.pass(len(s.lists)-1, 100)
		if idle && len(s.live()) == 0 && s.permit == nil && lifecycle.Complete(s.spec, s.record()) {
			s.demandFreshState()
			return
		}
		for name, p := range s.live() {
			if p.Terminating || p.Outcome == lifecycle.Lost {
				s.change(func(pods map[string]livePod) { delete(pods, name) })
				continue
			}
			s.end(name, lifecycle.Done)
		}
		s.now = s.now.Add(6 * time.Minute)
	}
	s.t.Fatalf("not complete after %d passes: record %+v, pods %v, permit %v", rounds, s.record(), s.live(), s.permit)
}

func (s *simulated) demandFreshState() {
	n := s.record()
	if n.Status != v1alpha1.StatusComplete {
		s.t.Fatalf("the node is %s", n.Status)
	}
	for name, pkg := range s.spec {
		key := record.Key(name, pkg.Version)
		if s.installed[name] != pkg.Version {
			s.t.Fatalf("%s is complete, but installed is %q", key, s.installed[name])
		}
		if s.through[key] != fmt.Sprint(pkg.Config) {
			s.t.Fatalf("%s is complete, but its config is %s, not %v", key, s.through[key], pkg.Config)
		}
		for other, e := range n.Packages {
			if e.Name == name && e.Active() {
				s.t.Fatalf("the record still waits for %s", other)
			}
		}
	}
}
