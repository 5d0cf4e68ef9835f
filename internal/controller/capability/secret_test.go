//go:build integration

package capability_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	known "github.com/skyhook-operator/skyhook/internal/capability"
)

// secret creates a pull secret and makes it the operator's.
func (w *world) secret(name, login string) {
	w.t.Helper()
	auth := base64.StdEncoding.EncodeToString([]byte(login))
	s := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}, Type: corev1.SecretTypeDockerConfigJson,
		Data: map[string][]byte{corev1.DockerConfigJsonKey: fmt.Appendf(nil, `{"auths":{%q:{"auth":%q}}}`, w.images.host, auth)},
	}
	must(w.t, w.user.Create(w.t.Context(), s))
	w.t.Cleanup(func() { must(w.t, w.user.Delete(context.WithoutCancel(w.t.Context()), s)) })
	w.PullSecret = types.NamespacedName{Namespace: "default", Name: name}
}

func TestPullSecretOpensTheRegistry(t *testing.T) {
	w := newWorld(t)
	w.images.push("true", "x/private:1.0.0")
	w.images.login = "robot:word"
	s := w.create(map[string]string{"a": "x/private:1.0.0"})
	now := w.reconcile(s)
	if d := known.Doubts(now); len(d) != 1 || d[0].Reason != v1alpha1.ReasonImageNotFound || strings.Contains(d[0].Message, "pull secret") {
		t.Errorf("without a pull secret, doubts are %+v", d)
	}
	w.secret("right", "robot:word")
	if now = w.reconcile(s); enabled(now) != "" {
		t.Error("it asked again by itself")
	}
	w.change(s, func(s *v1alpha1.Skyhook) { delete(s.Annotations, v1alpha1.AnnotationUninstallCapability) })
	if now = w.reconcile(s); enabled(now) != "a" {
		t.Errorf("with the pull secret, the annotation is %s", known.Read(now))
	}
}

// TestUselessPullSecret: public images are read all the same, and of others the cause is told.
func TestUselessPullSecret(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "x", errors.New("no"))
	for _, c := range []struct {
		name  string
		setUp func(*world)
		want  string
	}{
		{"missing", func(w *world) { w.PullSecret = types.NamespacedName{Namespace: "default", Name: "none"} }, "pull secret default/none does not exist; "},
		{"forbidden", func(w *world) {
			w.secret("hidden", "robot:word")
			w.Live = reader{w.Live, forbidden}
		}, "the operator may not read pull secret default/hidden; "},
		{"of another type", func(w *world) {
			s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "opaque", Namespace: "default"}}
			must(w.t, w.user.Create(w.t.Context(), s))
			w.t.Cleanup(func() { must(w.t, w.user.Delete(context.WithoutCancel(w.t.Context()), s)) })
			w.PullSecret = client.ObjectKeyFromObject(s)
		}, "pull secret default/opaque: it has type Opaque; make it one of type kubernetes.io/dockerconfigjson; "},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.images.push("true", "x/a:1.0.0")
			c.setUp(w)
			public := w.create(map[string]string{"a": "x/a:1.0.0"})
			if now := w.reconcile(public); enabled(now) != "a" {
				t.Errorf("a public image: %s", known.Read(now))
			}
			w.images.login = "robot:word"
			private := w.create(map[string]string{"a": "x/a:1.0.0"})
			d := known.Doubts(w.reconcile(private))
			if len(d) != 1 || d[0].Reason != v1alpha1.ReasonImageNotFound || !strings.HasPrefix(d[0].Message, c.want) {
				t.Errorf("a private image: %+v", d)
			}
		})
	}
}

// reader fails to read Secrets.
type reader struct {
	client.Reader
	err error
}

func (r reader) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if _, ok := o.(*corev1.Secret); ok {
		return r.err
	}
	return r.Reader.Get(ctx, key, o, opts...)
}

// TestSecretThatCannotBeReadNow: trouble of the API server is tried again, before any registry is asked.
func TestSecretThatCannotBeReadNow(t *testing.T) {
	w := newWorld(t)
	w.secret("slow", "robot:word")
	w.Live = reader{w.Live, apierrors.NewServiceUnavailable("busy")}
	s := w.create(map[string]string{"a": "x/a:1.0.0"})
	_, err := w.Reconcile(t.Context(), request(s))
	if err == nil || !strings.Contains(err.Error(), "read pull secret default/slow: busy") {
		t.Errorf("error %v", err)
	}
	if now := w.get(s); w.images.took() != 0 || len(now.Annotations) != 0 {
		t.Errorf("annotations %v", now.Annotations)
	}
}
