package skyhook

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

// has puts an entry of package a, as the Skyhook s defines it, on a node of the pool.
func has(t *testing.T, name string, s *v1alpha1.Skyhook, change func(*record.Entry)) *corev1.Node {
	t.Helper()
	n := newNode(name, "gpu")
	e := record.Entry{
		Name: "a", Version: s.Spec.Packages["a"].Version, Image: "x/a", Stage: v1alpha1.StageConfig, State: v1alpha1.StateComplete,
		Definition: workload.DefinitionOf(s, "a").Hash(), Config: map[string]string{},
	}
	if change != nil {
		change(&e)
	}
	remember(t, n, "demo", record.Node{Status: v1alpha1.StatusInProgress, Packages: map[string]record.Entry{e.Key(): e}})
	return n
}

func failing(e *record.Entry) {
	e.Stage, e.State, e.Message, e.Since = v1alpha1.StageUninstall, v1alpha1.StateErroring, "exit code 1", metav1.NewTime(start.Add(-time.Minute))
}

func running(e *record.Entry) { e.Stage, e.State = v1alpha1.StageUninstall, v1alpha1.StateInProgress }

// TestInputOfUninstalls: what the plan gets to know about what goes, on one node.
func TestInputOfUninstalls(t *testing.T) {
	const refuse, uninstall = v1alpha1.WhenRemovedRefuse, v1alpha1.WhenRemovedUninstall
	applied := undoable(2, "1.0.0", "")
	applied.Spec.Packages["a"].Uninstall.Apply = true
	without := newSkyhook("demo")
	delete(without.Spec.Packages, "a")
	gone := without.DeepCopy()
	gone.DeletionTimestamp, gone.Finalizers = &metav1.Time{Time: start}, []string{v1alpha1.Finalizer}
	abandoned := gone.DeepCopy()
	abandoned.Annotations = map[string]string{v1alpha1.AnnotationAbandonUninstall: "node-1"}
	broken := has(t, "node-1", undoable(1, "1.0.0", ""), nil)
	broken.Annotations[v1alpha1.GroupName+"/nodeState_demo"] = "{"
	installed := func(policy v1alpha1.WhenRemoved, change func(*record.Entry)) *corev1.Node {
		return has(t, "node-1", undoable(1, "1.0.0", policy), change)
	}
	for _, c := range []struct {
		name    string
		skyhook *v1alpha1.Skyhook
		node    *corev1.Node
		policy  v1alpha1.WhenRemoved // of the definition that is retained
		// want has the words uninstalling, failed, complete, abandoned; then recorded, uninstalling definitions and removal.
		want, recorded string
		definitions    int
		removal        string
	}{
		{name: "installed", skyhook: undoable(2, "1.0.0", ""), node: installed("", nil), want: "complete"},
		{name: "asked for", skyhook: applied, node: installed("", nil), definitions: 1},
		{name: "at work", skyhook: applied, node: installed("", running), want: "uninstalling", definitions: 1},
		{name: "fails", skyhook: applied, node: installed("", failing), want: "uninstalling failed", definitions: 1},
		{name: "left the spec", skyhook: without, policy: uninstall, node: installed(uninstall, nil), definitions: 1},
		{
			name: "left the spec too early", skyhook: without, policy: refuse, node: installed(refuse, nil), want: "complete",
			removal: "spec.packages.a: is removed from the spec, but version 1.0.0 can be uninstalled (uninstall.enabled=true) and is still on node node-1",
		},
		{
			name: "lowered too early", skyhook: undoable(2, "0.9.0", refuse), policy: refuse, node: installed(refuse, nil),
			removal: "spec.packages.a.version: is lowered to 0.9.0, but 1.0.0 can be uninstalled and is on node node-1",
		},
		{name: "lowered", skyhook: undoable(2, "0.9.0", uninstall), policy: refuse, node: installed(refuse, nil), definitions: 1},
		{name: "raised", skyhook: undoable(2, "1.1.0", refuse), policy: refuse, node: installed(refuse, nil)},
		{name: "deleting", skyhook: gone, policy: refuse, node: installed(refuse, nil), definitions: 1},
		{name: "deleting, and abandoned", skyhook: abandoned, policy: refuse, node: installed(refuse, nil), want: "complete abandoned", recorded: "a 1.0.0"},
		{name: "deleting, unreadable", skyhook: gone, node: broken},
		{name: "deleting, unreadable, and abandoned", skyhook: abandoned, node: broken, want: "complete abandoned", recorded: "packages whose states cannot be read"},
		{name: "its definition is gone", skyhook: without, node: installed(uninstall, func(e *record.Entry) { e.Definition = "0000000000" }), want: "complete"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := c.skyhook.DeepCopy()
			w := newWorld(t, c.node.DeepCopy(), s, revisionOf(t, undoable(1, "1.0.0", c.policy), 1))
			p := w.reads(s)
			got := p.in.Nodes[0]
			var words []string
			for _, word := range []struct {
				is   bool
				text string
			}{{got.Uninstalling, "uninstalling"}, {got.UninstallFailure != nil, "failed"}, {got.Facts.Complete, "complete"}, {got.Abandoned, "abandoned"}} {
				if word.is {
					words = append(words, word.text)
				}
			}
			if text := strings.Join(words, " "); text != c.want || got.Recorded != c.recorded || len(p.uninstalling) != c.definitions {
				t.Errorf("%q, recorded %q, uninstalling %v", text, got.Recorded, slices.Collect(maps.Keys(p.uninstalling)))
			}
			if !strings.HasPrefix(p.in.Removal, c.removal) || (p.in.Removal == "") != (c.removal == "") {
				t.Errorf("removal: %s", p.in.Removal)
			}
			if f := got.UninstallFailure; f != nil && (f.Message != "package a stage uninstall: exit code 1" || !f.Since.Time.Equal(start.Add(-time.Minute))) {
				t.Errorf("failed with %+v", f)
			}
		})
	}
}

