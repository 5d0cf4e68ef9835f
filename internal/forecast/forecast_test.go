package forecast_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/forecast"
	"github.com/skyhook-operator/skyhook/internal/settings"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// nodes are some that are Ready, called n00, n01 and so on.
func nodes(count int) []corev1.Node {
	all := make([]corev1.Node, count)
	for i := range all {
		name := fmt.Sprintf("n%02d", i)
		all[i].Name, all[i].UID, all[i].Labels = name, types.UID(name), map[string]string{"pool": "gpu"}
		all[i].Status.NodeInfo = corev1.NodeSystemInfo{BootID: "boot-" + name, Architecture: "amd64"}
		all[i].Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	}
	return all
}

// skyhook installs a package on all nodes; edit may change it.
func skyhook(edit func(*v1alpha1.Skyhook)) v1alpha1.Skyhook {
	s := v1alpha1.Skyhook{
		ObjectMeta: metav1.ObjectMeta{Name: "gpu", UID: "gpu", Generation: 1, CreationTimestamp: metav1.NewTime(start)},
		Spec: v1alpha1.SkyhookSpec{
			NodeSelectors:      metav1.LabelSelector{MatchLabels: map[string]string{"pool": "gpu"}},
			InterruptionBudget: v1alpha1.InterruptionBudget{Count: new(2)},
			Packages: map[string]v1alpha1.Package{
				"driver": {Name: "driver", Version: "1.0.0", Image: "registry.example/driver"},
			},
		},
	}
	edit(&s)
	return s
}

func reboots(s *v1alpha1.Skyhook) {
	p := s.Spec.Packages["driver"]
	p.Interrupt = &v1alpha1.Interrupt{Type: v1alpha1.InterruptReboot}
	s.Spec.Packages["driver"] = p
}

// guarded is a budget for the pods with the label app=web.
func guarded(status policyv1.PodDisruptionBudgetStatus) []policyv1.PodDisruptionBudget {
	return []policyv1.PodDisruptionBudget{{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
		Status:     status,
	}}
}

// replicated is a pod of a ReplicaSet on a node.
func replicated(name, node string, labels map[string]string) corev1.Pod {
	p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: name, UID: types.UID(name), Labels: labels, CreationTimestamp: metav1.NewTime(start),
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "web", Controller: new(true)}},
	}}
	p.Spec.NodeName, p.Spec.TerminationGracePeriodSeconds = node, new(int64(30))
	p.Status.Phase = corev1.PodRunning
	return p
}

