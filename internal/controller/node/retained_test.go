package node

import (
	"context"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

// removed is a Skyhook whose package b left the spec, the definition of b, and the node that still has it.
func removed(t *testing.T) (s *v1alpha1.Skyhook, retained client.Object, n *corev1.Node, definition string) {
	t.Helper()
	s = newSkyhook("demo")
	s.Spec.Packages = map[string]v1alpha1.Package{"b": {
		Version: "2.0.0", Image: "x/b", ConfigMap: map[string]string{"k": "old"}, Env: []corev1.EnvVar{{Name: "PORT", Value: "8080"}},
		Uninstall: &v1alpha1.Uninstall{Enabled: ptr.To(true), WhenRemoved: v1alpha1.WhenRemovedUninstall},
	}}
	d := workload.DefinitionOf(s, "b")
	revision, err := options.Revision(s, d)
	if err != nil {
		t.Fatal(err)
	}
	e := record.Entry{
		Name: "b", Version: "2.0.0", Image: "x/b", Stage: v1alpha1.StageConfig, State: v1alpha1.StateComplete, Definition: d.Hash(),
	}
	n = newNode()
	remember(t, n, "demo", record.Node{Status: v1alpha1.StatusInProgress, Packages: map[string]record.Entry{e.Key(): e}})
	s.Spec.Packages = nil
	return s, revision, n, d.Hash()
}

// TestUninstallPodIsBuiltFromTheRetainedDefinition: with its env, and with its configMap, for which it waits.
func TestUninstallPodIsBuiltFromTheRetainedDefinition(t *testing.T) {
	b := v1alpha1.Package{Name: "b", Version: "2.0.0", ConfigMap: map[string]string{"k": "old"}}
	name := workload.MountedConfigMapName("demo", "b", "2.0.0", b.ConfigMap)
	for _, c := range []struct {
		name   string
		config func(*corev1.ConfigMap)
		starts bool
	}{
		{name: "no ConfigMap yet"},
		{name: "with it", config: func(*corev1.ConfigMap) {}, starts: true},
		{name: "that holds something else", config: func(cm *corev1.ConfigMap) { cm.Data["k"] = "new" }},
		{name: "that may still change", config: func(cm *corev1.ConfigMap) { cm.Immutable = nil }},
		{name: "that is nobody's", config: func(cm *corev1.ConfigMap) { cm.OwnerReferences = nil }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, retained, n, definition := removed(t)
			objects := []client.Object{s, retained, n}
			if c.config != nil {
				cm := options.MountedConfigMap(s, "b", b)
				c.config(cm)
				objects = append(objects, cm)
			}
			w := newWorld(t, objects...)
			w.reconcile()
			pods := w.pods()
			if (len(pods) == 1) != c.starts {
				t.Fatalf("%d pods", len(pods))
			}
			if !c.starts {
				return
			}
			main, mounted := pods[0].Spec.InitContainers[1], []string{}
			for _, v := range pods[0].Spec.Volumes {
				if v.ConfigMap != nil {
					mounted = append(mounted, v.ConfigMap.Name)
				}
			}
			port := slices.ContainsFunc(main.Env, func(e corev1.EnvVar) bool { return e.Name == "PORT" && e.Value == "8080" })
			if main.Args[0] != "uninstall" || !port || !slices.Contains(mounted, name) || !strings.HasPrefix(main.Image, "x/agent") {
				t.Errorf("the pod runs %v with env %v and mounts %v", main.Args, main.Env, mounted)
			}
			if e := w.record("demo").Packages["b|2.0.0"]; e.Stage != v1alpha1.StageUninstall || e.Definition != definition {
				t.Errorf("recorded is %+v", e)
			}
		})
	}
}

