package capability_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	corev1 "k8s.io/api/core/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	known "github.com/skyhook-operator/skyhook/internal/capability"
	"github.com/skyhook-operator/skyhook/internal/controller/capability"
	"github.com/skyhook-operator/skyhook/test/registry"
)

const user, password = "robot", "s3cret-word"

func pullSecret(kind corev1.SecretType, key, value string) *corev1.Secret {
	return &corev1.Secret{Type: kind, Data: map[string][]byte{key: []byte(value)}}
}

// docker is a pull secret as kubectl makes it.
func docker(host, user, password string) *corev1.Secret {
	auth := base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
	return pullSecret(corev1.SecretTypeDockerConfigJson, corev1.DockerConfigJsonKey, fmt.Sprintf(`{"auths":{%q:{"auth":%q}}}`, host, auth))
}

// bearer gives a token to those who know user and password, and asks for it.
func (s *server) bearer(w http.ResponseWriter, r *http.Request) bool {
	if r.URL.Path == "/token" {
		if u, p, ok := r.BasicAuth(); !ok || u != user || p != password {
			w.WriteHeader(http.StatusUnauthorized)
			return true
		}
		fmt.Fprintf(w, `{"token":%q}`, "for "+r.URL.Query().Get("scope"))
		return true
	}
	if r.Header.Get("Authorization") == "Bearer for repository:x/private:pull" {
		return false
	}
	w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer realm="http://%s/token",service="test"`, s.host))
	w.WriteHeader(http.StatusUnauthorized)
	return true
}

func TestPullSecret(t *testing.T) {
	s := serve(t)
	reference, _ := s.push("x/private:1", image(t, "true"))
	old := pullSecret(corev1.SecretTypeDockercfg, corev1.DockerConfigKey, fmt.Sprintf(`{%q:{"username":%q,"password":%q}}`, s.host, user, password))
	for _, c := range []struct {
		name   string
		secret *corev1.Secret
		reason string
	}{
		{"for the registry", docker(s.host, user, password), ""},
		{"for the repository", docker(s.host+"/x", user, password), ""},
		{"with a scheme, as docker writes it", docker("http://"+s.host+"/v2/", user, password), ""},
		{"of the old type", old, ""},
		{"wrong password", docker(s.host, user, "guess"), v1alpha1.ReasonImageNotFound},
		{"for another registry", docker("registry.example", user, password), v1alpha1.ReasonImageNotFound},
		{"for another repository", docker(s.host+"/y", user, password), v1alpha1.ReasonImageNotFound},
		{"none", nil, v1alpha1.ReasonImageNotFound},
	} {
		for how, front := range map[string]registry.Front{"basic": registry.Login(user, password), "bearer": s.bearer} {
			t.Run(c.name+", "+how, func(t *testing.T) {
				s.instead(front)
				var keys authn.Keychain
				if c.secret != nil {
					var err error
					keys, err = capability.Keychain(t.Context(), c.secret)
					must(t, err)
				}
				got, err := capability.Registries{}.Look(t.Context(), reference, keys, nil)
				must(t, err)
				if got.Reason != c.reason || (got.Answer == known.True) != (c.reason == "") {
					t.Errorf("got %+v", got)
				}
				if strings.Contains(got.Message, password) {
					t.Errorf("the message tells the password: %s", got.Message)
				}
			})
		}
	}
}

func TestSecretRefused(t *testing.T) {
	for _, c := range []struct {
		name   string
		secret *corev1.Secret
		want   string
	}{
		{"opaque", pullSecret(corev1.SecretTypeOpaque, corev1.DockerConfigJsonKey, `{"auths":{}}`), "it has type Opaque; make it one of type kubernetes.io/dockerconfigjson"},
		{"no data", pullSecret(corev1.SecretTypeDockerConfigJson, "other", "{}"), "it has no .dockerconfigjson"},
		{"data of the old type", pullSecret(corev1.SecretTypeDockercfg, corev1.DockerConfigJsonKey, "{}"), "it has no .dockercfg"},
		{"no JSON", pullSecret(corev1.SecretTypeDockerConfigJson, corev1.DockerConfigJsonKey, password), "its .dockerconfigjson cannot be read"},
		{"no base64", pullSecret(corev1.SecretTypeDockerConfigJson, corev1.DockerConfigJsonKey, `{"auths":{"x":{"auth":"`+password+`"}}}`), "its .dockerconfigjson cannot be read"},
	} {
		t.Run(c.name, func(t *testing.T) {
			keys, err := capability.Keychain(t.Context(), c.secret)
			if err == nil || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), password) {
				t.Errorf("got %v, error %v", keys, err)
			}
		})
	}
}
