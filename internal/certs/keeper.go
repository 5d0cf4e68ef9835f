package certs

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/skyhook-operator/skyhook/internal/metrics"
)

const (
	// settle is how long a replica goes on to serve the old certificate after it saw the API server's configuration trust
	// the new one: every API server has to see that, too.
	settle = 30 * time.Second
	// retry is the pause after another replica was faster, in case its write is never seen.
	retry = 5 * time.Second
)

// Keeper keeps one replica's certificate: it makes or renews the Secret if nobody else did, has the webhooks of one
// configuration trust it, and serves it. It works in every replica; writes that collide are settled by the API server.
type Keeper struct {
	// Client reads from the cache, of Secrets at least the one below.
	Client client.Client
	// Live reads from the API server.
	Live  client.Reader
	Clock clock.PassiveClock
	// Secret has the certificate.
	Secret types.NamespacedName
	// Names are the DNS names by which the API server calls.
	Names []string
	// Configuration is the name of the ValidatingWebhookConfiguration, and Webhooks are those in it that are ours.
	Configuration string
	Webhooks      []string
	// Given says that somebody else, such as cert-manager, keeps the Secret and has the webhooks trust it: two writers
	// would undo each other's work for ever. Nothing is written then.
	Given bool

	serving atomic.Pointer[Served]
	trouble atomic.Pointer[string]
	// next is the certificate that waits to be served, and trusted is when the configuration was first seen to trust it.
	// Passes do not overlap.
	next    []byte
	trusted time.Time
}

// GetCertificate is for tls.Config.
func (k *Keeper) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if s := k.serving.Load(); s != nil {
		return s.Certificate, nil
	}
	return nil, errors.New("the webhooks' certificate is not loaded yet")
}

// Ready is a readiness check: it fails until the certificate is loaded and the API server is told to trust it.
func (k *Keeper) Ready(*http.Request) error {
	if k.serving.Load() == nil {
		return errors.New("the webhooks' certificate is not loaded yet")
	}
	trouble := k.trouble.Load()
	if trouble == nil {
		return errors.New("the webhook configuration does not trust the webhooks' certificate yet")
	}
	if *trouble != "" {
		return errors.New(*trouble)
	}
	return nil
}

// Reconcile is one pass. It comes again when the certificate has to be served or renewed.
func (k *Keeper) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	wait, err := k.pass(ctx)
	if overtaken(err) {
		return reconcile.Result{RequeueAfter: retry}, nil
	}
	switch {
	case err != nil && k.answers(ctx):
		k.say("") // there is time to mend it, and nothing would be stored without a replica that is ready
	case err != nil:
		k.say(err.Error())
	}
	return reconcile.Result{RequeueAfter: wait}, err
}

func (k *Keeper) pass(ctx context.Context) (time.Duration, error) {
	pair, served, err := k.load(ctx)
	if err != nil {
		return 0, err
	}
	trouble, err := k.trust(ctx, pair.CA, &served)
	if (trouble != "" || err != nil) && k.answers(ctx) {
		// What was served before is served on until this one is trusted.
		k.next = nil
		k.say("")
		return k.due(k.serving.Load()), err
	}
	wait := k.serve(pair, served, err == nil && trouble == "")
	if err == nil && k.say(trouble) && trouble != "" {
		log.FromContext(ctx).Info("webhooks are not ready", "reason", trouble)
	}
	return wait, err
}

// say tells the readiness check, and reports whether it is news.
func (k *Keeper) say(trouble string) bool {
	before := k.trouble.Swap(&trouble)
	return before == nil || *before != trouble
}

// overtaken reports whether a write came too late because another replica had written.
func overtaken(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }

