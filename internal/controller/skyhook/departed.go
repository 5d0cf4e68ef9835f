package skyhook

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/controller/state"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/rollout"
	"github.com/skyhook-operator/skyhook/internal/situation"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

// maxLooks is how many nodes are asked for one by one before all are listed.
const maxLooks = 20

// departed reads the nodes that the Skyhook does not select but that hold a permit, as far as they exist, or tell
// what keeps them from getting rid of it. Those in the cache are selected or others. What the cache does not show it
// may only not show yet, and a permit that is dropped too early is one too many at work: such nodes are asked for at the
// API server. The error says that this failed; those nodes then count as there.
func (p *pass) departed(ctx context.Context, selected []*corev1.Node) error {
	s := p.skyhook
	found, holders, waitKey := map[string]rollout.Departed{}, holdersOf(s), v1alpha1.AnnotationWaitPrefix+s.Name
	p.in.Departed = found
	for _, node := range selected {
		delete(holders, node.Name)
	}
	for _, node := range p.others {
		if _, waits := node.Annotations[waitKey]; waits || holders[node.Name] {
			n, err := p.Records.Read(s.Name, node) // unreadable or not, token and wait are annotations of their own
			away := !state.Ready(node) && !p.reboots(node)
			found[node.Name] = rollout.Departed{
				Verdict: verdictOnLeaver(n, err), FinishedPermit: n.FinishedPermit, Unavailable: away, Wait: lifecycle.RemovalWait(n.Wait),
			}
		}
		delete(holders, node.Name)
	}
	return p.lookFor(ctx, holders)
}

// reboots reports whether a node may be away for an interrupt of the Skyhook, and has it looked at again when that is over.
func (p *pass) reboots(node *corev1.Node) bool {
	i := record.ReadInterrupt(node.Annotations)
	if !i.OwnedBy(p.skyhook.Name) {
		return false
	}
	left := i.Since.Add(situation.InterruptLimit).Sub(p.Clock.Now())
	if left <= 0 {
		return false
	}
	p.lookAgain(left)
	return true
}

// verdictOnLeaver is what a node means for its batch that somebody took out of the selection: bad in the middle of work,
// and if nobody can tell, as its record cannot be read.
func verdictOnLeaver(n record.Node, unreadable error) situation.Verdict {
	if n.Begun || n.Cordoned || unreadable != nil {
		return situation.Bad
	}
	return situation.Left
}

// holdersOf are the nodes that hold a permit.
func holdersOf(s *v1alpha1.Skyhook) map[string]bool {
	holders := map[string]bool{}
	for i := range s.Status.Permits {
		holders[s.Status.Permits[i].Node] = true
	}
	delete(holders, "") // a permit that could not be read is nobody's
	return holders
}

// goneOf adds to the departed nodes what keeps the Skyhook on nodes that it is still to be removed from, but that are
// gone. While it goes from others, nobody has to know, and nothing is asked.
func (p *pass) goneOf(ctx context.Context, left []string) error {
	names, waitKey := map[string]bool{}, v1alpha1.AnnotationWaitPrefix+p.skyhook.Name
	for _, name := range left {
		if _, known := p.in.Departed[name]; known || name == "" {
			continue
		}
		var node corev1.Node
		err := p.Client.Get(ctx, client.ObjectKey{Name: name}, &node, client.UnsafeDisableDeepCopy)
		_, waits := node.Annotations[waitKey]
		switch {
		case apierrors.IsNotFound(err):
			names[name] = true
		case err != nil:
			return fmt.Errorf("get node %s: %w", name, err)
		case !waits:
			return nil
		}
	}
	if len(names) == 0 {
		return nil
	}
	for i := range p.in.Nodes { // it went meanwhile: the next pass sees that
		delete(names, p.in.Nodes[i].Name)
	}
	return p.lookFor(ctx, names)
}

// lookFor adds to the departed nodes those of the named that exist, and those of which nobody can tell.
func (p *pass) lookFor(ctx context.Context, names map[string]bool) error {
	if len(names) == 0 {
		return nil
	}
	live, unknown, err := named(ctx, p.Live, names)
	running, errPods := p.withPods(ctx)
	for name := range names {
		node, exists := live[name]
		pod := running[name]
		switch untold := errors.Join(unknown[name], errPods); {
		case exists:
			n, _ := record.Read(p.skyhook.Name, node.Annotations)
			p.in.Departed[name] = rollout.Departed{FinishedPermit: n.FinishedPermit}
		case untold != nil:
			p.in.Departed[name] = rollout.Departed{Wait: doubt(p.known.failures.lasting(untold, v1alpha1.ReasonPassFailed))}
		case pod != nil:
			p.in.Departed[name] = rollout.Departed{
				Gone: true, Verdict: situation.Bad, FinishedPermit: finished(p.skyhook, pod), Wait: p.outlives(pod),
			}
		}
	}
	return p.known.failures.lasting(errors.Join(err, errPods), v1alpha1.ReasonPassFailed)
}

