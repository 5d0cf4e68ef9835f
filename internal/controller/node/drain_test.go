package node

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/controller/state"
	"github.com/skyhook-operator/skyhook/internal/drain"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
)

func TestDrainOptions(t *testing.T) {
	spec := func(d v1alpha1.Drain) func(*v1alpha1.Skyhook) {
		return func(s *v1alpha1.Skyhook) { s.Spec.Drain = &d }
	}
	for _, c := range []struct {
		name   string
		change func(*v1alpha1.Skyhook)
		want   func(*drain.Options)
	}{
		{"defaults", func(*v1alpha1.Skyhook) {}, func(*drain.Options) {}},
		{"an empty drain", spec(v1alpha1.Drain{}), func(*drain.Options) {}},
		{"gracePeriodSeconds", spec(v1alpha1.Drain{GracePeriodSeconds: new(int64(0))}), func(o *drain.Options) { o.GracePeriodSeconds = new(int64(0)) }},
		{"timeoutSeconds", spec(v1alpha1.Drain{TimeoutSeconds: new(int64(90))}), func(o *drain.Options) { o.Timeout = 90 * time.Second }},
		{"deleteEmptyDirData true", spec(v1alpha1.Drain{DeleteEmptyDirData: new(true)}), func(*drain.Options) {}},
		{"deleteEmptyDirData false", spec(v1alpha1.Drain{DeleteEmptyDirData: new(false)}), func(o *drain.Options) { o.DeleteEmptyDirData = false }},
		{"force", spec(v1alpha1.Drain{Force: new(true)}), func(o *drain.Options) { o.Force = true }},
		{"podNonInterruptLabels", func(s *v1alpha1.Skyhook) {
			s.Spec.PodNonInterruptLabels.MatchLabels = map[string]string{"keep": "yes"}
		}, func(o *drain.Options) { o.NonInterrupt = labels.SelectorFromSet(labels.Set{"keep": "yes"}) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSkyhook("demo")
			c.change(s)
			since := metav1.Time{Time: start.Add(-time.Minute)}
			want := drain.Options{OperatorNamespace: namespace, Self: "operator-0", Started: since.Time, DeleteEmptyDirData: true}
			c.want(&want)
			r := Reconciler{Shared: state.Shared{Workload: options}, PodName: "operator-0"}
			got, err := r.drainOptions(s, lifecycle.Observation{Record: record.Node{Wait: &record.Wait{Reason: "Evicting", Since: since}}})
			if err != nil {
				t.Fatal(err)
			}
			if (got.NonInterrupt == nil) != (want.NonInterrupt == nil) || got.NonInterrupt != nil && got.NonInterrupt.String() != want.NonInterrupt.String() {
				t.Errorf("protects %v, want %v", got.NonInterrupt, want.NonInterrupt)
			}
			got.NonInterrupt, want.NonInterrupt = nil, nil
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v\nwant %+v", got, want)
			}
		})
	}
}

// TestDrainForce: what a Skyhook says counts, else what the operator is set to.
func TestDrainForce(t *testing.T) {
	for _, c := range []struct {
		name  string
		drain *v1alpha1.Drain
		set   bool
		want  bool
	}{
		{"nothing is said", nil, false, false},
		{"the operator", nil, true, true},
		{"the operator, and a drain without it", &v1alpha1.Drain{}, true, true},
		{"the Skyhook wants it", &v1alpha1.Drain{Force: new(true)}, false, true},
		{"the Skyhook does not want it", &v1alpha1.Drain{Force: new(false)}, true, false},
	} {
		s, r := newSkyhook("demo"), Reconciler{Shared: state.Shared{Workload: options}, DrainForce: c.set}
		s.Spec.Drain = c.drain
		if got, err := r.drainOptions(s, lifecycle.Observation{}); err != nil || got.Force != c.want {
			t.Errorf("%s: force is %t, want %t, error %v", c.name, got.Force, c.want, err)
		}
	}
}

