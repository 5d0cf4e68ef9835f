package faults

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// pass plays the world for a time, and looks at it after each step.
func (w *World) pass(d time.Duration, look func()) {
	for end := w.now.Add(d); w.now.Before(end); look() {
		w.step++
		if w.choose(w.due()) {
			w.now = w.now.Add(20 * time.Millisecond)
			continue
		}
		next, ok := w.next()
		if !ok {
			return
		}
		w.advance(next)
	}
}

// fleetOf is a world of one Skyhook, with one package, on so many nodes.
func fleetOf(nodes int, change func(*Plan, *v1alpha1.SkyhookSpec)) *World {
	p := &Plan{Schedule: 1}
	for i := range nodes {
		p.Nodes = append(p.Nodes, NodePlan{Name: fmt.Sprintf("n%02d", i), Labels: map[string]string{"pool": "x"}})
	}
	spec := v1alpha1.SkyhookSpec{
		Sequencing: v1alpha1.SequencingNode, Priority: 200,
		Packages: map[string]v1alpha1.Package{"driver": {
			Image: "registry.example/driver", Version: "1.0.0", ConfigMap: map[string]string{"mode": "one"},
		}},
	}
	change(p, &spec)
	p.Skyhooks = []SkyhookPlan{{Name: "gpu", Spec: spec}}
	return newWorld(p, true, false)
}

// canary is a policy whose first batch is one node, and which one bad batch stops.
func canary(p *Plan, s *v1alpha1.SkyhookSpec) {
	s.DeploymentPolicy = "careful"
	p.Policies = []PolicyPlan{{Name: "careful", Spec: v1alpha1.DeploymentPolicySpec{Default: v1alpha1.PolicyDefault{
		Budget: v1alpha1.Budget{Percent: new(50)},
		Strategy: v1alpha1.Strategy{Exponential: &v1alpha1.ExponentialStrategy{
			BatchRules: v1alpha1.BatchRules{InitialBatch: new(1), BatchThreshold: new(100), SafetyLimit: new(100), FailureThreshold: new(1)},
		}},
	}}}}
}

func oneByOne(_ *Plan, s *v1alpha1.SkyhookSpec) { s.InterruptionBudget.Count = new(1) }

// reboots makes the package of a fleet reboot its nodes.
func reboots(s *v1alpha1.SkyhookSpec) {
	pkg := s.Packages["driver"]
	pkg.Interrupt = &v1alpha1.Interrupt{Type: v1alpha1.InterruptReboot}
	s.Packages["driver"] = pkg
}

// editMode gives the package of a fleet another config.
func (w *World) editMode(mode string) {
	w.editSkyhook("gpu", func(s *v1alpha1.Skyhook) {
		pkg := s.Spec.Packages["driver"]
		pkg.ConfigMap = map[string]string{"mode": mode}
		s.Spec.Packages["driver"] = pkg
	})
}

func (w *World) brokenHosts() (all []string) {
	for _, k := range w.kubelets {
		if k.broken {
			all = append(all, k.plan.Name)
		}
	}
	return all
}

// TestBadPackageBreaksOneHost: however it breaks hosts, and whoever reacts to that, the others are left alone.
func TestBadPackageBreaksOneHost(t *testing.T) {
	for _, c := range []struct {
		name     string
		pace     func(*Plan, *v1alpha1.SkyhookSpec)
		script   string
		replaces time.Duration
		stopped  bool
	}{
		{"a health checker taints it, one by one", oneByOne, scriptBreaks, 0, false},
		{"it dies, one by one", oneByOne, scriptKills, 0, false},
		{"a health checker taints the canary", canary, scriptBreaks, 0, true},
		{"the canary dies", canary, scriptKills, 0, true},
		{"the canary dies, and the cloud replaces it", canary, scriptKills, 10 * time.Minute, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := fleetOf(20, func(p *Plan, s *v1alpha1.SkyhookSpec) {
				c.pace(p, s)
				p.Scripts = []Script{{Kind: c.script, Stage: v1alpha1.StageApply}}
				p.Replaces = int(c.replaces.Seconds())
			})
			w.pass(4*time.Hour, func() {})
			broken := w.brokenHosts()
			if len(broken) != 1 {
				t.Fatalf("%d hosts are broken: %v", len(broken), broken)
			}
			s := w.skyhook("gpu")
			condition := trueCondition(s, v1alpha1.ConditionRolloutStopped)
			if (condition != nil) != c.stopped {
				t.Fatalf("condition %+v; permits %v, %+v", condition, s.Status.Permits, s.Status.CompartmentStatuses)
			}
			if c.stopped && c.replaces == 0 && !strings.Contains(condition.Message, broken[0]) {
				t.Errorf("it does not name %s: %s", broken[0], condition.Message)
			}
		})
	}
}

