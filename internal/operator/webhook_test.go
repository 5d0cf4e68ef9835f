//go:build integration

package operator_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/webhook"
)

const webhookService = "skyhook-operator-webhook-service"

// ask has the API server ask the operator at a port of this machine, which the Service is but another name of.
func (f *cluster) ask(port string) (stop func()) {
	f.t.Helper()
	f.must(f.client.Create(f.t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: webhookService},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"},
	}))
	number, err := net.LookupPort("tcp", port)
	f.must(err)
	c := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: webhook.Configuration}}
	for _, w := range []struct{ name, path, resource string }{
		{webhook.SkyhookName, webhook.SkyhookPath, "skyhooks"}, {webhook.PolicyName, webhook.PolicyPath, "deploymentpolicies"},
	} {
		c.Webhooks = append(c.Webhooks, admissionregistrationv1.ValidatingWebhook{
			Name: w.name, SideEffects: new(admissionregistrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
			ClientConfig: admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{
				Namespace: f.namespace, Name: webhookService, Path: new(w.path), Port: new(int32(number)),
			}},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{v1alpha1.GroupName}, APIVersions: []string{"v1alpha1"}, Resources: []string{w.resource}},
			}},
		})
	}
	f.must(f.client.Create(f.t.Context(), c))
	return func() { f.must(f.client.Delete(context.WithoutCancel(f.t.Context()), c)) }
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return port
}

// ready waits until the operator says that it is ready, or is not.
func (f *cluster) ready(port string, want int) {
	f.t.Helper()
	last := ""
	err := wait.PollUntilContextTimeout(f.t.Context(), 20*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1:"+port+"/readyz/webhooks", http.NoBody)
		if err != nil {
			return false, err
		}
		response, err := http.DefaultClient.Do(request)
		if last = fmt.Sprint(err); err == nil {
			last = response.Status
			return response.StatusCode == want, response.Body.Close()
		}
		return false, nil
	})
	if err != nil {
		f.t.Fatalf("readiness is %s, want %d: %v", last, want, err)
	}
}

// TestOperatorServesWebhooks: with webhooks on, the operator is ready when they are trusted, refuses what is wrong, and
// is not in its own way while it works, nor when it was away.
func TestOperatorServesWebhooks(t *testing.T) {
	f := newCluster(t, 1)
	f.stop()
	port, probe := freePort(t), freePort(t)
	f.variables = map[string]string{"ENABLE_WEBHOOKS": "true", "WEBHOOK_PORT": "localhost:" + port, "PROBE_PORT": "127.0.0.1:" + probe}
	f.startOperator()
	f.ready(probe, http.StatusInternalServerError)
	stop := f.ask(port)
	f.ready(probe, http.StatusOK)

	wrong := f.skyhook("wrong", map[string]v1alpha1.Package{"a": pkg("1.0.0", nil), "b": pkg("1.0.0", nil)})
	for name, other := range map[string]string{"a": "b", "b": "a"} {
		p := wrong.Spec.Packages[name]
		p.DependsOn = map[string]string{other: "1.0.0"}
		wrong.Spec.Packages[name] = p
	}
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		refused := f.client.Create(ctx, wrong, client.DryRunAll)
		return refused != nil && strings.Contains(refused.Error(), `admission webhook "validate-skyhook.nvidia.com" denied the request`), nil
	})
	if err != nil {
		t.Errorf("a cycle is not refused: %v", err)
	}

	s := f.skyhook("right", map[string]v1alpha1.Package{"tuning": pkg("1.0.0", nil)})
	f.must(f.client.Create(t.Context(), s))
	f.untilStatus(s, v1alpha1.StatusComplete)
	f.stop()
	f.startOperator()
	f.ready(probe, http.StatusOK)
	f.must(f.client.Delete(t.Context(), s))
	f.gone(s)
	stop()
	f.ready(probe, http.StatusInternalServerError)
}
