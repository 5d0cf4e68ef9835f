package node

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

// TestWriteNode: one patch that has only what changes, with the resourceVersion that the decision is based on; two where
// the API server takes no less.
func TestWriteNode(t *testing.T) {
	applied := entry(v1alpha1.StageApply, v1alpha1.StateInProgress)
	failing := entry(v1alpha1.StageApply, v1alpha1.StateErroring)
	newer := applied
	newer.OperatorVersion = "v2"
	broken := failing
	broken.Status = v1alpha1.StatusErroring
	for _, c := range []struct {
		name     string
		decision lifecycle.Decision
		cordon   bool
		stale    bool
		want     string // keys of the patches, below metadata with a dot
	}{
		{name: "nothing changed", decision: lifecycle.Decision{Record: applied}},
		{name: "nothing but the operator", decision: lifecycle.Decision{Record: newer}},
		{
			name: "a Skyhook that leaves, but not yet", decision: lifecycle.Decision{Record: failing, Removing: true},
			want: ".resourceVersion status",
		},
		{name: "only a cordon", decision: lifecycle.Decision{Record: applied}, cordon: true, want: ".resourceVersion spec"},
		{name: "no label changes", decision: lifecycle.Decision{Record: failing}, want: ".annotations .resourceVersion"},
		{name: "labels and annotations", decision: lifecycle.Decision{Record: broken}, want: ".annotations .labels .resourceVersion"},
		{
			name: "conditions as well", decision: lifecycle.Decision{Record: broken, Erroring: true},
			want: ".annotations .labels .resourceVersion status",
		},
		{
			name: "conditions alone", decision: lifecycle.Decision{Record: applied, Erroring: true},
			want: ".resourceVersion status",
		},
		{
			name: "conditions and a cordon", decision: lifecycle.Decision{Record: broken, Erroring: true}, cordon: true,
			want: ".resourceVersion status; .annotations .labels .resourceVersion spec",
		},
		{
			name: "cleared", decision: lifecycle.Decision{Removing: true, Clear: true},
			want: ".annotations .labels .resourceVersion status",
		},
		{
			name: "the node changed meanwhile, and conditions do", decision: lifecycle.Decision{Record: broken, Erroring: true}, stale: true,
			want: ".annotations .labels .resourceVersion status",
		},
		{name: "the node changed meanwhile", decision: lifecycle.Decision{Record: failing}, stale: true, want: ".annotations .resourceVersion"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := newNode()
			remember(t, n, "demo", applied)
			w := newWorld(t, n)
			p := w.pass(newSkyhook("demo"))
			decided(p, newSkyhook("demo"), c.decision)
			p.unschedulable = c.cordon
			if c.stale {
				p.wrote.resourceVersion = "9"
			}
			sent := p.wrote.resourceVersion
			if err := p.writeNode(t.Context()); apierrors.IsConflict(err) != c.stale || err != nil && !c.stale {
				t.Fatalf("got %v", err)
			}
			if got := patchKeys(t, w.bodies, sent); got != c.want {
				t.Errorf("patched %s in %q", got, w.bodies)
			}
			now := w.node()
			if now.Labels["gpu"] != "1" || now.Annotations["theirs"] != "x" || now.Spec.Unschedulable != c.cordon {
				t.Errorf("others' metadata or the cordon is wrong: %v %v %t", now.Labels, now.Annotations, now.Spec.Unschedulable)
			}
			if !slices.ContainsFunc(now.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady }) {
				t.Error("the kubelet's condition is gone")
			}
			if !c.stale && !sameConditions(now.Status.Conditions, p.conditions()) {
				t.Errorf("the node has %v", now.Status.Conditions)
			}
			if !c.stale && p.wrote.resourceVersion != now.ResourceVersion {
				t.Errorf("noted resourceVersion %s, the node has %s", p.wrote.resourceVersion, now.ResourceVersion)
			}
			if c.decision.Clear && (record.Exists("demo", now.Annotations, now.Labels) || len(now.Labels) != 1) {
				t.Errorf("left: %v %v", now.Annotations, now.Labels)
			}
		})
	}
}

