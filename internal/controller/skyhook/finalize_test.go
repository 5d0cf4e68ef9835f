package skyhook

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/rollout"
)

func deleted() *v1alpha1.Skyhook {
	s := newSkyhook("demo")
	s.Finalizers, s.DeletionTimestamp = []string{v1alpha1.Finalizer, "x/y"}, &metav1.Time{Time: start}
	return s
}

func TestFinalize(t *testing.T) {
	working := func(name string) client.Object {
		n := newNode(name, "other")
		remember(t, n, "demo", record.Node{Status: v1alpha1.StatusInProgress})
		return n
	}
	other := newNode("other", "gpu")
	remember(t, other, "demo2", record.Node{Status: v1alpha1.StatusInProgress})
	foreign := podOf(t, newSkyhook("demo"), "a", "node-3")
	foreign.OwnerReferences = nil
	const gone = "the operator is done with the Skyhook, which stays until the owners of these finalizers remove them: x/y"
	many := make([]client.Object, 12)
	for i := range many {
		many[i] = working(fmt.Sprintf("n%02d", i))
	}
	pod := podOf(t, newSkyhook("demo"), "a", "node-2")
	for _, c := range []struct {
		name         string
		cached, live []client.Object
		want         string // of the message
	}{
		{"nothing is left", []client.Object{newNode("node-1", "gpu")}, nil, gone},
		{"only what is others'", []client.Object{other, foreign}, nil, gone},
		{"a node's record", []client.Object{working("node-1")}, nil, "the Skyhook is being removed from 1 node: node-1"},
		{"a pod", []client.Object{pod}, nil, "the Skyhook is being removed from 1 node: node-2"},
		{"both, on nodes in any order", []client.Object{pod, working("node-2"), working("node-1")}, nil, "the Skyhook is being removed from 2 nodes: node-1, node-2"},
		{"more than anybody reads", many, nil, "the Skyhook is being removed from 12 nodes: n00, n01, n02, n03, n04, n05, n06, n07, n08, n09 and 2 more"},
		{"the cache does not show a record yet", nil, []client.Object{working("node-1")}, "the Skyhook is being removed from 1 node: node-1"},
		{"the cache does not show a pod yet", nil, []client.Object{pod}, "the Skyhook is being removed from 1 node: node-2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, append(c.cached, deleted())...)
			if c.live != nil {
				w.Live = newWorld(t, append(c.live, deleted())...).Client
			}
			w.must(w.newPass(w.skyhook("demo")).finalize(t.Context()))
			now := w.skyhook("demo")
			if waits := strings.Contains(strings.Join(now.Finalizers, " "), v1alpha1.Finalizer); waits != (c.want != gone) {
				t.Errorf("finalizers %v", now.Finalizers)
			}
			if got := meta.FindStatusCondition(now.Status.Conditions, v1alpha1.ConditionReconciling).Message; got != c.want {
				t.Errorf("the status says %q", got)
			}
		})
	}
}

func TestFinalizeWritesOnce(t *testing.T) {
	n := newNode("node-1", "gpu")
	remember(t, n, "demo", record.Node{Status: v1alpha1.StatusInProgress})
	w := newWorld(t, n, deleted())
	for _, want := range []string{"create ControllerRevision demo-a-0f0f345055, patch status Skyhook demo", ""} {
		w.must(w.newPass(w.skyhook("demo")).finalize(t.Context()))
		if got := w.took(); got != want {
			t.Errorf("wrote %q, want %q", got, want)
		}
	}
	w.must(w.Client.Delete(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}))
	w.took()
	last := deleted()
	last.Finalizers = []string{v1alpha1.Finalizer}
	w.must(w.newPass(w.skyhook("demo")).finalize(t.Context()))
	if got := w.took(); got != "patch Skyhook demo, patch status Skyhook demo" {
		t.Errorf("wrote %q", got)
	}
	w.must(w.newPass(w.skyhook("demo")).finalize(t.Context()))
	if got := w.took(); got != "" {
		t.Errorf("others' finalizers are left, and it writes %q", got)
	}
	gone := newWorld(t, last)
	gone.must(gone.newPass(gone.skyhook("demo")).finalize(t.Context()))
	if err := gone.Client.Get(t.Context(), client.ObjectKey{Name: "demo"}, &v1alpha1.Skyhook{}); !apierrors.IsNotFound(err) {
		t.Errorf("the Skyhook is still there: %v", err)
	}
}

