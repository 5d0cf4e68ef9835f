package lifecycle_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

// uninstalling is what the model knows about packages that leave.
type uninstalls struct {
	retained            situation.Retained
	deleting, abandoned bool
	// begunBefore are the packages whose interrupt ran when the Skyhook was deleted.
	begunBefore map[string]bool

	// onHost has, per package, what the host may have been changed with: the definition of the pod that was created last,
	// and those of pods that the record speaks of since.
	onHost map[string][]situation.Package
	// cleaned are the packages whose uninstall ended well, whether or not anybody saw it.
	cleaned map[string]bool
	// uninstallInterruptPending are the packages that were uninstalled, and have not been interrupted since.
	uninstallInterruptPending map[string]bool
}

func newUninstalls() uninstalls {
	return uninstalls{
		retained: situation.Retained{}, onHost: map[string][]situation.Package{}, cleaned: map[string]bool{},
		uninstallInterruptPending: map[string]bool{},
	}
}

// interrupting reports whether an interrupt runs, as the record tells.
func interrupting(n record.Node) bool {
	for _, e := range n.Packages {
		if record.IsInterrupt(e.Stage) && e.Active() {
			return true
		}
	}
	return false
}

func (s *simulated) wanted() situation.Wanted {
	return situation.Wanted{
		Packages: s.spec, Retained: s.retained, Generation: s.generation, Deleting: s.deleting, Abandoned: s.abandoned,
	}
}

// retain keeps the definitions of the spec. What it says of a version counts for all definitions of that version.
func (s *simulated) retain() {
	for name, pkg := range s.spec {
		if pkg.Definition == "" {
			continue // a model where nothing leaves
		}
		said := ptr.Deref(pkg.Uninstall, v1alpha1.Uninstall{})
		said.Apply = false
		pkg.Name, pkg.Uninstall = name, &said
		s.retained[pkg.Definition] = pkg
		for definition, other := range s.retained {
			if other.Name == name && other.Version == pkg.Version {
				other.Uninstallable, other.Uninstall = pkg.Uninstallable, &said
				s.retained[definition] = other
			}
		}
	}
}

// definition is what a pod is built from.
func (s *simulated) definition(start lifecycle.Start) situation.Package {
	if start.Retained == "" {
		return s.spec[start.Package]
	}
	pkg, ok := s.retained[start.Retained]
	if !ok || pkg.Name != start.Package {
		s.t.Fatalf("%+v asks for a definition that is not retained", start)
	}
	return pkg
}

// decide decides as the controller does: a deleted Skyhook leaves a node where nothing is to be uninstalled.
func (s *simulated) decide(o lifecycle.Observation) lifecycle.Decision {
	if s.deleting && situation.Complete(o.Wanted, o.Record) {
		s.permit, o.Permit = nil, nil
		return lifecycle.Remove(o)
	}
	return s.next(o)
}

// patch is how the decision's record is written.
func (s *simulated) patch(d lifecycle.Decision) record.Patch {
	if d.Clear {
		return record.Clear(skyhookName, d.Record, s.annotations, s.labels)
	}
	patch, err := record.Write(skyhookName, d.Record, s.annotations, s.labels)
	if err != nil {
		s.t.Fatal(err)
	}
	return patch
}

// promise notes the pods that the record speaks of: nobody knows whether they will have been created.
func (s *simulated) promise(starts []lifecycle.Start) {
	for _, start := range starts {
		if !record.IsInterrupt(start.Stage) {
			s.onHost[start.Package] = append(s.onHost[start.Package], s.definition(start))
		}
	}
}

// begun notes a pod that was created.
func (s *simulated) begun(start lifecycle.Start, pkg situation.Package) {
	if record.IsInterrupt(start.Stage) {
		return
	}
	s.onHost[start.Package] = []situation.Package{pkg}
	delete(s.uninstallInterruptPending, start.Package)
	if start.Stage == v1alpha1.StageUninstall {
		s.forgetPackage(start.Package)
		return
	}
	delete(s.cleaned, start.Package)
}

// forgetPackage: nothing of a package can be relied on any more.
func (s *simulated) forgetPackage(name string) {
	delete(s.installed, name)
	ofPackage := func(key string) bool { return strings.HasPrefix(key, name+"|") }
	maps.DeleteFunc(s.through, func(key, _ string) bool { return ofPackage(key) })
	maps.DeleteFunc(s.interruptPending, func(key string, _ bool) bool { return ofPackage(key) })
}

// uninstalled notes that an uninstall ended well.
func (s *simulated) uninstalled(p livePod) {
	s.cleaned[p.Package] = true
	s.uninstallInterruptPending[p.Package] = p.needsUninstallInterrupt
}

