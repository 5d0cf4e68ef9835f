package rollout

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"sigs.k8s.io/yaml"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// parse reads a strategy as the policy spells it.
func parse(t *testing.T, text string) strategy {
	t.Helper()
	var s v1alpha1.Strategy
	if err := yaml.UnmarshalStrict([]byte(text), &s); err != nil {
		t.Fatal(err)
	}
	out, err := prepareStrategy("strategy", s)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// state reads "last=4 failed done=7+2 consecutive=1 stop batch=3": the size of the last batch and whether it was bad,
// the nodes that are complete and that failed, the number of bad batches in a row.
func state(t *testing.T, text string) v1alpha1.BatchState {
	t.Helper()
	b := v1alpha1.BatchState{CurrentBatch: 1}
	for _, word := range strings.Fields(text) {
		var err error
		k, v, _ := strings.Cut(word, "=")
		switch k {
		case "last":
			_, err = fmt.Sscan(v, &b.LastBatchSize)
		case "failed":
			b.LastBatchFailed = true
		case "done":
			_, err = fmt.Sscanf(v, "%d+%d", &b.CompletedNodes, &b.FailedNodes)
		case "consecutive":
			_, err = fmt.Sscan(v, &b.ConsecutiveFailures)
		case "before":
			_, err = fmt.Sscan(v, &b.Before)
		case "closed":
			var o v1alpha1.ClosedBatch
			err = json.Unmarshal([]byte(strconv.Quote(v)), &o)
			b.Closed = append(b.Closed, o)
		case "stop":
			b.ShouldStop = true
		case "batch":
			_, err = fmt.Sscan(v, &b.CurrentBatch)
		default:
			t.Fatalf("state has the word %q", word)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func TestStrategyDefaults(t *testing.T) {
	for text, want := range map[string]strategy{
		"fixed: {}":       {kind: fixed, initial: 1, batchThreshold: 100, safetyLimit: 50},
		"linear: {}":      {kind: linear, initial: 1, batchThreshold: 100, safetyLimit: 50, step: 1},
		"exponential: {}": {kind: exponential, initial: 1, batchThreshold: 100, safetyLimit: 50, step: 2},
		"fixed: {initialBatch: 5, batchThreshold: 80, safetyLimit: 30, failureThreshold: 3}": {
			kind: fixed, initial: 5, batchThreshold: 80, safetyLimit: 30, failureThreshold: 3,
		},
		"linear: {delta: 4}":             {kind: linear, initial: 1, batchThreshold: 100, safetyLimit: 50, step: 4},
		"exponential: {growthFactor: 3}": {kind: exponential, initial: 1, batchThreshold: 100, safetyLimit: 50, step: 3},
		// What the CRD refuses never divides by zero or stops at once.
		"exponential: {growthFactor: 0, initialBatch: -1, failureThreshold: 0}": {
			kind: exponential, initial: 1, batchThreshold: 100, safetyLimit: 50, step: 2, failureThreshold: 1,
		},
	} {
		if got := parse(t, text); got != want {
			t.Errorf("%s is %+v, want %+v", text, got, want)
		}
	}
}

func TestStrategyHasOneKind(t *testing.T) {
	for _, s := range []v1alpha1.Strategy{
		{},
		{Fixed: &v1alpha1.FixedStrategy{}, Linear: &v1alpha1.LinearStrategy{}},
		{Linear: &v1alpha1.LinearStrategy{}, Exponential: &v1alpha1.ExponentialStrategy{}},
	} {
		if _, err := prepareStrategy("spec.default.strategy", s); err == nil || !strings.Contains(err.Error(), "spec.default.strategy") {
			t.Errorf("%+v: error %v does not name the field", s, err)
		}
	}
}

func TestNextSize(t *testing.T) {
	for _, c := range []struct {
		name     string
		strategy string
		state    string
		total    int
		ceiling  int
		want     int
	}{
		{"fixed: the first batch", "fixed: {initialBatch: 3}", "", 20, 10, 3},
		{"fixed: stays", "fixed: {initialBatch: 3}", "last=3 done=3+0", 20, 10, 3},
		{"fixed: stays after a bad batch", "fixed: {initialBatch: 3}", "last=3 failed done=0+3", 20, 10, 3},
		{"fixed: no more than remain", "fixed: {initialBatch: 3}", "last=3 done=18+0", 20, 10, 2},
		{"fixed: at least one, for those that failed", "fixed: {initialBatch: 3}", "last=3 done=18+2", 20, 10, 1},
		{"fixed: the ceiling caps", "fixed: {initialBatch: 8}", "", 20, 2, 2},

		{"linear: the first batch", "linear: {initialBatch: 2, delta: 3}", "", 50, 20, 2},
		{"linear: grows", "linear: {initialBatch: 2, delta: 3}", "last=2 done=2+0", 50, 20, 5},
		{"linear: shrinks after a bad one", "linear: {initialBatch: 2, delta: 3}", "last=5 failed done=5+2", 50, 20, 2},
		{"linear: not below one", "linear: {initialBatch: 2, delta: 3}", "last=2 failed done=0+2", 50, 20, 1},
		{"linear: a bad one at the safety limit slows no more", "linear: {delta: 3}", "last=5 failed done=23+2", 50, 20, 8},
		{"linear: a bad one just below it does", "linear: {delta: 3}", "last=5 failed done=22+2", 50, 20, 2},
		{"linear: no more than remain", "linear: {delta: 3}", "last=5 done=46+0", 50, 20, 4},
		{"linear: the ceiling caps", "linear: {delta: 3}", "last=5 done=5+0", 50, 6, 6},
		{"linear: no nodes", "linear: {}", "last=5", 0, 6, 0},

		{"exponential: the first batch", "exponential: {initialBatch: 1}", "", 100, 50, 1},
		{"exponential: doubles", "exponential: {}", "last=4 done=7+0", 100, 50, 8},
		{"exponential: by its factor", "exponential: {growthFactor: 3}", "last=4 done=7+0", 100, 50, 12},
		{"exponential: halves after a bad one", "exponential: {}", "last=8 failed done=10+5", 100, 50, 4},
		{"exponential: rounds down", "exponential: {growthFactor: 3}", "last=8 failed done=10+5", 100, 50, 2},
		{"exponential: not below one", "exponential: {}", "last=1 failed done=0+1", 100, 50, 1},
		{"exponential: a bad one at the safety limit slows no more", "exponential: {safetyLimit: 10}", "last=8 failed done=5+5", 100, 50, 16},
		{"exponential: no more than remain", "exponential: {}", "last=32 done=63+0", 100, 50, 37},
		{"exponential: the ceiling caps", "exponential: {}", "last=4 done=7+0", 100, 2, 2},
		{"exponential: no nodes", "exponential: {}", "", 0, 2, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := parse(t, c.strategy).nextSize(state(t, c.state), c.total, c.ceiling); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
	if got := (strategy{kind: none}).nextSize(state(t, "last=2 done=2+0"), 10, 4); got != 4 {
		t.Errorf("without strategy a batch has %d nodes, want the ceiling 4", got)
	}
	for _, huge := range []string{"linear: {delta: 9223372036854775807}", "exponential: {growthFactor: 9223372036854775807}"} {
		if got := parse(t, huge).nextSize(state(t, "last=5 done=5+0"), 20, math.MaxInt); got != 15 {
			t.Errorf("%s: got %d, want what remains, 15", huge, got)
		}
	}
}

func TestCloseBatch(t *testing.T) {
	const stops = "fixed: {failureThreshold: 2}"
	for _, c := range []struct {
		name         string
		strategy     string
		before       string
		good, failed int // members that gave their permit back
		bad          int // members that hold it, and are bad
		want         string
	}{
		{"a good batch", "fixed: {}", "batch=1 done=3+0", 3, 0, 0, "batch=2 last=3 done=3+0"},
		{"a bad batch", "fixed: {}", "batch=2 done=5+1", 2, 1, 0, "batch=3 last=3 failed done=5+1 consecutive=1 closed=3/1"},
		{"one that is bad holds its place", "fixed: {}", "done=5+1", 2, 0, 1, "batch=2 last=3 failed done=5+1 consecutive=1 closed=3/0:0"},
		{"good enough", "fixed: {batchThreshold: 66}", "done=5+1", 2, 1, 0, "batch=2 last=3 done=5+1"},
		{"good enough, with one that holds its place", "fixed: {batchThreshold: 66}", "done=5+1", 2, 0, 1, "batch=2 last=3 done=5+1"},
		{"not good enough: 66 % of 67", "fixed: {batchThreshold: 67}", "done=5+1", 2, 1, 0, "batch=2 last=3 failed done=5+1 consecutive=1 closed=3/1"},
		{"a good batch ends a row of bad ones", "fixed: {}", "batch=5 closed=1/1 closed=1/1 consecutive=2 failed", 1, 0, 0, "batch=6 last=1"},
		{"nothing came of it", "fixed: {}", "batch=2 last=1 done=3+1", 0, 0, 0, "batch=2 last=1 done=3+1"},
		{"enough bad batches in a row stop", stops, "batch=2 done=0+2 closed=1/1 consecutive=1 last=1 failed", 0, 1, 0, "batch=3 last=1 failed done=0+2 consecutive=2 closed=1/1 closed=1/1 stop"},
		{"one bad batch is not enough", stops, "done=0+1", 0, 1, 0, "batch=2 last=1 failed done=0+1 consecutive=1 closed=1/1"},
		{"the size of a batch does not count, only its verdict", stops, "done=0+5", 0, 5, 0, "batch=2 last=5 failed done=0+5 consecutive=1 closed=5/5"},
		{"without a threshold nothing stops", "fixed: {}", "batch=8 done=0+8 closed=1/1 consecutive=1", 0, 1, 0, "batch=9 last=1 failed done=0+8 consecutive=2 closed=1/1 closed=1/1"},
		{"from the safety limit on nothing stops", stops, "batch=9 done=8+2 closed=1/1 consecutive=1", 0, 1, 0, "batch=10 last=1 failed done=8+2 consecutive=2 closed=1/1 closed=1/1"},
		{"just below it: 45 %", stops, "batch=9 done=8+1 closed=1/1 consecutive=1", 0, 1, 0, "batch=10 last=1 failed done=8+1 consecutive=2 closed=1/1 closed=1/1 stop"},
		{"another safety limit", "fixed: {failureThreshold: 1, safetyLimit: 5}", "done=0+1", 0, 1, 0, "batch=2 last=1 failed done=0+1 consecutive=1 closed=1/1"},
		{"older ones of a row only count", stops, "before=4 closed=1/1:9 closed=1/1 closed=1/1 consecutive=7 stop", 0, 1, 0, "batch=2 last=1 failed before=5 consecutive=8 closed=1/1 closed=1/1 closed=1/1 stop"},
		{"what healed meanwhile stops nothing", stops, "batch=3 done=0+1 closed=1/0 consecutive=1", 0, 1, 0, "batch=4 last=1 failed done=0+1 consecutive=1 closed=1/1"},
		{"what is tried again has not healed", stops, "batch=3 done=0+1 closed=1/0:7 consecutive=1", 0, 1, 0, "batch=4 last=1 failed done=0+1 consecutive=2 closed=1/0:7 closed=1/1 stop"},
	} {
		t.Run(c.name, func(t *testing.T) {
			const total = 20
			got := state(t, c.before)
			got.BatchSize, got.Succeeded, got.Failed = c.good+c.failed+c.bad, c.good, c.failed
			var m membership
			for k := range c.bad {
				m.bad = append(m.bad, int32(k))
			}
			parse(t, c.strategy).closeBatch(&got, m, total)
			if diff := cmp.Diff(state(t, c.want), got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
	got := state(t, "batch=1 done=1+3")
	got.Succeeded, got.Failed = 1, 3
	(strategy{kind: none}).closeBatch(&got, membership{}, 10)
	if diff := cmp.Diff(state(t, "batch=2 last=4 done=1+3"), got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("without strategy, -want +got\n%s", diff)
	}
}

func TestNotEnforced(t *testing.T) {
	for _, c := range []struct{ strategy, state, want string }{
		{"fixed: {}", "", "no failureThreshold is set"},
		{"fixed: {failureThreshold: 1}", "", ""},
		{"fixed: {failureThreshold: 1}", "done=4+5", ""},
		{"fixed: {failureThreshold: 1}", "done=4+6", "progress 50 % reached the safetyLimit 50 %"},
		{"fixed: {failureThreshold: 1, safetyLimit: 20}", "done=6+0", "progress 30 % reached the safetyLimit 20 %"},
	} {
		if got := parse(t, c.strategy).notEnforced(state(t, c.state), 20); got != c.want {
			t.Errorf("%s after %q: %q, want %q", c.strategy, c.state, got, c.want)
		}
	}
}

func TestCeiling(t *testing.T) {
	count := func(n int) v1alpha1.Budget { return v1alpha1.Budget{Count: &n} }
	percent := func(n int) v1alpha1.Budget { return v1alpha1.Budget{Percent: &n} }
	for _, c := range []struct {
		name    string
		budget  v1alpha1.Budget
		matched int
		want    int
	}{
		{"count", count(3), 10, 3},
		{"count above the compartment", count(30), 10, 30},
		{"count of nothing", count(3), 0, 3},
		{"29 % of 100 is 29, not the 28 of floating point", percent(29), 100, 29},
		{"57 % of 100", percent(57), 100, 57},
		{"rounded down", percent(33), 10, 3},
		{"20 % of 2 is at least one", percent(20), 2, 1},
		{"1 % of 1", percent(1), 1, 1},
		{"100 %", percent(100), 7, 7},
		{"percent of nothing", percent(50), 0, 0},
		{"neither", v1alpha1.Budget{}, 10, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Ceiling(c.budget, c.matched); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}
