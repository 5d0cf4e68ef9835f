package faults

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// Generate makes the Plan of a seed.
func Generate(seed uint64) Plan {
	r := rand.New(rand.NewPCG(seed, 0x5ea1))
	f := profiles[weighted(r, profileWeights())]
	f.odds.lag, f.odds.scripts = max(f.odds.lag, 0.25), max(f.odds.scripts, 1)
	g := &generator{Rand: r, odds: f.odds}
	p := Plan{
		Seed: seed, Schedule: r.Uint64(), Profile: f.name, Steps: 80 + r.IntN(320),
		Reapply: g.chance(f.odds.reapply),
	}
	if g.chance(f.odds.lag) {
		p.Lag = 1 + r.IntN(9)
	}
	if g.chance(f.odds.clock) {
		p.Offset = r.IntN(7201) - 3600
	}
	g.nodes(&p)
	g.policies(&p)
	g.skyhooks(&p)
	g.pods(&p)
	g.scripts(&p)
	g.happenings(&p, f)
	g.extend(&p)
	return p
}

type generator struct {
	*rand.Rand
	odds odds
}

func (g *generator) chance(p float64) bool { return g.Float64() < p }

func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

// weighted returns an index, drawn by weights.
func weighted(r *rand.Rand, weights []int) int {
	sum := 0
	for _, w := range weights {
		sum += w
	}
	at := r.IntN(sum)
	for i, w := range weights {
		if at -= w; at < 0 {
			return i
		}
	}
	return 0
}

func (g *generator) nodes(p *Plan) {
	names := []string{"a", "b", "c", "d", "e", "x-a"}
	n := 1 + min(g.IntN(6), g.IntN(6))
	if p.Profile == "policy" {
		n = 2 + g.IntN(5)
	}
	for _, name := range names[len(names)-n:] {
		p.Nodes = append(p.Nodes, NodePlan{
			Name:      name,
			Labels:    map[string]string{"zone": pick(g.Rand, "one", "two"), "pool": pick(g.Rand, "x", "x", "y")},
			Ephemeral: g.chance(0.1), Graceful: g.chance(0.4), PodsFirst: g.chance(0.4),
		})
	}
}

func (g *generator) policies(p *Plan) {
	if !g.chance(g.odds.policy) {
		return
	}
	p.Policies = append(p.Policies, PolicyPlan{Name: "pace", Spec: g.policySpec()})
}

func (g *generator) policySpec() v1alpha1.DeploymentPolicySpec {
	spec := v1alpha1.DeploymentPolicySpec{Default: v1alpha1.PolicyDefault{Budget: g.budget(), Strategy: g.strategy()}}
	if g.chance(0.3) {
		spec.Compartments = []v1alpha1.Compartment{{
			Name: "first", Selector: metav1.LabelSelector{MatchLabels: map[string]string{"zone": "one"}}, Budget: g.budget(),
		}}
	}
	return spec
}

func (g *generator) budget() v1alpha1.Budget {
	if g.chance(0.3) {
		return v1alpha1.Budget{Percent: new(pick(g.Rand, 25, 50, 100))}
	}
	return v1alpha1.Budget{Count: new(1 + g.IntN(3))}
}

func (g *generator) strategy() v1alpha1.Strategy {
	rules := v1alpha1.BatchRules{
		InitialBatch: new(1 + g.IntN(2)), BatchThreshold: new(pick(g.Rand, 50, 100)),
		SafetyLimit: new(pick(g.Rand, 50, 100)),
	}
	if g.chance(0.7) {
		rules.FailureThreshold = new(1 + g.IntN(2))
	}
	switch g.IntN(3) {
	case 0:
		return v1alpha1.Strategy{Fixed: &v1alpha1.FixedStrategy{BatchRules: rules}}
	case 1:
		return v1alpha1.Strategy{Linear: &v1alpha1.LinearStrategy{BatchRules: rules, Delta: new(1)}}
	default:
		return v1alpha1.Strategy{Exponential: &v1alpha1.ExponentialStrategy{BatchRules: rules, GrowthFactor: new(2)}}
	}
}

func (g *generator) skyhooks(p *Plan) {
	n := 1 + g.IntN(2)
	if g.chance(g.odds.many) {
		n = 2 + g.IntN(3)
	}
	names := []string{"gpu", "net", "base", "web"}
	if g.chance(g.odds.collide) {
		names = []string{"gpu", "gpu-driver", "gpu-x", "net"}
	}
	for i := range n {
		s := SkyhookPlan{Name: names[i], Spec: g.spec(p)}
		if g.chance(0.3) {
			s.At = g.IntN(p.Steps / 2)
		}
		p.Skyhooks = append(p.Skyhooks, s)
	}
}

