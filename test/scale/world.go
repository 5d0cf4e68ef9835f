package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

const (
	namespace  = "skyhook"
	rackLabel  = "example.com/rack"
	policyName = "racks"
	repository = "registry.example.com/packages/"
)

// World is what is measured, but for its size.
type World struct {
	Skyhooks int
	// Compartments of a deployment policy; none is a budget of 100 %.
	Compartments int
	// Interrupt that every package has; none if empty.
	Interrupt v1alpha1.InterruptType
	// Workloads on each node, which a drain has to evict.
	Workloads int
	// Failing is the percentage of nodes on which the first attempt at each stage fails.
	Failing int
}

// worlds by name.
var worlds = map[string]World{
	"plain":     {Skyhooks: 1},
	"interrupt": {Skyhooks: 1, Interrupt: v1alpha1.InterruptService, Workloads: 2},
	"reboot":    {Skyhooks: 1, Interrupt: v1alpha1.InterruptReboot, Workloads: 2},
	"failing":   {Skyhooks: 1, Failing: 5},
	"policy":    {Skyhooks: 1, Compartments: 64},
	"five":      {Skyhooks: 5},
	"twenty":    {Skyhooks: 20},
}

// Phase is one change of all Skyhooks of a world, until nothing is left to do.
type Phase string

const (
	// phaseFloor is an install by the null operator, before the operator starts.
	phaseFloor   Phase = "floor"
	phaseInstall Phase = "install"
	// phaseAdopt, instead of an install, is the start of an operator where everything is installed.
	phaseAdopt Phase = "adopt"
	// phaseEdit is a config change of the first Skyhook alone; the others stay complete, and plan again for each node.
	phaseEdit    Phase = "edit"
	phaseConfig  Phase = "config"
	phaseUpgrade Phase = "upgrade"
	// phaseTakeover is a config change that begins with a restart of the operator and during which another takes over.
	phaseTakeover  Phase = "takeover"
	phaseUninstall Phase = "uninstall"
)

// phases in their order.
var phases = []Phase{phaseFloor, phaseInstall, phaseAdopt, phaseEdit, phaseConfig, phaseUpgrade, phaseTakeover, phaseUninstall}

// begins reports whether a run can begin with the phase: every other one changes what is installed.
func (p Phase) begins() bool { return p == phaseInstall || p == phaseAdopt }

// Size of a world.
type Size struct{ Nodes, Packages int }

func (s Size) String() string { return fmt.Sprintf("%dx%d", s.Nodes, s.Packages) }

// parseRun reads WORLD:NODES or WORLD:NODESxPACKAGES; without packages there are two.
func parseRun(text string) (world string, size Size, err error) {
	if strings.HasPrefix(text, "-") {
		return "", Size{}, fmt.Errorf("flags such as %s come before what to measure", text)
	}
	world, rest, _ := strings.Cut(text, ":")
	if _, known := worlds[world]; !known {
		return "", Size{}, fmt.Errorf("there is no world %q; known are %s", world, strings.Join(worldNames(), ", "))
	}
	nodes, packages, given := strings.Cut(rest, "x")
	if !given {
		packages = "2"
	}
	n, errNodes := strconv.Atoi(nodes)
	p, errPackages := strconv.Atoi(packages)
	if errNodes != nil || errPackages != nil || n < 1 || p < 1 {
		return "", Size{}, fmt.Errorf("%q has no size; write nodes and packages as whole numbers from 1 on, like %s:500x2", text, world)
	}
	return world, Size{Nodes: n, Packages: p}, nil
}

// choosePhases reads names of phases, separated by commas.
func choosePhases(text string) ([]Phase, error) {
	var chosen []Phase
	for name := range strings.SplitSeq(text, ",") {
		if !slices.Contains(phases, Phase(name)) {
			return nil, fmt.Errorf("there is no phase %q; known are %v", name, phases)
		}
		chosen = append(chosen, Phase(name))
	}
	return chosen, nil
}

