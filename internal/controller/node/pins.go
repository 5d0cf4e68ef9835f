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

// writePins keeps which images this node pulled first. Nothing else is written when another node was first with another
// image: the next pass decides by that.
func (r *Reconciler) writePins(ctx context.Context, p *pass) error {
	for _, i := range p.items {
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
		return fmt.Errorf("pin the image of package %s of Skyhook %s: %w", pin.Package, s.Name, err)
	}
	var first appsv1.ControllerRevision
	if err := r.Live.Get(ctx, client.ObjectKey{Namespace: r.Workload.Namespace, Name: name}, &first); err != nil {
		return fmt.Errorf("get ControllerRevision %s, which pins an image: %w", name, err)
	}
	switch have, err := workload.ReadPin(&first); {
	case err != nil:
		p.errs = append(p.errs, err)
	case !metav1.IsControlledBy(&first, s):
		p.errs = append(p.errs, fmt.Errorf("ControllerRevision %s/%s exists but does not belong to Skyhook %s; delete it", first.Namespace, name, s.Name))
	case have.Digest != pin.Digest:
		return apierrors.NewConflict(appsv1.Resource("controllerrevisions"), name, errors.New("another node pinned another image"))
	}
	return nil
}

// noteMoved keeps, with the pin, that a node got another image for the same tag.
func (r *Reconciler) noteMoved(ctx context.Context, s *v1alpha1.Skyhook, pin lifecycle.Pin) error {
	object, err := r.Workload.PinRevision(s, pin)
	if err != nil {
		return err
	}
	note, err := workload.Moved(pin)
	if err != nil {
		return err
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{v1alpha1.AnnotationMoved: note}}})
	if err != nil {
		return fmt.Errorf("encode what package %s moved to: %w", pin.Package, err)
	}
	err = r.Client.Patch(ctx, object, client.RawPatch(types.MergePatchType, body), client.FieldOwner(fieldManager))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("note that the tag of package %s of Skyhook %s moved: %w", pin.Package, s.Name, err)
	}
	return nil
}
