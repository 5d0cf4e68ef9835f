package cli

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/situation"
	"github.com/skyhook-operator/skyhook/test/faults"
)

var (
	agreeWorlds = flag.Int("agree.n", 20, "in how many worlds all that shows a node is compared")
	agreeFirst  = flag.Uint64("agree.seed", 1, "the seed of the first of them")
)

// agreeShare is how many worlds are told of at once.
const agreeShare = 50

// TestEverythingAgrees: whoever asks for the status of a node, or why it does not progress, gets one answer: from its
// label and its record, the status of the Skyhook, node status, why, the board and the metrics. It asks whenever a world
// has come to rest: until then, those that are written lag behind by a pass.
func TestEverythingAgrees(t *testing.T) {
	ctrl.SetLogger(logr.Discard())
	start, last := time.Now(), *agreeFirst+uint64(*agreeWorlds)
	var worlds, rests, compared, differences atomic.Int64
	t.Cleanup(func() {
		t.Logf("%d worlds came to rest %d times: %d comparisons, %d differences, in %s", worlds.Load(), rests.Load(),
			compared.Load(), differences.Load(), time.Since(start).Round(time.Millisecond))
		if compared.Load() == 0 {
			t.Error("nothing was compared")
		}
	})
	for from := *agreeFirst; from < last; from += agreeShare {
		to := min(from+agreeShare, last)
		t.Run(fmt.Sprintf("worlds %d to %d", from, to-1), func(t *testing.T) {
			t.Parallel()
			a := &agreement{t: t}
			for a.seed = from; a.seed < to; a.seed++ {
				faults.Rests(faults.Generate(a.seed), func(r *faults.Rest) {
					rests.Add(1)
					a.look(r)
				})
			}
			worlds.Add(int64(to - from))
			compared.Add(a.compared)
			differences.Add(a.differences)
			t.Logf("%d of %d worlds, %d differences so far, after %s", worlds.Load(), *agreeWorlds, differences.Load(),
				time.Since(start).Round(time.Second))
		})
	}
}

// agreement counts what was compared, and what differs.
type agreement struct {
	t                     *testing.T
	seed                  uint64
	compared, differences int64
}

// asked is a world at rest, and all that shows its nodes.
type asked struct {
	*agreement
	rest    *faults.Rest
	explain explainer
	now     *sight
	after   *outlook
	series  map[string]int
}

func (a *agreement) look(r *faults.Rest) {
	a.t.Helper()
	v := &view{Snapshot: r.Snapshot, options: r.Settings}
	f, err := v.decided(r.Now, "")
	if err != nil {
		a.t.Fatal(err)
	}
	w := asked{
		agreement: a, rest: r, now: sightOf(v.options, &v.Snapshot), after: v.after(f), series: seriesOf(a.t, r),
		explain: explainer{target{namespace: r.Settings.Workload.Namespace}},
	}
	for i := range r.Skyhooks {
		w.skyhook(&r.Skyhooks[i])
	}
}

func (w *asked) same(sk *v1alpha1.Skyhook, about, what string, got, want any) {
	w.t.Helper()
	w.compared++
	if got != want {
		w.differences++
		w.t.Errorf("seed %d, %s: %s of %s says %v, but it is %v%s", w.seed, w.rest.Phase, what, sk.Name, got, want, about)
	}
}

