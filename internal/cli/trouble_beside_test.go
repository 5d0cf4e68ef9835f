package cli

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/test/faults"
)

// TestTroubleBesideTrouble: where two things are wrong, what is told leads to the one that has to end first, and nothing
// that people are told to do makes it worse.
func TestTroubleBesideTrouble(t *testing.T) {
	const (
		minutes = time.Minute
		resume  = v1alpha1.AnnotationResume + `="$(date`
		include = "Command: kubectl label node n00"
	)
	runtime := corev1.Taint{Key: v1alpha1.GroupName, Value: "runtime-required", Effect: corev1.TaintEffectNoSchedule}
	scenes{
		{
			name: "the canary's host is dead", nodes: 6, canary: true, has: script("kills", 0),
			then: func(s faults.Scene) { s.Pass(20 * minutes) },
			told: []string{"RolloutStopped: FailureThreshold: ", "it continues by itself when these nodes are complete"}, untold: []string{resume},
		},
		{
			name: "the canary's host is dead, and the Skyhook is paused", nodes: 6, canary: true, has: script("kills", 0),
			then: func(s faults.Scene) { s.Pass(20 * minutes); pausing(s); s.Pass(5 * minutes) },
			told: []string{"nothing continues before Paused has ended"}, untold: []string{resume},
		},
		{
			name: "what stopped it is taken out", nodes: 4, canary: true, has: script("fails", 0),
			then: func(s faults.Scene) {
				s.Pass(20 * minutes)
				label(s, "n00", v1alpha1.LabelIgnore)
				s.Pass(5 * minutes)
			},
			told: []string{"taken out: n00", resume}, untold: []string{"continues by itself"},
		},
		{
			name: "a Skyhook waits for one that workloads wait for", nodes: 3, asked: "gpu",
			has: func(p *faults.Plan, spec *v1alpha1.SkyhookSpec) {
				needed := *spec.DeepCopy()
				needed.Priority, needed.RuntimeRequired = 100, true
				p.Skyhooks = []faults.SkyhookPlan{{Name: "base", Spec: needed}}
				p.Scripts = []faults.Script{{Kind: "fails", Skyhook: "base", Stage: v1alpha1.StageApply, Times: 1 << 20}}
			},
			then: func(s faults.Scene) {
				for _, name := range []string{"n00", "n01", "n02"} {
					s.Node(name, func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{runtime} })
				}
				s.Pass(10 * minutes)
			},
			told:   []string{"TaintNotTolerable: TaintNotTolerable: 3 nodes", "status.attention says for each"},
			untold: []string{"or find out who"},
		},
		{
			name: "a checker taints a host that is half done", nodes: 4, has: script("breaks", 0), asked: "n00",
			then: func(s faults.Scene) { s.Pass(15 * minutes) },
			told: []string{"Find out who set the taint"}, untold: []string{"kubectl taint"},
		},
		{
			name: "a script hangs on a node that is ignored", nodes: 4, has: script("hangs", 0), asked: "n00",
			then: func(s faults.Scene) {
				s.Pass(5 * minutes)
				label(s, "n00", v1alpha1.LabelIgnore)
				s.Pass(10 * minutes)
			},
			told: []string{"it keeps its place in the budget until what runs there has ended", "`kubectl skyhook node exclude n00`"}, untold: []string{include},
		},
		{
			name: "a dead host is ignored", nodes: 4, has: script("kills", 0), asked: "n00",
			then: func(s faults.Scene) {
				s.Pass(10 * minutes)
				label(s, "n00", v1alpha1.LabelIgnore)
				s.Pass(10 * minutes)
			},
			told: []string{"Nothing before the node is Ready: bring it back"}, untold: []string{include},
		},
		{
			name: "a reboot does not come, and an earlier Skyhook waits for it", nodes: 3, asked: "base",
			has: func(p *faults.Plan, spec *v1alpha1.SkyhookSpec) {
				earlier := *spec.DeepCopy()
				earlier.Priority = 100
				p.Skyhooks = []faults.SkyhookPlan{{Name: "base", Spec: earlier}}
				reboots(0, "")(p, spec)
				p.Scripts = []faults.Script{{Kind: "hangs", Skyhook: "gpu", Node: "n00", Stage: v1alpha1.StageInterrupt, Times: 1 << 20}}
			},
			then: func(s faults.Scene) {
				s.Interrupting("n00")
				s.Of("base", func(sk *v1alpha1.Skyhook) {
					driver(&sk.Spec, func(pkg *v1alpha1.Package) { pkg.ConfigMap = map[string]string{"mode": "two"} })
				})
				s.Pass(45 * minutes)
			},
			told: []string{"WaitingForInterrupt", "`kubectl skyhook why gpu`", "Stalled: NodesErroring: node n00: RebootTimeout"},
		},
		{
			name: "the version is edited in a reboot that does not come back", nodes: 4, canary: true, has: reboots(0, ""),
			then: func(s faults.Scene) {
				s.Interrupting("n00")
				s.Vanish("n00")
				s.Skyhook(func(sk *v1alpha1.Skyhook) {
					driver(&sk.Spec, func(pkg *v1alpha1.Package) { pkg.Version = "2.0.0" })
				})
				s.Pass(60 * minutes)
			},
			told: []string{"is stopped because batch 1 was bad", "n00"},
		},
		{
			name: "a node that left the selection does not come back from its reboot", nodes: 4,
			has: func(p *faults.Plan, spec *v1alpha1.SkyhookSpec) {
				reboots(0, "")(p, spec)
				spec.NodeSelectors = metav1.LabelSelector{MatchLabels: map[string]string{"pool": "x"}}
			},
			then: func(s faults.Scene) {
				s.Interrupting("n00")
				s.Vanish("n00")
				s.Node("n00", func(n *corev1.Node) { n.Labels["pool"] = "y" })
				s.Pass(60 * minutes)
			},
			told: []string{"DepartedNotReady: DepartedNotReady: node n00"},
		},
	}.tells(t)
}
