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
func (i *item) keepPins(ctx context.Context) {
	if err := i.writePins(ctx); err != nil {
		i.pass.fail(i.skyhook, err)
		i.putOff("")
	}
}

func (i *item) writePins(ctx context.Context) error {
	for _, pin := range i.decision.Pin {
		if err := i.pin(ctx, pin); err != nil {
			return err
		}
	}
	for _, pin := range i.decision.Moved {
		pin.Node = i.pass.node.Name
		if err := i.noteMoved(ctx, pin); err != nil {
			return err
		}
	}
	return nil
}

func (i *item) pin(ctx context.Context, pin lifecycle.Pin) error {
	p, s := i.pass, i.skyhook
	object, err := p.Workload.PinRevision(s, pin)
	if err != nil {
		return err
	}
	name := object.Name
	err = p.Client.Create(ctx, object, client.FieldOwner(fieldManager))
	if err == nil {
		return nil
	}
	if !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("pin the image of package %s: %w", pin.Package, err)
	}
	var first appsv1.ControllerRevision
	if err := p.Live.Get(ctx, client.ObjectKey{Namespace: p.Workload.Namespace, Name: name}, &first); err != nil {
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
func (i *item) noteMoved(ctx context.Context, pin lifecycle.Pin) error {
	s := i.skyhook
	object, err := i.pass.Workload.PinRevision(s, pin)
	if err != nil {
		return err
	}
	note, err := workload.Moved(pin)
	if err != nil {
		return err
	}
	var have appsv1.ControllerRevision
	if err := i.pass.Client.Get(ctx, client.ObjectKeyFromObject(object), &have); client.IgnoreNotFound(err) != nil {
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
	err = i.pass.Client.Patch(ctx, object, client.RawPatch(types.MergePatchType, body), client.FieldOwner(fieldManager))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("note that the tag of package %s moved: %w", pin.Package, err)
	}
	return nil
}
