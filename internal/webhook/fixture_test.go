//go:build integration

package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/admission"
	"github.com/skyhook-operator/skyhook/internal/certs"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/test/apiserver"
	"github.com/skyhook-operator/skyhook/test/helm"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	log.SetOutput(io.Discard) // the HTTP server's: the API server calls before there is a certificate
	apiserver.Main(m)
}

const (
	patience = 30 * time.Second
	look     = 20 * time.Millisecond
	service  = "skyhook-operator-webhook-service"
)

// cluster is a real API server that asks webhooks, as the chart configures it.
type cluster struct {
	*testing.T
	client client.Client
	// cached reads what the webhooks read.
	cached   client.Client
	warnings *warnings
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{T: t, warnings: &warnings{}}
	user := apiserver.Start(t)
	user.WarningHandlerWithContext = c.warnings
	var err error
	c.client, err = client.New(user, client.Options{Scheme: kinds()})
	c.must(err)
	c.storeOld()
	c.serve(rest.CopyConfig(user))
	return c
}

// in is the same cluster for a subtest, which has been warned of nothing yet.
func (c *cluster) in(t *testing.T) *cluster {
	c.warnings.mu.Lock()
	defer c.warnings.mu.Unlock()
	c.warnings.texts = nil
	return &cluster{T: t, client: c.client, cached: c.cached, warnings: c.warnings}
}

func (c *cluster) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

// serve runs webhooks until the test ends. The API server finds them by the Service, which is but another name of this
// machine.
func (c *cluster) serve(user *rest.Config) {
	c.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "webhook-"}}
	c.must(c.client.Create(c.Context(), ns))
	port := freePort(c.T)
	c.must(c.client.Create(c.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: service},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"},
	}))
	asks := configuration(c.T, ns.Name, port)
	c.must(c.client.Create(c.Context(), asks))

	host := service + "." + ns.Name + ".svc"
	k := &certs.Keeper{
		Clock: clock.RealClock{}, Secret: types.NamespacedName{Namespace: ns.Name, Name: "webhook-cert"},
		Names: []string{host}, Configuration: Configuration, Webhooks: []string{SkyhookName, PolicyName},
	}
	objects := map[client.Object]cache.ByObject{}
	k.Cache(objects)
	user.WarningHandlerWithContext = rest.NoWarnings{}
	mgr, err := ctrl.NewManager(user, ctrl.Options{
		Scheme: kinds(), Cache: cache.Options{ByObject: objects}, Metrics: metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: new(true)},
	})
	c.must(err)
	k.Client, k.Live = mgr.GetClient(), mgr.GetAPIReader()
	c.must(k.SetupWithManager(mgr))
	server := NewServer(fmt.Sprintf("localhost:%d", port), k.GetCertificate)
	Register(server, mgr.GetScheme(), mgr.GetClient(), mgr.GetAPIReader(), admission.ImageRules{}, "")
	c.must(mgr.Add(server))
	c.cached = mgr.GetClient()
	ctx, cancel := context.WithCancel(context.WithoutCancel(c.Context()))
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	c.Cleanup(func() {
		c.must(c.client.Delete(ctx, asks))
		c.eventually("the API server asks no more", func() bool { return c.probe() == nil })
		cancel()
		if err := <-done; err != nil {
			c.Errorf("webhooks: %v", err)
		}
	})
	c.eventually("the API server asks", func() bool {
		err := c.probe()
		return err != nil && strings.Contains(err.Error(), "denied the request")
	})
}

// probe tries to create what the webhooks refuse.
func (c *cluster) probe() error {
	return c.client.Create(context.WithoutCancel(c.Context()), parse[*v1alpha1.Skyhook](c.T, cycle("probe")), client.DryRunAll)
}

// eventually waits for what no watch tells of.
func (c *cluster) eventually(what string, ok func() bool) {
	c.Helper()
	err := wait.PollUntilContextTimeout(context.WithoutCancel(c.Context()), look, patience, true, func(context.Context) (bool, error) { return ok(), nil })
	if err != nil {
		c.Fatalf("not within %s: %s", patience, what)
	}
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return port
}

