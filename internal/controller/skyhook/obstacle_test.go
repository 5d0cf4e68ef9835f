package skyhook

import (
	"errors"
	"fmt"
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
	"github.com/skyhook-operator/skyhook/internal/workload"
)

var (
	configMaps = schema.GroupResource{Resource: "configmaps"}
	revisions  = schema.GroupResource{Group: "apps", Resource: "controllerrevisions"}
)

// obstructed is a Skyhook with work for one node that has a permit already, and one that has not.
func obstructed(t *testing.T, objects ...client.Object) *world {
	t.Helper()
	s := configured("2.0.0", "v")
	s.Generation, s.Spec.InterruptionBudget.Count = 2, new(2)
	s.Status.ObservedGeneration, s.Status.Permits, s.Status.NextOrder = 1, []v1alpha1.Permit{{Node: "node-1", Generation: 1}}, 1
	return newWorld(t, append(objects, s, ready(newNode("node-1", "gpu")), ready(newNode("node-2", "gpu")))...)
}

// stateOf writes what people see of a Skyhook, in short.
func stateOf(s *v1alpha1.Skyhook) string {
	parts := []string{fmt.Sprintf("%s observed=%d permits=%d", s.Status.Status, s.Status.ObservedGeneration, len(s.Status.Permits))}
	for _, kind := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionStalled} {
		if c := meta.FindStatusCondition(s.Status.Conditions, kind); c != nil {
			parts = append(parts, fmt.Sprintf("%s=%s:%s", kind, c.Status, c.Reason))
		}
	}
	return strings.Join(parts, " ")
}

// TestObstacles: what keeps a Skyhook from being prepared is told, nodes get no new permits, and it goes on when it is
// gone.
func TestObstacles(t *testing.T) {
	name, definition := workload.ConfigMapName("demo", "b", "2.0.0"), revisionOf(t, configured("2.0.0", "v"), 1).Name
	foreign := options.PackageConfigMap(configured("2.0.0", "theirs"), "b")
	foreign.OwnerReferences = nil
	other := options.PackageConfigMap(configured("2.0.0", "theirs"), "b")
	other.OwnerReferences[0].Name, other.OwnerReferences[0].UID = "gpu", "uid-gpu"
	leftover := options.PackageConfigMap(configured("2.0.0", "theirs"), "b")
	leftover.OwnerReferences[0].UID = "uid-before"
	revision := revisionOf(t, configured("2.0.0", "v"), 1)
	revision.OwnerReferences = nil
	quota := apierrors.NewForbidden(configMaps, name, errors.New("exceeded quota: small"))
	const blocked = "blocked observed=2 permits=1 Ready=False:Blocked Stalled=True:"
	for _, c := range []struct {
		name    string
		have    client.Object
		request string // that fails with err
		err     error
		want    string
		message string
	}{
		{name: "the ConfigMap is nobody's", have: foreign, want: blocked + "ConfigMapConflict", message: "ConfigMap skyhook/" + name + " exists but does not belong to Skyhook demo; delete it"},
		{name: "the ConfigMap is another Skyhook's", have: other, want: blocked + "ConfigMapConflict", message: "exists but belongs to Skyhook gpu, not to Skyhook demo; rename the Skyhook or the package"},
		{
			name: "the ConfigMap is one that the garbage collector removes", have: leftover,
			want: "blocked observed=2 permits=1 Ready=False:Blocked Stalled=False:Blocked", message: "left of an earlier Skyhook demo",
		},
		{name: "a quota", request: "create ConfigMap " + name, err: quota, want: blocked + "ConfigMapRefused", message: "exceeded quota: small"},
		{
			name: "invalid", request: "create ConfigMap " + name, err: apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, name, nil),
			want: blocked + "ConfigMapRefused", message: "correct spec.packages.b.configMap",
		},
		{
			name: "too large for a request", request: "create ConfigMap " + name, err: apierrors.NewRequestEntityTooLargeError("limit is 3145728"),
			want: blocked + "ConfigMapRefused", message: "limit is 3145728; correct spec.packages.b.configMap",
		},
		{
			name: "the definition is nobody's", have: revision, message: "ControllerRevision skyhook/" + definition + " exists but does not belong to Skyhook demo; delete it",
			want: "blocked observed=1 permits=1 Ready=False:Blocked Stalled=True:DefinitionConflict",
		},
		{
			name: "the finalizer is refused", request: "patch Skyhook demo", err: apierrors.NewInvalid(schema.GroupKind{Kind: "Skyhook"}, "demo", nil),
			want: "blocked observed=1 permits=1 Ready=False:Blocked Stalled=True:ClaimRefused", message: "claim Skyhook demo: ",
		},
		{
			name: "the definition is refused", request: "create ControllerRevision " + definition, err: apierrors.NewForbidden(revisions, definition, errors.New("no")),
			want: "blocked observed=1 permits=1 Ready=False:Blocked Stalled=True:DefinitionRefused", message: "no; change what refuses it",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := obstructed(t)
			if c.have != nil {
				copied, _ := c.have.DeepCopyObject().(client.Object)
				w.must(w.Client.Create(t.Context(), copied))
			}
			w.refuse = func(request string, _ client.Object) error {
				if request == c.request {
					return c.err
				}
				return nil
			}
			got, err := w.Reconcile(t.Context(), request("demo"))
			if err != nil || got.RequeueAfter != obstacleRetry {
				t.Errorf("ends with %+v, %v", got, err)
			}
			s := w.skyhook("demo")
			if state := stateOf(s); state != c.want {
				t.Errorf("\ngot  %s\nwant %s", state, c.want)
			}
			for _, kind := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionStalled} {
				if m := meta.FindStatusCondition(s.Status.Conditions, kind).Message; !strings.Contains(m, c.message) {
					t.Errorf("%s says %q", kind, m)
				}
			}
			if told := w.told(); strings.Contains(told, "Warning Stalled") != strings.Contains(c.want, "Stalled=True") {
				t.Errorf("events:\n%s", told)
			}
			w.refuse = nil
			if c.have != nil {
				w.must(w.Client.Delete(t.Context(), c.have))
			}
			w.clock.SetTime(start.Add(time.Minute))
			if got, err := w.Reconcile(t.Context(), request("demo")); err != nil || got.RequeueAfter > passInterval {
				t.Errorf("when it is gone: %+v, %v", got, err)
			}
			if state := stateOf(w.skyhook("demo")); state != "in_progress observed=2 permits=2 Ready=False:Progressing Stalled=False:Progressing" {
				t.Errorf("when it is gone: %s", state)
			}
		})
	}
}