// doubt is what a node waits for of which nobody can tell whether it is gone; nil until that lasts.
func doubt(err error) *record.Wait {
	o := obstacleOf(err)
	if o == nil {
		return nil
	}
	return &record.Wait{Reason: o.reason, Frees: o.frees, Message: "whether it is gone is not known: " + o.message}
}

// finished is the token of the permit of a pod's node if the pod runs nothing any more, so that the node needs none.
func finished(s *v1alpha1.Skyhook, pod *corev1.Pod) string {
	for i := range s.Status.Permits {
		if p := &s.Status.Permits[i]; p.Node == pod.Spec.NodeName && workload.Ended(pod) {
			return p.Token()
		}
	}
	return ""
}

// outlives returns why a node that is gone keeps its permit, and its Skyhook: its machine may still run what the pod
// began. It returns nil while the pod may still end by itself, and has the Skyhook planned again when that time is over.
func (p *pass) outlives(pod *corev1.Pod) *record.Wait {
	if pod.DeletionTimestamp == nil {
		return nil
	}
	if left := pod.DeletionTimestamp.Add(lifecycle.EndGrace).Sub(p.Clock.Now()); left > 0 {
		p.lookAgain(left)
		return nil
	}
	stays := "did not end within its grace period, so that its machine may still be at work"
	if workload.Ended(pod) {
		stays = "has ended, but does not go"
	}
	return &record.Wait{
		Reason: v1alpha1.ReasonWaitingForPodToEnd, Frees: record.FreesAdministrator, Since: *pod.DeletionTimestamp,
		Message: fmt.Sprintf("a pod on it %s; see what keeps it, such as a finalizer: `kubectl get pod -n %s %s -o yaml`",
			stays, pod.Namespace, pod.Name),
	}
}

// withPods are the nodes that pods of the Skyhook are bound to which have not ended, with the one of these that has to
// end first. Those that have ended count as well while the Skyhook is being deleted, which waits for them too.
func (p *pass) withPods(ctx context.Context) (map[string]*corev1.Pod, error) {
	s := p.skyhook
	var pods corev1.PodList
	// Asked of the API server: the cache may lack the pod that was created last.
	if err := p.Live.List(ctx, &pods, client.InNamespace(p.Workload.Namespace),
		client.MatchingLabels{v1alpha1.LabelName: s.Name}); err != nil {
		return nil, fmt.Errorf("list pods of Skyhook %s: %w", s.Name, err)
	}
	on := map[string]*corev1.Pod{}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if workload.Ended(pod) && s.DeletionTimestamp == nil || !metav1.IsControlledBy(pod, s) {
			continue
		}
		if first := on[pod.Spec.NodeName]; first == nil || compareEnds(pod, first) < 0 {
			on[pod.Spec.NodeName] = pod
		}
	}
	return on, nil
}

// compareEnds sorts pods: what may still run before what has ended, then by when they have to end, if that is known.
func compareEnds(a, b *corev1.Pod) int {
	due := func(p *corev1.Pod) int64 {
		at := int64(1 << 60)
		if p.DeletionTimestamp != nil {
			at = p.DeletionTimestamp.Unix()
		}
		if workload.Ended(p) {
			at += 1 << 61
		}
		return at
	}
	return cmp.Or(cmp.Compare(due(a), due(b)), cmp.Compare(a.Name, b.Name))
}

// named asks the API server for the metadata of the named nodes: one by one while they are few, else for that of all
// nodes. unknown has the error for each node that it could not be asked about, and err is the first of them.
func named(
	ctx context.Context, reader client.Reader, names map[string]bool,
) (live map[string]metav1.ObjectMeta, unknown map[string]error, err error) {
	live, unknown = map[string]metav1.ObjectMeta{}, map[string]error{}
	if len(names) > maxLooks {
		all, err := liveNodes(ctx, reader)
		for i := range all {
			live[all[i].Name] = all[i]
		}
		for name := range names {
			unknown[name] = err
		}
		return live, unknown, err
	}
	sorted := slices.Sorted(maps.Keys(names))
	for i, name := range sorted {
		node := metav1.PartialObjectMetadata{}
		node.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Node"))
		failed := reader.Get(ctx, client.ObjectKey{Name: name}, &node)
		switch {
		case failed == nil:
			live[name] = node.ObjectMeta
		case !apierrors.IsNotFound(failed):
			for _, rest := range sorted[i:] { // an answer may take long
				unknown[rest] = failed
			}
			return live, unknown, fmt.Errorf("find out whether node %s is gone: %w", name, failed)
		}
	}
	return live, unknown, nil
}