// patchKeys lists what the patches change. A null map would remove every label or annotation.
func patchKeys(t *testing.T, bodies []string, resourceVersion string) string {
	t.Helper()
	var patches []string
	for i, raw := range bodies {
		var body struct {
			Metadata map[string]any `json:"metadata"`
			Spec     map[string]any `json:"spec"`
			Status   map[string]any `json:"status"`
		}
		if err := json.Unmarshal([]byte(raw), &body); err != nil {
			t.Fatalf("patches %q, error %v", bodies, err)
		}
		var keys []string
		for _, k := range slices.Sorted(maps.Keys(body.Metadata)) {
			if body.Metadata[k] == nil {
				t.Errorf("metadata.%s is null", k)
			}
			keys = append(keys, "."+k)
		}
		if (body.Metadata["resourceVersion"] == resourceVersion) != (i == 0) {
			t.Errorf("resourceVersion of patch %d is %v, the decision is based on %s", i, body.Metadata["resourceVersion"], resourceVersion)
		}
		if body.Spec != nil {
			keys = append(keys, "spec")
		}
		if body.Status != nil {
			keys = append(keys, "status")
		}
		patches = append(patches, strings.Join(keys, " "))
	}
	return strings.Join(patches, "; ")
}

// TestConfirm: pods are changed without a change of the record only when the record is the live one.
func TestConfirm(t *testing.T) {
	r := entry(v1alpha1.StageApply, v1alpha1.StateInProgress)
	for _, c := range []struct {
		name string
		live func(*corev1.Node)
		ok   func(error) bool
	}{
		{"the record is the live one", func(n *corev1.Node) { n.ResourceVersion, n.Annotations["theirs"] = "", "y" }, func(err error) bool { return err == nil }},
		{"the record changed", func(n *corev1.Node) { n.Annotations[v1alpha1.GroupName+"/permit_demo"] = "1/3" }, apierrors.IsConflict},
		{"another node of that name", func(n *corev1.Node) { n.UID = "uid-other" }, apierrors.IsConflict},
		{"the node is gone", nil, apierrors.IsConflict}, // the cache shows it in a moment
	} {
		t.Run(c.name, func(t *testing.T) {
			s, n := newSkyhook("demo"), newNode()
			remember(t, n, "demo", r)
			pod := podOf(t, s)
			w := newWorld(t, n, pod)
			live := newWorld(t)
			if c.live != nil {
				now := n.DeepCopy()
				c.live(now)
				live = newWorld(t, now)
			}
			w.Live = live.Client
			p := w.pass(s)
			decided(p, s, lifecycle.Decision{Record: r, Delete: p.item(s).ownPods(p.pods)})
			p.execute(t.Context())
			err := errors.Join(p.errs...)
			if !c.ok(err) || len(w.bodies) != 0 {
				t.Errorf("error %v, patches %q", err, w.bodies)
			}
			if deleted := len(w.pods()) == 0; deleted != (err == nil) {
				t.Errorf("deleted: %t", deleted)
			}
		})
	}
}