// run looks ahead for 30 days, on nodes where a stage takes 10 s, and a reboot 5 minutes.
func run(t testing.TB, s forecast.Snapshot, ahead time.Duration) forecast.Forecast {
	t.Helper()
	o, err := settings.FromEnvironment(func(string) (string, bool) { return "", false }, "1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	f, err := forecast.Run(s, forecast.Options{Operator: o, Now: start, Ahead: ahead, Takes: takes})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

const month = 30 * 24 * time.Hour

func takes(skyhook string, s forecast.Step) time.Duration {
	if skyhook != "gpu" {
		return time.Hour
	}
	if s.Interrupt == v1alpha1.InterruptReboot {
		return 5 * time.Minute
	}
	return 10 * time.Second
}

// told is a forecast, one node a line: when it begins and ends, where it belongs, what runs, who has to leave.
func told(f forecast.Forecast) []string {
	var out []string
	for _, n := range f.Nodes {
		var steps []string
		for _, s := range n.Steps {
			steps = append(steps, strings.TrimSpace(fmt.Sprintf("%s %s %s", s.Version, s.Stage, s.Interrupt)))
		}
		end := "never"
		if !n.End.IsZero() {
			end = n.End.Sub(start).String()
		}
		line := fmt.Sprintf("%s #%d %s..%s %s", n.Node, n.Order, n.Start.Sub(start), end, strings.Join(steps, ", "))
		if n.Compartment != "" {
			line += fmt.Sprintf(" [%s/%d]", n.Compartment, n.Batch)
		}
		if len(n.Evicted) > 0 {
			line += " evicts " + strings.Join(n.Evicted, ", ")
		}
		out = append(out, line)
	}
	return out
}

func TestRun(t *testing.T) {
	const install, rebooting = "1.0.0 apply, 1.0.0 config", "1.0.0 apply, 1.0.0 config, 1.0.0 interrupt reboot, 1.0.0 post-interrupt"
	for _, tt := range []struct {
		name   string
		s      forecast.Snapshot
		want   []string
		status v1alpha1.Status
		// waits are the reasons of nodes in the end.
		waits []string
	}{
		{
			"nodes follow each other as the budget allows",
			forecast.Snapshot{Nodes: nodes(3), Skyhooks: []v1alpha1.Skyhook{skyhook(func(*v1alpha1.Skyhook) {})}},
			[]string{"n00 #0 0s..20s " + install, "n01 #1 0s..20s " + install, "n02 #2 20s..40s " + install},
			v1alpha1.StatusComplete, nil,
		},
		{
			"a reboot drains the node first",
			forecast.Snapshot{
				Nodes: nodes(1), Skyhooks: []v1alpha1.Skyhook{skyhook(reboots)},
				Pods: []corev1.Pod{replicated("web-1", "n00", nil), replicated("web-2", "n01", nil)},
			},
			[]string{"n00 #0 0s..6m0s " + rebooting + " evicts shop/web-1"},
			v1alpha1.StatusComplete, nil,
		},
		{
			"a disruption budget that allows nothing holds the drain",
			forecast.Snapshot{
				Nodes: nodes(1), Skyhooks: []v1alpha1.Skyhook{skyhook(reboots)},
				Pods:    []corev1.Pod{replicated("web-1", "n00", map[string]string{"app": "web"})},
				Budgets: guarded(policyv1.PodDisruptionBudgetStatus{CurrentHealthy: 1, DesiredHealthy: 1}),
			},
			[]string{"n00 #0 0s..never "},
			v1alpha1.StatusInProgress,
			[]string{"n00 EvictionRefused"},
		},
		{
			"one that allows one at a time delays the second pod",
			forecast.Snapshot{
				Nodes: nodes(1), Skyhooks: []v1alpha1.Skyhook{skyhook(reboots)},
				Pods: []corev1.Pod{
					replicated("web-1", "n00", map[string]string{"app": "web"}), replicated("web-2", "n00", map[string]string{"app": "web"}),
				},
				Budgets: guarded(policyv1.PodDisruptionBudgetStatus{CurrentHealthy: 3, DesiredHealthy: 2, DisruptionsAllowed: 1}),
			},
			[]string{"n00 #0 0s..7m0s " + rebooting + " evicts shop/web-1, shop/web-2"},
			v1alpha1.StatusComplete, nil,
		},
		{
			"a guess does not exceed the time limit of a drain",
			forecast.Snapshot{
				Nodes: nodes(1), Skyhooks: []v1alpha1.Skyhook{skyhook(func(s *v1alpha1.Skyhook) {
					reboots(s)
					s.Spec.Drain = &v1alpha1.Drain{TimeoutSeconds: new(int64(30))}
				})},
				Pods: []corev1.Pod{
					replicated("web-1", "n00", map[string]string{"app": "web"}), replicated("web-2", "n00", map[string]string{"app": "web"}),
				},
				Budgets: guarded(policyv1.PodDisruptionBudgetStatus{CurrentHealthy: 3, DesiredHealthy: 2, DisruptionsAllowed: 1}),
			},
			[]string{"n00 #0 0s..6m0s " + rebooting + " evicts shop/web-1, shop/web-2"},
			v1alpha1.StatusComplete, nil,
		},
		{
			"batches of a policy",
			forecast.Snapshot{
				Nodes: nodes(4),
				Policies: []v1alpha1.DeploymentPolicy{{
					ObjectMeta: metav1.ObjectMeta{Name: "careful", UID: "careful", Generation: 1},
					Spec: v1alpha1.DeploymentPolicySpec{Default: v1alpha1.PolicyDefault{
						Budget:   v1alpha1.Budget{Count: new(4)},
						Strategy: v1alpha1.Strategy{Exponential: &v1alpha1.ExponentialStrategy{GrowthFactor: new(2)}},
					}},
				}},
				Skyhooks: []v1alpha1.Skyhook{skyhook(func(s *v1alpha1.Skyhook) {
					s.Spec.InterruptionBudget, s.Spec.DeploymentPolicy = v1alpha1.InterruptionBudget{}, "careful"
				})},
			},
			[]string{
				"n00 #0 0s..20s " + install + " [__default__/1]", "n01 #1 20s..40s " + install + " [__default__/2]",
				"n02 #2 20s..40s " + install + " [__default__/2]", "n03 #3 40s..1m0s " + install + " [__default__/3]",
			},
			v1alpha1.StatusComplete, nil,
		},
		{
			"a stage ends before its stageTimeout, however long it usually takes",
			forecast.Snapshot{Nodes: nodes(1), Skyhooks: []v1alpha1.Skyhook{skyhook(func(s *v1alpha1.Skyhook) {
				p := s.Spec.Packages["driver"]
				p.StageTimeout = &metav1.Duration{Duration: 5 * time.Second}
				s.Spec.Packages["driver"] = p
			})}},
			[]string{"n00 #0 0s..8.5s " + install},
			v1alpha1.StatusComplete, nil,
		},
		{
			"nothing happens to what is paused",
			forecast.Snapshot{Nodes: nodes(1), Skyhooks: []v1alpha1.Skyhook{skyhook(func(s *v1alpha1.Skyhook) {
				s.Annotations = map[string]string{v1alpha1.AnnotationPause: "true"}
			})}},
			nil, v1alpha1.StatusPaused,
			[]string{"n00 Paused"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := run(t, tt.s, month)
			if d := cmp.Diff(tt.want, told(f)); d != "" {
				t.Errorf("nodes (-want +got):\n%s", d)
			}
			if d := cmp.Diff(f, run(t, tt.s, month)); d != "" {
				t.Errorf("another look ahead differs:\n%s", d)
			}
			if got := f.Skyhooks[0].Status.Status; got != tt.status {
				t.Errorf("in the end the Skyhook is %s, not %s", got, tt.status)
			}
			var waits []string
			for of, w := range f.Decided {
				for _, w := range w {
					waits = append(waits, of.Node+" "+w.Reason)
				}
			}
			slices.Sort(waits)
			if d := cmp.Diff(tt.waits, waits); d != "" {
				t.Errorf("waits in the end (-want +got):\n%s", d)
			}
		})
	}
}

// TestPodsThatTakeWeeksToEnd: what the operator waits for patiently is foretold without a look for each of its own.
func TestPodsThatTakeWeeksToEnd(t *testing.T) {
	const grace = 40 * 24 * time.Hour
	ending, asked := replicated("web-1", "n00", nil), replicated("web-2", "n01", nil)
	ending.DeletionTimestamp, ending.DeletionGracePeriodSeconds = &metav1.Time{Time: start.Add(grace)}, new(int64(grace.Seconds()))
	asked.Spec.TerminationGracePeriodSeconds = ending.DeletionGracePeriodSeconds
	looks := 0
	o, err := settings.FromEnvironment(func(string) (string, bool) { return "", false }, "1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	f, err := forecast.Run(
		forecast.Snapshot{Nodes: nodes(2), Skyhooks: []v1alpha1.Skyhook{skyhook(reboots)}, Pods: []corev1.Pod{ending, asked}},
		forecast.Options{
			Operator: o, Now: start, Ahead: 2 * month, Takes: takes,
			Each: func(client.Client, time.Time, time.Time) { looks++ },
		})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range f.Nodes {
		if took := n.End.Sub(n.Start); took < grace || took > grace+6*time.Minute {
			t.Errorf("node %s takes %s", n.Node, took)
		}
	}
	const most = 5000
	if len(f.Nodes) != 2 || looks > most {
		t.Errorf("%d nodes end after %d looks", len(f.Nodes), looks)
	}
}

// TestRunOfAForecast goes on from what a forecast leaves: nothing more happens to what is complete, and what changes
// is all that happens.
func TestRunOfAForecast(t *testing.T) {
	s := forecast.Snapshot{Nodes: nodes(2), Skyhooks: []v1alpha1.Skyhook{skyhook(func(*v1alpha1.Skyhook) {})}}
	done := run(t, s, month)
	s.Nodes, s.Skyhooks = done.Cluster, done.Skyhooks
	if again := run(t, s, month); len(again.Nodes) > 0 {
		t.Errorf("a complete Skyhook goes on: %v", told(again))
	}
	p := s.Skyhooks[0].Spec.Packages["driver"]
	p.Version = "2.0.0"
	s.Skyhooks[0].Spec.Packages["driver"] = p
	s.Skyhooks[0].Generation++
	want := []string{"n00 #0 0s..20s 2.0.0 upgrade, 2.0.0 config", "n01 #1 0s..20s 2.0.0 upgrade, 2.0.0 config"}
	if d := cmp.Diff(want, told(run(t, s, month))); d != "" {
		t.Errorf("an upgrade (-want +got):\n%s", d)
	}
}

// TestRunNow asks for decisions alone: nothing has time to end.
func TestRunNow(t *testing.T) {
	s := forecast.Snapshot{Nodes: nodes(3), Skyhooks: []v1alpha1.Skyhook{skyhook(func(*v1alpha1.Skyhook) {})}}
	f := run(t, s, 0)
	if got := f.Skyhooks[0].Status.Nodes; got.InProgress != 2 || got.Waiting != 1 {
		t.Errorf("nodes: %+v", got)
	}
	if got := f.Decided[forecast.NodeOf{Node: "n02", Skyhook: "gpu"}]; len(got) != 1 || got[0].Reason != v1alpha1.ReasonWaitingForPermit {
		t.Errorf("n02 waits for %+v", got)
	}
	if s.Nodes[0].Annotations != nil || s.Skyhooks[0].Status.Status != "" {
		t.Error("the snapshot changed")
	}
}

// TestRunForOneNode: what is decided about a node alone is what is decided about it among all, at any time of a rollout.
func TestRunForOneNode(t *testing.T) {
	o, err := settings.FromEnvironment(func(string) (string, bool) { return "", false }, "1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	for _, after := range []time.Duration{0, 15 * time.Second, time.Minute, month} {
		s := forecast.Snapshot{Nodes: nodes(5), Skyhooks: []v1alpha1.Skyhook{skyhook(reboots)}}
		s.Nodes[4].Spec.Taints = []corev1.Taint{{Key: "example.com/broken", Effect: corev1.TaintEffectNoSchedule}}
		then := run(t, s, after)
		s.Nodes, s.Skyhooks = then.Cluster, then.Skyhooks
		s.Pods = []corev1.Pod{replicated("web", "n00", nil)}
		all, err := forecast.Run(s, forecast.Options{Operator: o, Now: then.End, Takes: takes})
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range s.Nodes {
			one, err := forecast.Run(s, forecast.Options{Operator: o, Now: then.End, Takes: takes, Node: n.Name})
			if err != nil {
				t.Fatal(err)
			}
			of := forecast.NodeOf{Node: n.Name, Skyhook: "gpu"}
			if d := cmp.Diff(all.Decided[of], one.Decided[of]); d != "" || len(one.Decided) > 1 {
				t.Errorf("after %s, %s among all (-) and alone (+), of %d:\n%s", after, n.Name, len(one.Decided), d)
			}
		}
	}
}

// TestInterrupted ends a look ahead that nobody waits for.
func TestInterrupted(t *testing.T) {
	over := make(chan struct{})
	close(over)
	s := forecast.Snapshot{Nodes: nodes(1), Skyhooks: []v1alpha1.Skyhook{skyhook(reboots)}}
	_, err := forecast.Run(s, forecast.Options{Now: start, Ahead: month, Takes: takes, Interrupted: over})
	if !errors.Is(err, forecast.ErrInterrupted) {
		t.Errorf("error %v", err)
	}
}

func BenchmarkRun(b *testing.B) {
	for _, size := range []int{100, 1000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s := forecast.Snapshot{Nodes: nodes(size), Skyhooks: []v1alpha1.Skyhook{skyhook(func(s *v1alpha1.Skyhook) {
				s.Spec.InterruptionBudget.Count = new(size / 20)
				reboots(s)
			})}}
			for b.Loop() {
				run(b, s, month)
			}
		})
	}
}

