package cluster_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/forecast/cluster"
	"github.com/skyhook-operator/skyhook/internal/settings"
	"github.com/skyhook-operator/skyhook/test/apiserver"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	apiserver.Main(m)
}

const namespace = "skyhook"

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

var schemaKind = v1alpha1.GroupVersion.WithKind("Skyhook")

var start = time.Unix(1_800_000_000, 0)

func newScheme(t testing.TB) *runtime.Scheme {
	t.Helper()
	scheme, err := settings.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	return scheme
}

func newCluster(t testing.TB) *cluster.Cluster {
	t.Helper()
	return cluster.New(newScheme(t), func() time.Time { return start })
}

// actual is a real API server, in tests with the tag integration; nil in others.
var actual func(t *testing.T) client.Client

// servers are what a test of the server's semantics runs on: ours, and a real one. Both have to agree.
func servers(t *testing.T) map[string]client.Client {
	t.Helper()
	all := map[string]client.Client{"memory": newCluster(t).Client()}
	if actual != nil {
		all["real"] = actual(t)
	}
	return all
}

// scene is one test on one server.
type scene struct {
	*testing.T
	client.Client
	// name that no other scene uses.
	name string
}

func (s scene) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// create stores an object.
func (s scene) create(o client.Object) {
	s.Helper()
	s.must(s.Create(s.Context(), o))
}

// want checks which error an answer is.
func (s scene) want(is func(error) bool, err error) {
	s.Helper()
	if !is(err) {
		s.Errorf("got %v", err)
	}
}

// now reads an object anew.
func (s scene) now(o client.Object) {
	s.Helper()
	s.must(s.Get(s.Context(), client.ObjectKeyFromObject(o), o))
}

// writes reports whether f changes the version of an object, which is read anew.
func (s scene) writes(o client.Object, f func() error) bool {
	s.Helper()
	s.now(o)
	before := o.GetResourceVersion()
	s.must(f())
	s.now(o)
	return o.GetResourceVersion() != before
}

func (s scene) patch(o client.Object, body string) error {
	return s.Patch(s.Context(), o, client.RawPatch(types.MergePatchType, []byte(body)))
}

func (s scene) patchStatus(o client.Object, body string) error {
	return s.Status().Patch(s.Context(), o, client.RawPatch(types.MergePatchType, []byte(body)))
}

// patchStrategically sends a strategic merge patch of a status.
func (s scene) patchStrategically(o client.Object, body string) error {
	return s.Status().Patch(s.Context(), o, client.RawPatch(types.StrategicMergePatchType, []byte(body)))
}

func (s scene) node() *corev1.Node {
	s.Helper()
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: s.name, Annotations: map[string]string{"a": "1"}}}
	s.create(n)
	return n
}

func (s scene) pod(node string) *corev1.Pod {
	s.Helper()
	p := newPod(s.name, node)
	s.create(p)
	return p
}

func newPod(name, node string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: map[string]string{"skyhook.nvidia.com/name": "demo"}},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
}

func (s scene) skyhook() *v1alpha1.Skyhook {
	s.Helper()
	h := newSkyhook(s.name)
	s.create(h)
	return h
}

func newSkyhook(name string) *v1alpha1.Skyhook {
	return &v1alpha1.Skyhook{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       v1alpha1.SkyhookSpec{Packages: map[string]v1alpha1.Package{"a": {Version: "1.0.0", Image: "x/a"}}},
	}
}

func toJSON(t testing.TB, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