// TestPassingErrorsAreNotShown: they are tried again at once, and the status stays.
func TestPassingErrorsAreNotShown(t *testing.T) {
	for _, err := range []error{
		apierrors.NewTimeoutError("slow", 1), apierrors.NewConflict(configMaps, "x", errors.New("newer")), apierrors.NewInternalError(errors.New("etcd")),
		apierrors.NewTooManyRequests("later", 1), errors.New("connection refused"),
	} {
		w := obstructed(t)
		before := stateOf(w.skyhook("demo"))
		w.refuse = func(request string, _ client.Object) error {
			if strings.HasPrefix(request, "create ConfigMap") {
				return err
			}
			return nil
		}
		got, failed := w.Reconcile(t.Context(), request("demo"))
		if (failed == nil) != apierrors.IsConflict(err) || got.RequeueAfter > passInterval {
			t.Errorf("%v: ends with %+v, %v", err, got, failed)
		}
		if after := stateOf(w.skyhook("demo")); after != before {
			t.Errorf("%v: %s, before %s", err, after, before)
		}
	}
}

// TestOneConfigMapThatIsRefused does not keep the others from being written.
func TestOneConfigMapThatIsRefused(t *testing.T) {
	s := configured("2.0.0", "v")
	s.Spec.Packages["c"] = v1alpha1.Package{Version: "1.0.0", Image: "x/c", ConfigMap: map[string]string{"k": "v"}}
	foreign := options.PackageConfigMap(s, "b")
	foreign.OwnerReferences = nil
	w := newWorld(t, foreign)
	if err := w.newPass(s).writeConfigMaps(t.Context()); obstacleOf(err) == nil {
		t.Errorf("error %v", err)
	}
	var cm corev1.ConfigMap
	w.must(w.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: workload.ConfigMapName("demo", "c", "1.0.0")}, &cm))
}

// TestConfigMapBehindTheCache: one of ours that only the cache does not show is nothing to tell of.
func TestConfigMapBehindTheCache(t *testing.T) {
	s := configured("2.0.0", "v")
	want := wantedMap{options.PackageConfigMap(s, "b"), "x"}
	w := newWorld(t, want.DeepCopy())
	if err := w.newPass(s).writeConfigMap(t.Context(), want, nil); err != nil {
		t.Error(err)
	}
	w.Live = newWorld(t).Client
	if err := w.newPass(s).writeConfigMap(t.Context(), want, nil); !apierrors.IsNotFound(err) || obstacleOf(err) != nil {
		t.Errorf("taken, and then gone: %v", err)
	}
}