// TestRunEach shows every moment, and goes on with what is changed there: a node that is ignored is left out.
func TestRunEach(t *testing.T) {
	o, err := settings.FromEnvironment(func(string) (string, bool) { return "", false }, "1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var seen []string
	promised := start
	each := func(c client.Client, now, next time.Time) {
		if now.After(promised) {
			t.Errorf("what happens between %s and %s is not shown", promised, now)
		}
		if promised = next; len(seen) == 0 {
			var n corev1.Node
			must(c.Get(t.Context(), client.ObjectKey{Name: "n02"}, &n))
			n.Labels[v1alpha1.LabelIgnore] = "true"
			must(c.Update(t.Context(), &n))
		}
		var s v1alpha1.Skyhook
		must(c.Get(t.Context(), client.ObjectKey{Name: "gpu"}, &s))
		seen = append(seen, fmt.Sprintf("%s: %s complete, %d blocked", now.Sub(start), s.Status.CompleteNodes, s.Status.Nodes.Blocked))
	}
	one := skyhook(func(*v1alpha1.Skyhook) {})
	_, err = forecast.Run(forecast.Snapshot{Nodes: nodes(3), Skyhooks: []v1alpha1.Skyhook{one}},
		forecast.Options{Operator: o, Now: start, Ahead: month, Takes: takes, Each: each})
	must(err)
	want := []string{
		"0s: 0/3 complete, 0 blocked", "0s: 0/3 complete, 0 blocked", "1s: 0/3 complete, 1 blocked", "2s: 0/3 complete, 1 blocked",
		"10s: 0/3 complete, 1 blocked", "11s: 0/3 complete, 1 blocked", "20s: 2/3 complete, 1 blocked", "21s: 2/3 complete, 1 blocked",
		"1m10s: 2/3 complete, 1 blocked",
	}
	if d := cmp.Diff(want, seen); d != "" {
		t.Errorf("moments (-want +got):\n%s", d)
	}
}

// TestPodThatDoesNotEnd: nothing looks for months, again and again, whether a pod has ended.
func TestPodThatDoesNotEnd(t *testing.T) {
	for ends, complete := range map[time.Duration]int{2 * time.Hour: 1, 20 * 24 * time.Hour: 1, 6 * month: 0} {
		going := replicated("web", "n00", nil)
		going.DeletionTimestamp, going.DeletionGracePeriodSeconds = new(metav1.NewTime(start.Add(ends))), new(int64(ends.Seconds()))
		s := forecast.Snapshot{Nodes: nodes(1), Skyhooks: []v1alpha1.Skyhook{skyhook(reboots)}, Pods: []corev1.Pod{going}}
		o, err := settings.FromEnvironment(func(string) (string, bool) { return "", false }, "1.0.0")
		if err != nil {
			t.Fatal(err)
		}
		moments := 0
		f, err := forecast.Run(s, forecast.Options{
			Operator: o, Now: start, Ahead: 2 * month, Takes: takes, Each: func(client.Client, time.Time, time.Time) { moments++ },
		})
		if err != nil || moments > 5000 || f.Skyhooks[0].Status.Nodes.Complete != complete {
			t.Errorf("a pod that ends in %s: error %v, %d moments, nodes %+v", ends, err, moments, f.Skyhooks[0].Status.Nodes)
		}
	}
}
