package capability

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/authn/kubernetes"
	_ "golang.org/x/crypto/x509roots/fallback" // the operator's image has no certificates; those that are mounted win
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/capability"
	"github.com/skyhook-operator/skyhook/pkg/image"
	"github.com/skyhook-operator/skyhook/pkg/image/label"
)

// Look finds out what an image says, in bounded time. keys are the credentials, nil for none; known are answers by
// digest, which are not asked for again. What goes wrong is part of the finding. The error is only that of ctx: a look
// that is cut short has found nothing.
type Look func(
	ctx context.Context, reference string, keys authn.Keychain, known map[string]string,
) (capability.Finding, error)

// Registries looks at images in their registries: at manifests and configurations, never at layers. Its zero value is
// ready for use.
type Registries struct {
	// Timeout for one image, all requests together; 0 means ten seconds.
	Timeout time.Duration
	// UserAgent that registries see; empty for the library's.
	UserAgent string
}

// Look is a [Look].
func (r Registries) Look(
	ctx context.Context, reference string, keys authn.Keychain, known map[string]string,
) (capability.Finding, error) {
	timeout := r.Timeout
	if timeout == 0 {
		timeout = 10 * time.Second
	}
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	found := capability.Finding{Reference: reference, Answer: capability.Unknown}
	err := look(limited, image.Registry{Keys: keys, UserAgent: r.UserAgent}, &found, known)
	switch {
	case ctx.Err() != nil:
		return capability.Finding{}, ctx.Err()
	case err != nil && limited.Err() != nil:
		found.Reason, found.Message = v1alpha1.ReasonRegistryUnreachable, "no answer within "+timeout.String()
	case err != nil:
		found.Reason, found.Message = explain(err)
	}
	return found, nil
}

func look(
	ctx context.Context, registry image.Registry, found *capability.Finding, known map[string]string,
) (err error) {
	if found.Digest, err = registry.Digest(ctx, found.Reference); err != nil {
		return err
	}
	if answer, ok := known[found.Digest]; ok {
		found.Answer = answer
		return nil
	}
	labels, err := registry.Labels(ctx, found.Reference, found.Digest)
	if can, told := label.CanUninstall(labels); told {
		found.Answer = strconv.FormatBool(can)
	}
	return err
}

// explain says in one word and in one sentence why an image could not be looked at.
func explain(err error) (reason, message string) {
	switch image.CauseOf(err) {
	case image.BadReference, image.Missing, image.Denied:
		return v1alpha1.ReasonImageNotFound, err.Error()
	case image.Unusable:
		return v1alpha1.ReasonImageUnreadable, err.Error()
	default:
		if foreign := (*tls.CertificateVerificationError)(nil); errors.As(err, &foreign) {
			err = fmt.Errorf("the registry's certificate is not trusted (%w); "+
				"name its authority in SSL_CERT_FILE of the operator", foreign.Err)
		}
		return v1alpha1.ReasonRegistryUnreachable, err.Error()
	}
}

// keychain returns the credentials in the pull secret. Without a Secret that can be used it returns none and how a
// message begins that says why: kubelets pull without it as well, and public images need none. An error is worth
// another try.
func (r *Reconciler) keychain(ctx context.Context) (keys authn.Keychain, trouble string, err error) {
	if r.PullSecret.Name == "" {
		return nil, "", nil
	}
	var secret corev1.Secret
	switch err := r.Live.Get(ctx, r.PullSecret, &secret); {
	case apierrors.IsNotFound(err):
		return nil, fmt.Sprintf("pull secret %s does not exist; ", r.PullSecret), nil
	case apierrors.IsForbidden(err):
		return nil, fmt.Sprintf("the operator may not read pull secret %s; ", r.PullSecret), nil
	case err != nil:
		return nil, "", fmt.Errorf("read pull secret %s: %w", r.PullSecret, err)
	}
	if keys, err = Keychain(ctx, &secret); err != nil {
		return nil, fmt.Sprintf("pull secret %s: %v; ", r.PullSecret, err), nil
	}
	return keys, "", nil
}

// Keychain returns the credentials in a pull secret; they are matched to images as kubelets do it. Credentials of the
// machine that this runs on, such as its cloud identity, are not part of it: the operator's machine is not the node
// that will pull the image. The error says what is wrong with the Secret, and nothing of what is in it.
func Keychain(ctx context.Context, secret *corev1.Secret) (authn.Keychain, error) {
	key := map[corev1.SecretType]string{
		corev1.SecretTypeDockerConfigJson: corev1.DockerConfigJsonKey,
		corev1.SecretTypeDockercfg:        corev1.DockerConfigKey,
	}[secret.Type]
	if key == "" {
		return nil, fmt.Errorf("it has type %s; make it one of type %s", secret.Type, corev1.SecretTypeDockerConfigJson)
	}
	if len(secret.Data[key]) == 0 {
		return nil, fmt.Errorf("it has no %s", key)
	}
	keys, err := kubernetes.NewFromPullSecrets(ctx, []corev1.Secret{*secret})
	if err != nil {
		return nil, fmt.Errorf("its %s cannot be read; it must be a JSON object as docker login writes it", key)
	}
	return keys, nil
}
