package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/controller/logs"
	"github.com/skyhook-operator/skyhook/internal/controller/refusal"
	"github.com/skyhook-operator/skyhook/internal/controller/state"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

// execute carries out the decisions of a pass. The node is written first, each write with the resourceVersion that the
// decisions are based on: when the cache was behind, nothing else happens. Whatever is lost after it, the next pass
// does again.
func (p *pass) execute(ctx context.Context) {
	if err := p.writeNode(ctx); err != nil {
		p.failAll(err)
		p.tellUnwritten(ctx)
		return
	}
	for _, i := range p.items {
		i.measure() // before the Skyhook is planned, for which the record that was written wakes it
		if err := i.changePods(ctx); err != nil {
			p.fail(i.skyhook, err)
		}
		i.report(ctx)
	}
	p.reportTaint(ctx)
}

// writeNode writes what the pass changes of the node for all Skyhooks: nothing if nothing changes, and in one request
// if it can. The API server takes metadata together with a status, as kubelets send it, but no cordon and no taint. Then
// conditions go before the record, whose change wakes the node, so that the pass that follows sees both; but for a node
// that gets its runtime taint, as any workload may be bound to it until the taint is there.
func (p *pass) writeNode(ctx context.Context) error {
	metadata, err := p.recordChanges(ctx)
	if err != nil {
		return err
	}
	conditions, spec := p.conditionChanges(), p.specChange()
	switch {
	case len(conditions) == 0 && len(spec) == 0 && metadata.Empty():
		return p.confirm(ctx)
	case len(conditions) == 0:
		return p.patchNode(ctx, metadata)
	case len(spec) == 0:
		return p.patchStatus(ctx, metadata, conditions)
	}
	writes := []func() error{
		func() error { return p.patchStatus(ctx, record.Patch{}, conditions) },
		func() error { return p.patchNode(ctx, metadata) },
	}
	if p.taint.Taints != nil && p.addsTaint() {
		slices.Reverse(writes)
	}
	for _, write := range writes {
		if err := write(); err != nil {
			return err
		}
	}
	return nil
}

// recordChanges is what changes of the node's metadata.
func (p *pass) recordChanges(ctx context.Context) (record.Patch, error) {
	var all record.Patch
	if !p.taintFirst {
		all = p.clearOrphans(ctx)
	}
	for _, i := range p.items {
		change, err := i.recordChange()
		if err != nil {
			return record.Patch{}, err
		}
		all.Merge(change)
	}
	flight, err := record.WriteInterrupt(p.inFlight, p.node.Annotations)
	if err != nil {
		return record.Patch{}, fmt.Errorf("node %s: encode the interrupt in flight: %w", p.node.Name, err)
	}
	all.Merge(flight)
	if p.ownReboot {
		all.Merge(record.AcceptBoot(p.node.Status.NodeInfo.BootID, p.node.Annotations))
	}
	all.Merge(p.taintPatch())
	return all, nil
}

// specChange is what changes of the node's spec: cordon and taints.
func (p *pass) specChange() map[string]any {
	spec := map[string]any{}
	if p.unschedulable != p.node.Spec.Unschedulable {
		spec["unschedulable"] = p.unschedulable
	}
	if p.taint.Taints != nil {
		// The whole list; the resourceVersion sees to it that nobody else's taint is lost.
		spec["taints"] = *p.taint.Taints
	}
	return spec
}

// patchNode writes metadata and cordon in one request.
func (p *pass) patchNode(ctx context.Context, all record.Patch) error {
	change := map[string]any{"metadata": p.metadataOf(all)}
	if spec := p.specChange(); len(spec) > 0 {
		change["spec"] = spec
	}
	cordoned := p.node.Spec.Unschedulable
	if err := p.sendPatch(ctx, change); err != nil {
		return err
	}
	logCordon(ctx, p.node.Name, cordoned, p.unschedulable)
	return nil
}

// metadataOf is the change of metadata in a patch of the node, with its precondition.
func (p *pass) metadataOf(all record.Patch) map[string]any {
	metadata := map[string]any{"resourceVersion": p.wrote.resourceVersion}
	// A null map would remove every label or annotation of the node.
	if len(all.Annotations) > 0 {
		metadata["annotations"] = all.Annotations
	}
	if len(all.Labels) > 0 {
		metadata["labels"] = all.Labels
	}
	return metadata
}

func (p *pass) sendPatch(ctx context.Context, change map[string]any) error {
	return p.send(change, "record", func(node *corev1.Node, body []byte) error {
		return p.Client.Patch(ctx, node, client.RawPatch(types.MergePatchType, body))
	})
}