func TestConfirmAsksOnlyWhenPodsChange(t *testing.T) {
	s, n := newSkyhook("demo"), newNode()
	r := entry(v1alpha1.StageApply, v1alpha1.StateInProgress)
	remember(t, n, "demo", r)
	w := newWorld(t, n)
	w.Live = nil // asking would panic
	p := w.pass(s)
	decided(p, s, lifecycle.Decision{Record: r})
	if err := p.writeNode(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestNameTaken(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*corev1.Pod)
		told   string
	}{
		{"by ours", func(*corev1.Pod) {}, ""},
		{"by nobody's, with our labels", func(p *corev1.Pod) { p.OwnerReferences = nil }, " exists but does not belong to Skyhook demo; find out who created it"},
		{"by a Skyhook's of that name before", func(p *corev1.Pod) { p.OwnerReferences[0].UID = "uid-before" }, " exists but does not belong to Skyhook demo; find out who created it"},
		{"by ours without its label, which is in no cache", func(p *corev1.Pod) { p.Labels = nil }, " has lost its label skyhook.nvidia.com/name"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSkyhook("demo")
			pod := podOf(t, s)
			c.change(pod)
			w := newWorld(t, newNode(), pod)
			p := w.pass(s)
			i := decided(p, s, lifecycle.Decision{Record: entry(v1alpha1.StageApply, v1alpha1.StateInProgress)})
			begun := startOf("r2")
			begun.Version = "1.0.0"
			err := i.startPod(t.Context(), begun)
			if err != nil || len(p.wrote.created) != 0 {
				t.Fatalf("error %v, created %v", err, p.wrote.created)
			}
			e := w.record("demo").Packages["a|1.0.0"]
			if failed := e.State == v1alpha1.StateErroring; failed != (c.told != "") || failed && !strings.Contains(e.Message, pod.Name+c.told) {
				t.Errorf("the record tells %+v", e)
			}
			if list := w.pods(); len(list) != 1 || list[0].UID != pod.UID {
				t.Errorf("pods: %v", list)
			}
		})
	}
}

// TestNameTakenQuestionFails: who has the pod's name could not be found out, or nobody has it any more. That is no
// failed run.
func TestNameTakenQuestionFails(t *testing.T) {
	pods := corev1.Resource("pods")
	for name, fails := range map[string]error{
		"the API server is busy":           apierrors.NewTooManyRequests("try later", 1),
		"the pod has just gone":            apierrors.NewNotFound(pods, "x"),
		"the API server fails over":        apierrors.NewInternalError(errors.New("etcdserver: leader changed")),
		"the time for the request is over": apierrors.NewTimeoutError("x", 1),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, newSkyhook("demo"), newNode())
			w.refuse = apierrors.NewAlreadyExists(pods, "x")
			w.changeLive(interceptor.Funcs{
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
					if _, ok := o.(*corev1.Pod); ok {
						return fails
					}
					return c.Get(ctx, key, o, opts...)
				},
			})
			if e := w.tries(1).Packages["a|1.0.0"]; e.State != v1alpha1.StateInProgress || e.Reason != "" {
				t.Errorf("nothing failed, but the record tells %+v", e)
			}
		})
	}
}

// TestRejectedPod: what the API server refuses is in the record and in events; what it could not do is only an error.
func TestRejectedPod(t *testing.T) {
	pods := corev1.Resource("pods")
	for _, c := range []struct {
		name     string
		refuse   error
		recorded bool
	}{
		{"forbidden", apierrors.NewForbidden(pods, "x", errors.New("exceeded quota")), true},
		{"invalid", apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Pod").GroupKind(), "exceeded quota", nil), true},
		{"a webhook that answers 400", apierrors.NewBadRequest("exceeded quota"), true},
		{"a webhook that answers 405", apierrors.NewMethodNotSupported(pods, "exceeded quota"), true},
		{"too large", apierrors.NewRequestEntityTooLargeError("exceeded quota"), true},
		{"too many requests", apierrors.NewTooManyRequests("exceeded quota", 1), false},
		{"a quota that others change", apierrors.NewConflict(pods, "x", errors.New("exceeded quota")), false},
		{"out of order", apierrors.NewInternalError(errors.New("exceeded quota")), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, newNode(), newSkyhook("demo"))
			w.refuse = c.refuse
			if result := w.reconcile(); (result.RequeueAfter == 0) != c.recorded {
				t.Fatalf("got %+v", result)
			}
			n, r := w.node(), w.record("demo")
			e := r.Packages["a|1.0.0"]
			if got := e.Reason == v1alpha1.ReasonPodRejected && e.State == v1alpha1.StateErroring && e.Rejected == 1 &&
				strings.Contains(e.Message, "exceeded quota") && r.Status == v1alpha1.StatusErroring; got != c.recorded {
				t.Errorf("status %s, entry %+v", r.Status, e)
			}
			if label := n.Labels[v1alpha1.GroupName+"/status_demo"]; (label == string(v1alpha1.StatusErroring)) != c.recorded {
				t.Errorf("label %q", label)
			}
			if noted := w.memory.Of(n).wrote.resourceVersion; noted != n.ResourceVersion {
				t.Errorf("noted resourceVersion %s, the node has %s", noted, n.ResourceVersion)
			}
			if told := w.told("Warning Error"); (len(told) > 0) != c.recorded {
				t.Errorf("events tell %q", told)
			}
		})
	}
}

