package cli

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/settings"
)

// TestWatchSurvives: an API server that does not answer for a while ends no watch, and its silence is told.
func TestWatchSurvives(t *testing.T) {
	scheme, err := settings.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	sk := &v1alpha1.Skyhook{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}}
	sk.Status.Status = v1alpha1.StatusInProgress
	var refused error
	c := interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme).WithObjects(sk).Build(), interceptor.Funcs{
		Get: func(ctx context.Context, under client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if refused != nil {
				return refused
			}
			return under.Get(ctx, key, o, opts...)
		},
	})
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	clock := func() time.Time { return now }
	read := &reader{target: target{namespace: "skyhook"}, client: c}
	var out, errs bytes.Buffer
	w := &printed{name: "gpu", session: &session{
		printer: printer{out: &out}, read: read, now: clock, gauge: gauge{read, clock}, err: &errs,
	}}
	turn := func(after time.Duration) {
		t.Helper()
		now = now.Add(after)
		if over, err := w.turn(t.Context()); over || err != nil {
			t.Fatalf("the watch ends: %v", err)
		}
	}
	turn(0)
	refused = errors.New("connection refused")
	turn(time.Second)
	turn(time.Second)
	turn(12 * time.Second)
	for _, want := range []string{"no answer for 1s", "no answer for 14s", "connection refused"} {
		if !strings.Contains(errs.String(), want) {
			t.Errorf("want %q in\n%s", want, errs.String())
		}
	}
	if strings.Count(errs.String(), "no answer") != 2 {
		t.Errorf("told too often:\n%s", errs.String())
	}
	refused = nil
	turn(time.Second)
	if w.silence.lasts != 0 || strings.Count(out.String(), "gpu") != 1 {
		t.Errorf("silent for %s, printed\n%s", w.silence.lasts, out.String())
	}
	if err := c.Delete(t.Context(), sk); err != nil {
		t.Fatal(err)
	}
	if over, err := w.turn(t.Context()); !over || err == nil {
		t.Errorf("the Skyhook is gone: over %t, %v", over, err)
	}
}

// TestOperatorIsMissed: no replica is told of whenever there is none, and never while one renews the lease.
func TestOperatorIsMissed(t *testing.T) {
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	renewed := func(age time.Duration, holder string) *coordinationv1.Lease {
		at := metav1.NewMicroTime(now.Add(-age))
		return &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{RenewTime: &at, HolderIdentity: &holder}}
	}
	for name, c := range map[string]struct {
		replicas, ready int32
		lease           *coordinationv1.Lease
		down            bool
	}{
		"ready":                              {1, 1, renewed(time.Second, "a"), false},
		"none":                               {0, 0, renewed(time.Second, "a"), true},
		"not ready, and leads":               {1, 0, renewed(3*time.Second, "a"), false},
		"not ready, and led":                 {1, 0, renewed(2*time.Minute, "a"), true},
		"not ready, and gave the lease back": {1, 0, renewed(time.Second, ""), true},
		"not ready, and no lease":            {1, 0, nil, true},
	} {
		v := &view{lease: c.lease, deployment: &appsv1.Deployment{Status: appsv1.DeploymentStatus{Replicas: c.replicas, ReadyReplicas: c.ready}}}
		if v.down(now) != c.down {
			t.Errorf("%s: down is %t", name, v.down(now))
		}
	}
	scheme, err := settings.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
		Namespace: "skyhook", Name: "operator", Labels: map[string]string{"app.kubernetes.io/name": "skyhook-operator"},
	}}
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "manager", Image: "registry.example/skyhook-operator:1.0.0"}}
	read := &reader{target: target{namespace: "skyhook"}, client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(d).Build(), version: "1.0.0"}
	g := gauge{read, func() time.Time { return now }}
	if got := strings.Join(g.unattended(t.Context()), ""); !strings.Contains(got, "no replica of the operator in namespace skyhook is ready, so nothing changes") {
		t.Errorf("without a replica: %q", got)
	}
}