// patchStatus writes conditions, together with metadata. A strategic merge goes by the type of a condition, and leaves
// the kubelet's alone.
func (p *pass) patchStatus(ctx context.Context, all record.Patch, conditions []any) error {
	change := map[string]any{"metadata": p.metadataOf(all), "status": map[string]any{"conditions": conditions}}
	what := "record"
	if all.Empty() {
		what = "conditions"
	}
	return p.send(change, what, func(node *corev1.Node, body []byte) error {
		return p.Client.Status().Patch(ctx, node, client.RawPatch(types.StrategicMergePatchType, body),
			client.FieldOwner(fieldManager))
	})
}

// send carries out one write of the node, which the pass goes on from.
func (p *pass) send(change map[string]any, what string, patch func(node *corev1.Node, body []byte) error) error {
	body, err := json.Marshal(change)
	if err != nil {
		return fmt.Errorf("encode the %s of node %s: %w", what, p.node.Name, err)
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: p.node.Name}} // the cache's object must not change
	err = patch(node, body)
	if apierrors.IsNotFound(err) { // the cache was behind, as with a conflict
		err = apierrors.NewConflict(corev1.Resource("nodes"), p.node.Name, errors.New("it is gone"))
	}
	if err != nil {
		return fmt.Errorf("write the %s of node %s: %w", what, p.node.Name, err)
	}
	p.node, p.wrote.resourceVersion = node, node.ResourceVersion // what a further change of the record differs from
	return nil
}

// confirm makes sure that pods are not changed on an old view of the node when there is nothing to write whose
// precondition would tell. That is rare: only a pod that got lost is replaced without a change of the record.
func (p *pass) confirm(ctx context.Context) error {
	if !slices.ContainsFunc(p.items, func(i *item) bool { return len(i.decision.Start)+len(i.decision.Delete) > 0 }) {
		return nil
	}
	return p.unchanged(ctx)
}

// unchanged makes sure, once in a pass, that what decisions depend on is the same in the API server's node and in the
// cache's.
func (p *pass) unchanged(ctx context.Context) error {
	if p.confirmed {
		return nil
	}
	var live corev1.Node
	if err := p.Live.Get(ctx, client.ObjectKeyFromObject(p.node), &live); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("get node %s: %w", p.node.Name, err)
	}
	changed := func(what string) error {
		return apierrors.NewConflict(corev1.Resource("nodes"), p.node.Name, errors.New(what+" changed"))
	}
	if live.UID != p.node.UID { // nor has what was not found
		return changed("the node")
	}
	for _, s := range p.skyhooks {
		keys := record.KeysOf(s.Name)
		if keys.Raw(live.Annotations) != keys.Raw(p.node.Annotations) {
			return changed("the record")
		}
	}
	if live.Spec.Unschedulable != p.node.Spec.Unschedulable ||
		live.Status.NodeInfo.BootID != p.node.Status.NodeInfo.BootID ||
		live.Annotations[v1alpha1.AnnotationInterrupt] != p.node.Annotations[v1alpha1.AnnotationInterrupt] {
		return changed("its boot, cordon or interrupt")
	}
	if !record.SameUnsealed(live.Labels, p.node.Labels) ||
		!equality.Semantic.DeepEqual(live.Spec.Taints, p.node.Spec.Taints) {
		return changed("a label or a taint")
	}
	p.confirmed = true
	return nil
}

func (i *item) recordChange() (record.Patch, error) {
	p := i.pass
	name, d := i.skyhook.Name, i.decision
	switch {
	case d.Clear:
		change := record.Clear(name, d.Record, p.node.Annotations, p.node.Labels)
		i.seal(&change) // the node may come back to what it keeps, or another Skyhook of that name
		return change, nil
	case d.Removing, i.withheld:
		change, err := record.WriteWait(name, d.Record.Wait, p.node.Annotations)
		if err != nil {
			return record.Patch{}, fmt.Errorf("node %s: %w", p.node.Name, err)
		}
		return change, nil
	}
	return i.write(d.Record)
}

// write returns the change that makes the node hold a record, with its seal.
func (i *item) write(n record.Node) (record.Patch, error) {
	p := i.pass
	change, err := record.Write(i.skyhook.Name, n, p.node.Annotations, p.node.Labels)
	if err != nil {
		return record.Patch{}, fmt.Errorf("node %s: %w", p.node.Name, err)
	}
	i.seal(&change)
	// Else a new operator would write every node of a fleet at once, to tell its version, or what earlier ones did not note.
	untold := []string{v1alpha1.AnnotationVersionPrefix + i.skyhook.Name}
	if host := v1alpha1.AnnotationHostPrefix + i.skyhook.Name; p.node.Annotations[host] == "" {
		untold = append(untold, host)
	}
	if change.Only(untold...) {
		return record.Patch{}, nil
	}
	return change, nil
}

func (i *item) seal(change *record.Patch) {
	if node := i.pass.node; i.seals {
		state.SealOf(i.skyhook, node).Apply(change, node.Annotations, node.Labels)
	}
}

