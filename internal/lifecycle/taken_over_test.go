package lifecycle_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

// takenOver is a node whose pods all succeed, and what really happened on it.
type takenOver struct {
	t                   *testing.T
	spec                situation.Packages
	retained            situation.Retained
	annotations, labels map[string]string
	now                 time.Time
	generation          int64
	permit              *v1alpha1.Permit
	order               int32
	cordoned            bool
	boot                int
	pods                []lifecycle.Pod
	// bound has the boot id of the pods of interrupts.
	bound map[string]string
	// idle says that the last pass had nothing to do.
	idle bool

	// installed has the version of a package that is on the host, configured the hash of its configMap; interrupted says
	// that its interrupt took place since, and removed, that its uninstall ended.
	installed, configured map[string]string
	interrupted, removed  map[string]bool
	// starts are the stages that began since the last edit.
	starts map[string]int
	// trace tells what was decided.
	trace []func() string
}

func newTakenOver(t *testing.T, annotations map[string]string) *takenOver {
	return &takenOver{
		t: t, annotations: maps.Clone(annotations), labels: map[string]string{}, now: now, generation: generation, boot: 1,
		cordoned: true, bound: map[string]string{}, installed: map[string]string{}, configured: map[string]string{},
		interrupted: map[string]bool{}, removed: map[string]bool{}, starts: map[string]int{},
	}
}

func (n *takenOver) record() record.Node {
	r, err := record.Read(skyhookName, n.annotations)
	if err != nil {
		n.t.Fatal(err)
	}
	return r
}

// believe takes what the record says to be on the host.
func (n *takenOver) believe() {
	for _, e := range n.record().Packages {
		over := e.State == v1alpha1.StateComplete
		past := func(stage v1alpha1.Stage) bool {
			order := []v1alpha1.Stage{
				v1alpha1.StageApply, v1alpha1.StageUpgrade, v1alpha1.StageConfig, v1alpha1.StageInterrupt,
				v1alpha1.StagePostInterrupt,
			}
			at, i := slices.Index(order, e.Stage), slices.Index(order, stage)
			return at > i || at == i && over || record.IsUninstall(e.Stage)
		}
		if past(v1alpha1.StageUpgrade) || e.Stage == v1alpha1.StageApply && over {
			n.installed[e.Name] = max(n.installed[e.Name], e.Version)
		}
		if past(v1alpha1.StageConfig) {
			n.configured[e.Name] = n.configOf(e)
		}
		n.interrupted[e.Name] = n.interrupted[e.Name] || past(v1alpha1.StageInterrupt)
		n.removed[e.Name] = n.removed[e.Name] || e.Stage == v1alpha1.StageUninstall && over ||
			e.Stage == v1alpha1.StageUninstallInterrupt
	}
}

// configOf is what a package was configured with. Where no hashes were kept, that is what the spec had when we first
// saw it.
func (n *takenOver) configOf(e record.Entry) string {
	if e.Config == nil {
		return fmt.Sprint(n.spec[e.Name].Config)
	}
	return fmt.Sprint(e.Config)
}

// leavePods puts the pods of the stages that the record tells of onto the node. Those of other operators have no hash.
// What they run is not to begin once more, unless the spec was edited since.
func (n *takenOver) leavePods(how string) {
	for _, key := range slices.Sorted(maps.Keys(n.record().Packages)) {
		e := n.record().Packages[key]
		if how == "gone" || !e.Active() {
			continue
		}
		p := lifecycle.Pod{
			Name: e.Name + "-left", Package: e.Name, Version: e.Version, Stage: e.Stage, Run: e.Run, Hash: e.Hash,
			Created: n.now.Add(-time.Minute),
		}
		if e.Hash == "" {
			p.Generation = generation
		}
		if n.generation == generation {
			n.starts[e.Name+" "+string(e.Stage)]++
		}
		n.pods = append(n.pods, p)
		if how == "done" {
			n.ended(&n.pods[len(n.pods)-1])
		}
	}
}

func (n *takenOver) edit(spec situation.Packages) {
	n.spec, n.generation, n.starts = spec, n.generation+1, map[string]int{}
	n.trace = append(n.trace, func() string { return "edit" })
}

