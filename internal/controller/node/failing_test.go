package node

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/drain"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// away makes what only the API server itself knows impossible to list.
func (w *world) away(err error) {
	w.t.Helper()
	w.changeLive(interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return err },
	})
}

// tries runs passes, 15 seconds apart, and returns the record after them.
func (w *world) tries(passes int) record.Node {
	w.t.Helper()
	for range passes {
		w.clock.SetTime(w.clock.Now().Add(15 * time.Second))
		w.reconcile()
	}
	return w.record("demo")
}

// failing looks for a wait that tells of failing passes.
func (w *world) failing(n record.Node, why string) {
	w.t.Helper()
	if n.Wait == nil || n.Wait.Reason != v1alpha1.ReasonPassFailed || !strings.Contains(n.Wait.Message, why) {
		w.t.Errorf("the record tells %+v, not of %q", n.Wait, why)
	}
}

// recovers demands that a pod starts, and that the record tells of no failure any more.
func (w *world) recovers() {
	w.t.Helper()
	n := w.tries(2)
	if n.Wait != nil && n.Wait.Reason == v1alpha1.ReasonPassFailed || len(w.pods()) != 1 {
		w.t.Errorf("it is over, and the record tells %+v; %d pods", n.Wait, len(w.pods()))
	}
}

var errDenied = apierrors.NewForbidden(corev1.Resource("pods"), "x", errors.New("ask first"))

// TestFailingPassesAreTold: what fails in one pass after the other is in the record and in events, once, until it is
// over.
func TestFailingPassesAreTold(t *testing.T) {
	w := newWorld(t, newSkyhook("demo"), newNode())
	w.refuse = apierrors.NewInternalError(errors.New(`failed calling webhook "policy.example": connection refused`))
	if n := w.tries(2); n.Wait != nil {
		t.Errorf("told after two passes: %+v", n.Wait)
	}
	w.failing(w.tries(2), "connection refused")
	writes := len(w.bodies)
	w.refuse = apierrors.NewInternalError(errors.New(`failed calling webhook "policy.example": 10.0.0.7:4711 was reset`))
	w.tries(3)
	if len(w.bodies) != writes {
		t.Errorf("written for a message that differs: %q", w.bodies[writes:])
	}
	w.failing(w.tries(8), "4711")
	if told := w.told("Warning PassFailed"); len(told) != 2 { // of the node, and of the Skyhook
		t.Errorf("events tell %q", told)
	}
	w.refuse = nil
	w.recovers()
}

// TestPassesOfOthersAreNotBlamed: a Skyhook of which nothing fails has no such wait.
func TestPassesOfOthersAreNotBlamed(t *testing.T) {
	s, n := newSkyhook("demo"), newNode()
	w := newWorld(t, s, newSkyhook("other"), n)
	w.change(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if o.GetLabels()[v1alpha1.LabelName] == "demo" {
				return apierrors.NewInternalError(errors.New("away"))
			}
			return c.Create(ctx, o, opts...)
		},
	})
	w.failing(w.tries(5), "away")
	if o := w.record("other"); o.Wait != nil {
		t.Errorf("the other record tells %+v", o.Wait)
	}
}

// TestPodThatCannotBeDeletedIsTold also of a node that a Skyhook leaves, and of one that is complete but for it.
func TestPodThatCannotBeDeletedIsTold(t *testing.T) {
	for name, change := range map[string]func(*v1alpha1.Skyhook){
		"the package was edited": func(s *v1alpha1.Skyhook) {
			s.Spec.Packages["a"] = v1alpha1.Package{Version: "1.0.0", Image: "x/b"}
		},
		"the node is no longer selected": func(s *v1alpha1.Skyhook) {
			s.Spec.NodeSelectors.MatchLabels = map[string]string{"another": "pool"}
		},
		"the package left the spec": func(s *v1alpha1.Skyhook) { delete(s.Spec.Packages, "a") },
	} {
		t.Run(name, func(t *testing.T) {
			s, n := newSkyhook("demo"), newNode()
			remember(t, n, "demo", entry(v1alpha1.StageApply, v1alpha1.StateInProgress))
			pod := podOf(t, s)
			pod.Status.Phase = corev1.PodRunning
			pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "a-init", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
			change(s)
			w := newWorld(t, n, s, pod)
			w.change(interceptor.Funcs{
				Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error { return errDenied },
			})
			w.failing(w.tries(5), "ask first")
		})
	}
}

// TestDrainThatCannotLookIsTold: the node stays cordoned meanwhile. The drain's time goes on.
func TestDrainThatCannotLookIsTold(t *testing.T) {
	w, _ := rebooting(t)
	live := w.Live
	w.tries(3)
	w.away(errDenied)
	n := w.tries(10)
	w.failing(n, "ask first")
	if !n.Cordoned {
		t.Error("the cordon is gone")
	}
	begun := n.Wait.DrainSince
	w.Live = live
	n = w.tries(2)
	if n.Wait == nil || begun.IsZero() || n.Wait.Reason == v1alpha1.ReasonPassFailed || n.Wait.Since != begun || !n.Wait.DrainSince.IsZero() {
		t.Errorf("after that the drain, which began at %s, tells %+v", begun, n.Wait)
	}
}

// denying is an evictor whose requests fail.
type denying struct{}

func (denying) Evict(context.Context, []drain.Pod, drain.Options) ([]drain.Pod, map[types.UID]string, error) {
	return nil, nil, errors.New("evict pod shop/web-1: ask first")
}

func TestEvictionsThatFailAreTold(t *testing.T) {
	w, _ := rebooting(t)
	w.Evictor = denying{}
	w.failing(w.tries(10), "ask first")
}

// TestRecordThatCannotBeWrittenIsTold by a smaller request.
func TestRecordThatCannotBeWrittenIsTold(t *testing.T) {
	w := newWorld(t, newSkyhook("demo"), newNode())
	inner := w.Client
	refuse := func(o client.Object, p client.Patch) error {
		if body, err := p.Data(o); err != nil || strings.Contains(string(body), v1alpha1.AnnotationNodeStatePrefix) {
			return errors.Join(err, apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Node").GroupKind(), nodeName,
				field.ErrorList{field.TooLong(field.NewPath("metadata", "annotations"), "", 256<<10)}))
		}
		return nil
	}
	w.change(interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if err := refuse(o, p); err != nil {
				return err
			}
			return c.Patch(ctx, o, p, opts...)
		},
		SubResourcePatch: func(
			ctx context.Context, c client.Client, part string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption,
		) error {
			if err := refuse(o, p); err != nil {
				return err
			}
			return c.SubResource(part).Patch(ctx, o, p, opts...)
		},
	})
	n := w.tries(5)
	w.failing(n, "Too long: may not be more than 262144 bytes; remove annotations of the node that nothing needs, or use fewer keys in configMap")
	w.failing(n, "write the record of node node-1")
	w.Client = inner
	w.recovers()
}

// TestConflictsThatLastAreTold: the watch of the node stalls. Writes are refused, and only events can say so.
func TestConflictsThatLastAreTold(t *testing.T) {
	w := newWorld(t, newSkyhook("demo"), newNode())
	w.refuse = apierrors.NewConflict(corev1.Resource("nodes"), nodeName, errors.New("it was modified"))
	w.tries(4)
	if told := w.told("lags behind"); len(told) > 0 {
		t.Errorf("after 45 seconds: %v", told)
	}
	w.tries(6)
	if told := w.told("lags behind"); len(told) != 2 || !strings.Contains(told[0], "restart the operator") {
		t.Errorf("after two minutes: %v", told)
	}
	w.refuse = nil
	w.recovers()
}