// TestRemovalNamesNodes: abandoned nodes do not count, and names come sorted.
func TestRemovalNamesNodes(t *testing.T) {
	s := newSkyhook("demo")
	delete(s.Spec.Packages, "a")
	s.Annotations = map[string]string{v1alpha1.AnnotationAbandonUninstall: "n3"}
	w := newWorld(t, s, revisionOf(t, undoable(1, "1.0.0", ""), 1))
	for i := 9; i > 0; i-- {
		w.must(w.Client.Create(t.Context(), has(t, fmt.Sprint("n", i), undoable(1, "1.0.0", ""), nil)))
	}
	p := w.reads(s)
	if !strings.Contains(p.in.Removal, "nodes n1, n2, n4, n5, n6, n7, n8, n9;") {
		t.Errorf("removal: %s", p.in.Removal)
	}
}

// TestCounts: what is installed, and what is complete everywhere, is found out only while somebody asks to uninstall.
func TestCounts(t *testing.T) {
	for _, c := range []struct {
		name                  string
		apply                 bool
		second                func(*record.Entry)
		installed, everywhere map[string]bool
	}{
		{name: "nobody asks"},
		{name: "on both nodes", apply: true, installed: map[string]bool{"a": true}, everywhere: map[string]bool{"a": true, "b": false}},
		{name: "at work on one", apply: true, second: running, installed: map[string]bool{"a": true}, everywhere: map[string]bool{"a": false, "b": false}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := undoable(1, "1.0.0", "")
			s.Spec.Packages["b"] = v1alpha1.Package{Version: "1.0.0", Image: "x/b", Uninstall: &v1alpha1.Uninstall{Enabled: ptr.To(true), Apply: c.apply}}
			w := newWorld(t, s, has(t, "n1", s, nil), has(t, "n2", s, c.second))
			p := w.reads(s)
			if !maps.Equal(p.in.Installed, c.installed) {
				t.Errorf("installed: %v", p.in.Installed)
			}
			for name, want := range c.everywhere {
				if p.in.CompleteEverywhere[name] != want {
					t.Errorf("complete everywhere: %v", p.in.CompleteEverywhere)
				}
			}
		})
	}
}

