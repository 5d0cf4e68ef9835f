//go:build integration

package certs

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"net"
	"testing"
	"time"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	testingclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/skyhook-operator/skyhook/test/apiserver"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	apiserver.Main(m)
}

// ours are the webhooks that the Keeper looks after; the configuration has another one beside them.
var ours = []string{"validate-a.skyhook.test", "validate-b.skyhook.test"}

const foreign = "validate.foreign.test"

// cluster is a real API server with a namespace and a configuration of the test's own.
type cluster struct {
	*testing.T
	config        *rest.Config
	client        client.WithWatch
	clock         *testingclock.FakePassiveClock
	secret        types.NamespacedName
	configuration string
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{T: t, config: apiserver.Start(t), clock: testingclock.NewFakePassiveClock(start)}
	var err error
	c.client, err = client.NewWithWatch(c.config, client.Options{Scheme: scheme.Scheme})
	c.must(err)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "certs-"}}
	c.must(c.client.Create(t.Context(), ns))
	c.secret = types.NamespacedName{Namespace: ns.Name, Name: "webhook-cert"}
	c.configuration = ns.Name
	return c
}

func (c *cluster) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

// configure makes the configuration with the given webhooks. They are for a kind that nobody has.
func (c *cluster) configure(webhooks ...string) {
	c.Helper()
	w := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: c.configuration}}
	for _, name := range webhooks {
		w.Webhooks = append(w.Webhooks, admissionregistrationv1.ValidatingWebhook{
			Name: name, SideEffects: new(admissionregistrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
			ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: new("https://127.0.0.1:1/" + name)},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{"nobody.test"}, APIVersions: []string{"v1"}, Resources: []string{"nothings"}},
			}},
		})
	}
	c.must(c.client.Create(c.Context(), w))
	c.Cleanup(func() { _ = c.client.Delete(c.Context(), w) }) // another test's API server is the same
}

// replica returns a Keeper whose cache is never behind.
func (c *cluster) replica() *Keeper {
	return &Keeper{
		Client: c.client, Live: c.client, Clock: c.clock, Secret: c.secret, Names: names,
		Configuration: c.configuration, Webhooks: ours,
	}
}

// pass lets a replica do one pass and returns when it wants the next.
func (c *cluster) pass(k *Keeper) time.Duration {
	c.Helper()
	result, err := k.Reconcile(c.Context(), reconcile.Request{})
	c.must(err)
	return result.RequeueAfter
}

func (c *cluster) readSecret() *corev1.Secret {
	c.Helper()
	s := &corev1.Secret{}
	c.must(c.client.Get(c.Context(), c.secret, s))
	return s
}

func (c *cluster) readConfiguration() *admissionregistrationv1.ValidatingWebhookConfiguration {
	c.Helper()
	w := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	c.must(c.client.Get(c.Context(), client.ObjectKey{Name: c.configuration}, w))
	return w
}

// change writes the configuration as somebody else would.
func (c *cluster) change(change func(*admissionregistrationv1.ValidatingWebhookConfiguration)) {
	c.Helper()
	w := c.readConfiguration()
	change(w)
	c.must(c.client.Update(c.Context(), w))
}

func (c *cluster) bundle() []byte {
	c.Helper()
	w := c.readConfiguration()
	for _, webhook := range w.Webhooks {
		switch {
		case webhook.Name == foreign:
			if len(webhook.ClientConfig.CABundle) > 0 {
				c.Error("a webhook of somebody else was changed")
			}
		case !bytes.Equal(webhook.ClientConfig.CABundle, w.Webhooks[0].ClientConfig.CABundle):
			c.Errorf("the webhooks %s and %s trust different CAs", w.Webhooks[0].Name, webhook.Name)
		}
	}
	return w.Webhooks[0].ClientConfig.CABundle
}

// serves checks that the API server, as it is configured now, trusts what a replica serves, and returns it.
func (c *cluster) serves(k *Keeper) []byte {
	c.Helper()
	here, there := net.Pipe()
	server := tls.Server(there, &tls.Config{GetCertificate: k.GetCertificate})
	go func() { _ = server.HandshakeContext(c.Context()) }() // the client tells of it
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(c.bundle())
	caller := tls.Client(here, &tls.Config{ServerName: names[0], RootCAs: roots, Time: c.clock.Now})
	if err := caller.HandshakeContext(c.Context()); err != nil {
		c.Fatalf("the API server does not trust what is served: %v", err)
	}
	cert := caller.ConnectionState().PeerCertificates[0]
	_, _ = here.Close(), there.Close()
	return encode(certificateBlock, cert.Raw)
}

func (c *cluster) ready(k *Keeper) {
	c.Helper()
	if err := k.Ready(nil); err != nil {
		c.Errorf("not ready: %v", err)
	}
}
