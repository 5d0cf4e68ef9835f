package skyhook

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/metrics"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/rollout"
)

// measured is a world with metrics: Ready nodes n1 and n2 of Skyhook demo.
type measured struct{ *world }

func newMeasured(t *testing.T) *measured {
	t.Helper()
	w := newPast(t).world
	w.Metrics = metrics.NewStore(w.clock, "v1")
	return &measured{w}
}

// series are the gauges and counters with values, and of histograms the sums and counts; those of Skyhooks that are not 0.
func (w *measured) series() map[string]float64 {
	w.t.Helper()
	registry := prometheus.NewPedanticRegistry()
	w.must(registry.Register(w.Metrics))
	families, err := registry.Gather()
	w.must(err)
	all := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				if l.GetName() != "skyhook_name" {
					labels = append(labels, l.GetValue())
				}
			}
			name := strings.TrimSpace(strings.TrimPrefix(f.GetName(), "skyhook_") + " " + strings.Join(labels, " "))
			if h := m.GetHistogram(); h != nil {
				all[name+" sum"], all[name+" count"] = h.GetSampleSum(), float64(h.GetSampleCount())
			} else if value := m.GetGauge().GetValue() + m.GetCounter().GetValue(); value != 0 {
				all[name] = value
			}
		}
	}
	delete(all, "build_info v1")
	return all
}

// pass lets the Skyhook be planned a minute later, and returns the values of the named series, such as "status", each with
// its labels.
func (w *measured) pass(names ...string) string {
	w.t.Helper()
	w.clock.SetTime(w.clock.Now().Add(time.Minute))
	if _, err := w.Reconcile(w.t.Context(), request("demo")); err != nil {
		w.t.Fatal(err)
	}
	return w.values(names...)
}

