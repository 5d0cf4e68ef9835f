package faults

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// Scene is a world of one Skyhook that a test of what people read plays by hand.
type Scene struct{ w *World }

// NewScene has so many nodes n00, n01 and so on, and the Skyhook gpu with the package driver: one node at a time, or with
// a canary that stops it.
func NewScene(nodes int, canary bool, change func(*Plan, *v1alpha1.SkyhookSpec)) Scene {
	p := &Plan{Schedule: 1}
	for i := range nodes {
		p.Nodes = append(p.Nodes, NodePlan{Name: fmt.Sprintf("n%02d", i), Labels: map[string]string{"pool": "x"}})
	}
	spec := v1alpha1.SkyhookSpec{Sequencing: v1alpha1.SequencingNode, Priority: 200, Packages: map[string]v1alpha1.Package{
		"driver": {Image: "registry.example/driver", Version: "1.0.0", ConfigMap: map[string]string{"mode": "one"}},
	}}
	if spec.InterruptionBudget.Count = new(1); canary {
		spec.InterruptionBudget.Count, spec.DeploymentPolicy = nil, "careful"
		p.Policies = []PolicyPlan{{Name: "careful", Spec: v1alpha1.DeploymentPolicySpec{Default: v1alpha1.PolicyDefault{
			Budget: v1alpha1.Budget{Percent: new(50)}, Strategy: v1alpha1.Strategy{Fixed: &v1alpha1.FixedStrategy{
				BatchRules: v1alpha1.BatchRules{InitialBatch: new(1), SafetyLimit: new(100), FailureThreshold: new(1)},
			}},
		}}}}
	}
	change(p, &spec)
	p.Skyhooks = append(p.Skyhooks, SkyhookPlan{Name: "gpu", Spec: spec})
	return Scene{newWorld(p, false, false)}
}

// Pass lets time pass.
func (s Scene) Pass(d time.Duration) {
	w := s.w
	for end := w.now.Add(d); w.now.Before(end); {
		w.step++
		if w.choose(w.due()) {
			w.now = w.now.Add(20 * time.Millisecond)
			continue
		}
		next, ok := w.next()
		if !ok || next.After(end) {
			next = end
		}
		w.advance(next)
	}
}

// Vanish is the end of a host.
func (s Scene) Vanish(node string) { s.w.kubelet(node).vanish() }

// Interrupting passes time until an interrupt is in flight on the node, or for a quarter of an hour.
func (s Scene) Interrupting(node string) {
	for range 9000 {
		if _, ok := s.w.node(node).Annotations[v1alpha1.AnnotationInterrupt]; ok {
			return
		}
		s.Pass(100 * time.Millisecond)
	}
}

// Gone deletes the node of a host that ended.
func (s Scene) Gone(node string) {
	s.Vanish(node)
	s.w.remove(s.w.node(node).DeepCopy())
	s.w.after(30*time.Second, "pods go", func() { s.w.removePodsOf(node) })
}

// Node edits a node.
func (s Scene) Node(name string, change func(*corev1.Node)) { s.w.editNode(name, change) }

// Skyhook edits the Skyhook.
func (s Scene) Skyhook(change func(*v1alpha1.Skyhook)) { s.w.editSkyhook("gpu", change) }

// Of edits another Skyhook.
func (s Scene) Of(name string, change func(*v1alpha1.Skyhook)) { s.w.editSkyhook(name, change) }

// Delete deletes the Skyhook.
func (s Scene) Delete() { s.w.remove(s.w.skyhook("gpu").DeepCopy()) }

// Quota refuses all pods of packages.
func (s Scene) Quota() { s.w.faults.quota = "*" }

// Finalize gives all pods on a node a finalizer.
func (s Scene) Finalize(node string) {
	for _, pod := range s.w.cluster.Pods() {
		if pod.Spec.NodeName == node {
			pod = pod.DeepCopy()
			pod.Finalizers = []string{"example.com/stays"}
			s.w.must(s.w.user.Update(background, pod))
		}
	}
}

// Lose ends what runs of packages on a node without a result, as an eviction by the kubelet does.
func (s Scene) Lose(node, reason, message string) {
	k := s.w.kubelet(node)
	for _, pod := range s.w.cluster.Pods() {
		if r := k.runs[pod.UID]; pod.Namespace == namespace && r != nil && !finishedPod(pod) {
			k.failPod(pod, r, reason, message)
		}
	}
}

// Rerun is what kubectl skyhook package rerun driver writes.
func (s Scene) Rerun(node string) {
	s.w.editNode(node, func(n *corev1.Node) {
		p, err := record.Rerun("gpu", record.Key("driver", "1.0.0"), "", n.Annotations)
		s.w.must(err)
		for key, value := range p.Annotations {
			if value == nil {
				delete(n.Annotations, key)
			} else {
				n.Annotations[key] = *value
			}
		}
	})
}

// Show is all that can be read now.
func (s Scene) Show() (r *Rest) {
	s.w.look = func(now *Rest) { r = now }
	s.w.rested()
	s.w.look = nil
	return r
}
