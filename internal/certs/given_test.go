//go:build integration

package certs

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// give puts a pair into the Secret, as cert-manager does.
func (c *cluster) give(p Pair) {
	c.Helper()
	s := newSecret(c.secret)
	err := c.client.Get(c.Context(), c.secret, s)
	c.must(client.IgnoreNotFound(err))
	put(p, c.clock.Now(), s)
	s.Annotations = nil
	if err == nil {
		c.must(c.client.Update(c.Context(), s))
		return
	}
	c.must(c.client.Create(c.Context(), s))
}

// inject writes a caBundle, as cert-manager's cainjector does.
func (c *cluster) inject(ca []byte) {
	c.Helper()
	c.change(func(w *admissionregistrationv1.ValidatingWebhookConfiguration) {
		for i := range w.Webhooks {
			if w.Webhooks[i].Name != foreign {
				w.Webhooks[i].ClientConfig.CABundle = ca
			}
		}
	})
}

// TestGivenCertificate: it is served when it is there and trusted, and whatever is wrong with it, nothing is written.
func TestGivenCertificate(t *testing.T) {
	c := newCluster(t)
	c.configure(append(ours, foreign)...)
	k := c.replica()
	k.Given = true
	configured := c.readConfiguration().ResourceVersion
	if _, err := k.Reconcile(t.Context(), reconcile.Request{}); err == nil || !strings.Contains(err.Error(), "no such Secret") || k.Ready(nil) == nil {
		t.Errorf("without a Secret: %v, ready: %v", err, k.Ready(nil))
	}
	if err := c.client.Get(t.Context(), c.secret, newSecret(c.secret)); err == nil {
		t.Error("a Secret was made")
	}

	first := mustMake(t, start)
	c.give(Pair{CA: first.CA, Cert: []byte("none"), Key: first.Key})
	if _, err := k.Reconcile(t.Context(), reconcile.Request{}); err == nil || !strings.Contains(err.Error(), "WEBHOOK_MANAGE_CERTIFICATE") {
		t.Errorf("a broken certificate: %v", err)
	}
	c.give(Pair{Cert: first.Cert, Key: first.Key})
	if _, err := k.Reconcile(t.Context(), reconcile.Request{}); err == nil || !strings.Contains(err.Error(), "ca.crt") {
		t.Errorf("without a CA: %v", err)
	}
	c.give(first)
	given := c.readSecret().ResourceVersion
	c.pass(k)
	if err := k.Ready(nil); err == nil || !strings.Contains(err.Error(), "does not trust the certificate in Secret "+c.secret.String()) {
		t.Errorf("ready before the configuration trusts it: %v", err)
	}
	if c.readConfiguration().ResourceVersion != configured {
		t.Error("the configuration was written")
	}
	c.inject(first.CA)
	c.pass(k)
	c.ready(k)
	if !bytes.Equal(c.serves(k), first.Cert) {
		t.Error("another certificate is served than was given")
	}

	// One that ends soon is for its maker to renew.
	c.clock.SetTime(start.Add(Lifetime - day))
	c.pass(k)
	c.ready(k)
	if c.readSecret().ResourceVersion != given {
		t.Error("the Secret was written")
	}
	second := mustMake(t, c.clock.Now())
	both := Bundle(second.CA, first.CA, c.clock.Now())
	c.give(Pair{CA: both, Cert: second.Cert, Key: second.Key})
	c.pass(k)
	c.ready(k)
	if !bytes.Equal(c.serves(k), first.Cert) {
		t.Error("the new certificate is served before it is trusted")
	}
	c.inject(both)
	c.pass(k)
	c.ready(k)
	c.clock.SetTime(c.clock.Now().Add(settle))
	c.pass(k)
	if !bytes.Equal(c.serves(k), second.Cert) {
		t.Error("the old certificate is served for ever")
	}

	// Another CA, without the one before: what was served is worth nothing as soon as that is injected.
	third := mustMake(t, c.clock.Now())
	c.give(third)
	c.pass(k)
	c.ready(k)
	if !bytes.Equal(c.serves(k), second.Cert) {
		t.Error("the new certificate is served before it is trusted")
	}
	c.inject(third.CA)
	c.pass(k)
	if !bytes.Equal(c.serves(k), third.Cert) {
		t.Error("another certificate is served than was given")
	}
	c.ready(k)
	c.inject(first.CA)
	c.pass(k)
	if k.Ready(nil) == nil {
		t.Error("ready, though nothing trusts what is served")
	}
}

// TestSecretIsLost: as long as the API server trusts what a replica serves, the replica is there for it, whatever is
// wrong with the Secret, or with writing to it.
func TestSecretIsLost(t *testing.T) {
	for _, given := range []bool{true, false} {
		c := newCluster(t)
		c.configure(ours...)
		k := c.replica()
		c.pass(k) // makes it
		k.Given = given
		wait := c.pass(k)
		old := c.serves(k)
		k.Client = interceptor.NewClient(c.client, interceptor.Funcs{
			Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
				return errors.New("boom")
			},
		})
		c.must(c.client.Delete(t.Context(), c.readSecret()))
		for range 2 {
			if _, err := k.Reconcile(t.Context(), reconcile.Request{}); err == nil {
				t.Error("nobody is told")
			}
			c.ready(k)
			if !bytes.Equal(c.serves(k), old) {
				t.Error("another certificate is served")
			}
		}
		if given {
			c.clock.SetTime(start.Add(wait))
		} else {
			c.inject(nil)
		}
		if _, err := k.Reconcile(t.Context(), reconcile.Request{}); err == nil || k.Ready(nil) == nil {
			t.Errorf("given is %t: ready with a certificate that nothing trusts; %v", given, err)
		}
	}
}

// TestFromGivenToOwn: an operator that keeps the certificate goes on with one that was given, so turning cert-manager
// off interrupts nothing.
func TestFromGivenToOwn(t *testing.T) {
	c := newCluster(t)
	c.configure(append(ours, foreign)...)
	given := mustMake(t, start)
	c.give(given)
	k := c.replica()
	c.pass(k)
	c.ready(k)
	if !bytes.Equal(c.serves(k), given.Cert) {
		t.Error("another certificate is served")
	}
	c.clock.SetTime(start.Add(Lifetime - RenewBefore))
	c.pass(k)
	if bytes.Equal(c.readSecret().Data["tls.crt"], given.Cert) {
		t.Error("it was not renewed")
	}
}
