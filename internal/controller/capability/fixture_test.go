package capability_test

import (
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	ggcr "github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	known "github.com/skyhook-operator/skyhook/internal/capability"
	"github.com/skyhook-operator/skyhook/internal/capability/registry"
	"github.com/skyhook-operator/skyhook/internal/controller/capability"
	"github.com/skyhook-operator/skyhook/test/apiserver"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	apiserver.Main(m)
}

// images is a registry in memory that counts the requests for manifests and configurations.
type images struct {
	t    *testing.T
	host string
	mu   sync.Mutex
	// asked by repository and tag or digest.
	asked map[string]int
	// login is "user:password" that everybody needs; empty for none.
	login string
}

func newImages(t *testing.T) *images {
	t.Helper()
	i := &images{t: t, asked: map[string]int{}}
	store := ggcr.New(ggcr.Logger(log.New(io.Discard, "", 0)))
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if i.admits(r) {
			store.ServeHTTP(w, r)
			return
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(web.Close)
	i.host = strings.TrimPrefix(web.URL, "http://")
	return i
}

func (i *images) admits(r *http.Request) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if path := strings.TrimPrefix(r.URL.Path, "/v2/"); path != "" && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		i.asked[path]++
	}
	user, password, _ := r.BasicAuth()
	return i.login == "" || i.login == user+":"+password
}

// took returns how many requests came since the last call.
func (i *images) took() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	sum := 0
	for _, n := range i.asked {
		sum += n
	}
	i.asked = map[string]int{}
	return sum
}

// push stores an image with the label under repository:tag references and returns its digest.
func (i *images) push(label string, tags ...string) string {
	i.t.Helper()
	img, err := random.Image(100, 1)
	must(i.t, err)
	img, err = mutate.Config(img, v1.Config{Labels: map[string]string{v1alpha1.ImageLabelUninstall: label}})
	must(i.t, err)
	for _, tag := range tags {
		reference, err := name.ParseReference(i.host + "/" + tag)
		must(i.t, err)
		must(i.t, remote.Push(reference, img))
	}
	i.took()
	digest, err := img.Digest()
	must(i.t, err)
	return digest.String()
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
		Reconciler: &capability.Reconciler{Client: c, Live: c, Events: recorder, Registry: new(registry.Client)},
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
	if len(known.Failed(now)) > 0 && now.DeletionTimestamp == nil {
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
	for {
		select {
		case e := <-w.events.Events:
			all = append(all, e)
		default:
			return all
		}
	}
}

func request(s *v1alpha1.Skyhook) ctrl.Request {
	return ctrl.Request{NamespacedName: client.ObjectKeyFromObject(s)}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// stub is a registry whose answers a test makes.
type stub func(ctx context.Context, reference string) (known.Finding, error)

func (f stub) Look(ctx context.Context, reference string, _ authn.Keychain, _ map[string]known.Answer) (known.Finding, error) {
	return f(ctx, reference)
}
