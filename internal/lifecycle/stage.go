package lifecycle

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// advance takes one package as far as it gets without a new observation: a finished stage is recorded and its successor
// started in the same pass, so that both cost one write. Interrupts concern the whole node, see interrupt.go.
func (m *machine) advance(name string) {
	pkg := m.Packages[name]
	if pkg.applies() || m.heldByRemoval(name) {
		return
	}
	e, ok := m.adopt(name, pkg)
	if ok && e.Stage == v1alpha1.StageInterrupt && e.State != v1alpha1.StateComplete {
		return
	}
	if ok && e.Active() && !m.observe(&e, pkg) {
		return
	}
	if stage, due := m.due(name, pkg, e, ok); due && stage != v1alpha1.StageInterrupt {
		m.begin(name, pkg, e, stage)
	}
}

// due returns the stage that the package needs next, if any:
//
//	apply | upgrade -> config -> [interrupt -> post-interrupt]
//
// and config again whenever the configMap differs from what this node applied last.
func (m *machine) due(name string, pkg Package, e record.Entry, recorded bool) (v1alpha1.Stage, bool) {
	switch {
	case !recorded && m.installedBelow(name, pkg.Version):
		return v1alpha1.StageUpgrade, true
	case !recorded:
		return v1alpha1.StageApply, true
	case e.State != v1alpha1.StateComplete: // a state that nobody writes any more
		return v1alpha1.StageConfig, true
	case e.Stage == v1alpha1.StageApply, e.Stage == v1alpha1.StageUpgrade, configChanged(pkg, e):
		return v1alpha1.StageConfig, true
	case e.Stage == v1alpha1.StageConfig && len(owed(pkg, e)) > 0:
		return v1alpha1.StageInterrupt, true
	case e.Stage == v1alpha1.StageInterrupt, e.Stage == v1alpha1.StageConfig && postInterruptOwed(e):
		return v1alpha1.StagePostInterrupt, true
	default:
		return "", false
	}
}

// begin starts a stage, or says what holds it back. A package that will need an interrupt disturbs the node from its
// first stage on, so that is where cordon and drain come first.
func (m *machine) begin(name string, pkg Package, last record.Entry, stage v1alpha1.Stage) {
	if m.dependencyGoes(name, pkg) || !m.mayInstall(name, pkg) {
		return
	}
	e := record.Entry{
		Name: name, Version: pkg.Version, Image: pkg.Image, ContainerSHA: pkg.ContainerSHA,
		Stage: stage, State: v1alpha1.StateInProgress,
		Since: metav1.NewTime(m.Now), Run: m.nextRun(last.Run), Config: pkg.Config,
		Hash: pkg.Hash, Definition: pkg.Definition, Generation: m.Generation, Changed: changedFor(pkg, last, stage),
	}
	carry(&e, last)
	if stage != v1alpha1.StagePostInterrupt && len(owed(pkg, e)) > 0 && !m.quiet(name) {
		return
	}
	m.put(e)
	m.start(e)
}

func (m *machine) start(e record.Entry) {
	s := Start{Package: e.Name, Version: e.Version, Stage: e.Stage, Run: e.Run, Generation: e.Generation}
	if isInterrupt(e.Stage) {
		s.Interrupt = e.Interrupt
	}
	if l := m.definition(e); !l.FromSpec {
		s.Retained = l.Package.Definition
	}
	m.out.Start = append(m.out.Start, s)
}

func (m *machine) mayInstall(name string, pkg Package) bool {
	return m.mayWork(name) && m.dependenciesMet(name, pkg) && m.mayStart(name, pkg)
}

// mayStart reports whether a new pod of the package may be created on the node as it is now. It records the reason when
// not.
func (m *machine) mayStart(name string, pkg Package) bool {
	if _, busy := m.activeInterrupt(); busy {
		m.wait(name, ReasonInterrupt, "an interrupt is running on the node")
		return false
	}
	for _, p := range m.Pods {
		// Nothing runs beside an interrupt, be it one that is done with, or that nobody wants any more.
		if p.Package == name || isInterrupt(p.Stage) {
			m.wait(name, ReasonPodTerminating, fmt.Sprintf("pod %s of an earlier run has not ended yet", p.Name))
			return false
		}
	}
	if !m.configReady(name, pkg) {
		m.wait(name, ReasonConfigMap, "the ConfigMap does not hold this package's configMap yet")
		return false
	}
	return true
}

// configReady reports whether the ConfigMap that the pod would mount holds what it should.
func (m *machine) configReady(name string, pkg Package) bool {
	if spec, ok := m.Packages[name]; ok && sameVersion(spec.Version, pkg.Version) {
		return m.ConfigReady[name]
	}
	return m.RetainedReady[pkg.Definition]
}