func (g *generator) spec(p *Plan) v1alpha1.SkyhookSpec {
	spec := v1alpha1.SkyhookSpec{
		Priority: 100 * (1 + g.IntN(3)), Serial: g.chance(g.odds.serial), Packages: map[string]v1alpha1.Package{},
		RuntimeRequired: g.chance(g.odds.runtime), Sequencing: v1alpha1.SequencingNode, NodeSelectors: g.selector(),
	}
	spec.AutoTaintNewNodes = spec.RuntimeRequired && g.chance(0.5)
	if g.chance(g.odds.sequencing) {
		spec.Sequencing = v1alpha1.SequencingAll
	}
	switch {
	case len(p.Policies) > 0 && g.chance(0.8):
		spec.DeploymentPolicy = p.Policies[0].Name
	case g.chance(0.7):
		spec.InterruptionBudget = g.interruptionBudget()
	}
	if g.chance(g.odds.protect) {
		spec.PodNonInterruptLabels = metav1.LabelSelector{MatchLabels: map[string]string{protectedLabel: "true"}}
	}
	if g.chance(g.odds.drain) {
		spec.Drain = &v1alpha1.Drain{Force: new(g.chance(0.3))}
		if g.chance(0.7) {
			spec.Drain.TimeoutSeconds = new(int64(pick(g.Rand, 10, 60, 600)))
		}
	}
	for _, name := range g.packageNames() {
		spec.Packages[name] = g.pkg(name, spec.Packages)
	}
	return spec
}

func (g *generator) interruptionBudget() v1alpha1.InterruptionBudget {
	if g.chance(0.3) {
		return v1alpha1.InterruptionBudget{Percent: new(pick(g.Rand, 10, 34, 50, 100))}
	}
	return v1alpha1.InterruptionBudget{Count: new(1 + g.IntN(2))}
}

func (g *generator) selector() metav1.LabelSelector {
	switch g.IntN(6) {
	case 0:
		return metav1.LabelSelector{MatchLabels: map[string]string{"pool": "x"}}
	case 1:
		return metav1.LabelSelector{MatchLabels: map[string]string{"zone": pick(g.Rand, "one", "two")}}
	default:
		return metav1.LabelSelector{}
	}
}

// packageNames are sorted, so that a package may depend on those before it.
func (g *generator) packageNames() []string {
	names := []string{"conf", "driver", "driver-tuning", "kernel", "tuning"}
	g.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	names = names[:1+min(g.IntN(4), g.IntN(4))]
	slices.Sort(names)
	return names
}

func (g *generator) pkg(name string, before map[string]v1alpha1.Package) v1alpha1.Package {
	pkg := v1alpha1.Package{Image: "registry.example/" + name, Version: pick(g.Rand, "1.0.0", "1.1.0", "2.0.0")}
	if g.chance(0.7) {
		pkg.ConfigMap = map[string]string{"a": "one"}
		if g.chance(0.4) {
			pkg.ConfigMap["b"] = "one"
		}
	}
	if g.chance(g.odds.interrupt) {
		pkg.Interrupt = new(g.interrupt())
	}
	if len(pkg.ConfigMap) > 0 && g.chance(g.odds.interrupt/2) {
		pkg.ConfigInterrupts = map[string]v1alpha1.Interrupt{"a": g.interrupt()}
	}
	g.dependencies(&pkg, before)
	if g.chance(g.odds.uninstall) {
		pkg.Uninstall = &v1alpha1.Uninstall{Enabled: new(true)}
		if g.chance(0.5) {
			pkg.Uninstall.WhenRemoved = v1alpha1.WhenRemovedUninstall
		}
	}
	if g.chance(g.odds.retries) {
		pkg.MaxRetries = new(int32(g.IntN(4)))
	}
	if g.chance(g.odds.timeout) {
		pkg.StageTimeout = &metav1.Duration{Duration: pick(g.Rand, shortTimeout, longTimeout)}
	}
	if g.chance(g.odds.poison) {
		g.poison(&pkg)
	}
	return pkg
}

func (g *generator) dependencies(pkg *v1alpha1.Package, before map[string]v1alpha1.Package) {
	for _, other := range sortedKeys(before) {
		if g.chance(g.odds.depends) {
			if pkg.DependsOn == nil {
				pkg.DependsOn = map[string]string{}
			}
			pkg.DependsOn[other] = before[other].Version
		}
	}
}

func (g *generator) interrupt() v1alpha1.Interrupt {
	if g.chance(g.odds.reboot) {
		return v1alpha1.Interrupt{Type: v1alpha1.InterruptReboot}
	}
	switch g.IntN(4) {
	case 0:
		return v1alpha1.Interrupt{Type: v1alpha1.InterruptReboot}
	case 1:
		return v1alpha1.Interrupt{Type: v1alpha1.InterruptNoop}
	case 2:
		return v1alpha1.Interrupt{Type: v1alpha1.InterruptRestartAllServices}
	default:
		return v1alpha1.Interrupt{Type: v1alpha1.InterruptService, Services: []string{pick(g.Rand, "kubelet", "containerd")}}
	}
}

