//go:build integration

package operator_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/operator"
	"github.com/skyhook-operator/skyhook/internal/settings"
	"github.com/skyhook-operator/skyhook/test/apiserver"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard()) // an operator that is stopped in the middle of its work has much to say
	apiserver.MainParallel(m, servers, checkPermissions)
}

const (
	// servers are how many tests run at a time: an operator does the work of a whole API server, so that no two share one.
	servers   = 3
	patience  = 90 * time.Second // a machine that builds something else meanwhile is slow
	testLabel = "skyhook.nvidia.com/test-node"
)

// cluster is a real API server with nodes that a stand-in kubelet serves, and an operator that can be stopped and
// started. Tests have a server to themselves, but others had it before: each has a namespace, a node label and a Skyhook
// name prefix of its own.
type cluster struct {
	t         *testing.T
	config    *rest.Config
	account   *rest.Config // the operator's, with the chart's roles
	client    client.WithWatch
	kubelet   *kubelet
	namespace string
	stop      func()
	writes    writeCounter
	older     bool // the API server of the operator that starts next is one of an earlier version
	// variables of the operator that starts next, before those of every test.
	variables map[string]string
}

func newCluster(t *testing.T, nodes int) *cluster {
	t.Helper()
	t.Parallel()
	return newOnlyCluster(t, nodes)
}

// newOnlyCluster is newCluster for a test beside which no other of this package runs: the operators of a process share its
// metrics, and one that has to wait for a processor writes more often.
func newOnlyCluster(t *testing.T, nodes int) *cluster {
	t.Helper()
	config := apiserver.Start(t)
	scheme, err := settings.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	unlimited := rest.CopyConfig(config)
	unlimited.QPS = -1 // kubelets do not wait for each other
	c, err := client.NewWithWatch(unlimited, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	f := &cluster{t: t, config: config, client: c, stop: func() {}}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "skyhook-"}}
	f.must(c.Create(t.Context(), ns))
	f.namespace = ns.Name
	// The service account admission of an API server without controllers needs one to exist.
	f.must(c.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: ns.Name}}))
	for i := range nodes {
		f.addNode(f.node(i))
	}
	f.account = f.install()
	f.kubelet = startKubelet(t, c, ns.Name)
	f.startOperator()
	t.Cleanup(f.cleanUp)
	return f
}

func (f *cluster) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *cluster) node(i int) string { return fmt.Sprintf("%s-node-%d", f.namespace, i) }

func (f *cluster) addNode(name string) {
	f.t.Helper()
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{testLabel: f.namespace}}}
	f.must(f.client.Create(f.t.Context(), n))
	// The API server taints new nodes as not ready; a kubelet would have the taint removed.
	n.Spec.Taints = nil
	f.must(f.client.Update(f.t.Context(), n))
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady"}}
	n.Status.NodeInfo.BootID = "boot-1"
	f.must(f.client.Status().Update(f.t.Context(), n))
}

func (f *cluster) startOperator() {
	f.t.Helper()
	none := func(name string) (string, bool) {
		if v, ok := f.variables[name]; ok {
			return v, true
		}
		switch name {
		case "NAMESPACE":
			return f.namespace, true
		case "METRICS_PORT", "PROBE_PORT":
			return "0", true
		case "ENABLE_WEBHOOKS":
			return "false", true
		case "PACKAGE_PRIORITY_CLASS":
			return "", true // that of the chart is not here
		}
		return "", false
	}
	options, err := settings.FromEnvironment(none, "v0.0.1-test")
	f.must(err)
	config := rest.CopyConfig(f.account)
	config.Wrap(f.writes.wrap)
	if f.older {
		config.Wrap(withoutStreams)
	}
	mgr, err := operator.NewManager(config, options)
	f.must(err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(f.t.Context()))
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	f.stop = func() {
		cancel()
		if err := <-done; err != nil {
			f.t.Errorf("operator: %v", err)
		}
	}
}

// cleanUp deletes the Skyhooks while the operator still runs, then the nodes: the API server is shared.
func (f *cluster) cleanUp() {
	ctx := context.WithoutCancel(f.t.Context())
	var list v1alpha1.SkyhookList
	f.must(f.client.List(ctx, &list))
	for i := range list.Items {
		f.must(client.IgnoreNotFound(f.client.Delete(ctx, &list.Items[i])))
		f.gone(&list.Items[i])
	}
	f.stop()
	f.must(f.client.DeleteAllOf(ctx, &corev1.Node{}, client.MatchingLabels{testLabel: f.namespace}))
}

// skyhook returns a Skyhook for the test's nodes with the given packages.
func (f *cluster) skyhook(name string, packages map[string]v1alpha1.Package) *v1alpha1.Skyhook {
	return &v1alpha1.Skyhook{
		ObjectMeta: metav1.ObjectMeta{Name: f.namespace + "-" + name},
		Spec: v1alpha1.SkyhookSpec{
			NodeSelectors: metav1.LabelSelector{MatchLabels: map[string]string{testLabel: f.namespace}},
			Packages:      packages,
		},
	}
}

