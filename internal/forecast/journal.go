package forecast

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/admission"
	"github.com/skyhook-operator/skyhook/internal/rollout"
)

// remember takes down who works already.
func (w *world) remember() {
	for _, s := range w.cluster.Skyhooks() {
		w.permits(s)
	}
}

// permits notes who got one.
func (w *world) permits(s *v1alpha1.Skyhook) {
	for i := range s.Status.Permits {
		p := &s.Status.Permits[i]
		key := NodeOf{p.Node, s.Name}
		if w.of[key] != nil {
			continue
		}
		e := &Node{NodeOf: key, Order: p.Order, Start: w.now, Steps: []Step{}}
		e.Compartment, e.Batch = w.batchOf(s, p.Node)
		w.of[key] = e
		w.journal = append(w.journal, e)
		w.moved = w.now
	}
}

// batchOf is where a node belongs under the Skyhook's policy.
func (w *world) batchOf(s *v1alpha1.Skyhook, name string) (compartment string, batch int) {
	if s.Spec.DeploymentPolicy == "" {
		return "", 0
	}
	homes, ok := w.homes[s.Name]
	if !ok {
		homes = w.homesOf(s)
		w.homes[s.Name] = homes
	}
	compartment = homes[name]
	if b := s.Status.CompartmentStatuses[compartment].BatchState; b != nil {
		batch = b.CurrentBatch
	}
	return compartment, batch
}

// homesOf is the compartment of each node that the Skyhook selects.
func (w *world) homesOf(s *v1alpha1.Skyhook) map[string]string {
	policy := &v1alpha1.DeploymentPolicy{}
	if w.user.Get(quiet, client.ObjectKey{Name: s.Spec.DeploymentPolicy}, policy) != nil {
		return nil
	}
	prepared, err := rollout.PreparePolicy(policy)
	if err != nil {
		return nil // the Skyhook's status says what is wrong with it
	}
	selector, err := admission.Target(s)
	if err != nil {
		return nil
	}
	var nodes []rollout.Node
	for _, n := range w.cluster.Nodes() {
		if selector.Matches(labels.Set(n.Labels)) {
			nodes = append(nodes, rollout.Node{Name: n.Name, Labels: n.Labels})
		}
	}
	return prepared.Homes(s, nodes)
}

func (w *world) entryOf(p *corev1.Pod) *Node {
	ref := metav1.GetControllerOfNoCopy(p)
	if ref == nil {
		return nil
	}
	key := NodeOf{p.Spec.NodeName, ref.Name}
	e := w.of[key]
	if e == nil { // work that needs no permit any more, such as what a deleted Skyhook leaves
		e = &Node{NodeOf: key, Start: w.now, Steps: []Step{}}
		w.of[key] = e
		w.journal = append(w.journal, e)
	}
	return e
}

func (w *world) begins(p *corev1.Pod, s Step) {
	if e := w.entryOf(p); e != nil {
		e.Steps = append(e.Steps, s)
	}
}

// endsAt notes the end of the step that the pod runs.
func (w *world) endsAt(p *corev1.Pod, s Step) {
	e := w.entryOf(p)
	if e == nil {
		return
	}
	for i := range e.Steps {
		if have := &e.Steps[i]; have.Package == s.Package && have.Stage == s.Stage && have.End.IsZero() {
			have.End = w.now
			return
		}
	}
	s.Start, s.End = p.CreationTimestamp.Time, w.now // it ran already
	e.Steps = append(e.Steps, s)
}

// evicted notes a pod that leaves for whoever holds a cordon on its node.
func (w *world) evicted(p *corev1.Pod) {
	for _, e := range w.journal {
		if e.Node == p.Spec.NodeName && e.Cordoned {
			if name := p.Namespace + "/" + p.Name; !slices.Contains(e.Evicted, name) {
				e.Evicted = append(e.Evicted, name)
			}
		}
	}
}

func (w *world) cordoned(n *corev1.Node) {
	for _, e := range w.journal {
		if e.Node == n.Name && n.Annotations[v1alpha1.AnnotationCordonPrefix+e.Skyhook] == "true" {
			e.Cordoned = true
		}
	}
}
