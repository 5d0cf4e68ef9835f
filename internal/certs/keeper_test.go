//go:build integration

package certs

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/metrics"
)

const day = 24 * time.Hour

func TestFirstReplicaMakesAll(t *testing.T) {
	c := newCluster(t)
	c.configure(append(ours, foreign)...)
	k := c.replica()
	if _, err := k.GetCertificate(nil); err == nil || k.Ready(nil) == nil {
		t.Error("a certificate is served before there is one")
	}
	if wait := c.pass(k); wait != 335*day {
		t.Errorf("looks again in %s, want 335 days", wait)
	}
	s := c.readSecret()
	if s.Type != corev1.SecretTypeTLS || s.Annotations["skyhook.nvidia.com/expiration"] != "2027-03-01T12:00:00Z" {
		t.Errorf("the Secret is of type %s with annotations %v", s.Type, s.Annotations)
	}
	if got := c.serves(k); !bytes.Equal(got, s.Data["tls.crt"]) {
		t.Error("another certificate is served than the Secret has")
	}
	if !bytes.Equal(c.bundle(), s.Data["ca.crt"]) {
		t.Error("the configuration trusts another CA than the Secret has")
	}
	c.ready(k)
}

func TestNextReplicaChangesNothing(t *testing.T) {
	c := newCluster(t)
	c.configure(append(ours, foreign)...)
	first, second := c.replica(), c.replica()
	c.pass(first)
	secret, configuration := c.readSecret().ResourceVersion, c.readConfiguration().ResourceVersion
	c.clock.SetTime(start.Add(334 * day))
	c.pass(second)
	c.pass(first)
	if c.readSecret().ResourceVersion != secret || c.readConfiguration().ResourceVersion != configuration {
		t.Error("something was written")
	}
	if !bytes.Equal(c.serves(first), c.serves(second)) {
		t.Error("the replicas serve different certificates")
	}
	c.ready(second)
}

// TestReplicasRace starts replicas at once: one certificate wins, and nobody fails.
func TestReplicasRace(t *testing.T) {
	c := newCluster(t)
	c.configure(ours...)
	replicas := []*Keeper{c.replica(), c.replica(), c.replica(), c.replica(), c.replica()}
	var wg sync.WaitGroup
	for _, k := range replicas {
		wg.Go(func() {
			for {
				result, err := k.Reconcile(t.Context(), reconcile.Request{})
				if err != nil {
					t.Error(err)
				}
				if err != nil || result.RequeueAfter > retry {
					return
				}
			}
		})
	}
	wg.Wait()
	for _, k := range replicas {
		if !bytes.Equal(c.serves(k), c.readSecret().Data["tls.crt"]) {
			t.Error("a replica serves a certificate that lost")
		}
		c.ready(k)
	}
}

// TestRenewal: at no time is there a replica that the API server does not trust, whatever the replicas have seen.
func TestRenewal(t *testing.T) {
	c := newCluster(t)
	c.configure(ours...)
	first, second := c.replica(), c.replica()
	c.pass(first)
	c.pass(second)
	old := c.serves(first)
	check := func(what string, wantFirst, wantSecond []byte) {
		t.Helper()
		if !bytes.Equal(c.serves(first), wantFirst) || !bytes.Equal(c.serves(second), wantSecond) {
			t.Errorf("%s: a replica serves the wrong certificate", what)
		}
		c.ready(first)
		c.ready(second)
	}

	c.clock.SetTime(start.Add(335 * day))
	if wait := c.pass(first); wait != settle {
		t.Errorf("after the renewal it waits for %s", wait)
	}
	renewed := c.readSecret()
	if bytes.Equal(renewed.Data["tls.crt"], old) || renewed.Annotations[v1alpha1.AnnotationExpiration] != "2028-01-30T12:00:00Z" {
		t.Errorf("not renewed: %v", renewed.Annotations)
	}
	check("renewed", old, old)

	c.clock.SetTime(start.Add(335*day + settle - time.Second))
	c.pass(first)
	check("not every API server has seen it", old, old)

	c.clock.SetTime(start.Add(335*day + settle))
	if wait := c.pass(first); wait != 335*day-settle {
		t.Errorf("looks again in %s", wait)
	}
	check("the first goes ahead", renewed.Data["tls.crt"], old)

	c.pass(second)
	check("the second sees it", renewed.Data["tls.crt"], old)
	c.clock.SetTime(start.Add(335*day + 2*settle))
	c.pass(second)
	check("both", renewed.Data["tls.crt"], renewed.Data["tls.crt"])
	if !bytes.Equal(c.readSecret().Data["tls.crt"], renewed.Data["tls.crt"]) {
		t.Error("renewed twice")
	}
	var ends dto.Metric
	c.must(metrics.CertificateEnd.WithLabelValues().Write(&ends))
	if got := time.Unix(int64(ends.GetGauge().GetValue()), 0).UTC().Format(time.RFC3339); got != renewed.Annotations[v1alpha1.AnnotationExpiration] {
		t.Errorf("the metric says that the certificate ends at %s", got)
	}

	third := c.replica()
	c.pass(third)
	if !bytes.Equal(c.serves(third), renewed.Data["tls.crt"]) {
		t.Error("a replica that starts now serves the old certificate")
	}

	c.clock.SetTime(start.Add(670 * day))
	c.pass(first)
	if n := bytes.Count(c.bundle(), []byte("BEGIN")); n != 2 {
		t.Errorf("%d CAs are trusted after the next renewal, want 2: the first has ended", n)
	}
}