// pass is one pass of the operator.
func (n *takenOver) pass() {
	n.now = n.now.Add(time.Minute)
	n.grant()
	o := n.observe()
	d := lifecycle.Next(o)
	if d.LookDrain {
		o.Drain = &lifecycle.Drain{Clear: true}
		d = lifecycle.Next(o)
	}
	before := maps.Clone(n.annotations)
	n.write(o, d)
	for _, p := range d.Delete {
		i := slices.IndexFunc(n.pods, func(other lifecycle.Pod) bool { return other.Name == p.Name })
		if n.pods[i].Terminating = true; p.Outcome == lifecycle.Done {
			n.pods = slices.Delete(n.pods, i, i+1)
		}
	}
	for _, s := range d.Start {
		n.start(s)
	}
	n.idle = len(d.Delete)+len(d.Start) == 0 && maps.Equal(before, n.annotations)
}

func (n *takenOver) wanted() situation.Wanted {
	return situation.Wanted{Packages: n.spec, Retained: n.retained, Generation: n.generation}
}

func (n *takenOver) observe() lifecycle.Observation {
	o := lifecycle.Observation{
		Skyhook: skyhookName, Wanted: n.wanted(), Record: n.record(), Pods: slices.Clone(n.pods), Permit: n.permit,
		ConfigReady: map[string]bool{}, RetainedReady: map[string]bool{"old": true, "new": true},
		Now:  n.now,
		Node: lifecycle.Node{Ready: true, BootID: fmt.Sprintf("boot-%d", n.boot), Unschedulable: n.cordoned},
	}
	for name := range n.spec {
		o.ConfigReady[name] = true
	}
	if o.InFlight = record.ReadInterrupt(n.annotations); o.InFlight == nil {
		o.InFlight = lifecycle.InFlightOf(skyhookName, o.Record)
	}
	return o
}

func (n *takenOver) grant() {
	if n.permit != nil && n.record().FinishedPermit == n.permit.Token() {
		n.permit = nil
	}
	if n.permit == nil && !situation.Complete(n.wanted(), n.record()) {
		n.order++
		n.permit = &v1alpha1.Permit{Node: "node", Order: n.order, Generation: n.generation}
	}
}

func (n *takenOver) write(o lifecycle.Observation, d lifecycle.Decision) {
	patch, err := record.Write(skyhookName, d.Record, n.annotations, n.labels)
	if err != nil {
		n.t.Fatal(err)
	}
	flight, err := record.WriteInterrupt(d.InFlight, n.annotations)
	if err != nil {
		n.t.Fatal(err)
	}
	patch.Merge(flight)
	for k, v := range patch.Annotations {
		delete(n.annotations, k)
		if v != nil {
			n.annotations[k] = *v
		}
	}
	if d.Unschedulable != nil {
		n.cordoned = *d.Unschedulable
	}
	n.trace = append(n.trace, func() string { return fmt.Sprint(describe(n.t, o, d)) })
}

// start creates a pod, and demands that its stage may begin.
func (n *takenOver) start(s lifecycle.Start) {
	name := fmt.Sprintf("%s-%s-%s", s.Package, s.Stage, s.Run)
	n.mayStart(s)
	definition := n.spec[s.Package]
	if s.Retained != "" {
		definition = n.retained[s.Retained]
	}
	n.bound[name] = s.BootID
	n.pods = append(n.pods, lifecycle.Pod{
		Name: name, Package: s.Package, Version: s.Version, Stage: s.Stage, Run: s.Run, Hash: definition.Hash, Created: n.now,
	})
}

func (n *takenOver) mayStart(s lifecycle.Start) {
	if key := s.Package + " " + string(s.Stage); n.starts[key] > 0 {
		n.fatalf("stage %s begins twice", key)
	} else {
		n.starts[key]++
	}
	for _, p := range n.pods {
		if p.Package == s.Package || record.IsInterrupt(p.Stage) || record.IsInterrupt(s.Stage) {
			n.fatalf("%+v starts beside %+v", s, p)
		}
	}
	ok := true
	switch s.Stage {
	case v1alpha1.StageUpgrade:
		ok = n.installed[s.Package] != "" && n.installed[s.Package] < s.Version
	case v1alpha1.StageConfig:
		ok = n.installed[s.Package] == s.Version
	case v1alpha1.StageInterrupt:
		ok = n.configured[s.Package] != "" && n.cordoned
	case v1alpha1.StagePostInterrupt:
		ok = n.interrupted[s.Package]
	case v1alpha1.StageUninstallInterrupt:
		ok = n.removed[s.Package] && n.cordoned
	default: // nothing to note
	}
	if !ok {
		n.fatalf("stage %s of %s begins too early", s.Stage, s.Package)
	}
	for dep := range n.spec[s.Package].DependsOn {
		if !n.wanted().PackageComplete(n.record(), dep) {
			n.fatalf("stage %s of %s begins before %s is complete", s.Stage, s.Package, dep)
		}
	}
}

