package certs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// trust has our webhooks in the configuration trust the CAs, and nothing else; or sees whether they trust what is
// given. It returns what is in the way and cannot be mended here; empty when nothing is.
func (k *Keeper) trust(ctx context.Context, ca []byte, served *Served) (trouble string, err error) {
	if k.Given {
		return k.distrust(ctx, served)
	}
	wanted, ours, trouble, err := k.configured(ctx)
	if trouble != "" || err != nil {
		return trouble, err
	}
	now := wanted.DeepCopy()
	for _, w := range ours {
		w.ClientConfig.CABundle = ca
	}
	if slices.EqualFunc(now.Webhooks, wanted.Webhooks, sameBundle) {
		return "", nil
	}
	return "", k.write(ctx, now, wanted, ca)
}

// configured returns the configuration and our webhooks in it, or what of them is missing.
func (k *Keeper) configured(ctx context.Context) (
	c *admissionregistrationv1.ValidatingWebhookConfiguration, ours []*admissionregistrationv1.ValidatingWebhook,
	trouble string, err error,
) {
	c = &admissionregistrationv1.ValidatingWebhookConfiguration{}
	err = k.Client.Get(ctx, client.ObjectKey{Name: k.Configuration}, c)
	if apierrors.IsNotFound(err) {
		return nil, nil, fmt.Sprintf("there is no ValidatingWebhookConfiguration %s; install it with the chart, "+
			"or turn webhooks off with ENABLE_WEBHOOKS=false",
			k.Configuration), nil
	}
	if err != nil {
		return nil, nil, "", fmt.Errorf("get ValidatingWebhookConfiguration %s: %w", k.Configuration, err)
	}
	for _, name := range k.Webhooks {
		named := func(w admissionregistrationv1.ValidatingWebhook) bool { return w.Name == name }
		i := slices.IndexFunc(c.Webhooks, named)
		if i < 0 {
			return nil, nil, fmt.Sprintf("ValidatingWebhookConfiguration %s has no webhook %s; install the chart again",
				k.Configuration, name), nil
		}
		ours = append(ours, &c.Webhooks[i])
	}
	return c, ours, "", nil
}

// distrust returns why the API server, as it is configured now, refuses a certificate; empty when it does not.
func (k *Keeper) distrust(ctx context.Context, served *Served) (trouble string, err error) {
	_, ours, trouble, err := k.configured(ctx)
	for _, w := range ours {
		if k.worthless(served, w.ClientConfig.CABundle, k.Clock.Now()) {
			return fmt.Sprintf("webhook %s of ValidatingWebhookConfiguration %s does not trust the certificate in Secret %s; "+
				"its caBundle is for the maker of the certificate to write, such as cert-manager's cainjector",
				w.Name, k.Configuration, k.Secret), nil
		}
	}
	return trouble, err
}

// answers reports whether the API server trusts what is served: whatever is wrong with what should follow, the replica
// can be called.
func (k *Keeper) answers(ctx context.Context) bool {
	served := k.serving.Load()
	if served == nil {
		return false
	}
	trouble, err := k.distrust(ctx, served)
	return trouble == "" && err == nil
}

func sameBundle(a, b admissionregistrationv1.ValidatingWebhook) bool {
	return bytes.Equal(a.ClientConfig.CABundle, b.ClientConfig.CABundle)
}

// write patches the configuration. What a replica knows of the Secret may be old, and must not undo what another
// replica wrote, so it is read anew; and the patch names the version of the configuration that was read.
func (k *Keeper) write(
	ctx context.Context, now, wanted *admissionregistrationv1.ValidatingWebhookConfiguration, ca []byte,
) error {
	secret := newSecret(k.Secret)
	if err := k.Live.Get(ctx, k.Secret, secret); err != nil {
		return fmt.Errorf("get Secret %s: %w", k.Secret, err)
	}
	if !bytes.Equal(pairOf(secret).CA, ca) {
		return apierrors.NewConflict(corev1.Resource("secrets"), k.Secret.Name,
			errors.New("another replica renewed the certificate"))
	}
	// Webhooks are merged by their names, so only caBundle of ours is in the patch.
	patch := client.StrategicMergeFrom(now, client.MergeFromWithOptimisticLock{})
	if err := k.Client.Patch(ctx, wanted, patch); err != nil {
		return fmt.Errorf("write caBundle of ValidatingWebhookConfiguration %s: %w", k.Configuration, err)
	}
	return nil
}