// changePods deletes first, so that there are never two pods of a package on a node.
func (i *item) changePods(ctx context.Context) error {
	var errs []error
	for _, pod := range i.decision.Delete {
		errs = append(errs, i.deletePod(ctx, pod))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if len(i.decision.Start) == 0 {
		return i.keepNodeMeta(ctx)
	}
	meta := i.writeNodeMeta(ctx)
	if meta != nil && !refusal.Final(meta) {
		return meta
	}
	for _, start := range i.decision.Start { // one that cannot be started keeps none of the others
		if meta != nil {
			errs = append(errs, i.rejected(ctx, start, meta))
		} else {
			errs = append(errs, i.startPod(ctx, start))
		}
	}
	return errors.Join(errs...)
}

func (i *item) deletePod(ctx context.Context, pod lifecycle.Pod) error {
	p := i.pass
	options := []client.DeleteOption{client.Preconditions{UID: &pod.UID}}
	if pod.Outcome == lifecycle.Done || i.decision.Force {
		options = append(options, client.GracePeriodSeconds(0))
		p.wrote.removed = append(p.wrote.removed, writtenPod{pod.Name, pod.UID})
	}
	object := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: p.Workload.Namespace}}
	err := p.Client.Delete(ctx, object, options...)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // gone already, or another pod by now
	}
	if err != nil {
		return fmt.Errorf("delete pod %s: %w", pod.Name, err)
	}
	logPod(ctx, i, "pod deleted", pod.Name)
	return nil
}

func (i *item) startPod(ctx context.Context, start lifecycle.Start) error {
	p := i.pass
	task := workload.Task{
		Skyhook: i.skyhook, Package: start.Package, Stage: start.Stage, Run: start.Run,
		Generation: start.Generation, Interrupt: start.Interrupt, BootID: start.BootID, InterruptRun: start.InterruptRun,
		Digest: start.Digest, Node: p.node.Name,
	}
	if start.Retained != "" {
		pkg := p.snapshot.Wanted(i.skyhook, p.node.Name).Retained[start.Retained].Package
		task.Retained = &pkg
	}
	if permit := permitOf(i.skyhook, p.node); permit != nil {
		task.Order = permit.Order
	}
	pod, err := p.Workload.Pod(task)
	if err != nil {
		return err
	}
	err = p.Client.Create(ctx, pod)
	lost := unlabelled(pod)
	if err != nil || lost != nil {
		p.wrote.proved = false // there may be a pod that the cache lacks
	}
	switch {
	case apierrors.IsAlreadyExists(err):
		taken, err := i.nameTaken(ctx, pod)
		if taken == nil || err != nil {
			return err
		}
		start.Exists = true
		return i.rejected(ctx, start, taken)
	case refusal.Final(err):
		return i.rejected(ctx, start, err)
	case lost != nil:
		start.Exists = true
		return i.rejected(ctx, start, lost)
	case err != nil:
		return fmt.Errorf("create pod %s for stage %s of package %s: %w", pod.Name, start.Stage, start.Package, err)
	}
	p.wrote.created = append(p.wrote.created, writtenPod{pod.Name, pod.UID})
	logPod(ctx, i, "pod created", pod.Name,
		logs.Package, start.Package, logs.Version, start.Version, logs.Stage, start.Stage)
	return nil
}

// rejected records that the API server refuses the pod, or what it mounts, so that people see why nothing happens. The
// next pass retries after a pause.
func (i *item) rejected(ctx context.Context, start lifecycle.Start, cause error) error {
	n, change := lifecycle.Reject(i.decision.Record, start, cause.Error(), i.pass.now)
	patch, err := i.write(n)
	if err != nil {
		return err
	}
	if err := i.pass.patchNode(ctx, patch); err != nil {
		return err
	}
	if i.decision.Record = n; change != nil {
		i.decision.Changes = append(i.decision.Changes, *change)
	}
	return nil
}

// nameTaken looks at the pod that has the name of the one to be created. One of ours is in the cache soon, and the next
// pass sees to it, unless it lacks the label that the cache goes by; anything else needs a person, who is told by
// taken.
func (i *item) nameTaken(ctx context.Context, pod *corev1.Pod) (taken, err error) {
	s := i.skyhook
	var live corev1.Pod
	err = i.pass.Live.Get(ctx, client.ObjectKeyFromObject(pod), &live)
	switch {
	case apierrors.IsNotFound(err):
		// No event may tell that the name is free.
		return nil, apierrors.NewConflict(corev1.Resource("pods"), pod.Name, errors.New("another pod has just left its name"))
	case err != nil:
		return nil, fmt.Errorf("get pod %s, whose name is taken: %w", pod.Name, err)
	case metav1.IsControlledBy(&live, s):
		return unlabelled(&live), nil
	}
	return fmt.Errorf("pod %s/%s exists but does not belong to Skyhook %s; find out who created it, because the stage "+
		"needs its name", pod.Namespace, pod.Name, s.Name), nil
}