func pkg(version string, config map[string]string) v1alpha1.Package {
	return v1alpha1.Package{Version: version, Image: "registry.example/packages/shellscript", ConfigMap: config}
}

// createComplete creates a Skyhook and waits until it is complete.
func (f *cluster) createComplete(s *v1alpha1.Skyhook) *v1alpha1.Skyhook {
	f.t.Helper()
	f.must(f.client.Create(f.t.Context(), s))
	return f.untilStatus(s, v1alpha1.StatusComplete)
}

func (f *cluster) edit(s *v1alpha1.Skyhook, change func(*v1alpha1.Skyhook)) *v1alpha1.Skyhook {
	f.t.Helper()
	var now v1alpha1.Skyhook
	ctx := context.WithoutCancel(f.t.Context())
	f.must(f.client.Get(ctx, client.ObjectKeyFromObject(s), &now))
	before := now.DeepCopy()
	change(&now)
	f.must(f.client.Patch(ctx, &now, client.MergeFrom(before)))
	return &now
}

func (f *cluster) get(node string) *corev1.Node {
	f.t.Helper()
	var n corev1.Node
	f.must(f.client.Get(f.t.Context(), client.ObjectKey{Name: node}, &n))
	return &n
}

func (f *cluster) changeNode(node string, change func(*corev1.Node)) {
	f.t.Helper()
	n := f.get(node)
	before := n.DeepCopy()
	change(n)
	f.must(f.client.Patch(f.t.Context(), n, client.MergeFrom(before)))
}

func (f *cluster) annotate(node, key, value string) {
	f.t.Helper()
	f.changeNode(node, func(n *corev1.Node) { metav1.SetMetaDataAnnotation(&n.ObjectMeta, key, value) })
}

// eventually watches objects of one kind until ok says yes for one of them.
func eventually[T client.Object](
	f *cluster, list client.ObjectList, what string, ok func(T) bool, opts ...client.ListOption,
) T {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(f.t.Context()), patience)
	defer cancel()
	w, err := f.client.Watch(ctx, list, opts...)
	f.must(err)
	defer w.Stop()
	var last T
	for e := range w.ResultChan() {
		o, isT := e.Object.(T)
		if !isT || e.Type == watch.Deleted {
			continue
		}
		if last = o; ok(o) {
			return o
		}
	}
	f.t.Fatalf("not within %s: %s; last seen: %+v", patience, what, last)
	return last
}

// becomes waits for something that no object of one kind shows.
func (f *cluster) becomes(what string, ok func() bool) {
	f.t.Helper()
	if !f.within(ok) {
		f.t.Fatalf("not within %s: %s", patience, what)
	}
}

// within asks again and again until ok says yes, and reports whether it did in time.
func (f *cluster) within(ok func() bool) bool {
	ctx := context.WithoutCancel(f.t.Context())
	return wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		return ok(), nil
	}) == nil
}

// until waits until the Skyhook's status is as wanted.
func (f *cluster) until(s *v1alpha1.Skyhook, what string, ok func(*v1alpha1.Skyhook) bool) *v1alpha1.Skyhook {
	f.t.Helper()
	return eventually(f, &v1alpha1.SkyhookList{}, what, func(x *v1alpha1.Skyhook) bool {
		return x.Status.ObservedGeneration == x.Generation && ok(x)
	}, client.MatchingFields{"metadata.name": s.Name})
}

func (f *cluster) untilStatus(s *v1alpha1.Skyhook, want v1alpha1.Status) *v1alpha1.Skyhook {
	f.t.Helper()
	return f.until(s, "status "+string(want), func(x *v1alpha1.Skyhook) bool { return x.Status.Status == want })
}

// gone waits until a Skyhook does not exist any more.
func (f *cluster) gone(s *v1alpha1.Skyhook) {
	f.t.Helper()
	var now v1alpha1.Skyhook
	if !f.within(func() bool {
		return apierrors.IsNotFound(f.client.Get(context.WithoutCancel(f.t.Context()), client.ObjectKeyFromObject(s), &now))
	}) {
		f.t.Errorf("Skyhook %s is not gone within %s: %+v", s.Name, patience, now.Status)
	}
}

// writeCounter counts the operator's writes by resource.
type writeCounter struct {
	mu    sync.Mutex
	count map[string]int
}

func (w *writeCounter) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.Method != http.MethodGet {
			w.mu.Lock()
			if w.count == nil {
				w.count = map[string]int{}
			}
			w.count[r.Method+" "+r.URL.Path]++
			w.mu.Unlock()
		}
		return next.RoundTrip(r)
	})
}

// total returns the number of writes whose method and path ok accepts.
func (w *writeCounter) total(ok func(string) bool) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	sum := 0
	for key, n := range w.count {
		if ok(key) {
			sum += n
		}
	}
	return sum
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
