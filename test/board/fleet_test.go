//go:build integration

package board

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// Nodes are made of these. A capital letter stands for a node of compartment edge.
var letters = map[rune]v1alpha1.Status{
	'c': v1alpha1.StatusComplete, 'p': v1alpha1.StatusInProgress, 'e': v1alpha1.StatusErroring, 'w': v1alpha1.StatusWaiting,
	'b': v1alpha1.StatusBlocked,
}

// markup is what a script may print: it must stay a text.
const markup = `no such sysctl <img src=x onerror="document.title='broken'"><b>bold</b>`

// fleet is a Skyhook with nodes as the operator would have left them.
type fleet struct {
	t       *testing.T
	c       cluster
	skyhook *v1alpha1.Skyhook
	nodes   []*corev1.Node
	status  map[string]v1alpha1.Status
	begun   time.Time
	// message is what the script that fails prints.
	message string
	// stopped says that a bad batch stopped compartment edge.
	stopped bool
}

// put makes a Skyhook with a node for each letter.
func put(t *testing.T, c cluster, name, letters string) *fleet {
	t.Helper()
	return putWith(t, c, name, letters, "no such sysctl")
}

// putWith is put for nodes on which a script prints a message.
func putWith(t *testing.T, c cluster, name, letters, message string) *fleet {
	t.Helper()
	f := &fleet{
		t: t, c: c, message: "tuning-apply exited with 2: " + message, status: map[string]v1alpha1.Status{},
		begun: time.Now().Add(-6 * time.Minute).Truncate(time.Second),
	}
	edge := metav1.LabelSelector{MatchLabels: map[string]string{"site": "edge"}}
	three := 3
	budget := v1alpha1.Budget{Count: &three}
	f.create(&v1alpha1.DeploymentPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.DeploymentPolicySpec{
			Default:      v1alpha1.PolicyDefault{Budget: budget, Strategy: v1alpha1.Strategy{Fixed: &v1alpha1.FixedStrategy{}}},
			Compartments: []v1alpha1.Compartment{{Name: "edge", Selector: edge, Budget: budget}},
		},
	})
	f.skyhook = &v1alpha1.Skyhook{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.SkyhookSpec{
			NodeSelectors: metav1.LabelSelector{MatchLabels: map[string]string{"pool": name}}, DeploymentPolicy: name,
			Packages: map[string]v1alpha1.Package{
				"driver": {Version: "1.0.0", Image: "registry.example/driver", Interrupt: &v1alpha1.Interrupt{Type: v1alpha1.InterruptReboot}},
				"tuning": {Version: "2.1.0", Image: "registry.example/tuning"},
			},
		},
	}
	f.create(f.skyhook)
	f.populate(letters)
	f.sync()
	return f
}

func (f *fleet) create(o client.Object) {
	f.t.Helper()
	if err := f.c.Create(f.t.Context(), o); err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { _ = f.c.Delete(context.Background(), o, client.GracePeriodSeconds(0)) })
}

// populate creates the nodes, many at a time: an API server writes each to its disk.
func (f *fleet) populate(of string) {
	f.t.Helper()
	for i, letter := range of {
		lower := unicode.ToLower(letter)
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("%s-%04d", f.skyhook.Name, i+1), Labels: map[string]string{"pool": f.skyhook.Name},
		}}
		if lower != letter {
			n.Labels["site"] = "edge"
		}
		n.Status.NodeInfo.BootID = "boot"
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		f.mark(n, letters[lower])
		f.nodes = append(f.nodes, n)
	}
	queue, failed := make(chan *corev1.Node), make(chan error, len(f.nodes))
	var workers sync.WaitGroup
	for range 32 {
		workers.Go(func() {
			for n := range queue {
				failed <- f.join(n)
			}
		})
	}
	for _, n := range f.nodes {
		queue <- n
	}
	close(queue)
	workers.Wait()
	f.t.Cleanup(func() {
		_ = f.c.DeleteAllOf(context.Background(), &corev1.Node{}, client.MatchingLabels{"pool": f.skyhook.Name})
	})
	for range f.nodes {
		if err := <-failed; err != nil {
			f.t.Fatal(err)
		}
	}
}

// join creates a node with its status.
func (f *fleet) join(n *corev1.Node) error {
	status := n.Status.DeepCopy()
	if err := f.c.Create(f.t.Context(), n); err != nil {
		return err
	}
	n.Status = *status
	return f.c.Status().Update(f.t.Context(), n)
}