// configuration is the chart's.
func configuration(t *testing.T, namespace string, port int) *admissionregistrationv1.ValidatingWebhookConfiguration {
	t.Helper()
	out, err := helm.Template(t, "../..", "--namespace", namespace, "--show-only", "templates/webhook.yaml",
		"--set", fmt.Sprintf("webhookService.ports[0].port=%d", port))
	if err != nil {
		t.Fatalf("render the chart: %v", err)
	}
	documents := yaml.NewYAMLToJSONDecoder(bytes.NewReader(out))
	for {
		w := &admissionregistrationv1.ValidatingWebhookConfiguration{}
		err := documents.Decode(w)
		if errors.Is(err, io.EOF) {
			t.Fatalf("the chart renders no ValidatingWebhookConfiguration:\n%s", out)
		}
		if err != nil {
			t.Fatal(err)
		}
		if w.Kind == "ValidatingWebhookConfiguration" {
			return w
		}
	}
}

// create makes an object that goes with the test.
func (c *cluster) create(o client.Object) error {
	err := c.client.Create(c.Context(), o)
	if err == nil {
		c.Cleanup(func() {
			if err := client.IgnoreNotFound(c.client.Delete(context.WithoutCancel(c.Context()), o)); err != nil {
				c.Error(err)
			}
		})
	}
	return err
}

// skyhook makes a Skyhook that is allowed.
func (c *cluster) skyhook(name, spec string) *v1alpha1.Skyhook {
	c.Helper()
	s := parse[*v1alpha1.Skyhook](c.T, manifest(name, spec))
	c.must(c.create(s))
	return s
}

// respec gives a Skyhook another spec.
func (c *cluster) respec(s *v1alpha1.Skyhook, spec string) error {
	c.Helper()
	now := s.DeepCopy()
	now.Spec = parse[*v1alpha1.Skyhook](c.T, manifest(s.Name, spec)).Spec
	err := c.client.Update(c.Context(), now)
	if err == nil {
		*s = *now
	}
	return err
}

// installed makes nodes whose records have packages ("name|version") of a Skyhook, and waits until the webhooks see
// them.
func (c *cluster) installed(skyhook string, nodes []string, packages ...string) {
	c.Helper()
	entries := map[string]record.Entry{}
	for _, key := range packages {
		name, version, _ := strings.Cut(key, "|")
		entries[key] = record.Entry{Name: name, Version: version, Stage: v1alpha1.StageConfig, State: v1alpha1.StateComplete}
	}
	raw, err := json.Marshal(entries)
	c.must(err)
	for _, name := range nodes {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{"none": "here"},
			Annotations: map[string]string{"skyhook.nvidia.com/nodeState_" + skyhook: string(raw)},
		}}
		c.must(c.create(n))
		c.eventually("the webhooks see node "+name, func() bool {
			return c.cached.Get(c.Context(), client.ObjectKeyFromObject(n), &corev1.Node{}) == nil
		})
	}
}

// refused checks that a webhook refused, and what the user reads.
func (c *cluster) refused(err error, by string, parts ...string) {
	c.Helper()
	for _, part := range append([]string{`admission webhook "` + by + `" denied the request: `}, parts...) {
		if err == nil || !strings.Contains(err.Error(), part) {
			c.Errorf("%q is not in: %v", part, err)
		}
	}
}

// warnings collects what the API server warns of.
type warnings struct {
	mu    sync.Mutex
	texts []string
}

func (w *warnings) HandleWarningHeaderWithContext(_ context.Context, _ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.texts = append(w.texts, text)
}

// warned checks the warnings since the last call, by their beginnings.
func (c *cluster) warned(want ...string) {
	c.Helper()
	c.warnings.mu.Lock()
	defer c.warnings.mu.Unlock()
	if !slices.EqualFunc(c.warnings.texts, want, strings.HasPrefix) {
		c.Errorf("warned of %q, want %q", c.warnings.texts, want)
	}
	c.warnings.texts = nil
}
