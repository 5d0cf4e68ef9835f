package metrics_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/metrics"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// cordoned is a snapshot with so many cordoned nodes.
func cordoned(nodes int) *metrics.Snapshot {
	return metrics.Of(demo(), metrics.Census{Cordoned: nodes}, time.Time{})
}

// TestCost: each second counts once for each cordoned node, whenever somebody looks.
func TestCost(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(start)
	store := metrics.NewStore(clock, "v1")
	after := func(seconds float64, want string) {
		t.Helper()
		clock.SetTime(start.Add(time.Duration(seconds * float64(time.Second))))
		if got := scraped(t, store)[`skyhook_cordoned_node_seconds_total{skyhook_name="demo"}`]; got != want {
			t.Errorf("after %v s: %s node-seconds, want %s", seconds, got, want)
		}
	}
	after(0, "")
	store.Set("demo", cordoned(2))
	after(0, "0")
	after(1.5, "3")
	after(1.5, "3") // to look costs nothing
	store.Set("demo", cordoned(2))
	after(10, "20")
	store.Set("demo", cordoned(0))
	after(100, "20")
	store.Set("demo", cordoned(1))
	after(101, "21")
	after(99, "20") // a clock that is set back
	store.Set("demo", cordoned(1))
	after(100, "21")
	store.Forget("demo")
	after(200, "")
	store.Set("demo", cordoned(1))
	after(201, "1") // another Skyhook of the name
}

// TestGone: nothing of a Skyhook is left, nothing of it comes back, and nothing of others goes.
func TestGone(t *testing.T) {
	store := newStore()
	of := func(skyhook string) (n int) {
		for series := range scraped(t, store) {
			if strings.Contains(series, fmt.Sprintf("skyhook_name=%q", skyhook)) {
				n++
			}
		}
		return n
	}
	observe := func(skyhook string) {
		s := demo()
		s.Name = skyhook
		store.StageTook(s, "a", v1alpha1.StageApply, 42*time.Second)
		store.DrainTook(s, time.Minute)
		store.RebootTook(s, 5*time.Minute)
		store.PermitTook(s, 10*time.Minute)
	}
	for _, skyhook := range []string{"demo", "other"} {
		store.Set(skyhook, cordoned(1))
		observe(skyhook)
	}
	n := of("demo")
	for series, want := range map[string]string{
		`skyhook_stage_duration_seconds_sum{package_name="a",skyhook_name="demo",stage="apply"}`:            "42",
		`skyhook_stage_duration_seconds_bucket{package_name="a",skyhook_name="demo",stage="apply",le="30"}`: "0",
		`skyhook_stage_duration_seconds_bucket{package_name="a",skyhook_name="demo",stage="apply",le="60"}`: "1",
		`skyhook_drain_duration_seconds_sum{skyhook_name="demo"}`:                                           "60",
		`skyhook_reboot_duration_seconds_count{skyhook_name="demo"}`:                                        "1",
		`skyhook_permit_to_complete_seconds_sum{skyhook_name="demo"}`:                                       "600",
	} {
		if got := scraped(t, store)[series]; got != want {
			t.Errorf("%s is %q, want %s", series, got, want)
		}
	}
	store.Forget("demo")
	observe("demo")
	if left := of("demo"); left != 0 || of("other") != n {
		t.Errorf("%d series are left of %d; another Skyhook has %d", left, n, of("other"))
	}
}

// TestEarly: what ended before its Skyhook was planned counts once, when it is; of one that is gone it never counts.
func TestEarly(t *testing.T) {
	store, gone := newStore(), demo()
	drains := func() string { return scraped(t, store)[`skyhook_drain_duration_seconds_count{skyhook_name="demo"}`] }
	gone.UID = "gone"
	store.DrainTook(gone, time.Minute)
	store.DrainTook(demo(), time.Minute)
	if got := drains(); got != "" {
		t.Errorf("%s drains of a Skyhook that was not planned", got)
	}
	for range 2 {
		store.Set("demo", cordoned(0))
		if got := drains(); got != "1" {
			t.Errorf("%q drains, want 1", got)
		}
	}
	store.Set("demo", metrics.Of(gone, metrics.Census{}, time.Time{}))
	if got := drains(); got != "0" {
		t.Errorf("%q drains of another, want 0", got)
	}
	store.Forget("demo")
	for range 5000 {
		store.DrainTook(gone, time.Minute)
	}
	store.Set("demo", metrics.Of(gone, metrics.Census{}, time.Time{}))
	if got := drains(); got != "4096" {
		t.Errorf("%q drains are kept, want the last 4096", got)
	}
}

