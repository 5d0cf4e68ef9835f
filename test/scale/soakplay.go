package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// play lets the events happen at their times from now on. One that takes long delays those of its lane alone.
func (s *soak) play(ctx context.Context, events []event) error {
	begin := time.Now()
	lanes := map[string][]event{}
	for _, e := range events {
		lanes[e.lane()] = append(lanes[e.lane()], e)
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, lane := range lanes {
		group.Go(func() error {
			for _, e := range lane {
				if !sleep(ctx, time.Until(begin.Add(e.At)), nil) {
					return ctx.Err()
				}
				e.At = time.Since(s.begin) // for the journal: the rest in the middle counts
				s.log.note("event", e)
				if err := s.happen(ctx, e); err != nil {
					return fmt.Errorf("%s %s: %w", e.Kind, e.Target, err)
				}
				s.counts.add(e.Kind)
			}
			return nil
		})
	}
	return group.Wait()
}

func (s *soak) happen(ctx context.Context, e event) error {
	switch e.Kind {
	case kindKill:
		return s.replaceOperator(ctx)
	case kindJoin:
		return s.kubelets.join(ctx, e.Node)
	case kindLeave:
		return s.kubelets.leave(ctx, e.Target)
	case kindMove:
		return s.label(ctx, e.Target, e.Rack)
	}
	if e.Target == soakInterrupting {
		if err := s.makeWorkloads(ctx); err != nil {
			return err
		}
	}
	if e.Kind == kindRecreate {
		return s.recreate(ctx, e.Want)
	}
	return s.edit(ctx, e.Want)
}

func (s *soak) label(ctx context.Context, node, rack string) error {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"labels":{%q:%q}}}`, rackLabel, rack))
	return s.control.client.Patch(ctx, n, patch)
}

// makeWorkloads puts two pods on each node of the Skyhook that interrupts, for its next drain; as a scheduler, on none
// that is cordoned: pods that come back during a drain are for a person to stop.
func (s *soak) makeWorkloads(ctx context.Context) error {
	var nodes corev1.NodeList
	selector, err := metav1.LabelSelectorAsSelector(&partOf(soakInterrupting).skyhook().Spec.NodeSelectors)
	if err != nil {
		return err
	}
	if err := s.control.client.List(ctx, &nodes, client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return err
	}
	var names []string
	for i := range nodes.Items {
		if !nodes.Items[i].Spec.Unschedulable {
			names = append(names, nodes.Items[i].Name)
		}
	}
	return errors.Join(s.kubelets.removeWorkloads(ctx), s.kubelets.makeWorkloads(ctx, names, 2))
}

// edit makes of a Skyhook what is wanted: its spec and the annotations by which people steer.
func (s *soak) edit(ctx context.Context, want *v1alpha1.Skyhook) error {
	var now v1alpha1.Skyhook
	if err := s.control.client.Get(ctx, client.ObjectKeyFromObject(want), &now); err != nil {
		return err
	}
	before := now.DeepCopy()
	want.Spec.DeepCopyInto(&now.Spec)
	for _, key := range []string{v1alpha1.AnnotationPause, v1alpha1.AnnotationDisable} {
		delete(now.Annotations, key)
		if value := want.Annotations[key]; value != "" {
			metav1.SetMetaDataAnnotation(&now.ObjectMeta, key, value)
		}
	}
	return s.control.client.Patch(ctx, &now, client.MergeFrom(before))
}

// recreate deletes a Skyhook, waits until its nodes are free of it, and creates it again. What belonged to the old one
// goes after that, as late as a garbage collector may take it.
func (s *soak) recreate(ctx context.Context, want *v1alpha1.Skyhook) error {
	var old v1alpha1.Skyhook
	if err := s.control.client.Get(ctx, client.ObjectKeyFromObject(want), &old); err != nil {
		return err
	}
	if err := s.control.client.Delete(ctx, &old); err != nil {
		return err
	}
	gone := func(ctx context.Context) (string, error) {
		var now v1alpha1.Skyhook
		err := s.control.client.Get(ctx, client.ObjectKeyFromObject(want), &now)
		if apierrors.IsNotFound(err) {
			return "", nil
		}
		return "its deletion: " + progress(map[string]*v1alpha1.Skyhook{now.Name: &now}), err
	}
	if err := s.await(ctx, gone); err != nil {
		return err
	}
	if err := s.control.client.Create(ctx, want.DeepCopy()); err != nil {
		return err
	}
	return s.collect(ctx, old.UID)
}

// collect deletes what a Skyhook that is gone owned, as there is no garbage collector here.
func (s *soak) collect(ctx context.Context, owner types.UID) error {
	for _, kind := range []schema.GroupVersionKind{
		corev1.SchemeGroupVersion.WithKind("ConfigMap"), corev1.SchemeGroupVersion.WithKind("Pod"),
		appsv1.SchemeGroupVersion.WithKind("ControllerRevision"),
	} {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind)
		if err := s.control.client.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return err
		}
		for i := range list.Items {
			o := &list.Items[i]
			if by := metav1.GetControllerOf(o); by == nil || by.UID != owner {
				continue
			}
			o.SetGroupVersionKind(kind)
			err := s.control.client.Delete(ctx, o, client.Preconditions{UID: &o.UID})
			if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) { // the operator deletes some itself
				return err
			}
		}
	}
	return nil
}

// await asks every second what is left to wait for, until that is nothing.
func (s *soak) await(ctx context.Context, left func(context.Context) (string, error)) error {
	deadline := time.Now().Add(s.patience)
	for {
		what, err := left(ctx)
		if _, _, ended := s.lives.current(); ended != nil {
			return ended
		}
		switch {
		case err != nil:
			return err
		case what == "":
			return nil
		case time.Now().After(deadline):
			return fmt.Errorf("not over within %s, which -timeout sets: %s", s.patience, what)
		}
		if !sleep(ctx, time.Second, nil) {
			return ctx.Err()
		}
	}
}
