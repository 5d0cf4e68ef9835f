package node

import (
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/controller/state"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
)

func TestOwnPods(t *testing.T) {
	s := newSkyhook("demo")
	for _, c := range []struct {
		name   string
		change func(*corev1.Pod)
		want   int
		stage  v1alpha1.Stage
	}{
		{"ours", func(*corev1.Pod) {}, 1, v1alpha1.StageApply},
		{"our labels, but nobody's pod", func(p *corev1.Pod) { p.OwnerReferences = nil }, 0, ""},
		{"of another Skyhook of that name", func(p *corev1.Pod) { p.OwnerReferences[0].UID = "uid-before" }, 0, ""},
		{"owned, but not controlled", func(p *corev1.Pod) { p.OwnerReferences[0].Controller = nil }, 0, ""},
		{"ours without labels", func(p *corev1.Pod) { p.Labels = nil }, 1, v1alpha1.StageApply},
		{"ours, unreadable", func(p *corev1.Pod) { p.Annotations = nil }, 1, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := podOf(t, s)
			pod.DeletionTimestamp = &metav1.Time{Time: start}
			c.change(pod)
			got := (&item{pass: &pass{Shared: &state.Shared{}}, skyhook: s}).ownPods([]*corev1.Pod{pod})
			if len(got) != c.want {
				t.Fatalf("got %+v", got)
			}
			if c.want == 1 && (got[0].Name != pod.Name || got[0].UID != pod.UID || got[0].Stage != c.stage || !got[0].Terminating) {
				t.Errorf("got %+v", got[0])
			}
		})
	}
}

