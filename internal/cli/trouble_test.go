package cli

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/test/faults"
)

// TestTrouble: what people read when something is wrong in the middle of work. What comes first is told first, and no
// command is offered that does harm or has no effect.
func TestTrouble(t *testing.T) {
	const (
		raise   = `interruptionBudget":{"count":`
		again   = "Command: kubectl skyhook package rerun"
		logs    = "kubectl skyhook package logs"
		remove  = "Command: kubectl delete pod"
		resume  = "Command: kubectl skyhook resume-rollout"
		away    = "NodeNotReady"
		minutes = time.Minute
	)
	scenes{
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
					s.Lose("n00", "OutOfcpu", "Pod was rejected: Node didn't have enough resource: cpu, requested: 2000, used: 191000, capacity: 192000")
				}
			},
			told:   []string{"PodRejected for ", "requests 2, and of 192 the node's pods request 191", "failing: n00"},
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
	}.tells(t)
}