// took notes that an interrupt took place for an entry.
func (s *simulated) took(key string, e record.Entry) {
	if e.Stage == v1alpha1.StageUninstallInterrupt {
		delete(s.uninstallInterruptPending, e.Name)
		return
	}
	delete(s.interruptPending, key)
}

// mayUndo checks what must be true when a stage starts, with regard to what leaves.
func (s *simulated) mayUninstallBefore(start lifecycle.Start, pkg situation.Package) {
	spec, inSpec := s.spec[start.Package]
	switch {
	case start.Stage == v1alpha1.StageUninstall:
		s.mayUninstall(start, pkg)
	case start.Stage == v1alpha1.StageInterrupt && s.deleting && !s.begunBefore[start.Package]:
		s.t.Fatalf("%+v starts, though the Skyhook is being deleted", start)
	case record.IsInterrupt(start.Stage): // one that has begun continues
	case s.deleting:
		s.t.Fatalf("%+v starts, though the Skyhook is being deleted", start)
	case !inSpec || start.Retained != "":
		s.t.Fatalf("%+v starts, though the spec does not have it", start)
	case applies(spec):
		s.t.Fatalf("%+v starts, though it is to be uninstalled", start)
	case start.Stage == v1alpha1.StageUpgrade && s.installed[start.Package] == "":
		s.t.Fatalf("%+v starts, but nothing is installed", start)
	case s.lowered(start.Package, pkg):
		s.t.Fatalf("%+v starts, but a newer version that can be uninstalled is installed", start)
	}
}

// lowered reports whether a newer version, which can be uninstalled, is fully on the host.
func (s *simulated) lowered(name string, pkg situation.Package) bool {
	installed, have := s.installed[name], s.onHost[name]
	if s.abandoned || installed <= pkg.Version || len(have) != 1 || have[0].Version != installed {
		return false
	}
	return s.retained[have[0].Definition].Uninstallable
}

func (s *simulated) mayUninstall(start lifecycle.Start, pkg situation.Package) {
	for name, p := range s.live() {
		if p.Package == start.Package {
			s.t.Fatalf("uninstall of %s starts beside %s", start.Package, name)
		}
	}
	spec, inSpec := s.spec[start.Package]
	said := s.retained[pkg.Definition]
	switch {
	case s.abandoned:
		s.t.Fatalf("%+v starts on a node where the uninstall was abandoned", start)
	case !said.Uninstallable && !spec.Uninstallable &&
		s.record().Packages[record.Key(start.Package, start.Version)].Stage != v1alpha1.StageUninstall:
		s.t.Fatalf("%+v starts, though it is not enabled", start)
	case inSpec && !s.deleting && spec.Version == pkg.Version && !spec.Uninstall.Apply:
		s.t.Fatalf("%+v starts, though nobody asked for it", start)
	}
	if inSpec && spec.Version == pkg.Version {
		if pkg.Definition != spec.Definition {
			s.t.Fatalf("%+v starts with %s, though the spec has the same version as %s", start, pkg.Definition, spec.Definition)
		}
	} else if have := s.onHost[start.Package]; !slices.ContainsFunc(have,
		func(p situation.Package) bool { return p.Definition == pkg.Definition }) {
		s.t.Fatalf("%+v starts with %s, but on the host is %v", start, pkg.Definition, definitions(have))
	}
	for key, l := range s.wanted().Removals(s.record()) {
		name, _, _ := strings.Cut(key, "|")
		if _, built := l.Package.DependsOn[start.Package]; built && s.onHost[name] != nil && !s.cleaned[name] {
			s.t.Fatalf("uninstall of %s starts before %s, which depends on it, is gone", start.Package, name)
		}
	}
}

func definitions(list []situation.Package) []string {
	var names []string
	for _, p := range list {
		names = append(names, p.Definition)
	}
	return names
}

// takeAdvice does what the node asks the user for: it lets a newer version be uninstalled, and settles what is to
// become of a package that depends on one that is to be uninstalled.
func (s *simulated) takeAdvice() {
	if s.deleting {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(s.spec)) {
		pkg := s.spec[name]
		if _, needed := s.wanted().NeedsUninstall(s.record(), name); needed {
			s.say(name, v1alpha1.Uninstall{WhenRemoved: v1alpha1.WhenRemovedUninstall})
		}
		for dep := range pkg.DependsOn {
			switch {
			case !applies(s.spec[dep]) || applies(pkg) || s.wanted().PackageComplete(s.record(), name):
			case pkg.Uninstallable:
				s.say(name, v1alpha1.Uninstall{Apply: true})
			default:
				s.say(dep, v1alpha1.Uninstall{})
			}
		}
	}
}