func TestConfigReady(t *testing.T) {
	s := newSkyhook("demo")
	s.Spec.Packages["b"] = v1alpha1.Package{Version: "2.0.0", Image: "x/b", ConfigMap: map[string]string{"k": "v"}}
	for _, c := range []struct {
		name   string
		change func(*corev1.ConfigMap)
		want   bool
	}{
		{"missing", nil, false},
		{"equal", func(*corev1.ConfigMap) {}, true},
		{"another value", func(cm *corev1.ConfigMap) { cm.Data["k"] = "old" }, false},
		{"a key too many", func(cm *corev1.ConfigMap) { cm.Data["l"] = "" }, false},
		{"a file of bytes too many", func(cm *corev1.ConfigMap) { cm.BinaryData = map[string][]byte{"l": []byte("x")} }, false},
		{"may still change", func(cm *corev1.ConfigMap) { cm.Immutable = nil }, false},
		{"nobody's", func(cm *corev1.ConfigMap) { cm.OwnerReferences = nil }, false},
		{"of a Skyhook of that name before", func(cm *corev1.ConfigMap) { cm.OwnerReferences[0].UID = "uid-before" }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, newNode())
			if c.change != nil {
				cm := options.MountedConfigMap(s, "b", s.Spec.Packages["b"])
				c.change(cm)
				w.must(w.Client.Create(t.Context(), cm))
			}
			got, err := w.pass(s).item(s).configReady(t.Context())
			if want := map[string]bool{"a": true, "b": true}; err != nil || c.want && !maps.Equal(got, want) || got["b"] != c.want || !got["a"] {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}

func interrupting(cordoned bool) record.Node {
	n := entry(v1alpha1.StageInterrupt, v1alpha1.StateInProgress)
	n.Cordoned = cordoned
	return n
}

// TestLaterSkyhookSeesEarlierDecisions: what one Skyhook decides counts for the next one in the same pass, before
// anything is written.
func TestLaterSkyhookSeesEarlierDecisions(t *testing.T) {
	one, two := newSkyhook("one"), newSkyhook("two")
	w := newWorld(t, newNode())
	p := w.pass(one, two)
	p.survey()
	want := lifecycle.Node{Ready: true, BootID: "boot-1"}
	if got := p.item(two).facts(); got != want {
		t.Fatalf("at first: %+v", got)
	}
	cordon := true
	decided(p, one, lifecycle.Decision{
		Record: interrupting(true), InFlight: &record.Interrupt{Skyhook: "one"}, Unschedulable: &cordon, Start: []lifecycle.Start{startOf("r1")},
	}).follow()
	want.Unschedulable, want.CordonUnread, want.CordonedByOther, want.OtherPods = true, true, true, 1
	if got := p.item(two).facts(); got != want {
		t.Errorf("the second sees %+v", got)
	}
	if want.CordonedByOther = false; p.item(one).facts() != want {
		t.Errorf("the first takes its own cordon for another's: %+v", p.item(one).facts())
	}
	if h, err := p.item(one).hold(t.Context()); h != nil || err != nil {
		t.Errorf("the first is held by %+v", h)
	}
	decided(p, two, lifecycle.Decision{InFlight: &record.Interrupt{Skyhook: "two"}}).follow()
	h, err := p.item(one).hold(t.Context())
	w.must(err)
	if h == nil || h.Reason != v1alpha1.ReasonWaitingForInterrupt || !h.ReturnsPermit || !strings.Contains(h.Message, "two") {
		t.Errorf("the first is held by %+v", h)
	}
}

// TestLaterSkyhookWaitsForOneThatStartsOver: in the very pass in which the earlier one does, after a reboot.
func TestLaterSkyhookWaitsForOneThatStartsOver(t *testing.T) {
	for boot, want := range map[string]string{"boot-1": "late", "boot-2": "early"} {
		early, late, n := newSkyhook("early"), newSkyhook("late"), newNode()
		early.Spec.Priority, late.Spec.Priority = 1, 2
		done := completeRecord()
		done.BootID = "boot-1"
		remember(t, n, "early", done)
		n.Status.NodeInfo.BootID = boot
		w := newWorld(t, n, early, late)
		w.Targets.Reapply.Reboots = true
		var started []string
		w.OnDecision = func(_, skyhook string, d *lifecycle.Decision) {
			for range d.Start {
				started = append(started, skyhook)
			}
		}
		w.reconcile()
		if got := strings.Join(started, " "); got != want {
			t.Errorf("%s: started %q, want %q", boot, got, want)
		}
	}
}

// TestOtherPodsAreNamed: the same one first, in whatever order a cache lists them.
func TestOtherPodsAreNamed(t *testing.T) {
	one, two := newSkyhook("one"), newSkyhook("two")
	w := newWorld(t, newNode())
	p := w.pass(one, two)
	pods := []*corev1.Pod{podOf(t, two), podOf(t, two), podOf(t, two), podOf(t, one)}
	for i, name := range []string{"c", "a", "b", "own"} {
		pods[i].Name = name
	}
	for range pods {
		pods = append(pods[1:], pods[0])
		p.pods = pods
		if got := p.item(one).facts(); got.OtherPods != 3 || got.OtherPod.Name != "a" || got.OtherPod.Namespace != namespace || got.InterruptPod.Name != "" {
			t.Fatalf("got %+v", got)
		}
	}
}

// TestCordonOfTheSamePassIsReadBack: a Skyhook that is deleted goes beside another one, but not on the strength of a
// cordon which that one only decides: until it is written, any pod may be bound to the node.
func TestCordonOfTheSamePassIsReadBack(t *testing.T) {
	first, last := newSkyhook("first"), newSkyhook("last")
	first.Spec.Priority, last.Spec.Priority = 1, 2
	for _, s := range []*v1alpha1.Skyhook{first, last} {
		s.Spec.Packages["a"] = v1alpha1.Package{
			Version: "1.0.0", Image: "x/a", Interrupt: &v1alpha1.Interrupt{Type: v1alpha1.InterruptNoop}, Uninstall: &v1alpha1.Uninstall{Enabled: new(true)},
		}
	}
	n := newNode()
	remember(t, n, "last", entry(v1alpha1.StageConfig, v1alpha1.StateComplete))
	last.DeletionTimestamp, last.Finalizers = &metav1.Time{Time: start}, []string{"x/y"}
	w := newWorld(t, n, first, last)
	for _, read := range []bool{false, true} {
		w.reconcile()
		if started := len(w.pods()) > 0; started != read || !w.node().Spec.Unschedulable {
			t.Errorf("the cordon was read: %t, a package started: %t, the node is cordoned: %t", read, started, w.node().Spec.Unschedulable)
		}
	}
}

// TestLastOneUncordons: Skyhooks that leave in one pass lift their common cordon once, and only when no other holds it.
func TestLastOneUncordons(t *testing.T) {
	deleted := &metav1.Time{Time: start}
	for _, c := range []struct {
		name   string
		leaves map[string]bool
		want   bool
	}{
		{"nobody leaves", map[string]bool{}, true},
		{"the first leaves", map[string]bool{"one": true}, true},
		{"the second leaves", map[string]bool{"two": true}, true},
		{"both leave", map[string]bool{"one": true, "two": true}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := newNode()
			n.Spec.Unschedulable = true
			list := []*v1alpha1.Skyhook{newSkyhook("one"), newSkyhook("two")}
			for _, s := range list {
				r := entry(v1alpha1.StageApply, v1alpha1.StateInProgress)
				r.Cordoned = true
				remember(t, n, s.Name, r)
				if c.leaves[s.Name] {
					s.DeletionTimestamp = deleted
				}
			}
			w := newWorld(t, n)
			p := w.pass(list...)
			p.plan(t.Context())
			if len(p.errs) > 0 || len(p.items) != 2 || p.unschedulable != c.want {
				t.Fatalf("unschedulable %t, %d items, errors %v", p.unschedulable, len(p.items), p.errs)
			}
			p.execute(t.Context())
			if got := w.node(); got.Spec.Unschedulable != c.want || len(p.errs) > 0 {
				t.Errorf("the node is unschedulable: %t, errors %v", got.Spec.Unschedulable, p.errs)
			}
		})
	}
}

// TestBrokenRecordIsLeftAlone: a Skyhook whose record nobody can read starts nothing, and says so; others continue.
func TestBrokenRecordIsLeftAlone(t *testing.T) {
	n := newNode()
	n.Annotations[v1alpha1.GroupName+"/nodeState_one"] = "{"
	w := newWorld(t, n, newSkyhook("one"), newSkyhook("two"))
	p := w.pass(newSkyhook("one"))
	p.plan(t.Context())
	if len(p.items) != 1 || len(p.errs) != 0 || len(p.items[0].decision.Start) != 0 || p.items[0].decision.Record.Wait == nil {
		t.Errorf("items %v, errors %v", p.items, p.errs)
	}
	w.reconcile()
	if got := w.node().Annotations[v1alpha1.GroupName+"/nodeState_one"]; got != "{" {
		t.Errorf("the record became %q", got)
	}
}
