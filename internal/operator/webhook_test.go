//go:build integration

package operator_test

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/webhook"
)

const webhookService = "skyhook-operator-webhook-service"

// trust has the API server ask the operator at a port of this machine, which the Service is but another name of.
func (f *cluster) trust(port string) (stop func()) {
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
	f.ask(nil, "http://127.0.0.1:"+port+"/readyz/webhooks", "", want)
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
	stop := f.trust(port)
	f.ready(probe, http.StatusOK)

	wrong := f.skyhook("wrong", map[string]v1alpha1.Package{"a": pkg("1.0.0", nil), "b": pkg("1.0.0", nil)})
	for name, other := range map[string]string{"a": "b", "b": "a"} {
		p := wrong.Spec.Packages[name]
		p.DependsOn = map[string]string{other: "1.0.0"}
		wrong.Spec.Packages[name] = p
	}
	f.becomes("a cycle is refused", func() bool {
		err := f.client.Create(t.Context(), wrong, client.DryRunAll)
		return err != nil && strings.Contains(err.Error(), `admission webhook "validate-skyhook.nvidia.com" denied the request`)
	})
	s := f.createComplete(f.skyhook("right", map[string]v1alpha1.Package{"tuning": pkg("1.0.0", nil)}))
	f.stop()
	f.startOperator()
	f.ready(probe, http.StatusOK)
	f.must(f.client.Delete(t.Context(), s))
	f.gone(s)
	stop()
	f.ready(probe, http.StatusInternalServerError)
}