// TestRefusedMetadata: without the ConfigMap with the node's metadata there is no pod, and each package says why.
func TestRefusedMetadata(t *testing.T) {
	s := newSkyhook("demo")
	s.Spec.Packages["b"] = v1alpha1.Package{Version: "1.0.0", Image: "x/b"}
	w := newWorld(t, s, newNode())
	w.change(interceptor.Funcs{
		Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
			return apierrors.NewForbidden(corev1.Resource("configmaps"), "x", errors.New("exceeded quota: count/configmaps"))
		},
	})
	n := w.tries(1)
	for _, key := range []string{"a|1.0.0", "b|1.0.0"} {
		if e := n.Packages[key]; e.Reason != v1alpha1.ReasonPodRejected || e.Rejected != 1 || !strings.Contains(e.Message, "count/configmaps") {
			t.Errorf("%s: %+v", key, e)
		}
	}
	if pods := len(w.pods()); pods > 0 {
		t.Errorf("%d pods start without it", pods)
	}
}

// TestDeleteOnlyThatPod: another pod that took the name meanwhile stays, and a missing one is no error.
func TestDeleteOnlyThatPod(t *testing.T) {
	w := newWorld(t, newNode())
	p := w.pass()
	i := p.item(newSkyhook("demo"))
	w.must(i.deletePod(t.Context(), lifecycle.Pod{Name: "runs", UID: "1", Outcome: lifecycle.Running}))
	w.must(i.deletePod(t.Context(), lifecycle.Pod{Name: "done", UID: "2", Outcome: lifecycle.Done}))
	if got := strings.Join(w.deletes, ", "); got != "runs uid=1, done uid=2 grace=0" {
		t.Errorf("requests: %s", got)
	}
	if got := p.wrote.removed; len(got) != 1 || got[0].uid != "2" {
		t.Errorf("%v are expected to leave the cache; only what is deleted without grace does at once", got)
	}
}

// TestForcedDeletion: on an abandoned node pods go without grace, as its kubelet may be away, and also those
// that are being deleted already.
func TestForcedDeletion(t *testing.T) {
	for _, c := range []struct {
		name               string
		abandon, finishing bool
		want               string // the requests
	}{
		{"not selected any more", false, false, "runs uid=1"},
		{"and on its way", false, true, ""},
		{"abandoned", true, false, "runs uid=1 grace=0"},
		{"abandoned, and on its way", true, true, "runs uid=1 grace=0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, s := newWorld(t, newNode()), newSkyhook("demo")
			p := w.pass(s)
			d := lifecycle.Remove(lifecycle.Observation{
				Wanted: situation.Wanted{Abandoned: c.abandon}, Record: entry(v1alpha1.StageUninstall, v1alpha1.StateInProgress),
				Pods: []lifecycle.Pod{{Name: "runs", UID: "1", Outcome: lifecycle.Running, Terminating: c.finishing}},
			})
			w.must(decided(p, s, d).changePods(t.Context()))
			if got := strings.Join(w.deletes, ", "); got != c.want || (len(p.wrote.removed) == 1) != c.abandon {
				t.Errorf("requests %q, want %q; expected to leave the cache: %v", got, c.want, p.wrote.removed)
			}
			if d.Clear {
				t.Error("the record goes before the pod")
			}
		})
	}
}
