package forecast

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/skyhook-operator/skyhook/internal/settings"
)

// refusing fails so many times before it works.
type refusing struct {
	reconcile.Reconciler
	times int
}

func (r *refusing) Reconcile(ctx context.Context, key reconcile.Request) (reconcile.Result, error) {
	r.times--
	if r.times >= 0 {
		return reconcile.Result{}, errors.New("no such thing")
	}
	return r.Reconciler.Reconcile(ctx, key)
}

// TestFailing tells passes that fail until the end, and none that succeed in another try.
func TestFailing(t *testing.T) {
	n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", UID: "n1"}}
	for times, want := range map[int][]string{0: nil, 2: nil, 1 << 30: {"node n1: no such thing"}} {
		operator, err := settings.FromEnvironment(func(string) (string, bool) { return "", false }, "1.2.3")
		if err != nil {
			t.Fatal(err)
		}
		w, err := newWorld(Snapshot{Nodes: []corev1.Node{n}}, Options{Operator: operator, Now: time.Unix(1000, 0), Ahead: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		w.process.Nodes.Reconciler = &refusing{w.process.Nodes.Reconciler, times}
		if err := w.run(); err != nil {
			t.Fatal(err)
		}
		if got := w.forecast().Failing; !slices.Equal(got, want) {
			t.Errorf("%d failures: %q, want %q", times, got, want)
		}
	}
}