func TestDrainOptionsBeforeAWaitAndWithABrokenSelector(t *testing.T) {
	s, r := newSkyhook("demo"), Reconciler{Shared: state.Shared{Workload: options}}
	got, err := r.drainOptions(s, lifecycle.Observation{})
	if err != nil || !got.Started.IsZero() {
		t.Errorf("a drain that has not begun started at %s, error %v", got.Started, err)
	}
	s.Spec.PodNonInterruptLabels.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}
	if _, err := r.drainOptions(s, lifecycle.Observation{}); err == nil || !strings.Contains(err.Error(), "spec.podNonInterruptLabels") {
		t.Errorf("got %v", err)
	}
}

// refill evicts a pod for good, and a ReplicaSet whose pods tolerate the cordon puts another one in its place.
type refill struct {
	w     *world
	count int
	// refuse and fail answer for a pod in place of the API server.
	refuse map[types.UID]string
	fail   error
}

func (f *refill) put() {
	f.count++
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: fmt.Sprintf("web-%d", f.count), UID: types.UID(fmt.Sprintf("uid-web-%d", f.count)),
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "web", Controller: new(true)}},
		},
		Spec: corev1.PodSpec{NodeName: nodeName, Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}}},
	}
	f.w.must(f.w.Client.Create(f.w.t.Context(), pod))
}

func (f *refill) Evict(
	ctx context.Context, pods []drain.Pod, _ drain.Options,
) (accepted []drain.Pod, refused map[types.UID]string, err error) {
	for _, p := range pods {
		if _, no := f.refuse[p.UID]; no {
			continue
		}
		accepted = append(accepted, p)
		if err := f.w.Client.Delete(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name}}); err != nil {
			return nil, nil, err
		}
		f.put()
	}
	return accepted, f.refuse, f.fail
}

// rebooting is a node on which package a waits for its reboot.
func rebooting(t *testing.T) (*world, *refill) {
	t.Helper()
	s, n := newSkyhook("demo"), newNode()
	s.Spec.Packages["a"] = v1alpha1.Package{Version: "1.0.0", Image: "x/a", Interrupt: &v1alpha1.Interrupt{Type: v1alpha1.InterruptReboot}}
	n.Spec.Unschedulable = true
	r := entry(v1alpha1.StageConfig, v1alpha1.StateComplete)
	r.Cordoned = true
	remember(t, n, "demo", r)
	w := newWorld(t, n, s)
	f := &refill{w: w}
	w.Evictor = f
	f.put()
	return w, f
}

// evictions are the pods that events since the last call tell of.
func (w *world) evictions() []string {
	all := w.told("evicted pod")
	for i, e := range all {
		all[i] = e[strings.LastIndex(e, " ")+1:]
	}
	return all
}

