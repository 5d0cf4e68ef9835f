package main

import (
	"fmt"
	"strings"
)

// comparison is a figure early and late, and what it may grow.
type comparison struct {
	What  string  `json:"what"`
	Unit  string  `json:"unit,omitempty"`
	Early float64 `json:"early"`
	Late  float64 `json:"late"`
	Most  float64 `json:"most"`
}

func (c comparison) ok() bool { return c.Late <= c.Most }

func (c comparison) String() string {
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
	slackHistory  = 10.0 // MiB; of 4,096 events for up to twelve minutes, and of what was read of records since the start
	slackRoutines = 20.0 // the recorder of events alone starts nine with the first event
	storm         = 0.05 // of all writes that meet a conflict
)

func grow(what, unit string, early, late, factor, slack float64) comparison {
	return comparison{What: what, Unit: unit, Early: early, Late: late, Most: max(early*factor, early+slack)}
}

// rests are what operators need that have nothing to do: one just started after the install; the last one in the middle
// and at the end; and then one just started. The second and the third are one process, the third and the fourth have the
// same cluster, and the first and the fourth the same history, none.
type rests struct {
	Begin  process `json:"begin"`
	Middle process `json:"middle"`
	End    process `json:"end"`
	Anew   process `json:"anew"`
}

// compare says what an operator needs more after more work, what its history leaves in it, and what it leaves in the
// cluster. Resident memory of operators of different histories says nothing: the runtime keeps some of what they once
// needed.
func (r rests) compare() []comparison {
	const work, history, cluster = "the last operator, in the middle, then at the end: ", "at the end, just started, then the last operator: ",
		"just started, after the install, then at the end: "
	return []comparison{
		grow(work+"resident memory", "MiB", r.Middle.RSS, r.End.RSS, soakGrowth, slackRSS),
		grow(work+"heap after a collection", "MiB", r.Middle.HeapLive, r.End.HeapLive, soakGrowth, slackHeap),
		grow(work+"goroutines", "", r.Middle.Goroutines, r.End.Goroutines, 1, slackRoutines),
		grow(history+"heap after a collection", "MiB", r.Anew.HeapLive, r.End.HeapLive, soakGrowth, slackHistory),
		grow(history+"goroutines", "", r.Anew.Goroutines, r.End.Goroutines, 1, slackRoutines),
		grow(cluster+"resident memory", "MiB", r.Begin.RSS, r.Anew.RSS, soakGrowth, slackRSS),
		grow(cluster+"heap after a collection", "MiB", r.Begin.HeapLive, r.Anew.HeapLive, soakGrowth, slackHeap),
		grow(cluster+"goroutines", "", r.Begin.Goroutines, r.Anew.Goroutines, 1, slackRoutines),
	}
}

// compareObjects finds what piles up in the cluster. Nodes that moved keep packages, and each of those versions has its
// ConfigMap.
func compareObjects(begin, end counts) []comparison {
	const slackMaps = 20.0
	var all []comparison
	for _, kind := range []string{nodeMaps, packageMaps} {
		all = append(all, grow("after the install, then at the end: "+kind, "", begin[kind], end[kind], soakGrowth, slackMaps))
	}
	return all
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