// TestNoStore: forecasts and simulations keep no metrics.
func TestNoStore(*testing.T) {
	var none *metrics.Store
	none.Set("demo", cordoned(1))
	none.StageTook(demo(), "a", v1alpha1.StageApply, time.Second)
	none.DrainTook(demo(), time.Second)
	none.RebootTook(demo(), time.Second)
	none.PermitTook(demo(), time.Second)
	none.Forget("demo")
}

func TestOperator(t *testing.T) {
	store := newStore()
	store.Wrote("patch", "nodes", "status", "409")
	store.Wrote("patch", "nodes", "status", "409")
	all := scraped(t, store)
	for series, want := range map[string]string{
		`skyhook_build_info{version="v1.2.3"}`:                                                    "1",
		`skyhook_api_writes_total{code="409",resource="nodes",subresource="status",verb="patch"}`: "2",
	} {
		if all[series] != want {
			t.Errorf("%s is %q, want %s", series, all[series], want)
		}
	}
}

// TestRegisterStore: the series of the manager that came last count.
func TestRegisterStore(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	for i := range 2 {
		store := newStore()
		store.Set(fmt.Sprintf("skyhook-%d", i), cordoned(1))
		if err := store.Register(registry); err != nil {
			t.Fatal(err)
		}
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "skyhook_permits" && (len(f.GetMetric()) != 1 || f.GetMetric()[0].GetLabel()[0].GetValue() != "skyhook-1") {
			t.Errorf("%v", f)
		}
	}
}

// fleet is a store after passes over five Skyhooks with 5,000 nodes each, whose packages went through many stages.
func fleet(t testing.TB) *metrics.Store {
	t.Helper()
	store := newStore()
	for k := range 5 {
		s := demo()
		s.Name, s.Spec.DeploymentPolicy = fmt.Sprintf("gpu-operator-%d", k), "production-rollout"
		s.Status.CompartmentStatuses = map[string]v1alpha1.CompartmentStatus{}
		for c := range 20 {
			s.Status.CompartmentStatuses[fmt.Sprintf("zone-%02d", c)] = v1alpha1.CompartmentStatus{Matched: 250, Ceiling: 25, Strategy: "linear"}
		}
		for r := range 12 {
			s.Status.Waiting = append(s.Status.Waiting, v1alpha1.WaitingNodes{Reason: strings.Repeat("Waiting", 3) + string(rune('A'+r)), Nodes: r})
		}
		census := metrics.Census{Outlines: map[record.Outline]int{}}
		for i := range 5000 {
			var entries []string
			for p := range 10 {
				entries = append(entries, fmt.Sprintf("package-%d 1.%d.0 apply erroring %d", p, i%2, i%10))
			}
			census.Outlines[outline(entries...)]++
		}
		store.Set(s.Name, metrics.Of(s, census, start))
		for p := range 10 {
			for _, stage := range []v1alpha1.Stage{v1alpha1.StageApply, v1alpha1.StageConfig, v1alpha1.StageInterrupt, v1alpha1.StagePostInterrupt} {
				store.StageTook(s, fmt.Sprintf("package-%d", p), stage, time.Minute)
			}
		}
		store.DrainTook(s, time.Minute)
		store.RebootTook(s, time.Minute)
		store.PermitTook(s, time.Minute)
	}
	return store
}

// TestScrape: it stays below 1 MiB; the benchmark says how long it takes.
func TestScrape(t *testing.T) {
	size := len(scrape(t, fleet(t)))
	t.Logf("%d KiB", size>>10)
	if size > 1<<20 {
		t.Errorf("a scrape has %d bytes", size)
	}
}

// BenchmarkScrape is to take 50 ms at most.
func BenchmarkScrape(b *testing.B) {
	store := fleet(b)
	b.ReportAllocs()
	for b.Loop() {
		scrape(b, store)
	}
}

// TestAtOnce is for the race detector.
func TestAtOnce(t *testing.T) {
	store := newStore()
	var all sync.WaitGroup
	for _, do := range []func(){
		func() { store.Set("demo", cordoned(1)) }, func() { store.StageTook(demo(), "a", v1alpha1.StageApply, time.Second) },
		func() { store.Forget("demo") }, func() { scrape(t, store) },
	} {
		all.Go(func() {
			for range 50 {
				do()
			}
		})
	}
	all.Wait()
}