// TestPodThatReturnsIsAReason: it is not evicted every five seconds, and people read who puts it there.
func TestPodThatReturnsIsAReason(t *testing.T) {
	w, f := rebooting(t)
	w.tries(20)
	if got, want := w.evictions(), []string{"shop/web-1", "shop/web-2", "shop/web-3"}; !slices.Equal(got, want) {
		t.Errorf("events of evictions: %v, want %v", got, want)
	}
	if f.count != 4 {
		t.Errorf("%d pods came", f.count)
	}
	wait := w.node().Annotations[v1alpha1.GroupName+"/wait_demo"]
	if !strings.Contains(wait, "PodReturns") || !strings.Contains(wait, "ReplicaSet web") {
		t.Errorf("the node waits for %s", wait)
	}
	w.must(w.Client.Delete(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-4"}}))
	w.tries(1)
	if !reflect.ValueOf(w.memory.Of(newNode()).drain).IsZero() {
		t.Error("the node is clear, and its drain is remembered")
	}
}

// TestOnlyAcceptedEvictionsAreTold, also when something else went wrong in the same pass.
func TestOnlyAcceptedEvictionsAreTold(t *testing.T) {
	w, f := rebooting(t)
	f.put()
	f.refuse, f.fail = map[types.UID]string{"uid-web-1": "no"}, errors.New("etcd is away")
	w.clock.SetTime(start.Add(time.Second))
	if result := w.reconcile(); result.RequeueAfter != retryBase {
		t.Errorf("looks again after %s", result.RequeueAfter)
	}
	if got := w.evictions(); !slices.Equal(got, []string{"shop/web-2"}) {
		t.Errorf("events of evictions: %v", got)
	}
}

// TestNothingIsDisturbedOnAnOldView: the interrupt may be over, or nobody wants it any more.
func TestNothingIsDisturbedOnAnOldView(t *testing.T) {
	of := func(change func(*corev1.Node)) func(client.Object) {
		return func(o client.Object) {
			if n, ok := o.(*corev1.Node); ok {
				change(n)
			}
		}
	}
	skyhook := func(change func(client.Object)) func(client.Object) {
		return func(o client.Object) {
			if o.GetName() == "demo" {
				change(o)
			}
		}
	}
	stop := func(o client.Object) {
		if cm, ok := o.(*corev1.ConfigMap); ok && cm.Name == "" {
			cm.Name, cm.UID = v1alpha1.StopConfigMap, "uid-stop"
		}
	}
	for name, change := range map[string]func(client.Object){
		"as it is":     func(client.Object) {},
		"all stopped":  stop,
		"rebooted":     of(func(n *corev1.Node) { n.Status.NodeInfo.BootID = "boot-2" }),
		"uncordoned":   of(func(n *corev1.Node) { n.Spec.Unschedulable = false }),
		"forgotten":    of(func(n *corev1.Node) { delete(n.Annotations, v1alpha1.AnnotationNodeStatePrefix+"demo") }),
		"another node": of(func(n *corev1.Node) { n.UID = "uid-new" }),
		"tainted": of(func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: "theirs", Effect: corev1.TaintEffectNoSchedule}}
		}),
		"ignored":     of(func(n *corev1.Node) { n.Labels = map[string]string{v1alpha1.LabelIgnore: "true"} }),
		"paused":      skyhook(func(o client.Object) { o.SetAnnotations(map[string]string{v1alpha1.AnnotationPause: "true"}) }),
		"edited":      skyhook(func(o client.Object) { o.SetGeneration(9) }),
		"deleted":     skyhook(func(o client.Object) { o.SetDeletionTimestamp(new(metav1.NewTime(start))) }),
		"another one": skyhook(func(o client.Object) { o.SetUID("uid-new") }),
	} {
		t.Run(name, func(t *testing.T) {
			for _, left := range []bool{true, false} { // pods to evict; with none the reboot begins
				w, _ := rebooting(t)
				if !left {
					w.must(w.Client.Delete(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1"}}))
				}
				w.changeLive(interceptor.Funcs{
					Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
						err := c.Get(ctx, key, o, opts...)
						change(o)
						if o.GetName() == v1alpha1.StopConfigMap {
							return nil
						}
						return err
					},
				})
				result := w.reconcile()
				did, stays := len(w.evictions())+len(w.pods(client.InNamespace(namespace))), name != "as it is"
				if (did == 0) != stays || stays && result.RequeueAfter != conflictRetry {
					t.Errorf("pods left %t: %d evictions or reboots, looks again after %s", left, did, result.RequeueAfter)
				}
				if wait := w.node().Annotations[v1alpha1.AnnotationWaitPrefix+"demo"]; stays && strings.Contains(wait, "requested") {
					t.Errorf("tells %s", wait)
				}
			}
		})
	}
}

// slow refuses every pod, after a while in which something happens.
type slow func()

func (s slow) Evict(_ context.Context, pods []drain.Pod, _ drain.Options) ([]drain.Pod, map[types.UID]string, error) {
	s()
	refused := map[types.UID]string{}
	for _, pod := range pods {
		refused[pod.UID] = "not now"
	}
	return nil, refused, nil
}

// TestNoPodForANodeThatChangedDuringEvictions: they take long, and what was compared before them says nothing of another
// Skyhook's pod after them.
func TestNoPodForANodeThatChangedDuringEvictions(t *testing.T) {
	w, _ := rebooting(t)
	uninstalled := newSkyhook("other")
	uninstalled.Spec.Packages["a"] = v1alpha1.Package{Version: "1.0.0", Image: "x/a", Uninstall: &v1alpha1.Uninstall{Enabled: new(true)}}
	uninstalled.Finalizers = []string{v1alpha1.Finalizer}
	w.must(w.Client.Create(t.Context(), uninstalled))
	w.edit(func(n *corev1.Node) {
		remember(t, n, "other", entry(v1alpha1.StageUninstall, v1alpha1.StateInProgress))
	})
	w.must(w.Client.Delete(t.Context(), uninstalled))
	replaced := false
	w.Evictor = slow(func() {
		if replaced {
			w.edit(func(n *corev1.Node) { n.UID, n.Annotations = "uid-new", nil })
		}
	})
	w.refuse = errors.New("the API server is away")
	w.tries(12) // so that what is waited for is written, and nothing is left to write
	w.refuse, replaced = nil, true
	w.clock.SetTime(w.clock.Now().Add(200 * time.Second))
	w.reconcile()
	if pods := w.pods(client.InNamespace(namespace)); len(pods) > 0 {
		t.Errorf("pod %s was created for another node", pods[0].Name)
	}
}