// kubelet ends every pod: well, if nobody deleted it.
func (n *takenOver) kubelet() {
	n.pods = slices.DeleteFunc(n.pods, func(p lifecycle.Pod) bool { return p.Terminating })
	for i := range n.pods {
		if n.pods[i].Outcome != lifecycle.Done {
			n.ended(&n.pods[i])
		}
	}
}

func (n *takenOver) ended(p *lifecycle.Pod) {
	p.Outcome = lifecycle.Done
	e := n.record().Packages[record.Key(p.Package, p.Version)]
	switch p.Stage {
	case v1alpha1.StageApply, v1alpha1.StageUpgrade:
		n.installed[p.Package] = p.Version
		delete(n.configured, p.Package)
		delete(n.interrupted, p.Package)
		delete(n.removed, p.Package)
	case v1alpha1.StageConfig:
		n.configured[p.Package] = n.configOf(e)
	case v1alpha1.StageUninstall:
		n.removed[p.Package] = true
		delete(n.installed, p.Package)
	case v1alpha1.StageInterrupt, v1alpha1.StageUninstallInterrupt:
		n.tookPlace(p)
	default: // nothing to note
	}
}

// tookPlace: an interrupt counts for all packages that it is in flight for. A reboot ends the boot that it is bound to.
func (n *takenOver) tookPlace(p *lifecycle.Pod) {
	i := record.ReadInterrupt(n.annotations)
	if i == nil {
		i = lifecycle.InFlightOf(skyhookName, n.record())
	}
	if i.IsReboot() && n.bound[p.Name] == fmt.Sprintf("boot-%d", n.boot) {
		n.boot++
	}
	n.interrupted[p.Package] = true
	for _, name := range i.Names() {
		n.interrupted[name] = true
	}
	for _, e := range n.record().Packages { // another operator did not note for whom
		n.interrupted[e.Name] = n.interrupted[e.Name] || e.Stage == v1alpha1.StageInterrupt &&
			e.State == v1alpha1.StateSkipped
	}
}

func (n *takenOver) atRest() bool {
	return n.idle && len(n.pods) == 0 && situation.Complete(n.wanted(), n.record())
}

// demandEnd: the node is complete, and as it would be had nothing come in between.
func (n *takenOver) demandEnd(edit string) {
	r := n.record()
	_, inFlight := n.annotations[v1alpha1.AnnotationInterrupt]
	switch {
	case !n.atRest():
		n.fatalf("it does not come to an end; it waits for %+v", r.Wait)
	case n.cordoned || r.Cordoned || inFlight || r.Wait != nil || r.Status != v1alpha1.StatusComplete:
		n.fatalf("cordoned %t, interrupt in flight %t, record %+v", n.cordoned, inFlight, r)
	}
	for name, pkg := range n.spec {
		e := r.Packages[record.Key(name, pkg.Version)]
		switch {
		case applies(pkg):
			if e.Name != "" || !n.removed[name] {
				n.fatalf("%s is to be gone: %+v, removed %t", name, e, n.removed[name])
			}
		case n.installed[name] != pkg.Version:
			n.fatalf("%s is installed in version %q", name, n.installed[name])
		case n.configured[name] != fmt.Sprint(pkg.Config):
			n.fatalf("%s was configured with %s, wanted is %v", name, n.configured[name], pkg.Config)
		case pkg.Interrupt != nil && edit != "interrupt" && edit != "reboot" && !n.interrupted[name]:
			n.fatalf("the interrupt of %s never took place", name)
		}
	}
}

func (n *takenOver) fatalf(format string, args ...any) {
	n.t.Helper()
	for _, line := range n.trace {
		n.t.Log(line())
	}
	n.t.Fatalf(format+"\nrecord %s", append(args, described(n.record().Packages))...)
}
