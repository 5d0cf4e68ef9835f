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
	now := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	err = k.Client.Get(ctx, client.ObjectKey{Name: k.Configuration}, now)
	if apierrors.IsNotFound(err) {
		return fmt.Sprintf("there is no ValidatingWebhookConfiguration %s; install it with the chart, "+
			"or turn webhooks off with ENABLE_WEBHOOKS=false",
			k.Configuration), nil
	}
	if err != nil {
		return "", fmt.Errorf("get ValidatingWebhookConfiguration %s: %w", k.Configuration, err)
	}
	wanted := now.DeepCopy()
	for _, name := range k.Webhooks {
		named := func(w admissionregistrationv1.ValidatingWebhook) bool { return w.Name == name }
		i := slices.IndexFunc(wanted.Webhooks, named)
		if i < 0 {
			return fmt.Sprintf("ValidatingWebhookConfiguration %s has no webhook %s; install the chart again",
				k.Configuration, name), nil
		}
		if k.Given && k.worthless(served, wanted.Webhooks[i].ClientConfig.CABundle, k.Clock.Now()) {
			return fmt.Sprintf("webhook %s of ValidatingWebhookConfiguration %s does not trust the certificate in Secret %s; "+
				"its caBundle is for the maker of the certificate to write, such as cert-manager's cainjector",
				name, k.Configuration, k.Secret), nil
		}
		if !k.Given {
			wanted.Webhooks[i].ClientConfig.CABundle = ca
		}
	}
	if slices.EqualFunc(now.Webhooks, wanted.Webhooks, sameBundle) {
		return "", nil
	}
	return "", k.write(ctx, now, wanted, ca)
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