// TestDefinitionThatTheCacheLacks: nothing is decided without it, for a package would count as one that cannot be
// uninstalled: the Skyhook would be complete, or gone, with its files on the host. One that the API server lacks as well
// holds up nobody.
func TestDefinitionThatTheCacheLacks(t *testing.T) {
	leaves := func(*v1alpha1.Skyhook) {}
	deleted := func(s *v1alpha1.Skyhook) {
		s.DeletionTimestamp, s.Finalizers = &metav1.Time{Time: start}, []string{v1alpha1.Finalizer}
	}
	lowered := func(s *v1alpha1.Skyhook) {
		s.Spec.Packages = map[string]v1alpha1.Package{"b": {Version: "1.0.0", Image: "x/b"}}
	}
	unlabelled := func(r *appsv1.ControllerRevision) { r.Labels = nil }
	for _, c := range []struct {
		name   string
		edit   func(*v1alpha1.Skyhook)
		stored func(*appsv1.ControllerRevision) // nil for none
		waits  bool
	}{
		{"left the spec", leaves, func(*appsv1.ControllerRevision) {}, true},
		{"the Skyhook is deleted", deleted, func(*appsv1.ControllerRevision) {}, true},
		{"the version was lowered", lowered, func(*appsv1.ControllerRevision) {}, true},
		{"nobody has it", deleted, nil, false},
		{"it lost its labels", deleted, unlabelled, false},
		{"it is another's", deleted, func(r *appsv1.ControllerRevision) { r.OwnerReferences[0].UID = "uid-before" }, false},
		{"it was replaced", deleted, func(r *appsv1.ControllerRevision) { r.Data.Raw = []byte("{}") }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, retained, n, _ := removed(t)
			c.edit(s)
			w := newWorld(t, s, n, options.MountedConfigMap(s, "b", v1alpha1.Package{
				Version: "2.0.0", ConfigMap: map[string]string{"k": "old"},
			}))
			if revision, _ := retained.(*appsv1.ControllerRevision); c.stored != nil {
				c.stored(revision)
				w.must(w.Client.Create(t.Context(), revision))
			}
			whole := w.Client
			w.change(interceptor.Funcs{List: func(
				ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption,
			) error {
				if _, ok := list.(*appsv1.ControllerRevisionList); ok {
					return nil
				}
				return c.List(ctx, list, opts...)
			}})
			got := w.reconcile()
			if waited := len(w.bodies) == 0 && got.RequeueAfter > 0; waited != c.waits {
				t.Fatalf("looks again in %s, wrote %q", got.RequeueAfter, w.bodies)
			}
			if !c.waits {
				return
			}
			w.Client = whole
			w.reconcile()
			if e, has := w.record("demo").Packages["b|2.0.0"]; !has {
				t.Errorf("recorded is %+v", e)
			}
			if c.name != "the version was lowered" && len(w.pods()) != 1 {
				t.Errorf("%d pods uninstall it", len(w.pods()))
			}
		})
	}
}

// TestDeletionWithUnreadableStates: nothing is touched until the user abandons the node, and then the states stay.
func TestDeletionWithUnreadableStates(t *testing.T) {
	for _, c := range []struct {
		name                string
		deleting, abandoned bool
		goes                bool
	}{
		{"at work", false, false, false},
		{"abandoned, but not deleted", false, true, false},
		{"deleting", true, false, false},
		{"deleting, and abandoned", true, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, n := newSkyhook("demo"), newNode()
			remember(t, n, "demo", entry(v1alpha1.StageApply, v1alpha1.StateInProgress))
			n.Annotations[v1alpha1.GroupName+"/nodeState_demo"] = "{"
			if c.deleting {
				s.DeletionTimestamp, s.Finalizers = &metav1.Time{Time: start}, []string{"x/y"}
			}
			if c.abandoned {
				s.Annotations = map[string]string{v1alpha1.AnnotationAbandonUninstall: nodeName}
			}
			i := newWorld(t, n, s).pass(s).item(s)
			decided, err := i.decide(t.Context())
			if err != nil || !decided || i.decision.Removing != c.goes {
				t.Fatalf("decided %t: %+v, error %v", decided, i.decision, err)
			}
			if !c.goes {
				change, err := i.recordChange()
				if _, state := change.Annotations[v1alpha1.GroupName+"/nodeState_demo"]; err != nil || state || len(i.decision.Start) != 0 {
					t.Errorf("changes %v, starts %v, error %v", change.Annotations, i.decision.Start, err)
				}
				return
			}
			if !i.decision.Clear || !i.decision.Force || len(i.decision.Start) != 0 {
				t.Errorf("decided %+v", i.decision)
			}
			change, err := i.recordChange()
			if _, state := change.Annotations[v1alpha1.GroupName+"/nodeState_demo"]; err != nil || state || change.Empty() {
				t.Errorf("changes %v, error %v", change.Annotations, err)
			}
		})
	}
}

// TestDeletionIsNotHeldByOthers: whoever comes first in the order does not keep another from going; one that interrupts
// the node does.
func TestDeletionIsNotHeldByOthers(t *testing.T) {
	first, last := newSkyhook("first"), newSkyhook("last")
	first.Spec.Priority, last.Spec.Priority = 1, 2
	going := last.DeepCopy()
	going.DeletionTimestamp = &metav1.Time{Time: start}
	for _, c := range []struct {
		name         string
		skyhook      *v1alpha1.Skyhook
		interrupting string
		want         string
	}{
		{"one that stays", last, "", "WaitingForSkyhook"},
		{"one that goes", going, "", ""},
		{"one that goes, under an interrupt", going, "first", v1alpha1.ReasonWaitingForInterrupt},
		{"one that goes, under its own", going, "last", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, newNode())
			p := w.pass(first, c.skyhook)
			if c.interrupting != "" {
				p.inFlight = &record.Interrupt{Skyhook: c.interrupting}
			}
			h, err := p.item(c.skyhook).hold(t.Context())
			w.must(err)
			got := ""
			if h != nil {
				got = h.Reason
			}
			if got != c.want {
				t.Errorf("held by %q, want %q", got, c.want)
			}
		})
	}
}
