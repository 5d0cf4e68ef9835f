package node

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
			p := newWorld(t, n).pass(s)
			r := newWorld(t, n, s).Reconciler
			i, err := r.decide(t.Context(), p, s)
			if err != nil || i == nil || i.decision.Removing != c.goes {
				t.Fatalf("decided %+v, error %v", i, err)
			}
			if !c.goes {
				change, err := p.recordChange(i)
				if _, state := change.Annotations[v1alpha1.GroupName+"/nodeState_demo"]; err != nil || state || len(i.decision.Start) != 0 {
					t.Errorf("changes %v, starts %v, error %v", change.Annotations, i.decision.Start, err)
				}
				return
			}
			if !i.decision.Clear || !i.decision.Force || len(i.decision.Start) != 0 {
				t.Errorf("decided %+v", i.decision)
			}
			change, err := p.recordChange(i)
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
			h, err := w.hold(t.Context(), p, c.skyhook)
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
