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
// Goroutines are those that serve a connection or wait for a timer.
const (
	soakGrowth     = 1.1
	slackRSS       = 16.0 // MiB
	slackHeap      = 4.0  // MiB
	slackRoutines  = 10.0
	fewestSamples  = 5
	storm          = 0.05 // of all writes that meet a conflict
	shortestWindow = 10 * time.Second
)

func grow(what, unit string, early, late, factor, slack float64) comparison {
	return comparison{What: what, Unit: unit, Early: early, Late: late, Most: max(early*factor, early+slack)}
}

// compareIdle compares two moments without work: after the install, and after all is over.
func compareIdle(begin, end process) []comparison {
	return []comparison{
		grow("idle: resident memory", "MiB", begin.RSS, end.RSS, soakGrowth, slackRSS),
		grow("idle: heap after a collection", "MiB", begin.HeapLive, end.HeapLive, soakGrowth, slackHeap),
		grow("idle: goroutines", "", begin.Goroutines, end.Goroutines, 1, slackRoutines),
	}
}

// compareWork compares what is needed under load: in the second and the last fifth of the soak, and of the last
// operator's time. Of each, the lower tenth counts: what leaks is there in calm moments as well, while the rest depends
// on what just happens. The time after each start is left out, as a heap grows then until it has what it needs. A life that is too
// short to be compared is left out as well: the soak as a whole is not.
func compareWork(samples []sample, length time.Duration) []comparison {
	warm := slices.DeleteFunc(slices.Clone(samples), func(s sample) bool {
		return s.At > length || s.Age < length/60
	})
	rss := func(s sample) float64 { return s.RSS }
	heap := func(s sample) float64 { return s.HeapLive }
	all := []comparison{
		compareFifths("under load: resident memory", warm, 0, length, rss, slackRSS),
		compareFifths("under load: heap after a collection", warm, 0, length, heap, slackHeap),
	}
	if len(warm) == 0 {
		return all
	}
	last := warm[len(warm)-1].Life
	warm = slices.DeleteFunc(warm, func(s sample) bool { return s.Life != last })
	from, to := warm[0].At, warm[len(warm)-1].At
	if to-from >= 5*shortestWindow {
		all = append(all, compareFifths("last operator under load: heap after a collection", warm, from, to, heap, slackHeap))
	}
	return all
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
