package lifecycle

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// advance takes one package as far as it gets without a new observation: a finished stage is recorded and its successor
// started in the same pass, so that both cost one write.
func (m *machine) advance(name string) {
	pkg := m.Packages[name]
	e, ok := m.adopt(name, pkg)
	if ok && e.Active() && !m.observe(&e, pkg) {
		return
	}
	if stage, due := m.due(name, pkg, e, ok); due {
		m.begin(name, pkg, stage)
	}
}

// due returns the stage that the package needs next, if any. The order is apply or upgrade, then config.
func (m *machine) due(name string, pkg Package, e record.Entry, recorded bool) (v1alpha1.Stage, bool) {
	switch {
	case !recorded && m.installedBelow(name, pkg.Version):
		return v1alpha1.StageUpgrade, true
	case !recorded:
		return v1alpha1.StageApply, true
	case e.Stage == v1alpha1.StageApply, e.Stage == v1alpha1.StageUpgrade:
		return v1alpha1.StageConfig, true
	case !final(pkg, e):
		return v1alpha1.StageConfig, true
	default:
		return "", false
	}
}

// begin starts a stage, or says what holds it back.
func (m *machine) begin(name string, pkg Package, stage v1alpha1.Stage) {
	if !m.mayStart(name, pkg) {
		return
	}
	e := record.Entry{
		Name: name, Version: pkg.Version, Image: pkg.Image, ContainerSHA: pkg.ContainerSHA,
		Stage: stage, State: v1alpha1.StateInProgress,
		Since: metav1.NewTime(m.Now), Run: m.newRun(), Config: pkg.Config,
	}
	m.put(e)
	m.out.Start = append(m.out.Start, Start{Package: name, Stage: stage, Run: e.Run})
}

// mayStart reports whether a new pod of the package may be created now. It records the reason when not.
func (m *machine) mayStart(name string, pkg Package) bool {
	if m.Hold != nil {
		return false // summarize tells the reason once for the node
	}
	if m.Permit == nil {
		m.wait(name, ReasonNoPermit, "waits for its turn: the budget lets no more nodes work now")
		return false
	}
	if !m.dependenciesMet(name, pkg) {
		return false
	}
	for _, p := range m.Pods {
		if p.Package == name {
			m.wait(name, ReasonPodTerminating, fmt.Sprintf("pod %s of an earlier run has not ended yet", p.Name))
			return false
		}
	}
	if !m.ConfigReady[name] {
		m.wait(name, ReasonConfigMap, "the ConfigMap does not hold this package's configMap yet")
		return false
	}
	return true
}

func (m *machine) dependenciesMet(name string, pkg Package) bool {
	for _, dep := range slices.Sorted(maps.Keys(pkg.DependsOn)) {
		version := pkg.DependsOn[dep]
		other, ok := m.Packages[dep]
		if !ok || !sameVersion(other.Version, version) {
			m.wait(name, ReasonDependencyMissing, fmt.Sprintf(
				"spec.packages.%s.dependsOn names %s %s, which is not in spec.packages", name, dep, version))
			return false
		}
		if !packageComplete(m.out.Record, dep, other) {
			m.wait(name, ReasonDependency, fmt.Sprintf("depends on %s %s, which is not complete on this node", dep, version))
			return false
		}
	}
	return true
}

// put stores an entry and reports the transition.
func (m *machine) put(e record.Entry) {
	m.out.Record.Packages[e.Key()] = e
	m.out.Changes = append(m.out.Changes, Change{
		Package: e.Name, Version: e.Version, Stage: e.Stage, State: e.State, Message: e.Message,
	})
}

// newRun names a run by its start. Seconds are enough: a run of the same stage ends before the next begins.
func (m *machine) newRun() string { return strconv.FormatInt(m.Now.Unix(), 36) }
