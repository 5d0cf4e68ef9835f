package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

// keepPins keeps which images this node pulled first for one Skyhook, before anything that follows from it. What cannot
// be kept, or differs from what another node pinned first, voids the decision and no other: the next pass decides
// again.
func (r *Reconciler) keepPins(ctx context.Context, p *pass, i *item) {
	if err := r.writePins(ctx, p, i); err != nil {
		p.fail(i.skyhook, err)
		before, _ := r.Records.Read(i.skyhook.Name, p.node)
		i.withheld, i.decision = true, lifecycle.Withhold(r.observe(p, i.skyhook, before), "")
	}
}

func (r *Reconciler) writePins(ctx context.Context, p *pass, i *item) error {
	for _, pin := range i.decision.Pin {
		if err := r.pin(ctx, p, i.skyhook, pin); err != nil {
			return err
		}
	}
	for _, pin := range i.decision.Moved {
		pin.Node = p.node.Name
		if err := r.noteMoved(ctx, i.skyhook, pin); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reconciler) pin(ctx context.Context, p *pass, s *v1alpha1.Skyhook, pin lifecycle.Pin) error {
	object, err := r.Workload.PinRevision(s, pin)
	if err != nil {
		return err
	}
	name := object.Name
	err = r.Client.Create(ctx, object, client.FieldOwner(fieldManager))
	if err == nil {
		return nil
	}
	if !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("pin the image of package %s: %w", pin.Package, err)
	}
	var first appsv1.ControllerRevision
	if err := r.Live.Get(ctx, client.ObjectKey{Namespace: r.Workload.Namespace, Name: name}, &first); err != nil {
		return fmt.Errorf("get ControllerRevision %s, which pins an image: %w", name, err)
	}
	deleteIt := fmt.Sprintf("delete it with `kubectl delete controllerrevision -n %s %s`", first.Namespace, name)
	switch have, err := workload.ReadPin(&first); {
	case err != nil:
		p.fail(s, err)
	case !metav1.IsControlledBy(&first, s):
		p.fail(s, fmt.Errorf("ControllerRevision %s/%s exists but does not belong to it; %s",
			first.Namespace, name, deleteIt))
	case !workload.IsPin(&first) || first.Labels[v1alpha1.LabelName] != s.Name: // no cache will show it
		p.fail(s, fmt.Errorf("ControllerRevision %s/%s has lost its labels; %s", first.Namespace, name, deleteIt))
	case have.Digest != pin.Digest:
		return pinConflict(name, "another node pinned another image")
	}
	return nil
}

func pinConflict(name, why string) error {
	return apierrors.NewConflict(appsv1.Resource("controllerrevisions"), name, errors.New(why))
}

// noteMoved keeps, with the pin that the decision read, that a node got another image for the same tag. One that is
// another by now, or tells of another node meanwhile, makes it void.
func (r *Reconciler) noteMoved(ctx context.Context, s *v1alpha1.Skyhook, pin lifecycle.Pin) error {
	object, err := r.Workload.PinRevision(s, pin)
	if err != nil {
		return err
	}
	note, err := workload.Moved(pin)
	if err != nil {
		return err
	}
	var have appsv1.ControllerRevision
	if err := r.Client.Get(ctx, client.ObjectKeyFromObject(object), &have); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("get ControllerRevision %s, which pins an image: %w", object.Name, err)
	}
	if kept, err := workload.ReadPin(&have); err != nil || kept.Digest != pin.Digest {
		return pinConflict(object.Name, "it does not pin what it did")
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": have.ResourceVersion, "annotations": map[string]string{v1alpha1.AnnotationMoved: note},
	}})
	if err != nil {
		return fmt.Errorf("encode what package %s moved to: %w", pin.Package, err)
	}
	err = r.Client.Patch(ctx, object, client.RawPatch(types.MergePatchType, body), client.FieldOwner(fieldManager))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("note that the tag of package %s moved: %w", pin.Package, err)
	}
	return nil
}
