package forecast

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/controller/state"
	"github.com/skyhook-operator/skyhook/internal/forecast/podlife"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

// ends is how long a package pod takes to end that is deleted.
const ends = 2 * time.Second

// due is when a kubelet has something to do with a pod.
type due struct {
	pod client.ObjectKey
	uid types.UID
	at  time.Time
}

func (w *world) dueAt(p *corev1.Pod, at time.Time) {
	if !w.away(p.Spec.NodeName) {
		w.due[p.UID] = due{client.ObjectKeyFromObject(p), p.UID, at}
	}
}

// away reports whether nobody knows when a kubelet does anything again: its node is gone, or is not Ready although it
// was not told to reboot.
func (w *world) away(node string) bool {
	if node == "" {
		return false
	}
	n := w.node(node)
	if n == nil || state.Ready(n) {
		return n == nil
	}
	f := record.ReadInterrupt(n.Annotations)
	return f == nil || f.Type != v1alpha1.InterruptReboot
}

// adopt takes over a pod that is there already. One that fails goes on failing, for all that is known.
func (w *world) adopt(p *corev1.Pod) {
	switch seen, ours := w.observe(p); {
	case p.DeletionTimestamp != nil:
		w.dueAt(p, latest(w.now.Add(ends), p.DeletionTimestamp.Time))
	case ours && seen.Outcome == lifecycle.Running && p.Spec.NodeName != "":
		w.dueAt(p, w.now.Add(w.takes(p, w.stepOf(p, seen))))
	}
}

// takes is how long a step takes. Kubelets here always succeed, so it is less than the spec allows the stage.
func (w *world) takes(p *corev1.Pod, s Step) time.Duration {
	ref := metav1.GetControllerOfNoCopy(p)
	usual := w.options.Takes(ref.Name, s)
	for _, sk := range w.cluster.Skyhooks() {
		limit := w.options.Operator.Limits.Of(sk.Spec.Packages[s.Package]).StageTimeout
		if sk.UID != ref.UID || limit == nil {
			continue
		}
		const spare = 10 // a tenth of it
		left := p.CreationTimestamp.Add(limit.Duration - limit.Duration/spare).Sub(w.now)
		return max(0, min(usual, left))
	}
	return usual
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// observe reads a package pod; false for any other.
func (w *world) observe(p *corev1.Pod) (lifecycle.Pod, bool) {
	ref := metav1.GetControllerOfNoCopy(p)
	if ref == nil || ref.Kind != "Skyhook" || p.Namespace != w.cluster.Namespace {
		return lifecycle.Pod{}, false
	}
	seen, err := workload.Observe(p)
	return seen, err == nil
}

func (w *world) podWritten(verb string, p *corev1.Pod) {
	seen, ours := w.observe(p)
	switch {
	case verb == "create" && ours:
		step := w.stepOf(p, seen)
		w.begins(p, step)
		w.dueAt(p, w.now.Add(w.takes(p, step)))
		w.moved = w.now
	case verb == "evict":
		w.evicted(p)
		w.moved = w.now
		w.leaves(p, ours)
	case p.DeletionTimestamp != nil:
		w.leaves(p, ours)
	}
}

// leaves lets a pod that is being deleted go when its time is up.
func (w *world) leaves(p *corev1.Pod, ours bool) {
	if p.DeletionTimestamp == nil {
		return // it is gone already
	}
	grace := time.Duration(ptr.Deref(p.DeletionGracePeriodSeconds, 0)) * time.Second
	if ours {
		grace = min(grace, ends)
	}
	w.dueAt(p, w.now.Add(grace))
}

func (w *world) stepOf(p *corev1.Pod, seen lifecycle.Pod) Step {
	s := Step{Package: seen.Package, Version: seen.Version, Stage: seen.Stage, Start: w.now}
	if !record.IsInterrupt(seen.Stage) {
		return s
	}
	if n := w.node(p.Spec.NodeName); n != nil {
		if f := record.ReadInterrupt(n.Annotations); f != nil {
			s.Interrupt = f.Type
		}
	}
	return s
}

func (w *world) node(name string) *corev1.Node {
	n := &corev1.Node{}
	if w.user.Get(quiet, client.ObjectKey{Name: name}, n) != nil {
		return nil
	}
	return n
}

// toldItsEnd says of a package pod of which nothing began that it ended like that, as kubelets do before a pod goes.
func (w *world) toldItsEnd(p *corev1.Pod) {
	if seen, ours := w.observe(p); ours && !seen.Begun && !workload.Ended(p) {
		p.Status.Phase = corev1.PodFailed
		w.must(w.user.Status().Update(quiet, p))
	}
}

// kubelets do what is due.
func (w *world) kubelets() {
	if w.options.Ahead == 0 {
		return
	}
	var now []due
	for uid, d := range w.due {
		if !d.at.After(w.now) {
			now = append(now, d)
			delete(w.due, uid)
		}
	}
	slices.SortFunc(now, func(a, b due) int {
		return cmp.Or(cmp.Compare(a.pod.Namespace, b.pod.Namespace), cmp.Compare(a.pod.Name, b.pod.Name))
	})
	for _, d := range now {
		p := &corev1.Pod{}
		switch err := w.user.Get(quiet, d.pod, p); {
		case err != nil || p.UID != d.uid: // it went without its kubelet
		case p.DeletionTimestamp != nil:
			w.toldItsEnd(p)
			w.must(w.user.Delete(quiet, p, client.GracePeriodSeconds(0)))
		default:
			w.finish(p)
		}
	}
}

// finish lets a package pod succeed, and its reboot happen.
func (w *world) finish(p *corev1.Pod) {
	seen, ours := w.observe(p)
	if !ours {
		return
	}
	w.moved = w.now
	step := w.stepOf(p, seen)
	if step.Interrupt == v1alpha1.InterruptReboot {
		w.reboot(p.Spec.NodeName)
	}
	w.endsAt(p, step)
	done, all := p.DeepCopy(), slices.Concat(p.Spec.InitContainers, p.Spec.Containers)
	for run := (podlife.Run{}); run.State != podlife.Over; {
		run.Step(done, w.now, func(container int) podlife.Attempt {
			return podlife.Attempt{ImageID: imageID(all[container].Image)}
		})
	}
	w.must(w.user.Status().Update(quiet, done))
}

// imageID is the digest that an image is named by, if it is.
func imageID(image string) string {
	if strings.Contains(image, "@") {
		return image
	}
	return ""
}

func (w *world) reboot(node string) {
	n := w.node(node)
	if n == nil {
		return
	}
	n.Status.NodeInfo.BootID = fmt.Sprintf("forecast-%d", w.now.UnixNano())
	w.must(w.user.Status().Update(quiet, n))
}

// must keeps the first failure: the copy of a cluster that refuses its kubelet foretells nothing.
func (w *world) must(err error) {
	if w.failure == nil && client.IgnoreNotFound(err) != nil {
		w.failure = fmt.Errorf("look ahead: %w", err)
	}
}