func worldNames() []string { return slices.Sorted(maps.Keys(worlds)) }

// skyhooks of a world before anything is installed.
func (w World) skyhooks(packages int) []*v1alpha1.Skyhook {
	var all []*v1alpha1.Skyhook
	for i := range w.Skyhooks {
		s := &v1alpha1.Skyhook{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("scale-%02d", i)}}
		s.Spec.Priority = 100 + i
		s.Spec.Packages = map[string]v1alpha1.Package{}
		for p := range packages {
			s.Spec.Packages[fmt.Sprintf("package-%d", p)] = w.newPackage(fmt.Sprintf("package-%d", p))
		}
		if w.Compartments > 0 {
			s.Spec.DeploymentPolicy = policyName
		} else {
			s.Spec.InterruptionBudget.Percent = new(100)
		}
		all = append(all, s)
	}
	return all
}

func (w World) newPackage(name string) v1alpha1.Package {
	p := v1alpha1.Package{
		Version: "1.0.0", Image: repository + name,
		ConfigMap: map[string]string{"settings.conf": "threads = 4\nlevel = info\n"},
		Uninstall: &v1alpha1.Uninstall{Enabled: new(true)},
	}
	if w.Interrupt != "" {
		i := v1alpha1.Interrupt{Type: w.Interrupt}
		if w.Interrupt == v1alpha1.InterruptService {
			i.Services = []string{"containerd"}
		}
		p.Interrupt, p.ConfigInterrupts = &i, map[string]v1alpha1.Interrupt{"settings.conf": i}
	}
	return p
}

// change edits a Skyhook as the phase says.
func (p Phase) change(s *v1alpha1.Skyhook) {
	for name, pkg := range s.Spec.Packages {
		switch p {
		case phaseEdit:
			pkg.ConfigMap = map[string]string{"settings.conf": "threads = 6\nlevel = info\n"}
		case phaseConfig:
			pkg.ConfigMap = map[string]string{"settings.conf": "threads = 8\nlevel = info\n"}
		case phaseUpgrade:
			pkg.Version = "1.1.0"
		case phaseTakeover:
			pkg.ConfigMap = map[string]string{"settings.conf": "threads = 16\nlevel = info\n"}
		case phaseFloor, phaseInstall, phaseAdopt, phaseUninstall: // they create, find and delete
		}
		s.Spec.Packages[name] = pkg
	}
}

// policy puts each rack into a compartment of its own, which begins with one node and goes on with four times as many.
func (w World) policy() *v1alpha1.DeploymentPolicy {
	strategy := v1alpha1.Strategy{Exponential: &v1alpha1.ExponentialStrategy{
		BatchRules: v1alpha1.BatchRules{InitialBatch: new(1)}, GrowthFactor: new(4),
	}}
	p := &v1alpha1.DeploymentPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: policyName},
		Spec: v1alpha1.DeploymentPolicySpec{Default: v1alpha1.PolicyDefault{
			Budget: v1alpha1.Budget{Percent: new(100)}, Strategy: strategy,
		}},
	}
	for i := range w.Compartments {
		p.Spec.Compartments = append(p.Spec.Compartments, v1alpha1.Compartment{
			Name: rack(i), Budget: v1alpha1.Budget{Percent: new(100)}, Strategy: &strategy,
			Selector: metav1.LabelSelector{MatchLabels: map[string]string{rackLabel: rack(i)}},
		})
	}
	return p
}

// racks is how many racks the nodes are spread over, in every world.
const racks = 64

func rack(i int) string { return fmt.Sprintf("rack-%02d", i%racks) }

func nodeName(i int) string { return fmt.Sprintf("node-%05d", i) }

// fails reports whether the i-th node is one of the failing ones, which are spread evenly.
func (w World) fails(i int) bool { return (i+1)*w.Failing/100 > i*w.Failing/100 }
