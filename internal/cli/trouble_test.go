package cli

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/test/faults"
)

// change is what a scene has that others have not.
type change func(*faults.Plan, *v1alpha1.SkyhookSpec)

// script is what every run of the package does; limit ends it after some time.
func script(kind string, limit time.Duration) change {
	return func(p *faults.Plan, spec *v1alpha1.SkyhookSpec) {
		p.Scripts = []faults.Script{{Kind: kind, Stage: v1alpha1.StageApply, Times: 1 << 20}}
		if limit > 0 {
			driver(spec, func(pkg *v1alpha1.Package) { pkg.StageTimeout = &metav1.Duration{Duration: limit} })
		}
	}
}

func driver(spec *v1alpha1.SkyhookSpec, edit func(*v1alpha1.Package)) {
	pkg := spec.Packages["driver"]
	edit(&pkg)
	spec.Packages["driver"] = pkg
}

// reboots has nodes drained for a reboot, within the time if there is one, with these pods on the first.
func reboots(limit time.Duration, kind string, pods ...string) change {
	return func(p *faults.Plan, spec *v1alpha1.SkyhookSpec) {
		driver(spec, func(pkg *v1alpha1.Package) { pkg.Interrupt = &v1alpha1.Interrupt{Type: v1alpha1.InterruptReboot} })
		if limit > 0 {
			spec.Drain = &v1alpha1.Drain{TimeoutSeconds: new(int64(limit.Seconds()))}
		}
		for _, name := range pods {
			p.Pods = append(p.Pods, faults.PodPlan{Name: name, Node: "n00", Kind: kind, Grace: 10})
		}
	}
}

// rooms has the first half of the nodes in one compartment and the others in another one, each with a canary of its own.
func rooms(p *faults.Plan, spec *v1alpha1.SkyhookSpec) {
	spec.InterruptionBudget.Count, spec.DeploymentPolicy = nil, "rooms"
	each := func(room string) v1alpha1.Compartment {
		return v1alpha1.Compartment{
			Name: room, Selector: metav1.LabelSelector{MatchLabels: map[string]string{"room": room}}, Budget: v1alpha1.Budget{Count: new(1)},
			Strategy: &v1alpha1.Strategy{Fixed: &v1alpha1.FixedStrategy{
				BatchRules: v1alpha1.BatchRules{InitialBatch: new(1), SafetyLimit: new(100), FailureThreshold: new(1)},
			}},
		}
	}
	for i := range p.Nodes {
		p.Nodes[i].Labels["room"] = []string{"a", "b"}[i*2/len(p.Nodes)]
	}
	all := each("")
	p.Policies = []faults.PolicyPlan{{Name: "rooms", Spec: v1alpha1.DeploymentPolicySpec{
		Default:      v1alpha1.PolicyDefault{Budget: all.Budget, Strategy: *all.Strategy},
		Compartments: []v1alpha1.Compartment{each("a"), each("b")},
	}}}
}

func uninstalls(_ *faults.Plan, spec *v1alpha1.SkyhookSpec) {
	driver(spec, func(pkg *v1alpha1.Package) { pkg.Uninstall = &v1alpha1.Uninstall{Enabled: new(true)} })
}

func pausing(s faults.Scene) {
	s.Skyhook(func(sk *v1alpha1.Skyhook) { sk.Annotations = map[string]string{v1alpha1.AnnotationPause: "true"} })
}

func label(s faults.Scene, name, key string) {
	s.Node(name, func(n *corev1.Node) { n.Labels[key] = "true" })
}