// inTurns refuses every pod, and asks for half of them in a pass.
type inTurns struct{ passes int }

func (e *inTurns) Evict(
	_ context.Context, pods []drain.Pod, _ drain.Options,
) ([]drain.Pod, map[types.UID]string, error) {
	refused := map[types.UID]string{}
	for i, pod := range pods {
		if i%2 == e.passes%2 {
			refused[pod.UID] = "Cannot evict pod as it would violate the pod's disruption budget."
		}
	}
	e.passes++
	return nil, refused, nil
}

// TestManyRefusedPodsAreWrittenOnce: the node is not written in every pass because each asks for other pods.
func TestManyRefusedPodsAreWrittenOnce(t *testing.T) {
	w, _ := rebooting(t)
	w.Evictor = &inTurns{}
	for i := range 100 {
		w.must(w.Client.Create(t.Context(), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "shop", Name: fmt.Sprintf("api-%03d", i), UID: types.UID(fmt.Sprintf("uid-api-%d", i)),
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "api", UID: "api", Controller: new(true)}},
			},
			Spec: corev1.PodSpec{NodeName: nodeName},
		}))
	}
	w.tries(4)
	before := len(w.bodies)
	w.tries(20)
	wait := w.node().Annotations[v1alpha1.AnnotationWaitPrefix+"demo"]
	if n := len(w.bodies) - before; n > 0 || !strings.Contains(wait, "and 94 more") {
		t.Errorf("in 20 passes in which nothing happened the node was written %d times; it tells %s", n, wait)
	}
}

// TestDrainThatIsBrokenOffIsForgotten: the pods that come to the node after it do not return.
func TestDrainThatIsBrokenOffIsForgotten(t *testing.T) {
	w, _ := rebooting(t)
	disable := func(value string) {
		var s v1alpha1.Skyhook
		w.must(w.Client.Get(t.Context(), client.ObjectKey{Name: "demo"}, &s))
		s.Annotations = map[string]string{v1alpha1.AnnotationDisable: value}
		w.must(w.Client.Update(t.Context(), &s))
		s.Status.Permits[0].Order++ // it was given back
		w.must(w.Client.Status().Update(t.Context(), &s))
		w.tries(3)
	}
	w.tries(10)
	if got := w.evictions(); len(got) != 3 {
		t.Fatalf("at first: evicted %v", got)
	}
	disable("true")
	if w.node().Spec.Unschedulable {
		t.Fatal("disabled, and cordoned")
	}
	disable("false")
	if got := w.evictions(); !slices.Contains(got, "shop/web-4") {
		t.Errorf("evicted %v", got)
	}
}

// TestOverdueDrainOnAnOldView: the node stays erroring while the cache is behind, and is not written for that.
func TestOverdueDrainOnAnOldView(t *testing.T) {
	w, _ := rebooting(t)
	var s v1alpha1.Skyhook
	w.must(w.Client.Get(t.Context(), client.ObjectKey{Name: "demo"}, &s))
	s.Spec.Drain = &v1alpha1.Drain{TimeoutSeconds: new(int64(60))}
	w.must(w.Client.Update(t.Context(), &s))
	w.Evictor = slow(func() {})
	w.tries(10)
	lag := false
	w.changeLive(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			err := c.Get(ctx, key, o, opts...)
			if lag && o.GetName() == "demo" {
				o.SetGeneration(9)
			}
			return err
		},
	})
	writes := len(w.bodies)
	for range 10 {
		lag = !lag
		w.tries(1)
	}
	if len(w.bodies) > writes {
		t.Errorf("%d writes: %q", len(w.bodies)-writes, w.bodies[writes:])
	}
}