// TestTransitionTimesOfADeletion: a condition whose status stays keeps its time, also while the nodes get fewer.
func TestTransitionTimesOfADeletion(t *testing.T) {
	n, held := newNode("node-1", "gpu"), newNode("node-2", "gpu")
	for _, node := range []*corev1.Node{n, held} {
		remember(t, node, "demo", record.Node{Status: v1alpha1.StatusInProgress})
		node.Labels[v1alpha1.LabelIgnore] = "true"
	}
	w := newWorld(t, n, held, deleted())
	w.must(w.newPass(w.skyhook("demo")).finalize(t.Context()))
	before := w.skyhook("demo").Status.Conditions
	w.clock.SetTime(start.Add(time.Hour))
	w.must(w.Client.Delete(t.Context(), n))
	w.must(w.newPass(w.skyhook("demo")).finalize(t.Context()))
	after := w.skyhook("demo").Status.Conditions
	if c := meta.FindStatusCondition(after, v1alpha1.ConditionReconciling); c.Message != "the Skyhook is being removed from 1 node: node-2" || c.Reason != "Deleting" {
		t.Errorf("Reconciling %s: %s", c.Reason, c.Message)
	}
	for _, c := range after {
		if was := meta.FindStatusCondition(before, c.Type); was.Status == c.Status && !was.LastTransitionTime.Equal(&c.LastTransitionTime) {
			t.Errorf("%s stays %s, but its time moved", c.Type, c.Status)
		}
	}
}

// paged is an API server that gives out its nodes in pages, and may fail on one of them.
type paged struct {
	client.Reader
	pages [][]string
	fails int
	asked []string
}

func (p *paged) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	nodes, ok := list.(*metav1.PartialObjectMetadataList)
	if !ok {
		return p.Reader.List(ctx, list, opts...)
	}
	o := (&client.ListOptions{}).ApplyOptions(opts)
	p.asked = append(p.asked, fmt.Sprintf("%d from %q", o.Limit, o.Continue))
	at := len(p.asked) - 1
	if p.fails == len(p.asked) {
		return errors.New("the list is too old")
	}
	nodes.Items, nodes.Continue = nil, ""
	for _, name := range p.pages[at] {
		nodes.Items = append(nodes.Items, metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{v1alpha1.GroupName + "/status_demo": "waiting"},
		}})
	}
	if at+1 < len(p.pages) {
		nodes.Continue = fmt.Sprint("page", at+1)
	}
	return nil
}

// TestLastLookReadsEveryPage: one node on the last page keeps the Skyhook, and so does a page that cannot be read.
func TestLastLookReadsEveryPage(t *testing.T) {
	for _, c := range []struct {
		name  string
		pages [][]string
		fails int
		left  string
		asked int
	}{
		{name: "one page", pages: [][]string{{}}, asked: 1},
		{name: "on the first page", pages: [][]string{{"n1"}, {}}, left: "n1", asked: 2},
		{name: "on the last page", pages: [][]string{{}, {}, {"n2", "n1"}}, left: "n1 n2", asked: 3},
		{name: "a page fails", pages: [][]string{{}, {}}, fails: 2, asked: 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, deleted())
			live := &paged{Reader: w.Client, pages: c.pages, fails: c.fails}
			w.Live = live
			left, err := w.newPass(w.skyhook("demo")).leftovers(t.Context())
			if (err != nil) != (c.fails > 0) || strings.Join(left, " ") != c.left || len(live.asked) != c.asked {
				t.Errorf("left %v, error %v, asked %v", left, err, live.asked)
			}
			for i, asked := range live.asked {
				want := `500 from ""`
				if i > 0 {
					want = fmt.Sprintf("500 from %q", fmt.Sprint("page", i))
				}
				if asked != want {
					t.Errorf("asked for %s, want %s", asked, want)
				}
			}
		})
	}
}

