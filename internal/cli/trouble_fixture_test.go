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

// scenes are those in which something is wrong, and what people read of it.
type scenes []struct {
	name   string
	nodes  int
	canary bool
	has    change
	then   func(faults.Scene)
	// asked is a node, or another Skyhook; empty for the Skyhook.
	asked string
	// told and untold are in what why and the status say.
	told, untold []string
}

func (all scenes) tells(t *testing.T) {
	for _, c := range all {
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