// TestTrouble: what people read when something is wrong in the middle of work. What comes first is told first, and no
// command is offered that does harm or has no effect.
func TestTrouble(t *testing.T) {
	const (
		raise   = `interruptionBudget":{"count":2`
		again   = "Command: kubectl skyhook package rerun"
		logs    = "kubectl skyhook package logs"
		remove  = "Command: kubectl delete pod"
		resume  = "Command: kubectl skyhook resume-rollout"
		away    = "NodeNotReady"
		minutes = time.Minute
	)
	for _, c := range []struct {
		name   string
		nodes  int
		canary bool
		has    change
		then   func(faults.Scene)
		// asked is a node, or another Skyhook; empty for the Skyhook.
		asked string
		// told and untold are in what why and the status say.
		told, untold []string
	}{
		{
			name: "a host dies that holds the budget", nodes: 4, has: script("kills", 0),
			then: func(s faults.Scene) { s.Pass(15 * minutes) },
			told: []string{away, "`kubectl skyhook why node n00`"}, untold: []string{raise},
		},
		{
			name: "a script hangs that holds the budget", nodes: 4, has: script("hangs", 0),
			then: func(s faults.Scene) { s.Pass(45 * minutes) },
			told: []string{"StageRunsLong"}, untold: []string{raise},
		},
		{
			name: "a limit ends a stage on a dead host", nodes: 4, canary: true, has: script("kills", 20*minutes), asked: "n00",
			then:   func(s faults.Scene) { s.Pass(40 * minutes) },
			told:   []string{"gpu on n00: " + away, "StageTimeout", "Nothing before the node is Ready.", "failing, and not Ready: n00"},
			untold: []string{again, logs},
		},
		{
			name: "the stage is run again on a dead host", nodes: 4, canary: true, has: script("kills", 20*minutes), asked: "n00",
			then: func(s faults.Scene) {
				s.Pass(40 * minutes)
				s.Rerun("n00")
				s.Pass(10 * minutes)
			},
			told: []string{"gpu on n00: " + away, "attention: n00 " + away},
		},
		{
			name: "a dead host is tainted", nodes: 4, canary: true, has: script("kills", 0), asked: "n00",
			then: func(s faults.Scene) {
				s.Pass(5 * minutes)
				s.Node("n00", func(n *corev1.Node) {
					n.Spec.Taints = []corev1.Taint{{Key: "health.example/broken", Effect: corev1.TaintEffectNoSchedule}}
				})
				s.Pass(20 * minutes)
			},
			told:   []string{"gpu on n00: TaintNotTolerable", "the node is not Ready", "attention: n00 TaintNotTolerable"},
			untold: []string{"Command: kubectl taint"},
		},
		{
			name: "a host dies in a drain", nodes: 3, has: reboots(0, "alone", "job"), asked: "n00",
			then: func(s faults.Scene) {
				s.Pass(3 * minutes)
				s.Vanish("n00")
				s.Pass(20 * minutes)
			},
			told: []string{"gpu on n00: " + away}, untold: []string{remove},
		},
		{
			name: "a rollout is paused, and the canary's host is dead", nodes: 4, canary: true, has: script("kills", 0), asked: "n00",
			then: func(s faults.Scene) {
				s.Pass(10 * minutes)
				pausing(s)
				s.Pass(10 * minutes)
			},
			told: []string{"the node is not Ready", "attention: n00 Paused"},
		},
		{
			name: "a host dies that keeps a deletion", nodes: 3, has: uninstalls,
			then: func(s faults.Scene) {
				s.Pass(20 * minutes)
				s.Vanish("n01")
				s.Pass(5 * minutes)
				s.Delete()
				s.Pass(20 * minutes)
			},
			told: []string{"gpu on n01: " + away, v1alpha1.AnnotationAbandonUninstall},
		},
		{
			name: "the canary breaks its host, and is taken out", nodes: 4, canary: true, has: script("breaks", 0),
			then: func(s faults.Scene) {
				s.Pass(25 * minutes)
				label(s, "n00", v1alpha1.LabelIgnore)
				s.Pass(15 * minutes)
			},
			told: []string{"taken out: n00"}, untold: []string{"tried again: n00"},
		},
		{
			name: "the canary fails, and is taken out", nodes: 4, canary: true, has: script("fails", 0), asked: "n00",
			then: func(s faults.Scene) {
				s.Pass(25 * minutes)
				label(s, "n00", v1alpha1.LabelIgnore)
				s.Pass(15 * minutes)
			},
			told:   []string{"taken out: n00", "Nothing before NodeIgnored has ended."},
			untold: []string{"tried again: n00", "The step is retried", again},
		},
		{
			name: "the canary breaks its host", nodes: 4, canary: true, has: script("breaks", 0),
			then: func(s faults.Scene) { s.Pass(4 * minutes) },
			told: []string{"the batch waits for node n00"}, untold: []string{"n00 is in progress"},
		},
		{
			name: "pods come back for too long", nodes: 3, has: reboots(10*minutes, "returning", "a", "b", "c", "d"), asked: "n00",
			then: func(s faults.Scene) { s.Pass(25 * minutes) },
			told: []string{"DrainTimeout", "PodReturns", "attention: n00 DrainTimeout"}, untold: []string{remove},
		},
		{
			name: "a finalizer keeps a pod for too long", nodes: 3, has: reboots(10*minutes, "managed", "web"), asked: "n00",
			then: func(s faults.Scene) { s.Finalize("n00"); s.Pass(25 * minutes) },
			told: []string{"DrainTimeout", "finalizers"}, untold: []string{remove},
		},
		{
			name: "a quota refuses pods", nodes: 3, has: func(*faults.Plan, *v1alpha1.SkyhookSpec) {}, asked: "n00",
			then: func(s faults.Scene) { s.Quota(); s.Pass(10 * minutes) },
			told: []string{"PodRejected"}, untold: []string{"(it ends by itself)"},
		},
		{
			name: "a kubelet refuses pods", nodes: 4, canary: true, has: script("creating", 0), asked: "n00",
			then: func(s faults.Scene) {
				for range 90 {
					s.Pass(10 * time.Second)
					s.Lose("n00", "OutOfcpu", "Pod was rejected: Node didn't have enough resource: cpu")
				}
			},
			told:   []string{"OutOfcpu for ", "kubectl describe node n00", "failing: n00"},
			untold: []string{"Correct the ", logs, again, "tried again: n00"},
		},
		{
			name: "a stopped rollout is paused", nodes: 4, canary: true, has: script("fails", 0),
			then: func(s faults.Scene) {
				s.Pass(25 * minutes)
				pausing(s)
				s.Pass(5 * minutes)
			},
			told:   []string{"Nothing while the Skyhook is paused.", "Nothing before Paused has ended.", logs, "Command: kubectl annotate skyhook gpu skyhook.nvidia.com/pause-"},
			untold: []string{resume, again},
		},
		{
			name: "the node that stopped it is gone", nodes: 4, canary: true, has: script("kills", 0),
			then: func(s faults.Scene) { s.Pass(15 * minutes); s.Gone("n00"); s.Pass(10 * minutes) },
			told: []string{"in the middle of work: n00", "nodes that the message names", resume},
		},
		{
			name: "one compartment is stopped, and another one drains", nodes: 6,
			has: func(p *faults.Plan, spec *v1alpha1.SkyhookSpec) {
				reboots(0, "alone")(p, spec)
				p.Pods = append(p.Pods, faults.PodPlan{Name: "job", Node: "n03", Kind: "alone", Grace: 10})
				p.Scripts = []faults.Script{{Kind: "fails", Node: "n00", Stage: v1alpha1.StageApply, Times: 1 << 20}}
				rooms(p, spec)
			},
			then: func(s faults.Scene) { s.Pass(40 * minutes) },
			told: []string{
				"gpu on n01, n02, package driver: WaitingForPermit", "Look at what stopped the rollout",
				"gpu on n04, n05, package driver: WaitingForPermit", "Look at node n03",
			},
		},
		{
			name: "the spec is invalid, and a node fails", nodes: 3, has: script("fails", 0), asked: "n00",
			then: func(s faults.Scene) {
				s.Pass(10 * minutes)
				s.Skyhook(func(sk *v1alpha1.Skyhook) {
					driver(&sk.Spec, func(pkg *v1alpha1.Package) { pkg.DependsOn = map[string]string{"none": "1.0.0"} })
				})
				s.Pass(10 * minutes)
			},
			told: []string{"gpu on n00: SpecInvalid", "Nothing before SpecInvalid has ended.", logs}, untold: []string{again},
		},
		{
			name: "an earlier Skyhook is stalled", nodes: 3,
			has: func(p *faults.Plan, spec *v1alpha1.SkyhookSpec) {
				earlier := *spec.DeepCopy()
				earlier.Priority = 100
				p.Skyhooks = []faults.SkyhookPlan{{Name: "base", Spec: earlier}}
				p.Scripts = []faults.Script{{Kind: "fails", Skyhook: "base", Stage: v1alpha1.StageApply, Times: 1 << 20}}
			},
			then: func(s faults.Scene) { s.Pass(20 * minutes) },
			told: []string{"WaitingForSkyhook", "`kubectl skyhook why base`"},
		},
		{
			name: "the Skyhook that workloads wait for is paused", nodes: 3, asked: "zoo",
			has: func(p *faults.Plan, spec *v1alpha1.SkyhookSpec) {
				zoo := *spec.DeepCopy()
				zoo.Priority, spec.RuntimeRequired = 300, true
				p.Skyhooks = []faults.SkyhookPlan{{Name: "zoo", Spec: zoo}}
			},
			then: func(s faults.Scene) {
				for _, name := range []string{"n00", "n01", "n02"} {
					s.Node(name, func(n *corev1.Node) {
						n.Spec.Taints = []corev1.Taint{{Key: v1alpha1.GroupName, Value: "runtime-required", Effect: corev1.TaintEffectNoSchedule}}
					})
				}
				pausing(s)
				s.Pass(10 * minutes)
			},
			told: []string{"Skyhook gpu is paused", "Command: kubectl annotate skyhook gpu skyhook.nvidia.com/pause-"}, untold: []string{"kubectl taint"},
		},
		{
			name: "the bad node is not selected any more", nodes: 4, canary: true,
			has: func(p *faults.Plan, spec *v1alpha1.SkyhookSpec) {
				script("fails", 0)(p, spec)
				spec.NodeSelectors = metav1.LabelSelector{MatchLabels: map[string]string{"pool": "x"}}
				p.Scripts[0].Node = "n00"
			},
			then: func(s faults.Scene) {
				s.Pass(20 * minutes)
				s.Node("n00", func(n *corev1.Node) { n.Labels["pool"] = "y" })
				s.Pass(10 * minutes)
			},
			told: []string{"in the middle of work: n00"}, untold: []string{"StepFailed", again},
		},
		{
			name: "what stopped it is tried again", nodes: 4, canary: true,
			has: func(p *faults.Plan, spec *v1alpha1.SkyhookSpec) {
				script("fails", 0)(p, spec)
				driver(spec, func(pkg *v1alpha1.Package) { pkg.MaxRetries = new(int32(1)) })
			},
			then: func(s faults.Scene) { s.Pass(20 * minutes); s.Rerun("n00"); s.Pass(3 * time.Second) },
			told: []string{"tried again: n00", "it continues by itself"}, untold: []string{resume},
		},
		{
			name: "an uninstall fails in a deletion", nodes: 3,
			has: func(p *faults.Plan, spec *v1alpha1.SkyhookSpec) {
				uninstalls(p, spec)
				p.Scripts = []faults.Script{{Kind: "fails", Stage: v1alpha1.StageUninstall, Times: 1 << 20}}
			},
			then: func(s faults.Scene) { s.Pass(20 * minutes); s.Delete(); s.Pass(20 * minutes) },
			told: []string{v1alpha1.AnnotationAbandonUninstall + "=n00"},
		},
		{
			name: "a record is broken in a deletion", nodes: 3, has: uninstalls,
			then: func(s faults.Scene) {
				s.Pass(20 * minutes)
				s.Node("n00", func(n *corev1.Node) { n.Annotations[v1alpha1.AnnotationNodeStatePrefix+"gpu"] = "{" })
				s.Delete()
				s.Pass(20 * minutes)
			},
			told: []string{"without it, nothing is uninstalled on this node"}, untold: []string{"apply the packages again", "nodeState_gpu-"},
		},
		{
			name: "the script that should reboot fails", nodes: 3,
			has: func(p *faults.Plan, spec *v1alpha1.SkyhookSpec) {
				reboots(0, "")(p, spec)
				p.Scripts = []faults.Script{{Kind: "fails", Stage: v1alpha1.StageInterrupt, Times: 1 << 20}}
			},
			then: func(s faults.Scene) { s.Pass(50 * minutes) },
			told: []string{"RebootTimeout", "exited 1"},
		},
		{
			name: "a reboot takes as long as the package allows", nodes: 4, canary: true,
			has: func(p *faults.Plan, spec *v1alpha1.SkyhookSpec) {
				reboots(0, "")(p, spec)
				driver(spec, func(pkg *v1alpha1.Package) { pkg.StageTimeout = &metav1.Duration{Duration: 90 * minutes} })
			},
			then: func(s faults.Scene) {
				s.Interrupting("n00")
				s.Vanish("n00")
				s.Pass(60 * minutes)
			},
			told: []string{"the batch waits for node n00"}, untold: []string{"is stopped"},
		},
		{
			name: "a host does not reboot, and is ignored", nodes: 4,
			has: func(p *faults.Plan, spec *v1alpha1.SkyhookSpec) {
				reboots(0, "")(p, spec)
				p.Scripts = []faults.Script{{Kind: "hangs", Node: "n00", Stage: v1alpha1.StageInterrupt, Times: 1 << 20}}
			},
			then: func(s faults.Scene) {
				s.Pass(30 * minutes)
				label(s, "n00", v1alpha1.LabelIgnore)
				s.Pass(10 * minutes)
			},
			told: []string{"Stalled: NodeIgnored: node n00", "did not reboot within"}, untold: []string{"Reconciling: Progressing"},
		},
		{
			name: "a node is gone, and a pod on it stays", nodes: 4, has: script("hangs", 0),
			then: func(s faults.Scene) {
				s.Pass(5 * minutes)
				s.Finalize("n00")
				s.Gone("n00")
				s.Pass(10 * minutes)
			},
			told: []string{"what is left of node n00, which is gone"}, untold: []string{"why node n00"},
		},
		{
			name: "a record is broken on a node that holds the budget", nodes: 3, has: script("hangs", 0), asked: "n01",
			then: func(s faults.Scene) {
				s.Pass(5 * minutes)
				s.Node("n00", func(n *corev1.Node) { n.Annotations[v1alpha1.AnnotationNodeStatePrefix+"gpu"] = "{" })
				s.Pass(10 * minutes)
			},
			told: []string{"`kubectl skyhook why node n00`"}, untold: []string{raise},
		},
		{
			name: "a drain takes too long, and the Skyhook is paused", nodes: 4, canary: true, has: reboots(10*minutes, "managed", "web"),
			then: func(s faults.Scene) {
				s.Finalize("n00")
				s.Pass(25 * minutes)
				pausing(s)
				s.Pass(10 * minutes)
			},
			told: []string{"to be tried again: n00"}, untold: []string{"(tried again", raise},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := faults.NewScene(c.nodes, c.canary, c.has)
			c.then(s)
			said := told(t, s, c.asked)
			for _, part := range c.told {
				if !strings.Contains(said, part) {
					t.Errorf("nothing says %q", part)
				}
			}
			for _, part := range c.untold {
				if strings.Contains(said, part) {
					t.Errorf("%q is said", part)
				}
			}
			if t.Failed() {
				t.Log("\n" + said)
			}
		})
	}
}

