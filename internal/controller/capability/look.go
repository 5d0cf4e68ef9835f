package capability

import (
	"context"
	"fmt"

	"github.com/google/go-containerregistry/pkg/authn"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/capability"
	"github.com/skyhook-operator/skyhook/internal/capability/registry"
)

// perPass bounds how many images one pass looks at, and so what a restart loses, and for how long other Skyhooks wait when
// no registry answers. Storing what one pass found sets off the next.
const perPass = 8

// look asks for images that are due, one after the other, so that a digest they share is fetched once.
// The error is one of the API server, or says that the operator stops: then nothing was found.
func (r *Reconciler) look(ctx context.Context, s *v1alpha1.Skyhook) ([]capability.Finding, error) {
	missing := r.due(s)
	if len(missing) == 0 {
		return nil, nil
	}
	keys, trouble, err := r.keychain(ctx)
	if err != nil {
		return nil, err
	}
	known := capability.Read(s)
	missing = missing[:min(len(missing), perPass)]
	findings := make([]capability.Finding, 0, len(missing))
	for _, reference := range missing {
		found, err := r.Registry.Look(ctx, reference, keys, known.Digests)
		if err != nil {
			return nil, err
		}
		if found.Reason != "" && trouble != "" {
			found.Message = trouble + "; " + found.Message
		}
		if found.Reason != "" {
			r.note(reference)
		}
		known.Add(found)
		findings = append(findings, found)
	}
	return findings, nil
}

// keychain returns the credentials in the pull secret. Without a Secret that can be used it returns none and says why:
// kubelets pull without it as well, and public images need none. An error is worth another try.
func (r *Reconciler) keychain(ctx context.Context) (keys authn.Keychain, trouble string, err error) {
	if r.PullSecret.Name == "" {
		return registry.Anonymous, "", nil
	}
	var secret corev1.Secret
	switch err := r.Live.Get(ctx, r.PullSecret, &secret); {
	case apierrors.IsNotFound(err):
		return registry.Anonymous, fmt.Sprintf("pull secret %s does not exist", r.PullSecret), nil
	case apierrors.IsForbidden(err):
		return registry.Anonymous, fmt.Sprintf("the operator may not read pull secret %s", r.PullSecret), nil
	case err != nil:
		return nil, "", fmt.Errorf("read pull secret %s: %w", r.PullSecret, err)
	}
	keys, err = registry.Keychain(ctx, &secret)
	if err != nil {
		return registry.Anonymous, fmt.Sprintf("pull secret %s: %v", r.PullSecret, err), nil
	}
	return keys, "", nil
}
