package main

import (
	"maps"
	"math"
	"slices"
	"time"
)

// quantile of values by the nearest rank; 0 of none.
func quantile(values []time.Duration, q float64) time.Duration {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(len(sorted)-1, max(0, int(math.Ceil(q*float64(len(sorted))))-1))]
}

// histogram counts values by the upper bounds of its buckets, each with all below it, as Prometheus has it.
type histogram struct {
	buckets map[float64]float64
	sum     float64
}

func (h histogram) minus(earlier histogram) histogram {
	d := histogram{buckets: map[float64]float64{}, sum: h.sum - earlier.sum}
	for bound, n := range h.buckets {
		d.buckets[bound] = n - earlier.buckets[bound]
	}
	return d
}

func (h histogram) count() float64 { return h.buckets[math.Inf(1)] }

// quantile within the bucket that it falls into, as if its values were spread evenly; 0 of none. Of values beyond the
// last bound, that bound.
func (h histogram) quantile(q float64) float64 {
	rank, below, lower := q*h.count(), 0.0, 0.0
	if rank == 0 {
		return 0
	}
	for _, bound := range slices.Sorted(maps.Keys(h.buckets)) {
		n := h.buckets[bound]
		if n >= rank {
			if math.IsInf(bound, 1) {
				return lower
			}
			return lower + (bound-lower)*(rank-below)/(n-below)
		}
		below, lower = n, bound
	}
	return lower
}

// most is the bound that no value exceeds, the least one of the buckets' bounds; 0 of none.
func (h histogram) most() float64 {
	if h.count() == 0 {
		return 0
	}
	for _, bound := range slices.Sorted(maps.Keys(h.buckets)) {
		if h.buckets[bound] == h.count() {
			return bound
		}
	}
	return 0
}

// usage is the CPU time that each process has used, and the whole machine, by a moment.
type usage struct {
	at      time.Time
	process map[string]time.Duration
	machine time.Duration
	// yardstick is what its piece of work took then; samples have it.
	yardstick time.Duration
}

// saturated is the share of all processors from which on the machine counts as the limit.
const saturated = 0.9

// Who is the limit, beside the processes: others on the machine, or nobody.
const (
	limitOthers = "others"
	limitNobody = "nobody"
)

// limits are the shares of the time in which each was the limit: while the processors are busy, whoever uses most of
// them; otherwise nobody, as everyone waits for containers, disks or turns.
func limits(samples []usage, processors int) map[string]float64 {
	shares := map[string]float64{}
	if len(samples) < 2 {
		return shares
	}
	whole := samples[len(samples)-1].at.Sub(samples[0].at)
	for i := 1; i < len(samples); i++ {
		a, b := samples[i-1], samples[i]
		shares[limitOf(a, b, processors)] += b.at.Sub(a.at).Seconds() / whole.Seconds()
	}
	return shares
}

func limitOf(a, b usage, processors int) string {
	machine := b.machine - a.machine
	if machine.Seconds() < saturated*float64(processors)*b.at.Sub(a.at).Seconds() {
		return limitNobody
	}
	others, most, name := machine, time.Duration(-1), ""
	for _, process := range slices.Sorted(maps.Keys(b.process)) {
		used := b.process[process] - a.process[process]
		if others -= used; used > most {
			most, name = used, process
		}
	}
	if others > most {
		return limitOthers
	}
	return name
}