// TestNewCertificateWaitsForTheConfiguration: as long as the API server is not told to trust it, the old one is served.
func TestNewCertificateWaitsForTheConfiguration(t *testing.T) {
	c := newCluster(t)
	c.configure(ours...)
	k := c.replica()
	c.pass(k)
	old := c.serves(k)
	c.must(c.client.Delete(t.Context(), c.readConfiguration()))
	c.clock.SetTime(start.Add(336 * day))
	c.pass(k)
	c.clock.SetTime(start.Add(337 * day))
	c.pass(k)
	if cert, err := k.GetCertificate(nil); err != nil || !bytes.Equal(encode(certificateBlock, cert.Certificate[0]), old) {
		t.Errorf("the new certificate is served (%v)", err)
	}
	c.configure(ours...)
	if wait := c.pass(k); wait != settle {
		t.Errorf("waits for %s", wait)
	}
	if !bytes.Equal(c.serves(k), old) {
		t.Error("the new certificate is served at once")
	}
}

// TestEndedCertificateIsReplacedAtOnce: an operator that was off for long, or a clock that jumps.
func TestEndedCertificateIsReplacedAtOnce(t *testing.T) {
	c := newCluster(t)
	c.configure(ours...)
	k := c.replica()
	c.pass(k)
	c.clock.SetTime(start.Add(400 * day))
	if wait := c.pass(k); wait != 335*day {
		t.Errorf("looks again in %s", wait)
	}
	c.serves(k)
	if n := bytes.Count(c.bundle(), []byte("BEGIN")); n != 1 {
		t.Errorf("%d CAs are trusted, want 1", n)
	}
}

// TestDeletedSecret is how a user gets rid of a certificate whose key leaked: its CA is not trusted any more.
func TestDeletedSecret(t *testing.T) {
	c := newCluster(t)
	c.configure(ours...)
	k := c.replica()
	c.pass(k)
	old := c.serves(k)
	c.must(c.client.Delete(t.Context(), c.readSecret()))
	c.pass(k)
	if bytes.Equal(c.serves(k), old) || bytes.Count(c.bundle(), []byte("BEGIN")) != 1 {
		t.Error("the old certificate is still served or trusted")
	}
}

func TestDamagedSecretIsRepaired(t *testing.T) {
	for name, damage := range map[string]func(*corev1.Secret){
		"key":         func(s *corev1.Secret) { s.Data["tls.key"] = []byte("x") },
		"certificate": func(s *corev1.Secret) { s.Data["tls.crt"] = []byte("x") },
		"CA":          func(s *corev1.Secret) { delete(s.Data, "ca.crt") },
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			c.configure(ours...)
			k := c.replica()
			c.pass(k)
			s := c.readSecret()
			damage(s)
			s.Data["mine"] = []byte("stays")
			c.must(c.client.Update(t.Context(), s))
			again := c.replica()
			c.pass(again)
			c.serves(again)
			if s = c.readSecret(); string(s.Data["mine"]) != "stays" {
				t.Error("a key of somebody else is gone")
			}
		})
	}
}

func TestAnotherServiceNameNeedsAnotherCertificate(t *testing.T) {
	c := newCluster(t)
	c.configure(ours...)
	before := c.replica()
	before.Names = []string{"webhook.before.svc"}
	c.pass(before)
	after := c.replica()
	c.pass(after)
	c.serves(after)
}

func TestTamperedConfigurationIsRestored(t *testing.T) {
	for name, tamper := range map[string]func(*admissionregistrationv1.ValidatingWebhookConfiguration){
		"no CA": func(w *admissionregistrationv1.ValidatingWebhookConfiguration) {
			w.Webhooks[1].ClientConfig.CABundle = nil
		},
		"another CA": func(w *admissionregistrationv1.ValidatingWebhookConfiguration) {
			w.Webhooks[0].ClientConfig.CABundle = mustMake(t, start).CA
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			c.configure(append(ours, foreign)...)
			k := c.replica()
			c.pass(k)
			c.change(tamper)
			c.change(func(w *admissionregistrationv1.ValidatingWebhookConfiguration) {
				w.Webhooks[0].TimeoutSeconds = new(int32(7))
			})
			c.pass(k)
			c.serves(k)
			if got := c.readConfiguration().Webhooks[0].TimeoutSeconds; *got != 7 {
				t.Errorf("the timeout is %d: more than caBundle was written", *got)
			}
			c.ready(k)
		})
	}
}

