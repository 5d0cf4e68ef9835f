package lifecycle_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

const skyhookName = "demo"

// simulated is a node, the pods that the API server has for it, and an operator that may stop after any of its writes
// and whose cache of pods may lag behind.
//
// The cache is never older than what this operator created itself: the controller sees to that.
type simulated struct {
	t    *rapid.T
	spec situation.Packages
	now  time.Time

	annotations, labels map[string]string
	// inFlight is the interrupt that the node's annotation tells of.
	inFlight *record.Interrupt

	// lists are all states that the API server's list of pods was in; seen is the oldest that the cache may still show.
	lists []map[string]livePod
	seen  int

	permit *v1alpha1.Permit
	order  int32
	hold   *situation.Hold

	host       host
	serial     bool
	generation int64

	uninstalls

	created int
	// through has the stages that really ended well: "a|1.0 config" to the config that the pod had.
	through map[string]string
	// installed has the version of each package whose apply or upgrade ended well last.
	installed map[string]string
	// interruptPending are the package versions that were installed, or changed, and have not been interrupted since.
	interruptPending map[string]bool
}

// livePod is a pod with what it was created from.
type livePod struct {
	lifecycle.Pod
	config    string
	interrupt *v1alpha1.Interrupt
	// needsInterrupt says that an interrupt has to follow when the pod is done.
	needsInterrupt bool
	// resource is what the agent knows the work by: its resource id, and the run of an interrupt.
	resource string
	// bootID is the boot that an interrupt is bound to.
	bootID string
	// needsUninstallInterrupt says that an interrupt has to follow the uninstall when the pod is done.
	needsUninstallInterrupt bool
}