// TestFinalizeUninstallsFirst: the finalizer stays while something is to be undone, also when no label speaks of it.
func TestFinalizeUninstallsFirst(t *testing.T) {
	for _, c := range []struct {
		name      string
		enabled   bool
		abandoned bool
		stays     bool
		event     string
	}{
		{name: "cannot be uninstalled"},
		{name: "can be", enabled: true, stays: true},
		{
			name: "abandoned", enabled: true, abandoned: true,
			event: "Warning UninstallAbandoned packages stay on node node-1, because the annotation skyhook.nvidia.com/abandon-uninstall names it: " +
				"a 1.0.0; the annotation skyhook.nvidia.com/nodeState_demo of the node lists them\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := deleted()
			p := s.Spec.Packages["a"]
			p.Uninstall = &v1alpha1.Uninstall{Enabled: &c.enabled}
			s.Spec.Packages["a"] = p
			if c.abandoned {
				s.Annotations = map[string]string{v1alpha1.AnnotationAbandonUninstall: "node-1"}
			}
			n := has(t, "node-1", s, nil)
			n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
			for key := range n.Annotations { // only what is installed is left
				if !strings.Contains(key, "nodeState_") {
					delete(n.Annotations, key)
				}
			}
			delete(n.Labels, v1alpha1.GroupName+"/status_demo")
			w := newWorld(t, n, s)
			w.must(w.newPass(w.skyhook("demo")).finalize(t.Context()))
			now := w.skyhook("demo")
			if got := slices.Contains(now.Finalizers, v1alpha1.Finalizer); got != c.stays {
				t.Errorf("finalizers %v", now.Finalizers)
			}
			if c.stays && (len(now.Status.Permits) != 1 || now.Status.Permits[0].Node != "node-1") {
				t.Errorf("permits %v: nobody uninstalls", now.Status.Permits)
			}
			if told := w.told(); told != c.event+"Normal State transitioned [unknown] -> [complete]" && !c.stays {
				t.Errorf("told %q", told)
			}
		})
	}
}

// TestFinalizeConflict: the finalizer goes only from the Skyhook that was looked at.
func TestFinalizeConflict(t *testing.T) {
	w := newWorld(t, deleted())
	stale := w.skyhook("demo")
	newer := stale.DeepCopy()
	metav1.SetMetaDataAnnotation(&newer.ObjectMeta, "x", "y")
	w.must(w.Client.Update(t.Context(), newer))
	if err := w.newPass(stale).finalize(t.Context()); !apierrors.IsConflict(err) {
		t.Errorf("got %v", err)
	}
	if now := w.skyhook("demo"); !slices.Contains(now.Finalizers, v1alpha1.Finalizer) {
		t.Errorf("finalizers %v", now.Finalizers)
	}
}

// TestFinalizerThatStays: when the API server does not let the finalizer go people are told of that, and no more of
// nodes that are free.
func TestFinalizerThatStays(t *testing.T) {
	s := deleted()
	s.Status = rollout.Plan(rollout.Input{Skyhook: s, Nodes: []rollout.Node{{Name: "node-1"}}, Deleting: true, Freeing: []string{"node-1"}, Now: start})
	w := newWorld(t, s)
	w.refuse = func(request string, _ client.Object) error {
		if request == "patch Skyhook demo" {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "skyhooks"}, "demo", errors.New("admission webhook denied the request"))
		}
		return nil
	}
	for range 2 {
		w.clock.SetTime(w.clock.Now().Add(time.Minute))
		if result, err := w.Reconcile(t.Context(), request("demo")); err != nil || result.RequeueAfter != obstacleRetry {
			t.Errorf("%v, %v", result, err)
		}
	}
	now := w.skyhook("demo")
	stalled := meta.FindStatusCondition(now.Status.Conditions, v1alpha1.ConditionStalled)
	if stalled.Status != metav1.ConditionTrue || stalled.Reason != v1alpha1.ReasonClaimRefused || !strings.Contains(stalled.Message, "remove the finalizer of Skyhook demo: ") ||
		!strings.Contains(stalled.Message, "webhook denied the request; change what refuses it") || meta.IsStatusConditionTrue(now.Status.Conditions, v1alpha1.ConditionReconciling) {
		t.Errorf("conditions %+v", now.Status.Conditions)
	}
	if told := w.told(); strings.Count(told, "denied") != 1 {
		t.Errorf("told %q", told)
	}
	w.refuse = nil
	w.clock.SetTime(w.clock.Now().Add(time.Minute))
	_, err := w.Reconcile(t.Context(), request("demo"))
	w.must(err)
	if now := w.skyhook("demo"); slices.Contains(now.Finalizers, v1alpha1.Finalizer) {
		t.Errorf("finalizers %v", now.Finalizers)
	}
}
