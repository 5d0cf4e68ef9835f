package node

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/controller/state"
	"github.com/skyhook-operator/skyhook/internal/history"
	"github.com/skyhook-operator/skyhook/internal/metrics"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// ended lets the kubelet say that all of a pod's containers ended well, so long after it accepted the pod.
func ended(pod *corev1.Pod, took time.Duration) *corev1.Pod {
	began := metav1.NewTime(start.Add(-time.Hour))
	pod.Status.Phase, pod.Status.StartTime = corev1.PodSucceeded, &began
	for _, c := range pod.Spec.InitContainers {
		pod.Status.InitContainerStatuses = append(pod.Status.InitContainerStatuses, corev1.ContainerStatus{
			Name:  c.Name,
			State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{FinishedAt: metav1.NewTime(began.Add(took))}},
		})
	}
	return pod
}

func TestMeasureStage(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*corev1.Pod, *record.Entry)
		want   time.Duration
	}{
		{"as the kubelet tells", func(*corev1.Pod, *record.Entry) {}, 42 * time.Second},
		{"less than a second", func(p *corev1.Pod, _ *record.Entry) {
			p.Status.StartTime = &p.Status.InitContainerStatuses[2].State.Terminated.FinishedAt
		}, time.Second},
		{"after a failed attempt", func(p *corev1.Pod, _ *record.Entry) {
			p.Status.InitContainerStatuses[1].RestartCount = 1
		}, 0},
		{"after a failed attempt in an earlier pod", func(_ *corev1.Pod, e *record.Entry) { e.Restarts = 1 }, 0},
		{"without a begin", func(p *corev1.Pod, _ *record.Entry) { p.Status.StartTime = nil }, 0},
		{"without an end", func(p *corev1.Pod, _ *record.Entry) {
			p.Status.InitContainerStatuses[2].State.Terminated.FinishedAt = metav1.Time{}
		}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, n := newSkyhook("demo"), newNode()
			pod := ended(podOf(t, s), 42*time.Second)
			r := entry(v1alpha1.StageApply, v1alpha1.StateInProgress)
			e := r.Packages["a|1.0.0"]
			c.change(pod, &e)
			r.Packages[e.Key()] = e
			remember(t, n, "demo", r)
			w := newWorld(t, s, n, pod)
			w.Durations, w.Metrics = &state.Durations{}, known(w.clock)
			w.reconcile()
			if e := w.record("demo").Packages["a|1.0.0"]; e.Stage != v1alpha1.StageConfig {
				t.Fatalf("the record is %+v", e)
			}
			var want history.Stages
			if c.want > 0 {
				want = want.Add(history.Key{Package: "a", Version: "1.0.0", Stage: v1alpha1.StageApply}, c.want)
			}
			if d := cmp.Diff(want, w.Durations.Take("demo")); d != "" {
				t.Errorf("measured (-want +got):\n%s", d)
			}
			w.reconcile()
			if again := w.Durations.Take("demo"); again != nil {
				t.Errorf("measured again: %+v", again)
			}
			counted := map[string]float64{}
			if c.want > 0 {
				counted["skyhook_stage_duration_seconds a demo apply"] = c.want.Seconds()
			}
			if d := cmp.Diff(counted, w.sums()); d != "" {
				t.Errorf("counted (-want +got):\n%s", d)
			}
		})
	}
}

// TestMeasureUnwritten: what was not recorded ends in another pass, and is measured by that one.
func TestMeasureUnwritten(t *testing.T) {
	s, n := newSkyhook("demo"), newNode()
	remember(t, n, "demo", entry(v1alpha1.StageApply, v1alpha1.StateInProgress))
	w := newWorld(t, s, n, ended(podOf(t, s), 42*time.Second))
	w.Durations = &state.Durations{}
	p := w.pass(s)
	p.plan(t.Context())
	p.wrote.resourceVersion = "9" // somebody changed the node since
	p.execute(t.Context())
	if got := w.Durations.Take("demo"); got != nil || len(p.errs) == 0 {
		t.Errorf("measured %+v, errors %v", got, p.errs)
	}
	w.reconcile()
	if got := w.Durations.Take("demo"); len(got) != 1 || got[0].Count != 1 {
		t.Errorf("measured %+v", got)
	}
}

