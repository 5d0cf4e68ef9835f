package node

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// reader answers every Get with an error.
type reader struct {
	client.Reader
	err error
}

func (r reader) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return r.err
}

// TestClearOrphans: demo exists and works on the node; gone and lost are Skyhooks that were deleted without their
// finalizer.
func TestClearOrphans(t *testing.T) {
	working := entry(v1alpha1.StageUninstall, v1alpha1.StateInProgress)
	working.FinishedPermit = "1/3"
	cordons := working
	cordons.Cordoned = true
	empty := record.Node{Status: v1alpha1.StatusComplete, OperatorVersion: "v1", FinishedPermit: "1/3"}
	for _, c := range []struct {
		name    string
		records map[string]record.Node
		change  func(*corev1.Node)
		pod     bool
		// live are Skyhooks that the cache does not show.
		live []client.Object
		want string // what is left of gone and lost, without the common prefix
		// schedulable says that the cordon, which the node has, was lifted.
		schedulable bool
	}{
		{name: "nothing", want: ""},
		{name: "only of those that exist", records: map[string]record.Node{"demo": cordons}},
		{name: "what is installed stays recorded", records: map[string]record.Node{"gone": working}, want: "nodeState_gone"},
		{name: "nothing is installed", records: map[string]record.Node{"gone": empty}},
		{name: "two of them", records: map[string]record.Node{"gone": working, "lost": empty}, want: "nodeState_gone"},
		{name: "the cordon goes with them", records: map[string]record.Node{"gone": cordons}, want: "nodeState_gone", schedulable: true},
		{name: "two cordons", records: map[string]record.Node{"gone": cordons, "lost": cordons}, want: "nodeState_gone nodeState_lost", schedulable: true},
		{name: "another holds the node", records: map[string]record.Node{"gone": cordons, "demo": cordons}, want: "nodeState_gone"},
		{name: "a person cordoned the node", records: map[string]record.Node{"gone": working}, want: "nodeState_gone"},
		{
			name: "its pods are still there", records: map[string]record.Node{"gone": cordons}, pod: true,
			want: "cordon_gone nodeState_gone permit_gone status_gone status_gone(label)",
		},
		{
			name: "its pods are still there, those of another are not", records: map[string]record.Node{"gone": cordons, "lost": cordons}, pod: true,
			want: "cordon_gone nodeState_gone nodeState_lost permit_gone status_gone status_gone(label)",
		},
		{
			name: "the cache has yet to show it", records: map[string]record.Node{"gone": cordons}, live: []client.Object{newSkyhook("gone")},
			want: "cordon_gone nodeState_gone permit_gone status_gone status_gone(label)",
		},
		{
			name: "unreadable states stay", records: map[string]record.Node{"gone": cordons},
			change: func(n *corev1.Node) { n.Annotations[v1alpha1.GroupName+"/nodeState_gone"] = "{" }, want: "nodeState_gone", schedulable: true,
		},
		{
			name: "a label alone", change: func(n *corev1.Node) { n.Labels[v1alpha1.GroupName+"/status_gone"] = "complete" },
		},
		{
			name: "the mark of the taint is nobody's record", records: map[string]record.Node{v1alpha1.GroupName: empty},
			change: func(n *corev1.Node) { n.Annotations[v1alpha1.GroupName+"/autoTaint_"+v1alpha1.GroupName] = "true" },
			want:   "autoTaint_" + v1alpha1.GroupName,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := newNode()
			n.Spec.Unschedulable = true
			for name, r := range c.records {
				remember(t, n, name, r)
			}
			if c.change != nil {
				c.change(n)
			}
			objects := []client.Object{n}
			if c.pod {
				objects = append(objects, podOf(t, newSkyhook("gone")))
			}
			w := newWorld(t, objects...)
			w.Live = newWorld(t, c.live...).Client
			p := w.pass(newSkyhook("demo"))
			p.survey()
			w.must(p.writeNode(t.Context()))
			now := w.node()
			if got := left(now, "demo"); got != c.want || now.Spec.Unschedulable == c.schedulable {
				t.Errorf("left is %q, want %q; unschedulable: %t", got, c.want, now.Spec.Unschedulable)
			}
			if _, demo := c.records["demo"]; demo && now.Annotations[v1alpha1.GroupName+"/cordon_demo"] != "true" {
				t.Errorf("the record of demo changed: %v", now.Annotations)
			}
			if now.Annotations["theirs"] != "x" || now.Labels["gpu"] != "1" {
				t.Errorf("others' metadata: %v %v", now.Annotations, now.Labels)
			}
		})
	}
}

// left lists our annotations and labels on a node, but for those of one Skyhook.
func left(n *corev1.Node, but string) string {
	var keys []string
	for _, k := range slices.Sorted(maps.Keys(n.Annotations)) {
		if name, ours := strings.CutPrefix(k, v1alpha1.GroupName+"/"); ours && !strings.HasSuffix(k, "_"+but) {
			keys = append(keys, name)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(n.Labels)) {
		if name, ours := strings.CutPrefix(k, v1alpha1.GroupName+"/"); ours && !strings.HasSuffix(k, "_"+but) {
			keys = append(keys, name+"(label)")
		}
	}
	return strings.Join(keys, " ")
}

// TestOrphansWithoutAnAnswer: when nobody can tell whether a Skyhook exists, what it left stays.
func TestOrphansWithoutAnAnswer(t *testing.T) {
	n := newNode()
	remember(t, n, "gone", entry(v1alpha1.StageApply, v1alpha1.StateInProgress))
	w := newWorld(t, n)
	cause := apierrors.NewServiceUnavailable("away")
	w.Live = reader{err: cause}
	p := w.pass()
	w.must(p.writeNode(t.Context()))
	if err := errors.Join(p.errs...); !errors.Is(err, cause) || !strings.Contains(err.Error(), "get Skyhook gone") ||
		strings.Contains(strings.Join(w.bodies, ""), "annotations") {
		t.Errorf("error %v, patches %q", err, w.bodies)
	}
}

// TestOrphansAreAskedForOnce: what is left for good, the states, costs no question.
func TestOrphansAreAskedForOnce(t *testing.T) {
	n := newNode()
	remember(t, n, "gone", entry(v1alpha1.StageApply, v1alpha1.StateInProgress))
	w := newWorld(t, n)
	w.must(w.pass().writeNode(t.Context()))
	w.Live = reader{err: errors.New("asked")}
	w.must(w.pass().writeNode(t.Context()))
	if len(w.bodies) != 1 {
		t.Errorf("patches %q", w.bodies)
	}
}

// TestOrphanConditionsGo: conditions of a Skyhook that is gone leave with the next write of conditions.
func TestOrphanConditionsGo(t *testing.T) {
	n := newNode()
	remember(t, n, "gone", entry(v1alpha1.StageApply, v1alpha1.StateInProgress))
	w := newWorld(t, n)
	p := w.pass(newSkyhook("demo"))
	if got := p.conditions(); len(got) != 0 || sameConditions(p.node.Status.Conditions, got) {
		t.Errorf("the node should have %v", got)
	}
}