// TestCanaryOfEveryContent: a config that fails hits one node, whatever some other node is at.
func TestCanaryOfEveryContent(t *testing.T) {
	for name, odd := range map[string]func(*World){
		"all are there": func(*World) {},
		"one is away":   func(w *World) { w.kubelet("n19").vanish() },
		"one is tainted": func(w *World) {
			w.editNode("n19", func(n *corev1.Node) {
				n.Spec.Taints = []corev1.Taint{{Key: "node-role.kubernetes.io/control-plane", Effect: corev1.TaintEffectNoSchedule}}
			})
		},
		"one is ignored": func(w *World) { w.editNode("n19", setLabel(v1alpha1.LabelIgnore, "true")) },
	} {
		t.Run(name, func(t *testing.T) {
			w := fleetOf(20, canary)
			odd(w)
			w.pass(2*time.Hour, func() {})
			if got := w.skyhook("gpu").Status.Nodes.Complete; got < 19 {
				t.Fatalf("%d nodes are complete", got)
			}
			w.editMode("bad")
			w.scripts = append(w.scripts, scriptState{Script: Script{Kind: scriptFails, Stage: v1alpha1.StageConfig, Times: 1 << 20}, left: map[string]int{}})
			hit := map[string]bool{}
			w.pass(2*time.Hour, func() {
				for _, p := range w.skyhook("gpu").Status.Permits {
					hit[p.Node] = true
				}
			})
			if len(hit) != 1 || trueCondition(w.skyhook("gpu"), v1alpha1.ConditionRolloutStopped) == nil {
				t.Errorf("%d nodes got the bad config: %v", len(hit), hit)
			}
		})
	}
}

// badContent makes the apply stage fail.
const badContent = poisonMark + string(v1alpha1.StageApply)

// TestEditInMidRollout: a bad config that comes while many nodes are in progress hits one of them; the others wait where
// they are.
func TestEditInMidRollout(t *testing.T) {
	w := fleetOf(20, func(p *Plan, s *v1alpha1.SkyhookSpec) {
		canary(p, s)
		p.Scripts = []Script{{Kind: scriptSlow, Stage: v1alpha1.StageApply, Times: 600}}
	})
	edited, tried := false, map[string]bool{}
	w.pass(6*time.Hour, func() {
		if s := w.skyhook("gpu"); !edited && len(s.Status.Permits) >= 4 {
			edited = true
			w.editMode(badContent)
		}
		for _, pod := range w.cluster.Pods() {
			if owner, ours := ownerOf(pod); ours && owner.Name == "gpu" && w.contentOf(pod).config["mode"] == badContent {
				tried[pod.Spec.NodeName] = true
			}
		}
	})
	s := w.skyhook("gpu")
	if !edited || len(tried) != 1 || trueCondition(s, v1alpha1.ConditionRolloutStopped) == nil {
		t.Errorf("%d nodes got the bad config (%v); permits %v, %+v", len(tried), tried, s.Status.Permits, s.Status.Conditions)
	}
}

// TestOneFailedAttempt: what succeeds when it is tried again stops nobody; what fails again and again stops the rollout.
func TestOneFailedAttempt(t *testing.T) {
	for _, c := range []struct {
		fails, complete int
	}{{1, 20}, {2, 20}, {1 << 20, 0}} {
		w := fleetOf(20, func(p *Plan, s *v1alpha1.SkyhookSpec) {
			canary(p, s)
			p.Scripts = []Script{{Kind: scriptFails, Stage: v1alpha1.StageApply, Times: c.fails}}
		})
		w.pass(4*time.Hour, func() {})
		s := w.skyhook("gpu")
		condition := trueCondition(s, v1alpha1.ConditionRolloutStopped)
		if s.Status.Nodes.Complete != c.complete || (condition != nil) != (c.complete == 0) {
			t.Errorf("%d failed attempts: %d nodes are complete, stopped: %+v", c.fails, s.Status.Nodes.Complete, condition)
		}
		if condition != nil && !strings.Contains(condition.Message, "failing: n00") {
			t.Errorf("it names no node: %s", condition.Message)
		}
	}
}