// mark gives a node the record of a status.
func (f *fleet) mark(n *corev1.Node, status v1alpha1.Status) {
	f.t.Helper()
	since := metav1.NewTime(f.begun)
	driver := record.Entry{
		Name: "driver", Version: "1.0.0", Image: "registry.example/driver", Stage: v1alpha1.StagePostInterrupt,
		State: v1alpha1.StateComplete, Since: since,
	}
	tuning := record.Entry{
		Name: "tuning", Version: "2.1.0", Image: "registry.example/tuning", Stage: v1alpha1.StageConfig,
		State: v1alpha1.StateComplete, Since: since,
	}
	r := record.Node{Status: status, Packages: map[string]record.Entry{driver.Key(): driver}}
	switch status {
	case v1alpha1.StatusComplete:
		r.Packages[tuning.Key()] = tuning
	case v1alpha1.StatusInProgress:
		tuning.Stage, tuning.State = v1alpha1.StageApply, v1alpha1.StateInProgress
		r.Packages[tuning.Key()] = tuning
	case v1alpha1.StatusErroring:
		tuning.Stage, tuning.State, tuning.Restarts = v1alpha1.StageApply, v1alpha1.StateErroring, 3
		tuning.Reason, tuning.Message = "StepFailed", f.message
		r.Packages[tuning.Key()] = tuning
	case v1alpha1.StatusBlocked:
		r.Wait = &record.Wait{Reason: v1alpha1.ReasonTaintNotTolerable, Message: "taint example.com/broken is not tolerated", Since: since}
	default:
		r.Packages = nil
	}
	p, err := record.Write(f.skyhook.Name, r, n.Annotations, n.Labels)
	if err != nil {
		f.t.Fatal(err)
	}
	n.Annotations, n.Labels = merged(n.Annotations, p.Annotations), merged(n.Labels, p.Labels)
	f.status[n.Name] = status
}

func merged(have map[string]string, patch map[string]*string) map[string]string {
	out := map[string]string{}
	for key, value := range have {
		out[key] = value
	}
	for key, value := range patch {
		delete(out, key)
		if value != nil {
			out[key] = *value
		}
	}
	return out
}

// becomes changes a node's record in the API server, as the operator does.
func (f *fleet) becomes(i int, status v1alpha1.Status) {
	f.t.Helper()
	n := f.nodes[i]
	before := client.MergeFrom(n.DeepCopy())
	f.mark(n, status)
	if err := f.c.Patch(f.t.Context(), n, before); err != nil {
		f.t.Fatal(err)
	}
}

// sync writes the status of the Skyhook that follows from its nodes.
func (f *fleet) sync() {
	f.t.Helper()
	st := v1alpha1.SkyhookStatus{ObservedGeneration: f.skyhook.Generation, CompartmentStatuses: map[string]v1alpha1.CompartmentStatus{
		"__default__": {Ceiling: 3, Strategy: "fixed", BatchState: &v1alpha1.BatchState{CurrentBatch: 4}},
		"edge":        {Ceiling: 3, Strategy: "fixed", BatchState: &v1alpha1.BatchState{CurrentBatch: 2, ShouldStop: f.stopped}},
	}}
	for i, n := range f.nodes {
		f.count(&st, i, n)
	}
	st.CompleteNodes = fmt.Sprintf("%d/%d", st.Nodes.Complete, st.Nodes.Total)
	if st.Nodes.Waiting > 0 {
		st.Waiting = []v1alpha1.WaitingNodes{{
			Reason: v1alpha1.ReasonWaitingForPermit, Nodes: st.Nodes.Waiting, Message: "the budget allows 3 nodes at a time",
		}}
	}
	switch n := st.Nodes; {
	case n.Erroring > 0:
		st.Status = v1alpha1.StatusErroring
	case n.Complete == n.Total:
		st.Status = v1alpha1.StatusComplete
	default:
		st.Status = v1alpha1.StatusInProgress
	}
	f.skyhook.Status = st
	if err := f.c.Status().Update(f.t.Context(), f.skyhook); err != nil {
		f.t.Fatal(err)
	}
}

// count adds a node to the status.
func (f *fleet) count(st *v1alpha1.SkyhookStatus, order int, n *corev1.Node) {
	compartment := "__default__"
	if n.Labels["site"] == "edge" {
		compartment = "edge"
	}
	c := st.CompartmentStatuses[compartment]
	c.Matched++
	st.Nodes.Total++
	permit := v1alpha1.Permit{Node: n.Name, Order: int32(order), Generation: f.skyhook.Generation}
	switch f.status[n.Name] {
	case v1alpha1.StatusComplete:
		c.Completed++
		st.Nodes.Complete++
	case v1alpha1.StatusInProgress:
		c.InProgress++
		st.Nodes.InProgress++
		st.Permits = append(st.Permits, permit)
	case v1alpha1.StatusErroring:
		c.Erroring++
		st.Nodes.Erroring++
		st.Attention = append(st.Attention, v1alpha1.NodeAttention{
			Node: n.Name, Status: v1alpha1.StatusErroring, Reason: "StepFailed", Message: f.message,
			Since: metav1.NewTime(f.begun),
		})
	case v1alpha1.StatusBlocked:
		st.Nodes.Blocked++
	default:
		st.Nodes.Waiting++
	}
	c.ProgressPercent = 100 * c.Completed / c.Matched
	st.CompartmentStatuses[compartment] = c
}
