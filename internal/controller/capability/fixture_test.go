//go:build integration

package capability_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-containerregistry/pkg/authn"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	known "github.com/skyhook-operator/skyhook/internal/capability"
	"github.com/skyhook-operator/skyhook/internal/controller/capability"
	"github.com/skyhook-operator/skyhook/test/apiserver"
	"github.com/skyhook-operator/skyhook/test/registry"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	apiserver.Main(m)
}

// images are a registry that counts requests.
type images struct {
	*server
	// login is "user:password" that everybody needs; empty for none.
	login string
}

func newImages(t *testing.T) *images {
	t.Helper()
	i := &images{server: serve(t)}
	i.instead(func(w http.ResponseWriter, r *http.Request) bool {
		user, password, _ := strings.Cut(i.login, ":")
		return i.login != "" && registry.Login(user, password)(w, r)
	})
	return i
}

// took returns how many requests for manifests and configurations came since the last call.
func (i *images) took() int {
	if asked := i.server.took(); asked != "" {
		return strings.Count(asked, ",") + 1
	}
	return 0
}

// push stores an image with the label under repository:tag references and returns its digest.
func (i *images) push(label string, tags ...string) (digest string) {
	i.t.Helper()
	img := image(i.t, label)
	for _, tag := range tags {
		_, digest = i.server.push(tag, img)
	}
	return digest
}

// world is a reconciler with a real API server and a registry.
type world struct {
	*capability.Reconciler
	t *testing.T
	// user is the client of the test itself.
	user   client.WithWatch
	images *images
	events *events.FakeRecorder
}

func newWorld(t *testing.T) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	must(t, clientgoscheme.AddToScheme(scheme))
	must(t, v1alpha1.AddToScheme(scheme))
	c, err := client.NewWithWatch(apiserver.Start(t), client.Options{Scheme: scheme})
	must(t, err)
	recorder := events.NewFakeRecorder(100)
	return &world{
		t: t, user: c, images: newImages(t), events: recorder,
		Reconciler: &capability.Reconciler{Client: c, Live: c, Events: recorder, Look: capability.Registries{}.Look, Clock: clock.RealClock{}},
	}
}

// create makes a Skyhook with packages by image; "repository:version" or "repository@digest" of the test's registry.
func (w *world) create(packages map[string]string) *v1alpha1.Skyhook {
	w.t.Helper()
	s := &v1alpha1.Skyhook{ObjectMeta: metav1.ObjectMeta{GenerateName: "capability-"}}
	s.Spec.Packages = map[string]v1alpha1.Package{}
	for name, image := range packages {
		s.Spec.Packages[name] = w.pkg(image)
	}
	must(w.t, w.user.Create(w.t.Context(), s))
	w.t.Cleanup(func() {
		must(w.t, client.IgnoreNotFound(w.user.Delete(context.WithoutCancel(w.t.Context()), s)))
	})
	return s
}

func (w *world) pkg(image string) v1alpha1.Package {
	if repository, digest, pinned := strings.Cut(image, "@"); pinned {
		return v1alpha1.Package{Image: w.images.host + "/" + repository, Version: "1.0.0", ContainerSHA: digest}
	}
	repository, version, _ := strings.Cut(image, ":")
	return v1alpha1.Package{Image: w.images.host + "/" + repository, Version: version}
}

// reconcile runs one pass and returns the Skyhook after it.
func (w *world) reconcile(s *v1alpha1.Skyhook) *v1alpha1.Skyhook {
	w.t.Helper()
	result, err := w.Reconcile(w.t.Context(), request(s))
	now := w.get(s)
	want := ctrl.Result{}
	if _, failed := known.ToAsk(now); len(failed) > 0 && now.DeletionTimestamp == nil {
		want.RequeueAfter = capability.RetryAfter
	}
	if err != nil || result != want {
		w.t.Fatalf("got %+v, %v", result, err)
	}
	return now
}

func (w *world) get(s *v1alpha1.Skyhook) *v1alpha1.Skyhook {
	w.t.Helper()
	now := &v1alpha1.Skyhook{}
	must(w.t, w.user.Get(w.t.Context(), client.ObjectKeyFromObject(s), now))
	return now
}

// change edits the Skyhook as a user does.
func (w *world) change(s *v1alpha1.Skyhook, edit func(*v1alpha1.Skyhook)) *v1alpha1.Skyhook {
	w.t.Helper()
	now := w.get(s)
	before := now.DeepCopy()
	edit(now)
	must(w.t, w.user.Patch(w.t.Context(), now, client.MergeFrom(before)))
	return now
}

// happened returns the events since the last call.
func (w *world) happened() []string {
	var all []string
	for len(w.events.Events) > 0 {
		all = append(all, <-w.events.Events)
	}
	return all
}

func request(s *v1alpha1.Skyhook) ctrl.Request {
	return ctrl.Request{NamespacedName: client.ObjectKeyFromObject(s)}
}

// stub is a look whose answers a test makes.
func stub(answer func(ctx context.Context, reference string) (known.Finding, error)) capability.Look {
	return func(ctx context.Context, reference string, _ authn.Keychain, _ map[string]string) (known.Finding, error) {
		return answer(ctx, reference)
	}
}

// missing are the images that nothing is known of.
func missing(s *v1alpha1.Skyhook) []string {
	all, _ := known.ToAsk(s)
	return all
}