// told is what kubectl skyhook why prints of a node, or of a Skyhook of a scene, and what the status of gpu says.
func told(t *testing.T, s faults.Scene, asked string) string {
	t.Helper()
	skyhook, node := cmp.Or(asked, "gpu"), ""
	if strings.HasPrefix(asked, "n0") {
		skyhook, node = "", asked
	}
	r := s.Show()
	v := &view{Snapshot: r.Snapshot, options: r.Settings}
	f, err := v.decided(r.Now, node)
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	e := explainer{target{namespace: r.Settings.Workload.Namespace}}
	all := e.causes(v, f, skyhook, node)
	for i := range all {
		e.conclude(v, f, &all[i])
		said.WriteString(all[i].lines(r.Now, false))
	}
	status := named(r.Skyhooks, "gpu").Status
	for _, a := range status.Attention {
		fmt.Fprintf(&said, "attention: %s %s: %s\n", a.Node, a.Reason, a.Message)
	}
	for _, w := range status.Waiting {
		fmt.Fprintf(&said, "waiting: %d %s: %s\n", w.Nodes, w.Reason, w.Message)
	}
	for _, c := range status.Conditions {
		fmt.Fprintf(&said, "%s: %s: %s\n", c.Type, c.Reason, c.Message)
	}
	return said.String()
}
