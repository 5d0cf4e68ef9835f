package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// comparison is a figure early and late, and what it may grow.
type comparison struct {
	What  string  `json:"what"`
	Unit  string  `json:"unit,omitempty"`
	Early float64 `json:"early"`
	Late  float64 `json:"late"`
	Most  float64 `json:"most"`
	// Missing says why there is nothing to compare.
	Missing string `json:"missing,omitempty"`
}

func (c comparison) ok() bool { return c.Missing == "" && c.Late <= c.Most }

func (c comparison) String() string {
	if c.Missing != "" {
		return fmt.Sprintf("%s: %s", c.What, c.Missing)
	}
	verdict := "ok"
	if !c.ok() {
		verdict = "TOO MUCH"
	}
	return fmt.Sprintf("%s: %.1f, then %.1f %s; at most %.1f: %s", c.What, c.Early, c.Late, c.Unit, c.Most, verdict)
}

// What may grow: a tenth of memory; in small fleets, whose tenth is less than a few events more or less, these MiB.
// Goroutines are those that serve a connection or wait for a timer or an event.
const (
	soakGrowth    = 1.1
	slackRSS      = 16.0 // MiB
	slackHeap     = 4.0  // MiB
	slackRoutines = 20.0 // the recorder of events alone starts nine with the first event
	fewestSamples = 5
	storm         = 0.05 // of all writes that meet a conflict
)

func grow(what, unit string, early, late, factor, slack float64) comparison {
	return comparison{What: what, Unit: unit, Early: early, Late: late, Most: max(early*factor, early+slack)}
}

// rests are what operators need that have nothing to do: one just started after the install; after all is over the last
// one, and then one just started. What the first two differ in is history and the cluster; the last two have the same
// cluster, and the first and the last the same history.
type rests struct {
	Begin process `json:"begin"`
	End   process `json:"end"`
	Anew  process `json:"anew"`
}

// compare says what history leaves in an operator, and what it leaves in the cluster. Resident memory of operators of
// different histories says nothing: the runtime keeps some of what they once needed.
func (r rests) compare() []comparison {
	return []comparison{
		grow("at rest, just started, then after all: heap after a collection", "MiB", r.Anew.HeapLive, r.End.HeapLive, soakGrowth, slackHeap),
		grow("at rest, just started, then after all: goroutines", "", r.Anew.Goroutines, r.End.Goroutines, 1, slackRoutines),
		grow("just started after the install, then at the end: resident memory", "MiB", r.Begin.RSS, r.Anew.RSS, soakGrowth, slackRSS),
		grow("just started after the install, then at the end: heap after a collection", "MiB", r.Begin.HeapLive, r.Anew.HeapLive,
			soakGrowth, slackHeap),
		grow("just started after the install, then at the end: goroutines", "", r.Begin.Goroutines, r.Anew.Goroutines, 1, slackRoutines),
	}
}

// compareWork compares what the last operator needs under load, in the second and the last fifth of its time. Of each,
// the lower tenth counts: what leaks is there in calm moments as well, while the rest depends on what just happens. The
// time is left out in which it does not forget yet what happened, see still.
func compareWork(samples []sample, plan soakPlan) []comparison {
	last := 0
	for _, s := range samples {
		last = max(last, s.Life)
	}
	warm := slices.DeleteFunc(slices.Clone(samples), func(s sample) bool {
		return s.Life != last || s.At > plan.Length || s.Age < plan.still()
	})
	var from, to time.Duration
	if len(warm) > 0 {
		from, to = warm[0].At, warm[len(warm)-1].At
	}
	return []comparison{
		compareFifths("last operator under load: resident memory", warm, from, to, func(s sample) float64 { return s.RSS }, slackRSS),
		compareFifths("last operator under load: heap after a collection", warm, from, to,
			func(s sample) float64 { return s.HeapLive }, slackHeap),
	}
}

func compareFifths(
	what string, samples []sample, from, to time.Duration, of func(sample) float64, slack float64,
) comparison {
	fifth := (to - from) / 5
	early := window(samples, from+fifth, from+2*fifth, of)
	late := window(samples, to-fifth, to, of)
	if len(early) < fewestSamples || len(late) < fewestSamples {
		return comparison{What: what, Missing: fmt.Sprintf("%d samples early and %d late are too few; let it last longer",
			len(early), len(late))}
	}
	return grow(what, "MiB", lowerTenth(early), lowerTenth(late), soakGrowth, slack)
}

func window(samples []sample, from, to time.Duration, of func(sample) float64) []float64 {
	var all []float64
	for _, s := range samples {
		if s.At >= from && s.At <= to {
			all = append(all, of(s))
		}
	}
	return all
}

// lowerTenth is what a tenth of the values, of which there are some, do not exceed.
func lowerTenth(values []float64) float64 {
	return slices.Sorted(slices.Values(values))[(len(values)-1)/10]
}

// requestsOf all lives together: the last sample of each has its own.
func requestsOf(samples []sample) counts {
	last := map[int]counts{}
	for _, s := range samples {
		last[s.Life] = s.Requests
	}
	sum := counts{}
	for _, one := range last {
		for key, n := range one {
			sum[key] += n
		}
	}
	return sum
}

// compareConflicts finds writes that meet others again and again.
func compareConflicts(requests counts) comparison {
	var conflicts float64
	for key, n := range requests {
		if strings.HasSuffix(key, " 409") {
			conflicts += n
		}
	}
	return comparison{
		What: "conflicts, of the operator's writes", Unit: "%", Most: 100 * storm,
		Late: 100 * conflicts / max(1, requests.total()),
	}
}
