package registry

import (
	"context"
	"fmt"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/authn/kubernetes"
	corev1 "k8s.io/api/core/v1"
)

// Anonymous has no credentials.
var Anonymous = authn.NewMultiKeychain()

// Keychain returns the credentials in a pull secret; they are matched to images as kubelets do it. Credentials of the
// machine that this runs on, such as its cloud identity, are not part of it: the operator's machine is not the node that
// will pull the image. The error says what is wrong with the Secret, and nothing of what is in it.
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