// poison makes a package fail in one of its stages until somebody edits it.
func (g *generator) poison(pkg *v1alpha1.Package) {
	stage := pick(g.Rand, v1alpha1.StageApply, v1alpha1.StageConfig, v1alpha1.StageInterrupt,
		v1alpha1.StagePostInterrupt, v1alpha1.StageUninstall)
	if pkg.Interrupt != nil && g.chance(0.6) {
		stage = v1alpha1.StageInterrupt
	}
	poisonPackage(pkg, stage, g.IntN(3))
}

// poisonMark begins a text that makes a stage fail; the stage follows.
const poisonMark = "bad-"

// poisonPackage puts the poison into the config, the version or the environment of a package.
func poisonPackage(pkg *v1alpha1.Package, stage v1alpha1.Stage, where int) {
	switch {
	case where == 0:
		base, _, _ := strings.Cut(pkg.Version, "-")
		pkg.Version = base + "-" + poisonMark + string(stage)
	case where == 1 && stage != v1alpha1.StageInterrupt:
		pkg.Env = []corev1.EnvVar{{Name: "MODE", Value: poisonMark + string(stage)}}
	default:
		if pkg.ConfigMap == nil {
			pkg.ConfigMap = map[string]string{}
		}
		pkg.ConfigMap["a"] = poisonMark + string(stage)
	}
}

func (g *generator) pods(p *Plan) {
	if !g.chance(g.odds.pods) {
		return
	}
	n := 1 + g.IntN(2*len(p.Nodes))
	for i := range n {
		pod := PodPlan{
			Name: fmt.Sprintf("pod-%d", i), Node: pick(g.Rand, p.Nodes...).Name, Grace: g.IntN(60),
			Kind: pick(g.Rand, podManaged, podManaged, podManaged, podReturning, podDaemon, podMirror, podAlone, podEmptyDir),
		}
		if g.chance(g.odds.protect / 2) {
			pod.Kind = podProtected
		}
		if (pod.Kind == podProtected || g.chance(0.2)) && g.chance(0.8) {
			pod.Lives = 1 + g.IntN(900)
		}
		if pod.Kind == podManaged && g.chance(0.4) {
			pod.Budget = "pdb"
		}
		p.Pods = append(p.Pods, pod)
	}
}

func (g *generator) scripts(p *Plan) {
	if g.odds.breaks > 0 && g.chance(0.5) {
		p.Replaces = 60 + g.IntN(1200)
	}
	for range g.IntN(1 + g.odds.scripts) {
		s := Script{Kind: pick(g.Rand, scriptFails, scriptFails, scriptSlow, scriptSlow, scriptPull, scriptCreating, scriptHangs), Times: 1 + g.IntN(3)}
		if s.Kind == scriptSlow {
			s.Times = 30 + g.IntN(600)
		}
		if g.chance(g.odds.breaks) {
			s.Kind = pick(g.Rand, scriptKills, scriptBreaks)
		}
		sky := pick(g.Rand, p.Skyhooks...)
		s.Skyhook, s.Package = sky.Name, pick(g.Rand, sortedKeys(sky.Spec.Packages)...)
		if g.chance(0.5) {
			s.Stage = pick(g.Rand, v1alpha1.StageApply, v1alpha1.StageConfig, v1alpha1.StageInterrupt,
				v1alpha1.StagePostInterrupt)
		}
		if g.chance(0.5) {
			s.Node = pick(g.Rand, p.Nodes...).Name
		}
		p.Scripts = append(p.Scripts, s)
	}
}

func (g *generator) happenings(p *Plan, f profile) {
	if g.odds.events == 0 {
		return
	}
	kinds, weights := f.happeningWeights()
	for range g.IntN(1 + g.odds.events) {
		h := Happening{At: g.IntN(p.Steps), Kind: kinds[weighted(g.Rand, weights)], R: g.Uint64()}
		if g.chance(0.6) {
			h.When = pick(g.Rand, whenRunning, whenInterrupt, whenInterrupt, whenFailing, whenEnding)
		}
		switch h.Kind {
		case "undermine", "take-over", "stop-take-over":
			h.When = whenRunning
		case "edit-earlier":
			h.When = pick(g.Rand, whenFailing, whenFailing, whenRunning)
		case "deselect":
			h.When = pick(g.Rand, whenInterrupt, whenInterrupt, whenRunning)
		}
		p.Happenings = append(p.Happenings, h)
	}
	slices.SortStableFunc(p.Happenings, func(a, b Happening) int { return a.At - b.At })
}
