package metrics_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/metrics"
	"github.com/skyhook-operator/skyhook/internal/record"
)

var start = time.Unix(1_800_000_000, 0)

// scraped is the text of a scrape, without comments, by series.
func scraped(t testing.TB, c prometheus.Collector) map[string]string {
	t.Helper()
	all := map[string]string{}
	for line := range strings.Lines(string(scrape(t, c))) {
		if !strings.HasPrefix(line, "#") {
			at := strings.LastIndex(line, " ")
			all[line[:at]] = strings.TrimSpace(line[at:])
		}
	}
	return all
}

func scrape(t testing.TB, c prometheus.Collector) []byte {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(c); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(&text, f); err != nil {
			t.Fatal(err)
		}
	}
	return text.Bytes()
}

// only are the scraped lines whose series begin with a name, sorted, without the Skyhook's label; zeros of the series that
// has one for each value of a label are left out.
func only(t *testing.T, c prometheus.Collector, names ...string) string {
	t.Helper()
	var lines []string
	for series, value := range scraped(t, c) {
		name, _, _ := strings.Cut(series, "{")
		if slices.Contains(names, name) && (value != "0" || !strings.HasSuffix(name, "_count") && name != "skyhook_status") {
			series = strings.NewReplacer(`skyhook_name="demo",`, "", `,skyhook_name="demo"`, "", `{skyhook_name="demo"}`, "").Replace(series)
			lines = append(lines, series+" "+value)
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func demo() *v1alpha1.Skyhook {
	return &v1alpha1.Skyhook{
		ObjectMeta: metav1.ObjectMeta{Name: "demo"},
		Spec:       v1alpha1.SkyhookSpec{Packages: map[string]v1alpha1.Package{"a": {Version: "1.0.0"}}},
	}
}

// outline is that of a record of entries such as "a 1.0.0 config complete".
func outline(entries ...string) record.Outline {
	n := record.Node{Packages: map[string]record.Entry{}}
	for _, text := range entries {
		var e record.Entry
		if _, err := fmt.Sscan(text+" 0", &e.Name, &e.Version, &e.Stage, &e.State, &e.Restarts); err != nil {
			panic(err)
		}
		n.Packages[e.Key()] = e
	}
	return record.OutlineOf(n)
}

func TestSeries(t *testing.T) {
	count := func(c metrics.Census, nodes int, entries ...string) metrics.Census {
		if c.Outlines == nil {
			c.Outlines = map[record.Outline]int{}
		}
		c.Outlines[outline(entries...)] += nodes
		return c
	}
	condition := func(name string, is metav1.ConditionStatus) metav1.Condition {
		return metav1.Condition{Type: name, Status: is}
	}
	for _, c := range []struct {
		name   string
		change func(s *v1alpha1.Skyhook)
		census metrics.Census
		end    time.Time
		of     []string
		want   string
	}{
		{
			"one status of eight", func(s *v1alpha1.Skyhook) { s.Status.Status = v1alpha1.StatusErroring },
			metrics.Census{},
			time.Time{},
			[]string{"skyhook_status"},
			`skyhook_status{status="erroring"} 1`,
		},
		{
			"a Skyhook that was never planned", func(*v1alpha1.Skyhook) {},
			metrics.Census{},
			time.Time{},
			[]string{"skyhook_status"},
			`skyhook_status{status="unknown"} 1`,
		},
		{
			"nodes by status", func(s *v1alpha1.Skyhook) {
				s.Status.Nodes = v1alpha1.NodeCounts{
					Total: 36, Complete: 1, InProgress: 2, Erroring: 3, Blocked: 4, Waiting: 5, Paused: 6, Disabled: 7, Unknown: 8,
				}
			},
			metrics.Census{},
			time.Time{},
			[]string{"skyhook_node_status_count", "skyhook_node_target_count"},
			`skyhook_node_status_count{status="blocked"} 4
skyhook_node_status_count{status="complete"} 1
skyhook_node_status_count{status="disabled"} 7
skyhook_node_status_count{status="erroring"} 3
skyhook_node_status_count{status="in_progress"} 2
skyhook_node_status_count{status="paused"} 6
skyhook_node_status_count{status="unknown"} 8
skyhook_node_status_count{status="waiting"} 5
skyhook_node_target_count 36`,
		},
		{
			"two stages in one state both count, and restarts add up", func(*v1alpha1.Skyhook) {},
			count(count(count(metrics.Census{}, 3, "a 1.0.0 apply in_progress"), 2, "a 1.0.0 config in_progress 2"), 1, "a 1.0.0 apply erroring 5"),
			time.Time{},
			[]string{"skyhook_package_state_count", "skyhook_package_stage_count", "skyhook_package_restarts_count"},
			`skyhook_package_restarts_count{package_name="a",package_version="1.0.0"} 9
skyhook_package_stage_count{package_name="a",package_version="1.0.0",stage="apply"} 4
skyhook_package_stage_count{package_name="a",package_version="1.0.0",stage="config"} 2
skyhook_package_state_count{package_name="a",package_version="1.0.0",state="erroring"} 1
skyhook_package_state_count{package_name="a",package_version="1.0.0",state="in_progress"} 5`,
		},
		{
			"without a policy", func(s *v1alpha1.Skyhook) {
				s.Status.CompartmentStatuses = map[string]v1alpha1.CompartmentStatus{
					"__default__": {Matched: 9, Ceiling: 3, InProgress: 2, Completed: 5, ProgressPercent: 55},
				}
			},
			metrics.Census{},
			time.Time{},
			rolloutNames,
			rolloutLines(`compartment_name="__default__",policy_name="legacy",strategy="fixed"`, 9, 3, 2, 5, 55, 0, 0, 0),
		},
		{
			"a stopped compartment of a policy", func(s *v1alpha1.Skyhook) {
				s.Spec.DeploymentPolicy = "careful"
				s.Status.CompartmentStatuses = map[string]v1alpha1.CompartmentStatus{"gpu": {
					Matched: 9, Ceiling: 3, Strategy: "exponential",
					BatchState: &v1alpha1.BatchState{CurrentBatch: 4, ConsecutiveFailures: 2, ShouldStop: true},
				}}
			},
			metrics.Census{},
			time.Time{},
			rolloutNames,
			rolloutLines(`compartment_name="gpu",policy_name="careful",strategy="exponential"`, 9, 3, 0, 0, 0, 4, 2, 1),
		},
		{
			"a deletion whose policy is gone has a strategy that dashboards do not know", func(s *v1alpha1.Skyhook) {
				s.Spec.DeploymentPolicy = "gone"
				s.Status.CompartmentStatuses = map[string]v1alpha1.CompartmentStatus{"__default__": {Strategy: "none", Ceiling: 1}}
			},
			metrics.Census{},
			time.Time{},
			rolloutNames,
			rolloutLines(`compartment_name="__default__",policy_name="gone",strategy="unknown"`, 0, 1, 0, 0, 0, 0, 0, 0),
		},
		{
			"why nodes wait and fail", func(s *v1alpha1.Skyhook) {
				s.Status.Waiting = []v1alpha1.WaitingNodes{{Reason: "WaitingForPermit", Nodes: 7}, {Reason: "NodeIgnored", Nodes: 2}}
				s.Status.Conditions = []metav1.Condition{
					condition("Ready", metav1.ConditionFalse), condition("Stalled", metav1.ConditionTrue),
					condition(v1alpha1.KeyPrefix+"Ready", metav1.ConditionTrue),
				}
			},
			metrics.Census{Failing: map[string]int{"RebootTimeout": 3, "no word\n": 2, "": 1, strings.Repeat("x", 65): 1}},
			time.Time{},
			[]string{"skyhook_waiting_nodes", "skyhook_failing_nodes", "skyhook_condition"},
			`skyhook_condition{condition="Ready"} 0
skyhook_condition{condition="Stalled"} 1
skyhook_failing_nodes{reason="Other"} 4
skyhook_failing_nodes{reason="RebootTimeout"} 3
skyhook_waiting_nodes{reason="NodeIgnored"} 2
skyhook_waiting_nodes{reason="WaitingForPermit"} 7`,
		},
		{
			"what a rollout takes", func(s *v1alpha1.Skyhook) {
				s.Status.Nodes.Total = 8
				s.Status.Permits = []v1alpha1.Permit{{Node: "n1"}, {Node: "n2"}}
				s.Status.CompartmentStatuses = map[string]v1alpha1.CompartmentStatus{"a": {Ceiling: 2}, "b": {Ceiling: 3}}
			},
			metrics.Census{Complete: 2, Unavailable: 3, Cordoned: 1},
			start, besideNames,
			`skyhook_budget_nodes 5
skyhook_cordoned_node_seconds_total 0
skyhook_cordoned_nodes 1
skyhook_permits 2
skyhook_rollout_estimated_end_timestamp_seconds 1.8e+09
skyhook_rollout_progress_ratio 0.25
skyhook_unavailable_nodes 3`,
		},
		{
			"no nodes, and a budget above what the operator allows", func(s *v1alpha1.Skyhook) {
				s.Status.CompartmentStatuses = map[string]v1alpha1.CompartmentStatus{"a": {Ceiling: 5000}}
			},
			metrics.Census{},
			time.Time{},
			besideNames,
			`skyhook_budget_nodes 1000
skyhook_cordoned_node_seconds_total 0
skyhook_cordoned_nodes 0
skyhook_permits 0
skyhook_rollout_progress_ratio 1
skyhook_unavailable_nodes 0`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, store := demo(), newStore()
			c.change(s)
			store.Set("demo", metrics.Of(s, c.census, c.end))
			if diff := cmp.Diff(c.want, only(t, store, c.of...)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

var (
	rolloutNames = []string{
		"skyhook_rollout_matched_nodes", "skyhook_rollout_ceiling", "skyhook_rollout_in_progress", "skyhook_rollout_completed",
		"skyhook_rollout_progress_percent", "skyhook_rollout_current_batch", "skyhook_rollout_consecutive_failures",
		"skyhook_rollout_should_stop",
	}
	besideNames = []string{
		"skyhook_budget_nodes", "skyhook_permits", "skyhook_unavailable_nodes", "skyhook_cordoned_nodes",
		"skyhook_cordoned_node_seconds_total", "skyhook_rollout_progress_ratio", "skyhook_rollout_estimated_end_timestamp_seconds",
	}
)

func rolloutLines(labels string, values ...int) string {
	var lines []string
	for i, name := range rolloutNames {
		lines = append(lines, fmt.Sprintf("%s{%s} %d", name, labels, values[i]))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func newStore() *metrics.Store {
	return metrics.NewStore(clocktesting.NewFakePassiveClock(start), "v1.2.3")
}

// TestEveryValueOfALabel: dashboards find the series of a status, state or stage that no node has, too.
func TestEveryValueOfALabel(t *testing.T) {
	s, store := demo(), newStore()
	store.Set("demo", metrics.Of(s, metrics.Census{}, time.Time{}))
	all := scraped(t, store)
	for name, values := range map[string]string{
		`skyhook_status{skyhook_name="demo",status=`:            "complete in_progress erroring blocked waiting paused disabled unknown",
		`skyhook_node_status_count{skyhook_name="demo",status=`: "complete in_progress erroring blocked waiting paused disabled unknown",
		`skyhook_package_state_count{package_name="a",package_version="1.0.0",skyhook_name="demo",state=`: "complete in_progress " +
			"skipped erroring unknown",
		`skyhook_package_stage_count{package_name="a",package_version="1.0.0",skyhook_name="demo",stage=`: "uninstall " +
			"uninstall-interrupt upgrade apply interrupt post-interrupt config",
	} {
		found := 0
		for series := range all {
			if strings.HasPrefix(series, name) {
				found++
			}
		}
		want := strings.Fields(values)
		for _, value := range want {
			if _, ok := all[fmt.Sprintf("%s%q}", name, value)]; !ok {
				t.Errorf("no series %s%q}", name, value)
			}
		}
		if found != len(want) {
			t.Errorf("%d series %s…, want %d", found, name, len(want))
		}
	}
}

// TestPackages: series of package versions come and go with the spec and the nodes that have them.
func TestPackages(t *testing.T) {
	for _, c := range []struct {
		name     string
		packages map[string]v1alpha1.Package
		nodes    []record.Outline
		want     string
	}{
		{"nobody has it yet", map[string]v1alpha1.Package{"a": {Version: "1.0.0"}}, nil, "a 1.0.0"},
		{
			"an upgrade",
			map[string]v1alpha1.Package{"a": {Version: "2.0.0"}},
			[]record.Outline{outline("a 1.0.0 config complete"), outline("a 2.0.0 upgrade in_progress")},
			"a 1.0.0, a 2.0.0",
		},
		{"an upgrade that is over", map[string]v1alpha1.Package{"a": {Version: "2.0.0"}}, []record.Outline{outline("a 2.0.0 config complete")}, "a 2.0.0"},
		{
			"an uninstall",
			map[string]v1alpha1.Package{"a": {Version: "1.0.0", Uninstall: &v1alpha1.Uninstall{Apply: true}}},
			[]record.Outline{outline("a 1.0.0 uninstall in_progress")},
			"a 1.0.0",
		},
		{
			"an uninstall that is over",
			map[string]v1alpha1.Package{"a": {Version: "1.0.0", Uninstall: &v1alpha1.Uninstall{Apply: true}}},
			[]record.Outline{outline()},
			"",
		},
		{"a package that left the spec", nil, []record.Outline{outline("b 1.0.0 uninstall in_progress")}, "b 1.0.0"},
		{"a name that the API does not allow", nil, []record.Outline{outline(strings.Repeat("x", 130) + " 1.0.0 apply complete")}, ""},
	} {
		s, store, census := demo(), newStore(), metrics.Census{Outlines: map[record.Outline]int{}}
		s.Spec.Packages = c.packages
		for _, o := range c.nodes {
			census.Outlines[o]++
		}
		store.Set("demo", metrics.Of(s, census, time.Time{}))
		if got := restartsOf(t, store); got != c.want {
			t.Errorf("%s: series of %q, want %q", c.name, got, c.want)
		}
	}
}

// restartsOf are the package versions that have series, and how often they were restarted unless that is 0.
func restartsOf(t *testing.T, c prometheus.Collector) string {
	t.Helper()
	var list []string
	for series := range scraped(t, c) {
		if rest, ok := strings.CutPrefix(series, `skyhook_package_restarts_count{package_name="`); ok {
			list = append(list, strings.Join(strings.Split(rest, `"`)[:3:3], ""))
		}
	}
	slices.Sort(list)
	return strings.ReplaceAll(strings.Join(list, ", "), ",package_version=", " ")
}

// TestMadeUpPackages: nodes whose records name packages that nobody has cannot make the series many.
func TestMadeUpPackages(t *testing.T) {
	s, store, census := demo(), newStore(), metrics.Census{Outlines: map[record.Outline]int{}, Failing: map[string]int{}}
	for i := range 1000 {
		name := fmt.Sprintf("%cx%03d", 'A'+i%2, i) // before and behind the name of what is wanted
		census.Outlines[outline(name+" 1.0.0 apply complete")] = 1 + i%3
		census.Failing[strings.Repeat("r", i%50+1)] = i + 1
	}
	store.Set("demo", metrics.Of(s, census, time.Time{}))
	for i := range 1000 {
		store.StageTook(s, fmt.Sprintf("x%03d", i%200), v1alpha1.StageApply, time.Second)
		store.Set("demo", metrics.Of(s, census, time.Time{}))
	}
	if n := strings.Count(only(t, store, "skyhook_stage_duration_seconds_sum"), "{"); n != 128 {
		t.Errorf("stages of %d packages", n)
	}
	list := strings.Split(restartsOf(t, store), ", ")
	if len(list) != 128 || !slices.Contains(list, "a 1.0.0") {
		t.Errorf("%d package versions: %q", len(list), list)
	}
	if n := strings.Count(only(t, store, "skyhook_failing_nodes"), "\n") + 1; n != 13 {
		t.Errorf("%d reasons", n)
	}
}
