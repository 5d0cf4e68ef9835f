package state

import (
	"context"
	"errors"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// TestNothingBeginsOnceTheOperatorStops: a queue hands out what it still has while it shuts down, which may be a pass
// for each node of a fleet, and each would fail and say so.
func TestNothingBeginsOnceTheOperatorStops(t *testing.T) {
	failed := errors.New("refused")
	for _, c := range []struct {
		name           string
		before, during bool
		begun          bool
		want           reconcile.Result
		err            error
	}{
		{name: "running", begun: true, want: reconcile.Result{RequeueAfter: time.Second}, err: failed},
		{name: "stopped before", before: true},
		{name: "stopped meanwhile", during: true, begun: true},
	} {
		ctx, stop := context.WithCancel(t.Context())
		if c.before {
			stop()
		}
		begun := false
		got, err := whileRunning(reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
			if begun = true; c.during {
				stop()
			}
			return reconcile.Result{RequeueAfter: time.Second}, failed
		})).Reconcile(ctx, reconcile.Request{})
		if begun != c.begun || got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: begun %t, %v, %v; want %t, %v, %v", c.name, begun, got, err, c.begun, c.want, c.err)
		}
		stop()
	}
}