// load returns the pair in the Secret, after making or renewing it if need be.
func (k *Keeper) load(ctx context.Context) (Pair, Served, error) {
	secret := newSecret(k.Secret)
	err := k.Client.Get(ctx, k.Secret, secret)
	if client.IgnoreNotFound(err) != nil {
		return Pair{}, Served{}, fmt.Errorf("get Secret %s: %w", k.Secret, err)
	}
	if k.Given {
		return k.given(secret)
	}
	if err == nil {
		if served, err := k.judge(secret); err == nil {
			return pairOf(secret), served, nil
		}
	}
	err = k.renew(ctx, secret)
	if overtaken(err) || apierrors.IsNotFound(err) {
		// Another replica was faster, or the cache is behind: what counts is what is there.
		secret = newSecret(k.Secret)
		err = k.Live.Get(ctx, k.Secret, secret)
	}
	if err != nil {
		return Pair{}, Served{}, fmt.Errorf("make the certificate in Secret %s: %w", k.Secret, err)
	}
	served, err := k.judge(secret)
	if err != nil {
		return Pair{}, Served{}, fmt.Errorf("read Secret %s: %w", k.Secret, err)
	}
	return pairOf(secret), served, nil
}

// given returns the pair that somebody else put into the Secret.
func (k *Keeper) given(secret *corev1.Secret) (Pair, Served, error) {
	pair := pairOf(secret)
	served, err := Load(pair, k.Names, k.Clock.Now())
	switch {
	case err != nil && secret.ResourceVersion == "":
		err = errors.New("there is no such Secret")
	case err != nil && len(pair.CA) == 0:
		err = errors.New("its issuer did not put a CA into " + keyCA)
	}
	if err != nil {
		return Pair{}, Served{}, fmt.Errorf("secret %s has no certificate that can be served, and the operator makes none "+
			"(WEBHOOK_MANAGE_CERTIFICATE=false), so look at what does, such as cert-manager's Certificate: %w", k.Secret, err)
	}
	return pair, served, nil
}

var errEnds = errors.New("the certificate ends soon")

func (k *Keeper) judge(secret *corev1.Secret) (Served, error) {
	now := k.Clock.Now()
	served, err := Load(pairOf(secret), k.Names, now)
	if err == nil && !now.Before(served.RenewAt()) {
		err = errEnds
	}
	return served, err
}

// renew puts a new certificate into a Secret that was read, or makes the Secret if it was not there.
func (k *Keeper) renew(ctx context.Context, secret *corev1.Secret) error {
	now := k.Clock.Now()
	pair, err := Make(k.Names, now)
	if err != nil {
		return err
	}
	old := pairOf(secret)
	pair.CA = Bundle(pair.CA, old.CA, now)
	put(pair, now.Add(Lifetime), secret)
	if secret.ResourceVersion == "" {
		err = k.Client.Create(ctx, secret)
	} else {
		err = k.Client.Update(ctx, secret)
	}
	if err == nil {
		log.FromContext(ctx).Info("made a certificate for webhooks", "secret", k.Secret, "end", now.Add(Lifetime))
	}
	return err
}

// serve begins to serve the certificate, unless the API servers have to see first that it is trusted. It returns the
// time until there is something to do.
func (k *Keeper) serve(pair Pair, served Served, trusted bool) time.Duration {
	now, renewal := k.Clock.Now(), k.due(&served)
	if current := k.serving.Load(); current != nil && !same(current, pair) && !k.worthless(current, pair.CA, now) {
		if !trusted {
			k.next = nil
			return renewal
		}
		if !bytes.Equal(k.next, pair.Cert) {
			k.next, k.trusted = pair.Cert, now
		}
		if wait := k.trusted.Add(settle).Sub(now); wait > 0 {
			return wait
		}
	}
	k.next = nil
	k.serving.Store(&served)
	metrics.CertificateEnd.WithLabelValues().Set(float64(served.End.Unix()))
	return renewal
}

// due is the time until a certificate has to be renewed, or until one that was given has ended.
func (k *Keeper) due(served *Served) time.Duration {
	at := served.RenewAt()
	if k.Given {
		at = served.End.Add(time.Second)
	}
	return at.Sub(k.Clock.Now())
}

func same(current *Served, pair Pair) bool {
	return bytes.HasPrefix(pair.Cert, encode(certificateBlock, current.Certificate.Certificate[0]))
}

// worthless reports whether the certificate that is served is not trusted any more: it ended, or its Secret was deleted
// to have another one.
func (k *Keeper) worthless(current *Served, ca []byte, now time.Time) bool {
	_, err := verify(current.Certificate, ca, k.Names[0], now)
	return err != nil
}