// TestMeasureReboot: from when it was asked for until the node was Ready again, once for all packages that it was for.
func TestMeasureReboot(t *testing.T) {
	for _, c := range []struct {
		name  string
		ready time.Duration // when the node was Ready again, before now; 0 if that is not known
		since time.Duration
		want  time.Duration
	}{
		{"the operator was there", 0, 5 * time.Minute, 5 * time.Minute},
		{"the operator was away", 2 * time.Minute, 10 * time.Minute, 8 * time.Minute},
		{"nobody saw the node go down", time.Hour, 5 * time.Minute, 5 * time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			reboot := &v1alpha1.Interrupt{Type: v1alpha1.InterruptReboot}
			s, n := newSkyhook("demo"), newNode()
			for _, name := range []string{"a", "b"} {
				s.Spec.Packages[name] = v1alpha1.Package{Version: "1.0.0", Image: "x/" + name, Interrupt: reboot}
			}
			since := metav1.NewTime(start.Add(-c.since))
			r := record.Node{Status: v1alpha1.StatusInProgress, Packages: map[string]record.Entry{}, Cordoned: true}
			for name, its := range map[string]v1alpha1.State{"a": v1alpha1.StateInProgress, "b": v1alpha1.StateSkipped} {
				e := record.Entry{
					Name: name, Version: "1.0.0", Image: "x/" + name, Stage: v1alpha1.StageInterrupt, State: its, Run: "r1",
					Since: since, Interrupt: reboot, BootID: "boot-0", Generation: 1, Config: map[string]string{},
				}
				r.Packages[e.Key()] = e
			}
			n.Spec.Unschedulable = true
			remember(t, n, "demo", r)
			flight, err := record.WriteInterrupt(&record.Interrupt{
				Skyhook: "demo", Packages: []string{"a|1.0.0", "b|1.0.0"}, Type: v1alpha1.InterruptReboot, BootID: "boot-0",
				Run: "r1", Since: since,
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			n.Annotations[v1alpha1.AnnotationInterrupt] = *flight.Annotations[v1alpha1.AnnotationInterrupt]
			if c.ready > 0 {
				n.Status.Conditions[0].LastTransitionTime = metav1.NewTime(start.Add(-c.ready))
			}
			w := newWorld(t, s, n)
			w.Durations, w.Metrics = &state.Durations{}, known(w.clock)
			w.reconcile()
			if i := record.ReadInterrupt(w.node().Annotations); i != nil {
				t.Fatalf("it is in flight: %+v", i)
			}
			key := history.Key{
				Package: "a", Version: "1.0.0", Stage: v1alpha1.StageInterrupt, Interrupt: v1alpha1.InterruptReboot,
			}
			if d := cmp.Diff(history.Stages(nil).Add(key, c.want), w.Durations.Take("demo")); d != "" {
				t.Errorf("measured (-want +got):\n%s", d)
			}
			counted := map[string]float64{
				"skyhook_stage_duration_seconds a demo interrupt": c.want.Seconds(), "skyhook_reboot_duration_seconds demo": c.want.Seconds(),
			}
			if d := cmp.Diff(counted, w.sums()); d != "" {
				t.Errorf("counted (-want +got):\n%s", d)
			}
		})
	}
}

// TestMeasureEarly: an operator that starts may look at a node before it plans its Skyhook.
func TestMeasureEarly(t *testing.T) {
	s, n := newSkyhook("demo"), newNode()
	remember(t, n, "demo", entry(v1alpha1.StageApply, v1alpha1.StateInProgress))
	w := newWorld(t, s, n, ended(podOf(t, s), 42*time.Second))
	w.Metrics = metrics.NewStore(w.clock, "v1")
	w.reconcile()
	if sums := w.sums(); len(sums) > 0 {
		t.Errorf("there are %v of a Skyhook that was not planned", sums)
	}
	w.Metrics.Set("demo", metrics.Of(newSkyhook("demo"), metrics.Census{}, time.Time{}))
	if d := cmp.Diff(map[string]float64{"skyhook_stage_duration_seconds a demo apply": 42}, w.sums()); d != "" {
		t.Errorf("counted (-want +got):\n%s", d)
	}
}

// known is a store of metrics that knows Skyhook demo, as it does once that was planned.
func known(c clock.PassiveClock) *metrics.Store {
	store := metrics.NewStore(c, "v1")
	store.Set("demo", metrics.Of(newSkyhook("demo"), metrics.Census{}, time.Time{}))
	return store
}

// sums are those of the histograms, by name and labels.
func (w *world) sums() map[string]float64 {
	w.t.Helper()
	registry := prometheus.NewPedanticRegistry()
	w.must(registry.Register(w.Metrics))
	families, err := registry.Gather()
	w.must(err)
	sums := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			labels := []string{f.GetName()}
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetValue())
			}
			if m.GetHistogram().GetSampleCount() > 0 {
				sums[strings.Join(labels, " ")] = m.GetHistogram().GetSampleSum()
			}
		}
	}
	return sums
}