// skyhook compares what is said of the nodes of a Skyhook, and counts them.
func (w *asked) skyhook(sk *v1alpha1.Skyhook) {
	w.t.Helper()
	statuses, waiting, complete := map[v1alpha1.Status]int{}, map[string]int{}, 0
	for i := range w.rest.Nodes {
		n := &w.rest.Nodes[i]
		if !selects(sk, n) {
			continue
		}
		here, why, told := w.now.reason(sk.Name, n)
		status := here.Status()
		w.node(sk, n, &here, why)
		statuses[status]++
		if here.Facts.Complete {
			complete++
		} else if told && status != v1alpha1.StatusInProgress && status != v1alpha1.StatusErroring {
			waiting[why.Reason]++
		}
	}
	for _, status := range v1alpha1.Statuses() {
		counted := w.series["skyhook_node_status_count/"+sk.Name+"/"+string(status)]
		w.same(sk, "", "the metric of "+string(status), counted, statuses[status])
	}
	if all := w.series["skyhook_node_target_count/"+sk.Name]; all > 0 {
		ratio := w.series["skyhook_rollout_progress_ratio/"+sk.Name]
		w.same(sk, "", "the metric of progress", ratio, 100*complete/all)
	}
	for _, told := range sk.Status.Waiting {
		w.same(sk, "", "status.waiting for "+told.Reason, told.Nodes, waiting[told.Reason])
	}
	w.same(sk, fmt.Sprint(waiting), "status.waiting", len(sk.Status.Waiting), len(waiting))
}

// node compares what is said of one node.
func (w *asked) node(sk *v1alpha1.Skyhook, n *corev1.Node, here *situation.Situation, why record.Wait) {
	w.t.Helper()
	status, about := here.Status(), aboutNode(n, here)
	r, _ := record.Read(sk.Name, n.Annotations)
	if status != v1alpha1.StatusComplete || len(r.Packages) > 0 { // else nothing of it is there, and nothing speaks of it
		w.same(sk, about, "the label", n.Labels[v1alpha1.LabelStatusPrefix+sk.Name], string(status))
		w.same(sk, about, "the record", r.Status, status)
	}
	w.same(sk, about, "status.nodeStatus", sk.Status.NodeStatus[n.Name], status)
	w.same(sk, about, "node status", statusOf(w.now, &onNode{node: *n, skyhook: sk.Name, record: r}).Status, status)
	drawn := newPicture(sk).node(w.now, n)
	w.same(sk, about, "the board", drawn.Status, status)
	w.same(sk, about, "the board's reason", drawn.Reason, why.Reason)
	for _, told := range sk.Status.Attention {
		if told.Node == n.Name {
			w.same(sk, about, "status.attention", told.Status, status)
			w.same(sk, about, "the reason of status.attention", told.Reason, why.Reason)
		}
	}
	if why.Reason == "" {
		return
	}
	tells := func(c cause) bool { return c.Reason == why.Reason }
	told := slices.ContainsFunc(w.explain.waitsOf(w.now, n, sk.Name), tells)
	w.same(sk, about, "node status, told "+why.Reason, told, !r.Unreadable)
	decided := named(w.after.forecast.Skyhooks, sk.Name)
	if now := w.after.nodes[n.Name]; decided != nil && now != nil {
		w.same(sk, about, "what why goes by", w.after.status(sk.Name, now), status)
		told = slices.ContainsFunc(w.explain.onNode(w.after, decided, n), tells)
		w.same(sk, about, "why, told "+why.Reason, told, true)
	}
}

func aboutNode(n *corev1.Node, here *situation.Situation) string {
	var about strings.Builder
	fmt.Fprintf(&about, " on %s: %+v", n.Name, here.Facts)
	for what, of := range map[string]any{"hold": here.Hold, "all": here.All, "wait": here.Wait, "failure": here.Failure} {
		fmt.Fprintf(&about, "\n  %s %+v", what, of)
	}
	return fmt.Sprintf("%s\n  %v %v", about.String(), n.Annotations, n.Labels)
}

// seriesOf are the metrics of Skyhooks, by name, Skyhook and what else distinguishes them; ratios in percent.
func seriesOf(t *testing.T, r *faults.Rest) map[string]int {
	t.Helper()
	registry := prometheus.NewRegistry()
	if err := r.Metrics.Register(registry); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]int{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			key := []string{family.GetName(), ""}
			for _, l := range m.GetLabel() {
				if l.GetName() == "skyhook_name" {
					key[1] = l.GetValue()
				} else {
					key = append(key, l.GetValue())
				}
			}
			value := m.GetGauge().GetValue()
			if strings.HasSuffix(family.GetName(), "_ratio") {
				value *= 100
			}
			out[strings.Join(key, "/")] = int(value)
		}
	}
	return out
}
