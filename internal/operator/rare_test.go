//go:build integration

package operator_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

// withoutStreams answers as API servers before 1.34 do, which cannot begin a watch with what there is: clients list
// first.
func withoutStreams(next http.RoundTripper) http.RoundTripper {
	const refused = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422,
		"message":"sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"}`
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.URL.Query().Get("sendInitialEvents") == "" {
			return next.RoundTrip(r)
		}
		return &http.Response{
			StatusCode: http.StatusUnprocessableEntity, Status: "422 Unprocessable Entity", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
			Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(refused)), Request: r,
		}, nil
	})
}

// TestOneOfTwoReplicasOnAnOlderCluster: with leader election, webhooks, and a certificate that cannot be served any
// more.
func TestOneOfTwoReplicasOnAnOlderCluster(t *testing.T) {
	f := newCluster(t, 1)
	f.stop()
	spoilt := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "webhook-cert"}, Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{corev1.TLSCertKey: []byte("x"), corev1.TLSPrivateKeyKey: []byte("y")},
	}
	f.must(f.client.Create(t.Context(), spoilt))
	port, probe := freePort(t), freePort(t)
	f.variables = map[string]string{
		"ENABLE_WEBHOOKS": "true", "WEBHOOK_PORT": "localhost:" + port, "PROBE_PORT": "127.0.0.1:" + probe, "LEADER_ELECTION": "true",
	}
	f.older = true
	f.startOperator()
	defer f.trust(port)()
	f.ready(probe, http.StatusOK)

	policy := &v1alpha1.DeploymentPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: f.namespace},
		Spec:       v1alpha1.DeploymentPolicySpec{Default: v1alpha1.PolicyDefault{Budget: count(1), Strategy: fixed(1)}},
	}
	f.must(f.client.Create(t.Context(), policy))
	s := f.skyhook("older", map[string]v1alpha1.Package{"tuning": pkg("1.0.0", map[string]string{"a": "1"})})
	s.Spec.DeploymentPolicy = policy.Name
	f.createComplete(s)
	// People find out from it who works.
	eventually(f, &eventsv1.EventList{}, "the event of the leader", func(e *eventsv1.Event) bool { return e.Reason == "LeaderElection" }, client.InNamespace(f.namespace))

	f.must(f.client.Delete(t.Context(), s))
	f.gone(s)
	f.must(f.client.Delete(t.Context(), policy))
}

// TestTakenNames: the operator looks at what has the name of an object of its own, uses nothing of it, and says so.
func TestTakenNames(t *testing.T) {
	f := newCluster(t, 1)
	o := workload.Options{Namespace: f.namespace}
	for what, foreign := range map[string]func(*v1alpha1.Skyhook) client.Object{
		"definition": func(s *v1alpha1.Skyhook) client.Object {
			revision, err := o.Revision(s, workload.DefinitionOf(s, "tuning"))
			f.must(err)
			revision.OwnerReferences = nil
			return revision
		},
		"configmap": func(s *v1alpha1.Skyhook) client.Object {
			cm := o.PackageConfigMap(s, "tuning")
			cm.OwnerReferences = nil
			return cm
		},
		"pod": func(s *v1alpha1.Skyhook) client.Object {
			name := workload.PodName(s.Name, "tuning", "1.0.0", v1alpha1.StageApply, f.node(0))
			return &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: name},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
			}
		},
	} {
		s := f.skyhook(what, map[string]v1alpha1.Package{"tuning": pkg("1.0.0", map[string]string{"a": "1"})})
		stored := s.DeepCopy()
		f.must(f.client.Create(t.Context(), stored, client.DryRunAll)) // what it is with the API server's defaults
		object := foreign(stored)
		f.must(f.client.Create(t.Context(), object))
		f.must(f.client.Create(t.Context(), s))
		eventually(f, &v1alpha1.SkyhookList{}, "the "+what+" is in the way", func(x *v1alpha1.Skyhook) bool {
			return strings.Contains(fmt.Sprint(x.Status.Conditions, x.Status.Attention), object.GetName()+" exists but does not belong to Skyhook "+s.Name)
		}, client.MatchingFields{"metadata.name": s.Name})
		f.must(f.client.Delete(t.Context(), s))
		f.must(client.IgnoreNotFound(f.client.Delete(t.Context(), object, client.GracePeriodSeconds(0))))
		f.gone(s)
	}
}

// TestEvicts: a pod of others leaves a node before its interrupt.
func TestEvicts(t *testing.T) {
	f := newCluster(t, 1)
	f.watchReboots()
	other := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "web", OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "web", Controller: new(true)},
		}},
		Spec: corev1.PodSpec{NodeName: f.node(0), InitContainers: []corev1.Container{{Name: "i", Image: "i"}}, Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
	f.must(f.client.Create(t.Context(), other))
	f.createComplete(f.skyhook("evicts", map[string]v1alpha1.Package{"tuning": serviceInterrupt(pkg("1.0.0", nil))}))
	if err := f.client.Get(t.Context(), client.ObjectKeyFromObject(other), other); !apierrors.IsNotFound(err) {
		t.Errorf("the node is done, and the pod is still there: %v", err)
	}
}