// say edits what the spec says about uninstalling a package.
func (s *simulated) say(name string, said v1alpha1.Uninstall) {
	s.spec = maps.Clone(s.spec)
	pkg := s.spec[name]
	pkg.Uninstallable, pkg.Uninstall = true, &said
	s.spec[name] = pkg
	s.generation++
	s.retain()
}

func applies(pkg situation.Package) bool { return pkg.Uninstallable && pkg.Uninstall.Apply }

// newest is the definition that the record spoke of last, with what was said of it last.
func (s *simulated) newest(have []situation.Package) situation.Package {
	return s.retained[have[len(have)-1].Definition]
}

// demandUninstalled: nothing is left of what has to be uninstalled, and nothing is half uninstalled.
func (s *simulated) demandUninstalled(n record.Node) {
	recorded := map[string]bool{}
	for key, e := range n.Packages {
		recorded[e.Name] = true
		// Another version that stays may have been begun over it.
		if record.IsUninstall(e.Stage) && s.newest(s.onHost[e.Name]).Version == e.Version {
			s.t.Fatalf("%s stays in stage %s:%s", key, e.Stage, e.State)
		}
	}
	for name := range s.onHost {
		if !recorded[name] && !s.cleaned[name] {
			s.t.Fatalf("%s is on the host, but nobody knows", name)
		}
	}
	for name, pending := range s.uninstallInterruptPending {
		if pending && !recorded[name] {
			s.t.Fatalf("%s is uninstalled, but its interrupt never took place", name)
		}
	}
	for name, pkg := range s.spec {
		if applies(pkg) && recorded[name] {
			s.t.Fatalf("%s is to be uninstalled, but recorded: %+v", name, n.Packages)
		}
	}
	for name, have := range s.onHost {
		_, inSpec := s.spec[name]
		said := s.newest(have)
		if !inSpec && !s.cleaned[name] && said.Uninstallable && said.Uninstall.WhenRemoved == v1alpha1.WhenRemovedUninstall {
			s.t.Fatalf("%s left the spec, but is on the host", name)
		}
	}
}

// vanish deletes the Skyhook, and demands that nothing stays but packages that cannot be uninstalled.
func (s *simulated) vanish() {
	s.deleting, s.generation, s.begunBefore = true, s.generation+1, map[string]bool{}
	for _, e := range s.record().Packages {
		s.begunBefore[e.Name] = s.begunBefore[e.Name] || e.Stage == v1alpha1.StageInterrupt && e.Active()
	}
	s.finish(func() bool { return len(s.live()) == 0 && len(s.labels) == 0 && s.cleared() })
	n := s.record()
	if s.host.unschedulable != s.host.foreignCordon || len(s.labels) > 0 {
		s.t.Fatalf("the Skyhook is gone, but unschedulable: %t, by somebody else: %t, labels %v", s.host.unschedulable,
			s.host.foreignCordon, s.labels)
	}
	if s.abandoned {
		return
	}
	for name, have := range s.onHost {
		if s.newest(have).Uninstallable && !s.cleaned[name] {
			s.t.Fatalf("%s can be uninstalled, but stays on the host; record %+v", name, n)
		}
	}
	for key, e := range n.Packages {
		have := s.onHost[e.Name] // another version, which cannot be uninstalled, may have come over it
		if s.retained[e.Definition].Uninstallable && (len(have) == 0 || s.newest(have).Version == e.Version) {
			s.t.Fatalf("%s can be uninstalled, but stays recorded as %s:%s", key, e.Stage, e.State)
		}
	}
	for name, pending := range s.uninstallInterruptPending {
		if pending && !slices.ContainsFunc(slices.Collect(maps.Values(n.Packages)),
			func(e record.Entry) bool { return e.Name == name }) {
			s.t.Fatalf("%s is uninstalled, but its interrupt never took place", name)
		}
	}
}

// cleared reports whether the record holds nothing but package states.
func (s *simulated) cleared() bool {
	n := s.record()
	n.FinishedPermit = ""
	return record.Clear(skyhookName, n, s.annotations, s.labels).Empty()
}

// TestUninstallSurvivesFaults: packages come and go, by every way that there is, while everything that may happen to a
// node happens.
func TestUninstallSurvivesFaults(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, spec := newSimulated(t), newSpecs(t)
		spec.removals = true
		s.edit(spec, t)
		actions := s.actions()
		actions["spec"] = func(t *rapid.T) { s.edit(spec, t) }
		actions["power fails"] = func(*rapid.T) { s.host.goDown() }
		actions["abandoned"] = func(t *rapid.T) { s.abandoned = rapid.IntRange(0, 3).Draw(t, "abandoned") == 0 }
		t.Repeat(actions)
		if rapid.Bool().Draw(t, "deleted") {
			s.vanish()
			return
		}
		s.abandoned = false
		s.settle()
	})
}