// TestMeasureDrain: from when no protected pod was left, as the record tells, until work starts.
func TestMeasureDrain(t *testing.T) {
	for _, c := range []struct {
		name   string
		reason string
		change func(s *v1alpha1.Skyhook)
		want   map[string]float64
	}{
		{"pods had to leave", v1alpha1.ReasonEvicting, func(*v1alpha1.Skyhook) {}, map[string]float64{"skyhook_drain_duration_seconds demo": 90}},
		{"a protected pod was there", v1alpha1.ReasonProtectedPod, func(*v1alpha1.Skyhook) {}, map[string]float64{}},
		{"something else held up the node", v1alpha1.ReasonCordoning, func(*v1alpha1.Skyhook) {}, map[string]float64{}},
		{"the drain was broken off", v1alpha1.ReasonEvicting, func(s *v1alpha1.Skyhook) {
			metav1.SetMetaDataAnnotation(&s.ObjectMeta, v1alpha1.AnnotationPause, "true")
		}, map[string]float64{}},
		{"nothing needs the drain any more", v1alpha1.ReasonEvicting, func(s *v1alpha1.Skyhook) {
			s.Spec.Packages["a"] = v1alpha1.Package{Version: "1.0.0", Image: "x/a"}
		}, map[string]float64{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, n := newSkyhook("demo"), newNode()
			s.Spec.Packages["a"] = v1alpha1.Package{
				Version: "1.0.0", Image: "x/a", Interrupt: &v1alpha1.Interrupt{Type: v1alpha1.InterruptReboot},
			}
			c.change(s)
			n.Spec.Unschedulable = true
			remember(t, n, "demo", record.Node{
				Status: v1alpha1.StatusInProgress, Packages: map[string]record.Entry{}, Cordoned: true,
				Wait: &record.Wait{
					Package: "a", Reason: c.reason, Message: "m", Frees: record.FreesOther, Since: metav1.NewTime(start.Add(-90 * time.Second)),
				},
			})
			w := newWorld(t, s, n)
			w.Metrics = known(w.clock)
			w.reconcile()
			if started := len(w.pods()) > 0; started != (s.Annotations == nil) {
				t.Fatalf("started %t: %+v", started, w.record("demo"))
			}
			w.reconcile()
			if d := cmp.Diff(c.want, w.sums()); d != "" {
				t.Errorf("counted (-want +got):\n%s", d)
			}
		})
	}
}