// TestConfigMapsOfWhatGoes: the retained configMap is there while it is needed, next to that of the spec.
func TestConfigMapsOfWhatGoes(t *testing.T) {
	with := func(version, value string) *v1alpha1.Skyhook {
		s := undoable(1, version, v1alpha1.WhenRemovedUninstall)
		p := s.Spec.Packages["a"]
		p.ConfigMap = map[string]string{"k": value}
		s.Spec.Packages["a"] = p
		return s
	}
	old := with("1.0.0", "old")
	mounted := func(version, value string) string {
		return "ConfigMap " + workload.MountedConfigMapName("demo", "a", version, map[string]string{"k": value})
	}
	retained := mounted("1.0.0", "old")
	own := func(version, value string) string {
		return "create ConfigMap " + workload.ConfigMapName("demo", "a", version) + ", create " + mounted(version, value)
	}
	without := newSkyhook("demo")
	delete(without.Spec.Packages, "a")
	deleting := func(s *v1alpha1.Skyhook) *v1alpha1.Skyhook {
		s.DeletionTimestamp, s.Finalizers = &metav1.Time{Time: start}, []string{v1alpha1.Finalizer}
		return s
	}
	for _, c := range []struct {
		name    string
		skyhook *v1alpha1.Skyhook
		node    bool // has the old version
		want    string
	}{
		{"left the spec", without, true, "create " + retained},
		{"left the spec, and the node", without, false, ""},
		{"lowered", with("0.9.0", "new"), true, own("0.9.0", "new") + ", create " + retained},
		{"deleting another version", deleting(with("2.0.0", "new")), true, "create " + retained},
		{"deleting the same version: what the spec says now", deleting(with("1.0.0", "fixed")), true, own("1.0.0", "fixed")},
		{"deleting with nothing to undo", deleting(with("1.0.0", "new")), false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := c.skyhook
			objects := []client.Object{s, revisionOf(t, old, 1)}
			if c.node {
				objects = append(objects, has(t, "node-1", old, nil))
			}
			w := newWorld(t, objects...)
			p := w.reads(s)
			w.must(p.writeConfigMaps(t.Context()))
			w.must(p.pruneConfigMaps(t.Context()))
			if got := w.took(); got != c.want {
				t.Errorf("requests %q, want %q", got, c.want)
			}
			w.must(w.newPass(s).pruneConfigMaps(t.Context())) // all is done
			if got := w.took(); strings.Contains(c.want, retained) != strings.Contains(got, "delete "+retained) {
				t.Errorf("afterwards %q", got)
			}
		})
	}
}

func TestWarnings(t *testing.T) {
	condition := func(kind, reason string) []metav1.Condition {
		return []metav1.Condition{{Type: kind, Status: metav1.ConditionTrue, Reason: reason, Message: "the message"}}
	}
	for _, c := range []struct {
		name          string
		before, after []metav1.Condition
		want          string
	}{
		{"comes up", nil, condition(v1alpha1.ConditionDeletionBlocked, "R"), "Warning DeletionBlocked the message"},
		{"stays", condition(v1alpha1.ConditionDeletionBlocked, "R"), condition(v1alpha1.ConditionDeletionBlocked, "R"), ""},
		{"for another reason", condition(v1alpha1.ConditionDeletionBlocked, "R"), condition(v1alpha1.ConditionDeletionBlocked, "S"), "Warning DeletionBlocked the message"},
		{"goes", condition(v1alpha1.ConditionUninstallFailed, "R"), nil, ""},
		{"fails", nil, condition(v1alpha1.ConditionUninstallFailed, "R"), "Warning UninstallFailed the message"},
		{"needed", nil, condition(v1alpha1.ConditionUninstallRequired, "R"), "Warning UninstallRequired the message"},
		{"nobody has to act on it", nil, condition(v1alpha1.ConditionUninstallInProgress, "R"), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, s := newWorld(t), newSkyhook("demo")
			s.Status.Conditions = c.after
			w.newPass(s).report(t.Context(), v1alpha1.SkyhookStatus{Conditions: c.before})
			if got := w.told(); got != c.want {
				t.Errorf("told %q", got)
			}
		})
	}
}
