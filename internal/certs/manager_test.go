//go:build integration

package certs

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const patience = 30 * time.Second

// allow gives a user what the chart gives the operator for certificates, and no more.
func (c *cluster) allow() *rest.Config {
	c.Helper()
	user := rest.CopyConfig(c.config)
	user.Impersonate.UserName = "operator-" + c.secret.Namespace
	meta := metav1.ObjectMeta{Name: c.configuration, Namespace: c.secret.Namespace}
	subjects := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user.Impersonate.UserName}}
	wide := metav1.ObjectMeta{Name: meta.Name}
	for _, o := range []client.Object{
		&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"create"}},
			{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get", "list", "watch", "update"}, ResourceNames: []string{c.secret.Name}},
			{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get", "create", "update"}},
			{APIGroups: []string{"", "events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create", "patch"}},
		}},
		&rbacv1.ClusterRole{ObjectMeta: wide, Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{"admissionregistration.k8s.io"}, Resources: []string{"validatingwebhookconfigurations"},
			Verbs: []string{"get", "list", "watch", "patch"}, ResourceNames: []string{c.configuration},
		}}},
		&rbacv1.RoleBinding{ObjectMeta: meta, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name}},
		&rbacv1.ClusterRoleBinding{ObjectMeta: wide, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name}},
	} {
		c.must(c.client.Create(c.Context(), o))
	}
	return user
}

// start runs a replica in a manager with a cache of its own, and serves with its certificate. It returns the address.
func (c *cluster) start(user *rest.Config) (*Keeper, client.Client, string) {
	c.Helper()
	k := c.replica()
	objects := map[client.Object]cache.ByObject{}
	k.Cache(objects)
	mgr, err := ctrl.NewManager(user, ctrl.Options{
		Scheme: scheme.Scheme, Cache: cache.Options{ByObject: objects}, Metrics: metricsserver.Options{BindAddress: "0"},
		Controller:     config.Controller{SkipNameValidation: new(true)},
		LeaderElection: true, LeaderElectionID: "certs", LeaderElectionNamespace: c.secret.Namespace, LeaderElectionReleaseOnCancel: true,
	})
	c.must(err)
	k.Client, k.Live, k.Clock = mgr.GetClient(), mgr.GetAPIReader(), clock.RealClock{}
	c.must(k.SetupWithManager(mgr))
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{GetCertificate: k.GetCertificate, MinVersion: tls.VersionTLS12})
	c.must(err)
	server := &http.Server{Handler: http.NotFoundHandler(), ReadHeaderTimeout: patience}
	go func() { _ = server.Serve(listener) }() // ends with Close
	ctx, cancel := context.WithCancel(context.WithoutCancel(c.Context()))
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	c.Cleanup(func() {
		cancel()
		_ = server.Close()
		if err := <-done; err != nil {
			c.Errorf("manager: %v", err)
		}
	})
	return k, mgr.GetClient(), listener.Addr().String()
}

// until watches the configuration until its bundle is as wanted.
func (c *cluster) until(what string, ok func(bundle []byte) bool) []byte {
	c.Helper()
	ctx, cancel := context.WithTimeout(c.Context(), patience)
	defer cancel()
	w, err := c.client.Watch(ctx, &admissionregistrationv1.ValidatingWebhookConfigurationList{}, client.MatchingFields{"metadata.name": c.configuration})
	c.must(err)
	defer w.Stop()
	for e := range w.ResultChan() {
		if o, is := e.Object.(*admissionregistrationv1.ValidatingWebhookConfiguration); is && ok(o.Webhooks[0].ClientConfig.CABundle) {
			return c.bundle()
		}
	}
	c.Fatalf("not within %s: %s", patience, what)
	return nil
}

// call makes a request as the API server does.
func call(ctx context.Context, address string, bundle []byte) error {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", address)
		},
	}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+names[0]+"/", http.NoBody)
	if err != nil {
		return err
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return err
	}
	if err := response.Body.Close(); err != nil || response.StatusCode != http.StatusNotFound {
		return fmt.Errorf("answered %s (%w)", response.Status, err)
	}
	return nil
}

// TestRunning: two replicas with the operator's permissions, of which one is the leader, come up, see each other's writes
// and mend what others do.
func TestRunning(t *testing.T) {
	c := newCluster(t)
	c.configure(append(ours, foreign)...)
	other := newSecret(c.secret)
	other.Name = "other"
	put(mustMake(t, start), start, other)
	c.must(c.client.Create(t.Context(), other))
	user := c.allow()
	_, reader, first := c.start(user)
	_, _, second := c.start(user)

	trusted := func(bundle []byte) bool {
		return call(t.Context(), first, bundle) == nil && call(t.Context(), second, bundle) == nil
	}
	trustedBundle := func(what string) []byte {
		t.Helper()
		deadline, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		for {
			bundle := c.until(what, func(b []byte) bool { return len(b) > 0 })
			if trusted(bundle) {
				return bundle
			}
			if errors.Is(deadline.Err(), context.DeadlineExceeded) {
				t.Fatalf("not trusted within %s: %s", patience, what)
			}
		}
	}
	made := trustedBundle("the first certificate")

	c.change(func(w *admissionregistrationv1.ValidatingWebhookConfiguration) {
		w.Webhooks[0].ClientConfig.CABundle, w.Webhooks[1].ClientConfig.CABundle = nil, nil
	})
	if restored := c.until("restored", func(b []byte) bool { return bytes.Equal(b, made) }); !trusted(restored) {
		t.Error("the restored configuration does not trust the replicas")
	}

	c.must(c.client.Delete(t.Context(), c.readSecret()))
	c.until("another certificate", func(b []byte) bool { return len(b) > 0 && !bytes.Equal(b, made) })
	trustedBundle("the second certificate")

	if err := reader.Get(t.Context(), client.ObjectKeyFromObject(other), &corev1.Secret{}); !apierrors.IsNotFound(err) {
		t.Errorf("the cache has a Secret that is no business of ours: %v", err)
	}
}