// TestObstacleOfADeletion: it is told as well, and the finalizer does not wait for what nobody needs.
func TestObstacleOfADeletion(t *testing.T) {
	s := undoable(2, "2.0.0", v1alpha1.WhenRemovedUninstall)
	s.Finalizers, s.DeletionTimestamp = []string{v1alpha1.Finalizer, "x/y"}, &metav1.Time{Time: start}
	revision := revisionOf(t, s, 1)
	revision.OwnerReferences = nil
	node := has(t, "node-1", undoable(1, "1.0.0", v1alpha1.WhenRemovedUninstall), nil)
	installed := revisionOf(t, undoable(1, "1.0.0", v1alpha1.WhenRemovedUninstall), 1)
	w := newWorld(t, s, revision, node, installed)
	if err := w.newPass(w.skyhook("demo")).reconcile(t.Context()); obstacleOf(err) == nil {
		t.Errorf("error %v", err)
	}
	c := meta.FindStatusCondition(w.skyhook("demo").Status.Conditions, v1alpha1.ConditionDeletionBlocked)
	if c == nil || c.Reason != v1alpha1.ReasonDefinitionConflict || !strings.Contains(c.Message, "abandon-uninstall=node-1") {
		t.Errorf("DeletionBlocked is %+v", c)
	}
	w.must(w.Client.Delete(t.Context(), node))
	w.must(w.newPass(w.skyhook("demo")).reconcile(t.Context()))
	if got := w.skyhook("demo").Finalizers; len(got) != 1 {
		t.Errorf("finalizers %v", got)
	}
}

// TestStatusThatIsRefused is written without what a node may have made unacceptable.
func TestStatusThatIsRefused(t *testing.T) {
	full := v1alpha1.SkyhookStatus{
		Status: v1alpha1.StatusInProgress, Permits: []v1alpha1.Permit{{Node: "n", Generation: 1}},
		NodeStatus: map[string]v1alpha1.Status{"n": "x"}, NodeBootIDs: map[string]string{"n": "b"},
		NodeState: map[string]map[string]v1alpha1.PackageStatus{"n": {}}, NodePriority: map[string]metav1.Time{"n": metav1.NewTime(start)},
		Attention: []v1alpha1.NodeAttention{{Node: "n"}},
	}
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "Skyhook"}, "demo", nil)
	for _, c := range []struct {
		name               string
		refuses            func(v1alpha1.SkyhookStatus) bool
		err                error
		writes             int
		maps, attention    bool
		stays, told, fails bool
	}{
		{name: "accepted", refuses: func(v1alpha1.SkyhookStatus) bool { return false }, writes: 1, maps: true, attention: true},
		{name: "its maps are refused", refuses: func(s v1alpha1.SkyhookStatus) bool { return s.NodeStatus != nil }, err: invalid, writes: 2, attention: true, told: true},
		{name: "its list is refused", refuses: func(s v1alpha1.SkyhookStatus) bool { return s.Attention != nil }, err: invalid, writes: 3, told: true},
		{name: "all is refused", refuses: func(v1alpha1.SkyhookStatus) bool { return true }, err: invalid, writes: 3, stays: true, fails: true},
		{name: "another error", refuses: func(v1alpha1.SkyhookStatus) bool { return true }, err: errors.New("no route"), writes: 1, stays: true, fails: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, newSkyhook("demo"))
			w.refuse = func(_ string, o client.Object) error {
				if s, ok := o.(*v1alpha1.Skyhook); ok && c.refuses(s.Status) {
					return c.err
				}
				return nil
			}
			for _, again := range []bool{false, true} { // the second time nothing is written, or told, once more
				w.took()
				err := w.newPass(w.skyhook("demo")).writeStatus(t.Context(), *full.DeepCopy())
				writes := 0
				if text := w.took(); text != "" {
					writes = strings.Count(text, ",") + 1
				}
				want := c.writes
				if again && !c.fails {
					want-- // the last form is what is there
				}
				if (err != nil) != c.fails || writes != want {
					t.Errorf("error %v, %d writes, want %d", err, writes, want)
				}
				if told := w.told(); strings.Contains(told, "StatusRefused") != (c.told && !again) {
					t.Errorf("told %q", told)
				}
			}
			got := w.skyhook("demo").Status
			if (len(got.Permits) == 0) != c.stays || (got.NodeState != nil) != c.maps || (got.NodePriority != nil) != c.maps || (got.Attention != nil) != c.attention {
				t.Errorf("status is %+v", got)
			}
		})
	}
}