// mayWork reports whether the node may do anything new for the package: it holds a permit, nothing holds it back, and
// with serial it is the package's turn.
func (m *machine) mayWork(name string) bool {
	if m.Hold != nil {
		m.tellTurn(name, m.Hold.Reason, m.Hold.Message) // summarize tells the reason once for the node
		return false
	}
	if m.Permit == nil {
		const message = "waits for its turn"
		m.wait(name, ReasonNoPermit, message)
		m.tellTurn(name, ReasonNoPermit, message)
		return false
	}
	if turn, out := m.outOfTurn(name); out {
		m.wait(name, ReasonSerial, fmt.Sprintf("spec.serial is true and it is the turn of package %s", turn))
		return false
	}
	return true
}

// tellTurn records what a failing package lacks to be tried again: it gets its turn for that, and not for failing on.
func (m *machine) tellTurn(name, reason, message string) {
	failing := func(e record.Entry) bool { return e.Name == name && e.State == v1alpha1.StateErroring }
	if slices.ContainsFunc(m.relevant(m.out.Record), failing) {
		m.tellNode(reason, message)
	}
}

// outOfTurn reports whether packages work one at a time and it is another's turn, and whose. Without serial nobody asks
// for the turn, which looks at every package.
func (m *machine) outOfTurn(name string) (turn string, out bool) {
	if !m.Serial {
		return "", false
	}
	turn = m.turn()
	return turn, turn != name
}

// turn is the package that works now when packages work one at a time: the one that has begun, else the first by name
// whose dependencies are complete. One that has begun lets its dependencies go first when they have work again.
func (m *machine) turn() string {
	if e, running := m.activeInterrupt(); running {
		return e.Name
	}
	if name := m.leavesFirst(); name != "" {
		return name
	}
	var first string
	for _, name := range m.Packages.names() {
		pkg := m.Packages[name]
		if pkg.applies() {
			continue
		}
		e, recorded := find(m.out.Record, name, pkg.Version)
		ready := m.unmet(name, pkg) == nil && !m.waitsForRemoval(name)
		if recorded && !settled(pkg, e) && (ready || m.hasPod(name)) {
			return name
		}
		complete := recorded && final(pkg, e)
		if first == "" && !complete && ready {
			first = name
		}
	}
	return first
}

// leavesFirst is the package whose turn it is to be undone: the one that has begun, else the first by name that nothing
// is built on. Packages that go come before those that come.
func (m *machine) leavesFirst() string {
	var first string
	for _, key := range sortedKeys(m.leaving) {
		e, recorded := m.out.Record.Packages[key]
		switch {
		case !recorded || m.leaving[key].Missing:
		case m.undoingNow(e):
			return e.Name
		case first == "" || m.dependsOn(e.Name, first):
			first = e.Name
		}
	}
	return first
}

// undoingNow reports whether the uninstall of a package has begun and goes on: without a pod, one lets what is built on it
// go first, which may have become due later.
func (m *machine) undoingNow(e record.Entry) bool {
	_, waits := m.dependent(e)
	return uninstalling(e) && (!waits || m.hasPod(e.Name))
}

func (m *machine) dependenciesMet(name string, pkg Package) bool {
	w := m.unmet(name, pkg)
	if w != nil {
		m.wait(name, w.Reason, w.Message)
	}
	return w == nil
}

// unmet returns the first dependency that is not complete on the node, as a reason to wait; nil when all are.
func (m *machine) unmet(name string, pkg Package) *Wait {
	for _, dep := range slices.Sorted(maps.Keys(pkg.DependsOn)) {
		version := pkg.DependsOn[dep]
		other, ok := m.Packages[dep]
		if !ok || !sameVersion(other.Version, version) {
			return &Wait{Reason: ReasonDependencyMissing, Message: fmt.Sprintf(
				"spec.packages.%s.dependsOn names %s %s, which is not in spec.packages", name, dep, version)}
		}
		if other.applies() {
			return &Wait{Reason: ReasonDependencyGone, Message: fmt.Sprintf("depends on %s %s, which is to be uninstalled (uninstall.apply is true)", dep, version)}
		}
		if !packageComplete(m.out.Record, dep, other) {
			return &Wait{Reason: ReasonDependency, Message: fmt.Sprintf("depends on %s %s, which is not complete on this node", dep, version)}
		}
	}
	return nil
}

// put stores an entry and reports the transition.
func (m *machine) put(e record.Entry) {
	m.out.Record.Packages[e.Key()] = e
	m.out.Changes = append(m.out.Changes, Change{
		Package: e.Name, Version: e.Version, Stage: e.Stage, State: e.State, Message: e.Message,
	})
}

// nextRun names a run by its start, in seconds, and differs from the run before even within the same second.
func (m *machine) nextRun(last string) string {
	run := strconv.FormatInt(m.Now.Unix(), 36)
	if strings.TrimRight(last, runSuffix) == run {
		return last + runSuffix
	}
	return run
}