func newSimulated(t *rapid.T) *simulated {
	return &simulated{
		t: t, now: now, annotations: map[string]string{}, labels: map[string]string{},
		lists: []map[string]livePod{{}}, through: map[string]string{}, installed: map[string]string{},
		interruptPending: map[string]bool{}, generation: 1, host: newHost(), uninstalls: newUninstalls(),
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
		Wanted: s.wanted(), Record: s.record(), Permit: s.permit, Hold: s.hold, Now: s.now,
		ConfigReady: map[string]bool{}, RetainedReady: map[string]bool{},
		Serial: s.serial, Node: s.host.facts(), Skyhook: skyhookName, InFlight: s.inFlight,
	}
	for name := range s.spec {
		o.ConfigReady[name] = true
	}
	for name := range s.retained {
		o.RetainedReady[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(s.lists[view])) {
		o.Pods = append(o.Pods, s.lists[view][name].Pod)
	}
	d := s.decide(o)
	var steps []func()
	patch := s.patch(d)
	if !patch.Empty() || d.Unschedulable != nil || !reflect.DeepEqual(d.InFlight, s.inFlight) {
		steps = append(steps, func() {
			if d.Unschedulable != nil {
				s.host.unschedulable = *d.Unschedulable
			}
			s.inFlight = d.InFlight
			s.write(patch)
			s.promise(d.Start)
		})
	}
	for _, p := range d.Delete {
		steps = append(steps, func() { s.remove(p, d.Force) })
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
	for target, changes := range map[*map[string]string]map[string]*string{
		&s.annotations: p.Annotations,
		&s.labels:      p.Labels,
	} {
		for k, v := range changes {
			if v == nil {
				delete(*target, k)
			} else {
				(*target)[k] = *v
			}
		}
	}
	if s.permit != nil && s.record().FinishedPermit == s.permit.Token() && len(s.busy()) > 0 {
		s.t.Fatalf("the permit is given back while %v are in progress", s.busy())
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

// remove deletes like the API server: only the very pod that is meant, at once if it is done, or by force.
func (s *simulated) remove(p lifecycle.Pod, force bool) {
	s.change(func(pods map[string]livePod) {
		live, ok := pods[p.Name]
		switch {
		case !ok || live.UID != p.UID:
		case p.Outcome == lifecycle.Done, force:
			delete(pods, p.Name)
		default:
			live.Terminating = true
			pods[p.Name] = live
		}
	})
}

func (s *simulated) create(start lifecycle.Start) {
	pkg := s.definition(start)
	name := fmt.Sprintf("%s-%s-%s", start.Package, pkg.Version, start.Stage)
	if _, taken := s.live()[name]; taken {
		return
	}
	s.mayCreate(start, pkg)
	s.created++
	s.begun(start, pkg)
	s.change(func(pods map[string]livePod) {
		p := livePod{
			config: fmt.Sprint(pkg.Config), interrupt: start.Interrupt, needsInterrupt: s.needsInterrupt(start, pkg),
			needsUninstallInterrupt: pkg.Interrupt != nil,
		}
		p.resource = fmt.Sprintf("%s-%s-%d %s", start.Package, pkg.Version, start.Generation, start.InterruptRun)
		p.bootID = start.BootID
		p.Name, p.Package, p.Version, p.Stage, p.Run = name, start.Package, pkg.Version, start.Stage, start.Run
		p.UID, p.Hash, p.Created = types.UID(strconv.Itoa(s.created)), pkg.Hash, s.now
		pods[name] = p
	})
	s.seen = len(s.lists) - 1
}

// mayCreate checks what must be true on the node when a stage starts.
func (s *simulated) mayCreate(start lifecycle.Start, pkg situation.Package) {
	switch {
	case s.permit == nil || s.record().FinishedPermit == s.permit.Token():
		s.t.Fatalf("%v starts without a permit", start)
	case s.hold != nil:
		s.t.Fatalf("%v starts although the node is held", start)
	}
	key := record.Key(start.Package, pkg.Version)
	s.mayDisturb(start, key)
	s.mayUninstallBefore(start, pkg)
	if record.IsUninstall(start.Stage) {
		return
	}
	if start.Stage == v1alpha1.StageConfig && s.installed[start.Package] != pkg.Version {
		s.t.Fatalf("config of %s starts, but what is installed is %q", key, s.installed[start.Package])
	}
	for dep, version := range pkg.DependsOn {
		config, ok := s.through[record.Key(dep, version)]
		if start.Stage != v1alpha1.StageInterrupt && (!ok || config != fmt.Sprint(s.spec[dep].Config) ||
			s.interruptPending[record.Key(dep, version)]) {
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
	s.host.check(s.t, s.record())
	for name, p := range s.live() {
		if record.IsInterrupt(p.Stage) && p.Outcome != lifecycle.Lost && p.Outcome != lifecycle.Done &&
			!s.inFlight.OwnedBy(skyhookName) {
			s.t.Fatalf("pod %s is there, but no interrupt is in flight: %+v", name, s.record())
		}
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
	key := record.Key(p.Package, p.Version)
	switch p.Stage {
	case v1alpha1.StageInterrupt, v1alpha1.StageUninstallInterrupt:
		if p.interrupt.Type != v1alpha1.InterruptReboot {
			s.interrupted()
		}
	case v1alpha1.StagePostInterrupt:
	case v1alpha1.StageUninstall:
		s.uninstalled(p)
	case v1alpha1.StageConfig:
		s.through[key] = p.config
		s.interruptPending[key] = s.interruptPending[key] || p.needsInterrupt
	default:
		s.installed[p.Package] = p.Version
		delete(s.through, key)
		s.interruptPending[key] = p.needsInterrupt
	}
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
	if s.permit != nil && s.record().FinishedPermit == s.permit.Token() {
		s.permit = nil
	}
	if s.permit == nil && s.hold == nil && !situation.Complete(s.wanted(), s.record()) {
		s.permit = &v1alpha1.Permit{Node: "node", Order: s.order, Generation: 1}
		s.order++
	}
}

func TestNodeSurvivesFaults(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, spec := newSimulated(t), newSpecs(t)
		s.edit(spec, t)
		actions := s.actions()
		actions["spec"] = func(t *rapid.T) { s.edit(spec, t) }
		actions["power fails"] = func(*rapid.T) { s.host.goDown() }
		t.Repeat(actions)
		s.settle()
	})
}

// TestOneReboot: without an edit and a power failure, whatever else happens, a node reboots once for a package that
// needs it, and at most once for each.
func TestOneReboot(t *testing.T) {
	rebooting := pkg(a).interrupt(reboot)
	for _, c := range []struct {
		row
		most int
	}{
		{when("alone", spec(rebooting)), 1},
		{when("beside others", spec(rebooting, pkg(b).interrupt(service("x")), pkg(c))), 1},
		{when("after another", spec(pkg(a).interrupt(service("x")), pkg(b).interrupt(reboot).needs(a))), 1},
		{when("two, and the one that is late reboots by itself", spec(rebooting, pkg(b).interrupt(reboot))), 2},
		{when("one after the other", spec(rebooting, pkg(b).interrupt(reboot).needs(a), pkg(c))), 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				s := newSimulated(t)
				s.spec, s.serial = packages(c.packages...), rapid.Bool().Draw(t, "serial")
				t.Repeat(s.actions())
				s.settle()
				if n := s.host.reboots; n < 1 || n > c.most {
					t.Fatalf("the node rebooted %d times, want 1 to %d", n, c.most)
				}
			})
		})
	}
}

// actions are what may happen to a node whose spec does not change.
func (s *simulated) actions() map[string]func(*rapid.T) {
	actions := map[string]func(*rapid.T){
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
				s.t.Skip("not terminating")
			}
			s.change(func(pods map[string]livePod) { delete(pods, name) })
		},
		"time": func(t *rapid.T) {
			s.now = s.now.Add(time.Duration(rapid.IntRange(0, 400).Draw(t, "seconds")) * time.Second)
		},
		"permit": func(*rapid.T) { s.grant() },
		"hold": func(t *rapid.T) {
			s.hold = rapid.SampledFrom([]*situation.Hold{
				nil, nil,
				{Status: v1alpha1.StatusPaused, Wait: record.Wait{Reason: "Paused"}},
				{Status: v1alpha1.StatusBlocked, ReturnsPermit: true, Wait: record.Wait{Reason: "Taint"}},
			}).Draw(t, "hold")
		},
		"all goes well": s.continueAll, "all still goes well": s.continueAll,
		"": func(*rapid.T) { s.check() },
	}
	maps.Copy(actions, s.hostActions())
	return actions
}

// continueAll lets a few steps in a row succeed, so that the model gets to where a package is interrupted. Interrupts
// are left to the other actions.
func (s *simulated) continueAll(t *rapid.T) {
	h := &s.host
	s.hold = nil
	for range rapid.IntRange(1, 8).Draw(t, "steps") {
		h.leaving, h.protected, h.others, h.refuse = 0, 0, 0, false
		for _, name := range slices.Sorted(maps.Keys(s.live())) {
			switch p := s.live()[name]; {
			case p.Terminating || p.Outcome == lifecycle.Lost:
				s.change(func(pods map[string]livePod) { delete(pods, name) })
			case p.Stage != v1alpha1.StageInterrupt && p.Stage != v1alpha1.StageUninstallInterrupt:
				s.end(name, lifecycle.Done)
			}
		}
		s.grant()
		s.pass(len(s.lists)-1, 100)
	}
}
