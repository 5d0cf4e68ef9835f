package skyhook

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

var errAway = apierrors.NewInternalError(errors.New(`failed calling webhook "policy.example": connection refused`))

// tries runs passes, five seconds apart, whatever they end with.
func (w *world) tries(passes int) {
	w.t.Helper()
	for range passes {
		w.clock.SetTime(w.clock.Now().Add(5 * time.Second))
		_, err := w.Reconcile(w.t.Context(), request("demo"))
		w.t.Logf("a pass ends with %v", err)
	}
}

// TestErrorsThatLastAreTold: what fails again and again is an obstacle, until it is over.
func TestErrorsThatLastAreTold(t *testing.T) {
	for prefix, want := range map[string]string{
		"patch Skyhook":             "blocked observed=1 permits=1 Ready=False:Blocked Stalled=True:ClaimRefused",
		"create ConfigMap":          "blocked observed=2 permits=1 Ready=False:Blocked Stalled=True:ConfigMapRefused",
		"create ControllerRevision": "blocked observed=1 permits=1 Ready=False:Blocked Stalled=True:DefinitionRefused",
	} {
		t.Run(prefix, func(t *testing.T) {
			w := obstructed(t)
			before := stateOf(w.skyhook("demo"))
			w.refuse = func(request string, _ client.Object) error {
				if strings.HasPrefix(request, prefix) {
					return errAway
				}
				return nil
			}
			w.tries(2)
			if state := stateOf(w.skyhook("demo")); state != before {
				t.Errorf("after two passes: %s", state)
			}
			w.tries(4)
			s := w.skyhook("demo")
			if state := stateOf(s); state != want {
				t.Errorf("\ngot  %s\nwant %s", state, want)
			}
			if m := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionStalled).Message; !strings.Contains(m, "connection refused; the operator retries") {
				t.Errorf("Stalled says %q", m)
			}
			w.refuse = nil
			w.tries(2)
			if state := stateOf(w.skyhook("demo")); state != "in_progress observed=2 permits=2 Ready=False:Progressing Stalled=False:Progressing" {
				t.Errorf("when it is over: %s", state)
			}
		})
	}
}

// TestStatusThatCannotBeWritten is told by an event, once.
func TestStatusThatCannotBeWritten(t *testing.T) {
	w := obstructed(t)
	w.refuse = func(request string, _ client.Object) error {
		if strings.HasPrefix(request, "patch status") {
			return errAway
		}
		return nil
	}
	w.tries(6)
	if told := w.told(); strings.Count(told, "Warning PassFailed") != 1 || !strings.Contains(told, "write the status of Skyhook demo") {
		t.Errorf("events:\n%s", told)
	}
}

// TestDeletionThatCannotGoOnIsTold: the finalizer stays, and the status says why.
func TestDeletionThatCannotGoOnIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		fail   func(*world)
		reason string
	}{
		"the nodes cannot be listed": {func(w *world) {
			inner, _ := w.Client.(client.WithWatch)
			w.Live = interceptor.NewClient(inner, interceptor.Funcs{
				List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return errAway },
			})
		}, v1alpha1.ReasonPassFailed},
		"the finalizer cannot be removed": {func(w *world) {
			w.refuse = func(request string, _ client.Object) error {
				if request == "patch Skyhook demo" {
					return errAway
				}
				return nil
			}
		}, v1alpha1.ReasonClaimRefused},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, newNode("node-1", "gpu"), deleted())
			c.fail(w)
			w.tries(6)
			s := w.skyhook("demo")
			if stalled := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionStalled); stalled == nil || stalled.Reason != c.reason ||
				!strings.Contains(stalled.Message, "connection refused") {
				t.Errorf("Stalled is %+v", stalled)
			}
			if len(s.Finalizers) != 2 {
				t.Errorf("finalizers %v", s.Finalizers)
			}
			w.refuse, w.Live = nil, w.Client
			w.tries(1)
			if s := w.skyhook("demo"); len(s.Finalizers) != 1 {
				t.Errorf("when it is over: finalizers %v", s.Finalizers)
			}
		})
	}
}

// TestCacheThatStaysBehindIsTold: an old spec is not worked with, and people hear of that after a minute.
func TestCacheThatStaysBehindIsTold(t *testing.T) {
	w := newWorld(t, newSkyhook("demo"), ready(newNode("node-1", "gpu")))
	current := w.Live
	w.Live = interceptor.NewClient(w.Client.(client.WithWatch), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			err := c.Get(ctx, key, o, opts...)
			if o.GetObjectKind().GroupVersionKind().Kind == "Skyhook" {
				o.SetGeneration(99)
			}
			return err
		},
	})
	w.tries(11)
	if c := w.skyhook("demo").Status.Conditions; len(c) > 0 {
		t.Errorf("after 55 seconds: %+v", c)
	}
	w.tries(6)
	stalled := meta.FindStatusCondition(w.skyhook("demo").Status.Conditions, v1alpha1.ConditionStalled)
	if stalled == nil || stalled.Reason != v1alpha1.ReasonPassFailed || !strings.Contains(stalled.Message, "the cache is behind") {
		t.Errorf("Stalled: %+v", stalled)
	}
	w.Live = current
	w.tries(2)
	if s := w.skyhook("demo"); meta.IsStatusConditionTrue(s.Status.Conditions, v1alpha1.ConditionStalled) || len(s.Status.Permits) != 1 {
		t.Errorf("it is over: %+v", s.Status)
	}
}