// TestTaintAtBoot: a network plugin keeps pods off each node for a minute after its boot. The node stays cordoned until
// its post-interrupt is done, and no other reboots before.
func TestTaintAtBoot(t *testing.T) {
	w := fleetOf(4, func(p *Plan, s *v1alpha1.SkyhookSpec) {
		oneByOne(p, s)
		reboots(s)
	})
	w.taintsAtBoot = time.Minute
	w.pass(6*time.Hour, func() {
		var halfDone []string
		for _, k := range w.kubelets {
			n := w.node(k.plan.Name)
			if k.boots < 2 || w.skyhook("gpu").Status.NodeStatus[n.Name] == v1alpha1.StatusComplete || completeOn(n) {
				continue
			}
			if halfDone = append(halfDone, n.Name); !n.Spec.Unschedulable {
				t.Fatalf("%s is open before its post-interrupt is done", n.Name)
			}
		}
		if len(halfDone) > 1 {
			t.Fatalf("%v have rebooted and are not complete", halfDone)
		}
	})
	if s := w.skyhook("gpu"); s.Status.Nodes.Complete != 4 {
		t.Errorf("%d nodes are complete", s.Status.Nodes.Complete)
	}
}

func completeOn(n *corev1.Node) bool {
	return n.Annotations[v1alpha1.AnnotationStatusPrefix+"gpu"] == string(v1alpha1.StatusComplete)
}

// TestTimeLimitOnADeadHost: the limit of a stage holds although its pod, on a host that is dead, never ends.
func TestTimeLimitOnADeadHost(t *testing.T) {
	w := fleetOf(3, func(p *Plan, s *v1alpha1.SkyhookSpec) {
		oneByOne(p, s)
		pkg := s.Packages["driver"]
		pkg.StageTimeout = &metav1.Duration{Duration: 20 * time.Minute}
		s.Packages["driver"] = pkg
		p.Scripts = []Script{{Kind: scriptKills, Stage: v1alpha1.StageApply}}
	})
	var at time.Duration
	w.pass(time.Hour, func() {
		for _, n := range w.cluster.Nodes() {
			r, err := record.Read("gpu", n.Annotations)
			if e := r.Packages["driver|1.0.0"]; err == nil && at == 0 && e.Reason == v1alpha1.ReasonStageTimeout {
				at = w.now.Sub(epoch)
			}
		}
	})
	if at < 20*time.Minute || at > 25*time.Minute {
		t.Errorf("the limit of 20 minutes is told after %s", at)
	}
}

// typo makes a policy one that only admission would refuse.
func (w *World) typo(there bool) {
	for _, p := range w.cluster.Policies() {
		p = p.DeepCopy()
		if p.Spec.Compartments = nil; there {
			selector := metav1.LabelSelector{MatchLabels: map[string]string{"pool": "gpu nodes"}}
			p.Spec.Compartments = []v1alpha1.Compartment{{Name: "typo", Selector: selector, Budget: v1alpha1.Budget{Count: new(1)}}}
		}
		w.must(w.user.Update(background, p))
	}
}

// TestTypoInAPolicyForgetsNothing: once an invalid policy is corrected, a rollout that its canary stopped is still stopped,
// and nodes in the middle of work still wait for their batch before they get new content.
func TestTypoInAPolicyForgetsNothing(t *testing.T) {
	for name, c := range map[string]struct {
		script Script
		edit   bool
	}{
		"stopped by its canary": {Script{Kind: scriptFails, Stage: v1alpha1.StageApply, Times: 1 << 20}, false},
		"edited in mid-rollout": {Script{Kind: scriptSlow, Stage: v1alpha1.StageApply, Times: 600}, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := fleetOf(20, func(p *Plan, s *v1alpha1.SkyhookSpec) {
				canary(p, s)
				p.Scripts = []Script{c.script}
			})
			bad := map[string]bool{}
			look := func() {
				if c.edit && len(w.cluster.Pods()) >= 8 {
					c.edit = false
					w.editMode(badContent)
				}
				for _, pod := range w.cluster.Pods() {
					if _, ours := ownerOf(pod); ours && (c.script.Kind == scriptFails || w.contentOf(pod).config["mode"] == badContent) {
						bad[pod.Spec.NodeName] = true
					}
				}
			}
			w.pass(6*time.Hour, look)
			for range 2 {
				w.typo(true)
				w.pass(10*time.Minute, look)
				w.typo(false)
				w.pass(time.Hour, look)
			}
			if len(bad) != 1 {
				t.Errorf("%d nodes got what is bad: %v", len(bad), sortedKeys(bad))
			}
		})
	}
}