func TestWaitsForTheConfiguration(t *testing.T) {
	c := newCluster(t)
	k := c.replica()
	c.pass(k)
	if err := k.Ready(nil); err == nil || !strings.Contains(err.Error(), "there is no ValidatingWebhookConfiguration "+c.configuration) {
		t.Errorf("ready: %v", err)
	}
	c.configure(ours[0], foreign)
	c.pass(k)
	if err := k.Ready(nil); err == nil || !strings.Contains(err.Error(), "has no webhook "+ours[1]) {
		t.Errorf("ready: %v", err)
	}
	c.must(c.client.Delete(t.Context(), c.readConfiguration()))
	c.configure(ours...)
	c.pass(k)
	c.ready(k)
}

// behind is a client whose cache has not seen the changes of Secrets since it was made.
func (c *cluster) behind() client.Client {
	c.Helper()
	seen := &corev1.Secret{}
	errSeen := c.client.Get(c.Context(), c.secret, seen)
	return interceptor.NewClient(c.client, interceptor.Funcs{
		Get: func(ctx context.Context, w client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			s, is := o.(*corev1.Secret)
			if !is {
				return w.Get(ctx, key, o, opts...)
			}
			if errSeen == nil {
				seen.DeepCopyInto(s)
			}
			return errSeen
		},
	})
}

// TestOldCacheUndoesNothing: a replica that has not seen what another wrote writes nothing over it.
func TestOldCacheUndoesNothing(t *testing.T) {
	c := newCluster(t)
	c.configure(ours...)
	k, late, later := c.replica(), c.replica(), c.replica()
	late.Client = c.behind() // has seen no Secret
	c.pass(k)
	made := c.readSecret()
	c.pass(late)
	if !bytes.Equal(c.serves(late), made.Data["tls.crt"]) {
		t.Error("a Secret was made twice")
	}

	later.Client = c.behind() // has seen the first
	c.clock.SetTime(start.Add(335 * day))
	c.pass(k)
	renewed := c.readSecret()
	c.pass(later)
	if now := c.readSecret(); now.ResourceVersion != renewed.ResourceVersion {
		t.Error("a certificate was renewed twice")
	}
	c.clock.SetTime(start.Add(334 * day)) // what it has seen need not be renewed yet
	if wait := c.pass(later); wait != retry {
		t.Errorf("looks again in %s", wait)
	}
	if !bytes.Equal(c.bundle(), renewed.Data["ca.crt"]) {
		t.Error("the new CA is not trusted any more")
	}
}

// TestOldConfigurationIsNotWrittenOver: what somebody else changed since it was read stays.
func TestOldConfigurationIsNotWrittenOver(t *testing.T) {
	c := newCluster(t)
	c.configure(ours...)
	k, seen := c.replica(), c.readConfiguration()
	k.Client = interceptor.NewClient(c.client, interceptor.Funcs{
		Get: func(ctx context.Context, w client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if now, is := o.(*admissionregistrationv1.ValidatingWebhookConfiguration); is {
				seen.DeepCopyInto(now)
				return nil
			}
			return w.Get(ctx, key, o, opts...)
		},
	})
	c.change(func(w *admissionregistrationv1.ValidatingWebhookConfiguration) { w.Webhooks = w.Webhooks[:1] })
	if wait := c.pass(k); wait != retry {
		t.Errorf("looks again in %s", wait)
	}
	if now := c.readConfiguration(); len(now.Webhooks) != 1 || len(now.Webhooks[0].ClientConfig.CABundle) > 0 {
		t.Errorf("written over: %+v", now.Webhooks)
	}
}

func TestErrorsAreToldByReadiness(t *testing.T) {
	boom := errors.New("boom")
	reading := func(secret bool) interceptor.Funcs {
		return interceptor.Funcs{
			Get: func(ctx context.Context, w client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
				if _, is := o.(*corev1.Secret); is == secret {
					return boom
				}
				return w.Get(ctx, key, o, opts...)
			},
		}
	}
	for _, test := range []struct {
		name, want string
		funcs      interceptor.Funcs
	}{
		{"read the Secret", "get Secret", reading(true)},
		{"make the Secret", "make the certificate in Secret", interceptor.Funcs{
			Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error { return boom },
		}},
		{"read the configuration", "get ValidatingWebhookConfiguration", reading(false)},
		{"write the configuration", "write caBundle", interceptor.Funcs{
			Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
				return boom
			},
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newCluster(t)
			c.configure(ours...)
			k := c.replica()
			k.Client = interceptor.NewClient(c.client, test.funcs)
			_, err := k.Reconcile(t.Context(), reconcile.Request{})
			if !errors.Is(err, boom) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v", err)
			}
			if k.Ready(nil) == nil {
				t.Error("ready")
			}
			k.Client = c.client
			c.pass(k)
			c.ready(k)
		})
	}
}