func (w *measured) values(names ...string) string {
	w.t.Helper()
	var list []string
	for series, value := range w.series() {
		name, labels, _ := strings.Cut(series, " ")
		if slices.Contains(names, name) {
			list = append(list, strings.TrimSpace(name+" "+labels)+fmt.Sprintf("=%v", value))
		}
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// entry is such as "a 1.0.0 config complete".
func (w *measured) entry(text string) record.Entry {
	w.t.Helper()
	e := record.Entry{Config: map[string]string{}}
	if _, err := fmt.Sscan(text+" 0", &e.Name, &e.Version, &e.Stage, &e.State, &e.Restarts); err != nil {
		w.t.Fatal(err)
	}
	if e.Image = "x/" + e.Name; e.State == v1alpha1.StateErroring {
		e.Reason = "StageTimeout"
	}
	return e
}

// has puts a record on a node; with an entry that is complete it gives its permit back.
func (w *measured) has(node, entry string) {
	w.t.Helper()
	n, r := w.node(node), record.Node{Packages: map[string]record.Entry{}}
	if entry != "" {
		e := w.entry(entry)
		r.Packages[e.Key()] = e
	}
	if s := w.skyhook("demo"); strings.HasSuffix(entry, "complete") {
		for _, p := range s.Status.Permits {
			if p.Node == node {
				r.FinishedPermit = p.Token()
			}
		}
	}
	n.Annotations = map[string]string{}
	remember(w.t, n, "demo", r)
	w.must(w.Client.Update(w.t.Context(), n))
}

func (w *measured) node(name string) *corev1.Node {
	w.t.Helper()
	var n corev1.Node
	w.must(w.Client.Get(w.t.Context(), client.ObjectKey{Name: name}, &n))
	return &n
}

// TestMetrics follows the series of a Skyhook through its life.
func TestMetrics(t *testing.T) {
	w := newMeasured(t)
	check := func(what, got, want string) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	packages := []string{"package_state_count", "package_stage_count", "package_restarts_count"}
	nodes := []string{"status", "node_status_count", "node_target_count", "permits", "rollout_progress_ratio"}

	check("it begins", w.pass(append(nodes, packages...)...),
		"node_status_count in_progress=2, node_target_count=2, permits=2, status in_progress=1")
	check("its compartment", w.values("rollout_matched_nodes", "rollout_ceiling", "rollout_in_progress", "budget_nodes"),
		"budget_nodes=2, rollout_ceiling __default__ legacy fixed=2, rollout_in_progress __default__ legacy fixed=2, "+
			"rollout_matched_nodes __default__ legacy fixed=2")

	w.has("n1", "a 1.0.0 apply in_progress")
	w.has("n2", "a 1.0.0 config complete")
	check("one node has it", w.pass(append(nodes, packages...)...),
		"node_status_count complete=1, node_status_count in_progress=1, node_target_count=2, "+
			"package_stage_count a 1.0.0 apply=1, package_stage_count a 1.0.0 config=1, "+
			"package_state_count a 1.0.0 complete=1, package_state_count a 1.0.0 in_progress=1, "+
			"permits=1, rollout_progress_ratio=0.5, status in_progress=1")
	check("how long that took", w.values("permit_to_complete_seconds"),
		"permit_to_complete_seconds count=1, permit_to_complete_seconds sum=60")

	check("the other should be complete by now", w.values("rollout_estimated_end_timestamp_seconds"),
		fmt.Sprintf("rollout_estimated_end_timestamp_seconds=%v", float64(w.clock.Now().Unix())))

	w.has("n1", "a 1.0.0 apply erroring 3")
	check("the other fails", w.pass("status", "package_restarts_count", "package_state_count", "failing_nodes", "node_status_count"),
		"failing_nodes StageTimeout=1, node_status_count complete=1, node_status_count erroring=1, package_restarts_count a 1.0.0=3, "+
			"package_state_count a 1.0.0 complete=1, package_state_count a 1.0.0 erroring=1, status erroring=1")

	w.has("n1", "a 1.0.0 config complete")
	check("everything is complete",
		w.pass("status", "failing_nodes", "package_restarts_count", "permits", "condition", "rollout_estimated_end_timestamp_seconds"),
		"condition Ready=1, status complete=1")

	s := w.skyhook("demo")
	s.Generation, s.Spec.Packages = 2, map[string]v1alpha1.Package{"a": {Version: "2.0.0", Image: "x/a"}}
	w.must(w.Client.Update(t.Context(), s))
	w.has("n1", "a 2.0.0 upgrade in_progress")
	check("an upgrade", w.pass("status", "package_state_count"),
		"package_state_count a 1.0.0 complete=1, package_state_count a 2.0.0 in_progress=1, status in_progress=1")
	w.has("n1", "a 2.0.0 config complete")
	w.has("n2", "a 2.0.0 config complete")
	check("nothing is left of what it was upgraded from", w.pass("status", "package_state_count"),
		"package_state_count a 2.0.0 complete=2, status complete=1")

	s = w.skyhook("demo")
	s.Generation, s.Spec.Packages = 3, map[string]v1alpha1.Package{}
	w.must(w.Client.Update(t.Context(), s))
	w.has("n1", "a 2.0.0 uninstall in_progress")
	w.has("n2", "")
	check("an uninstall", w.pass("package_stage_count"), "package_stage_count a 2.0.0 uninstall=1")
	w.has("n1", "")
	check("which is over", w.pass("package_stage_count", "package_state_count"), "")

	w.has("n1", "a 2.0.0 uninstall in_progress")
	w.must(w.Client.Delete(t.Context(), w.skyhook("demo")))
	check("a deletion", w.pass("package_stage_count", "node_target_count"), "node_target_count=2, package_stage_count a 2.0.0 uninstall=1")
	for _, name := range []string{"n1", "n2"} {
		n := w.node(name)
		n.Annotations, n.Labels = map[string]string{}, map[string]string{"pool": "gpu"}
		w.must(w.Client.Update(t.Context(), n))
	}
	w.pass()
	if left := w.series(); len(left) > 0 {
		t.Errorf("of a Skyhook that is gone there are %v", left)
	}
}

// TestMetricsOfOneWithoutFinalizer: the operator's may be removed by force, while the operator is away or not. The Skyhook
// is gone then, or others keep it: nothing is planned any more, so what was seen last is old.
func TestMetricsOfOneWithoutFinalizer(t *testing.T) {
	for name, others := range map[string][]string{"gone": nil, "others keep it": {"example.com/other"}} {
		t.Run(name, func(t *testing.T) {
			w := newMeasured(t)
			w.pass()
			s := w.skyhook("demo")
			s.Finalizers = others
			w.must(w.Client.Update(t.Context(), s))
			w.must(w.Client.Delete(t.Context(), s))
			w.pass()
			if left := w.series(); len(left) > 0 {
				t.Errorf("there are %v", left)
			}
		})
	}
}

// TestMetricsOfAnother: one that is deleted by force and created again at once may never be seen to be gone.
func TestMetricsOfAnother(t *testing.T) {
	w := newMeasured(t)
	n := w.node("n2")
	metav1.SetMetaDataAnnotation(&n.ObjectMeta, v1alpha1.AnnotationCordonPrefix+"demo", "true")
	w.must(w.Client.Update(t.Context(), n))
	w.pass()
	w.Metrics.StageTook(w.skyhook("demo"), "old", v1alpha1.StageApply, time.Second)
	w.Metrics.DrainTook(w.skyhook("demo"), time.Second)
	s := w.skyhook("demo")
	s.Finalizers = nil
	w.must(w.Client.Update(t.Context(), s))
	w.must(w.Client.Delete(t.Context(), s))
	again := newSkyhook("demo")
	again.UID = "another"
	w.must(w.Client.Create(t.Context(), again))
	got := w.pass("cordoned_nodes", "cordoned_node_seconds_total", "stage_duration_seconds", "drain_duration_seconds")
	if want := "cordoned_nodes=1, drain_duration_seconds count=0, drain_duration_seconds sum=0"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestMetricsOfWhatWasNotWritten: a plan that the API server refuses changes nothing.
func TestMetricsOfWhatWasNotWritten(t *testing.T) {
	w := newMeasured(t)
	w.refuse = func(request string, _ client.Object) error {
		if request == "patch status Skyhook demo" {
			return errors.New("refused")
		}
		return nil
	}
	w.clock.SetTime(start.Add(time.Minute))
	if _, err := w.Reconcile(t.Context(), request("demo")); err == nil {
		t.Fatal("the status is written")
	}
	if all := w.series(); len(all) > 0 {
		t.Errorf("there are %v", all)
	}

	for range 5 {
		w.clock.SetTime(w.clock.Now().Add(time.Minute))
		_, _ = w.Reconcile(t.Context(), request("demo"))
	}
	if got := w.values("plan_failing"); got != "plan_failing=1" {
		t.Errorf("after failing again and again: %q", got)
	}
	w.refuse = nil
	if got := w.pass("plan_failing", "permits"); got != "permits=2" {
		t.Errorf("after it: %q", got)
	}
}

// TestCordonedNodes counts those of which the record cannot be read, and that are no longer selected, as well.
func TestCordonedNodes(t *testing.T) {
	w := newMeasured(t)
	w.pass()
	for name, change := range map[string]func(n *corev1.Node){
		"n1": func(n *corev1.Node) { n.Annotations[v1alpha1.AnnotationNodeStatePrefix+"demo"] = "{" },
		"n2": func(n *corev1.Node) { n.Labels = nil; n.Status.Conditions = nil },
	} {
		n := w.node(name)
		metav1.SetMetaDataAnnotation(&n.ObjectMeta, v1alpha1.AnnotationCordonPrefix+"demo", "true")
		change(n)
		w.must(w.Client.Update(t.Context(), n))
	}
	if got, want := w.pass("cordoned_nodes", "unavailable_nodes"), "cordoned_nodes=2"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	w.clock.SetTime(w.clock.Now().Add(30 * time.Second))
	if got, want := w.values("cordoned_node_seconds_total"), "cordoned_node_seconds_total=60"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestCordonedWithoutPermit: a node whose record cannot be read gives its permit back and stays cordoned, also once the
// Skyhook does not select it any more, until its pods there have ended.
func TestCordonedWithoutPermit(t *testing.T) {
	w := newMeasured(t)
	n := w.node("n2")
	n.Labels, n.Annotations = nil, map[string]string{v1alpha1.AnnotationCordonPrefix + "demo": "true"}
	w.must(w.Client.Update(t.Context(), n))
	if got, want := w.pass("cordoned_nodes"), "cordoned_nodes=1"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	n = w.node("n2")
	n.Annotations = nil
	w.must(w.Client.Update(t.Context(), n))
	if got := w.pass("cordoned_nodes"); got != "" {
		t.Errorf("%s, want none", got)
	}
}

// TestNodesInProgressThatWait: a node that is drained holds a permit, so it is in progress; what holds its drain counts all
// the same, and since when, which a restart of the operator does not change.
func TestNodesInProgressThatWait(t *testing.T) {
	w := newMeasured(t)
	w.pass()
	since := start.Add(-time.Hour)
	for name, waits := range map[string]time.Time{"n1": since, "n2": since.Add(time.Minute)} {
		n := w.node(name)
		n.Annotations = map[string]string{}
		remember(t, n, "demo", record.Node{Wait: &record.Wait{
			Reason: v1alpha1.ReasonProtectedPod, Since: metav1.NewTime(waits), Frees: record.FreesOther,
		}})
		w.must(w.Client.Update(t.Context(), n))
	}
	of := []string{"waiting_nodes", "oldest_wait_timestamp_seconds", "node_status_count"}
	want := fmt.Sprintf("node_status_count in_progress=2, oldest_wait_timestamp_seconds ProtectedPod=%v, waiting_nodes ProtectedPod=2",
		float64(since.Unix()))
	if got := w.pass(of...); got != want {
		t.Errorf("%s, want %s", got, want)
	}

	n := w.node("n2")
	n.Annotations = map[string]string{}
	remember(t, n, "demo", record.Node{Wait: &record.Wait{
		Reason: v1alpha1.ReasonDrainTimeout, Since: metav1.NewTime(since), Frees: record.FreesOther, Overdue: true,
	}})
	w.must(w.Client.Update(t.Context(), n))
	want = strings.ReplaceAll("failing_nodes DrainTimeout=1, node_status_count erroring=1, node_status_count in_progress=1, "+
		"oldest_wait_timestamp_seconds DrainTimeout=SINCE, oldest_wait_timestamp_seconds ProtectedPod=SINCE, waiting_nodes ProtectedPod=1",
		"SINCE", fmt.Sprint(float64(since.Unix())))
	if got := w.pass(append(of, "failing_nodes")...); got != want {
		t.Errorf("with one that waits for too long: %s, want %s", got, want)
	}

	s := w.skyhook("demo")
	s.Annotations = map[string]string{v1alpha1.AnnotationPause: "true"}
	w.must(w.Client.Update(t.Context(), s))
	if got, want := w.pass(of...), "node_status_count paused=2, waiting_nodes Paused=2"; got != want {
		t.Errorf("while it is paused: %s, want %s", got, want)
	}
}

func TestSpeed(t *testing.T) {
	permit := func(node string, round int32, revoked bool) v1alpha1.Permit {
		return v1alpha1.Permit{Node: node, Generation: 1, Round: round, Revoked: revoked}
	}
	type list = []v1alpha1.Permit
	nodes := []rollout.Node{{Name: "done"}, {Name: "open"}, {Name: "other"}}
	nodes[0].Facts.Complete = true
	for _, c := range []struct {
		name string
		// statuses one after another, a minute each.
		statuses []list
		want     []time.Duration
	}{
		{"granted and given back", []list{nil, {permit("done", 0, false)}, nil}, []time.Duration{time.Minute}},
		{"it stays for a while", []list{nil, {permit("done", 0, false)}, {permit("done", 0, false)}, nil}, []time.Duration{2 * time.Minute}},
		{"a mark does not end it", []list{nil, {permit("done", 0, false)}, {permit("done", 0, true)}, nil}, []time.Duration{2 * time.Minute}},
		{
			"another round begins anew",
			[]list{nil, {permit("done", 0, false)}, {permit("other", 0, false)}, {permit("done", 1, false)}, nil},
			[]time.Duration{time.Minute, time.Minute},
		},
		{"of a node that is not complete", []list{nil, {permit("open", 0, false)}, nil}, nil},
		{"of a node that is gone", []list{nil, {permit("gone", 0, false)}, nil}, nil},
		{"granted by an earlier process", []list{{permit("done", 0, false)}, {permit("done", 0, false)}, nil}, nil},
		{"granted by an earlier process, beside others", []list{
			{permit("done", 0, false)}, {permit("done", 0, false), permit("other", 0, false)}, nil,
		}, nil},
	} {
		var p speed
		var got []time.Duration
		for i := 1; i < len(c.statuses); i++ {
			got = append(got, p.see(c.statuses[i-1], c.statuses[i], nodes, start.Add(time.Duration(i)*time.Minute))...)
		}
		if diff := cmp.Diff(c.want, got); diff != "" || len(p.since) > 0 {
			t.Errorf("%s: left %v (-want +got):\n%s", c.name, p.since, diff)
		}
	}
}

// TestNoEndWhilePaused: nodes keep their permits, and nobody knows when they continue.
func TestNoEndWhilePaused(t *testing.T) {
	w := newMeasured(t)
	const end = "rollout_estimated_end_timestamp_seconds"
	w.pass()
	w.has("n1", "a 1.0.0 apply in_progress")
	w.has("n2", "a 1.0.0 config complete")
	if got := w.pass(end); got == "" {
		t.Fatal("nobody knows the end of a rollout of which a node is complete")
	}
	s := w.skyhook("demo")
	metav1.SetMetaDataAnnotation(&s.ObjectMeta, v1alpha1.AnnotationPause, "true")
	w.must(w.Client.Update(t.Context(), s))
	if got, want := w.pass(end, "permits", "status"), "permits=1, status paused=1"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	s = w.skyhook("demo")
	s.Annotations = nil
	w.must(w.Client.Update(t.Context(), s))
	if got := w.pass(end); got == "" {
		t.Error("nobody knows the end of a rollout that continues")
	}
}

func TestEstimatedEnd(t *testing.T) {
	permit := func(node string) v1alpha1.Permit { return v1alpha1.Permit{Node: node} }
	for _, c := range []struct {
		name   string
		speed  speed
		rounds int
		want   time.Duration // 0 for nobody knows
	}{
		{"nothing was measured", speed{}, 3, 0},
		{"nothing is left", speed{nodes: 1, took: time.Minute}, 0, 0},
		{"three rounds", speed{nodes: 2, took: 4 * time.Minute}, 3, 6 * time.Minute},
		{"one of which has begun", speed{
			nodes: 2, took: 4 * time.Minute,
			since: map[v1alpha1.Permit]time.Time{permit("a"): start.Add(-time.Minute), permit("b"): start},
		}, 3, 5*time.Minute + 30*time.Second},
		{"which takes longer than usual", speed{
			nodes: 1, took: 2 * time.Minute, since: map[v1alpha1.Permit]time.Time{permit("a"): start.Add(-time.Hour)},
		}, 2, 2 * time.Minute},
	} {
		got := c.speed.end(c.rounds, start)
		if want := start.Add(c.want); c.want == 0 && !got.IsZero() || c.want > 0 && !got.Equal(want) {
			t.Errorf("%s: %s, want %s", c.name, got, want)
		}
	}
}
