package history

import (
	"errors"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

const (
	// MaxStages is how many kinds of stages are kept; the one that ran longest ago goes first.
	MaxStages = 64
	// maxRecent is how many runs of each are kept.
	maxRecent = 64
)

// Key is one kind of stage: that of a package version.
type Key struct {
	Package string         `json:"package"`
	Version string         `json:"version"`
	Stage   v1alpha1.Stage `json:"stage"`
	// Interrupt is its type in a stage that is one: a reboot takes longer than a restart.
	Interrupt v1alpha1.InterruptType `json:"interrupt,omitempty"`
}

// Stage is how long one kind of stage takes.
type Stage struct {
	Key
	// Count is how many runs were measured.
	Count int `json:"count"`
	// P50 is the time that half of the recent runs took at most, P95 that of 95 in 100.
	P50 metav1.Duration `json:"p50"`
	P95 metav1.Duration `json:"p95"`
	// Recent are the last runs, in seconds, the newest last.
	Recent []int32 `json:"recent"`
}

// Stages are the kinds of stages of a Skyhook, that which ran last at the end.
type Stages []Stage

// Add returns the stages with one more run, of the given time.
func (s Stages) Add(k Key, took time.Duration) Stages {
	seconds := int32(max(1, min(took.Round(time.Second), maxTook)/time.Second))
	return s.Merge(Stages{{Key: k, Count: 1, Recent: []int32{seconds}}})
}

// maxTook is the longest time that is kept.
const maxTook = 1000 * time.Hour

// Merge returns the stages with runs that came later. It leaves both alone.
func (s Stages) Merge(later Stages) Stages {
	all := slices.Clone(s)
	for _, l := range later {
		merged := Stage{Key: l.Key}
		if at := slices.IndexFunc(all, func(have Stage) bool { return have.Key == l.Key }); at >= 0 {
			merged = all[at]
			all = slices.Delete(all, at, at+1)
		}
		merged.Count += l.Count
		merged.Recent = slices.Concat(merged.Recent, l.Recent)
		all = append(all, merged.summed())
	}
	return all[max(0, len(all)-MaxStages):]
}

// summed is a stage with what follows from its runs.
func (s Stage) summed() Stage {
	s.Recent = s.Recent[max(0, len(s.Recent)-maxRecent):]
	s.P50.Duration, s.P95.Duration = quantile(s.Recent, 50), quantile(s.Recent, 95)
	return s
}

// quantile is the time that so many in 100 runs took at most.
func quantile(seconds []int32, percent int) time.Duration {
	if len(seconds) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(seconds))
	rank := (len(sorted)*percent + 99) / 100 // rounded up
	return time.Duration(sorted[rank-1]) * time.Second
}

// check refuses what no operator wrote.
func (s Stages) check() error {
	for _, st := range s {
		outside := func(seconds int32) bool { return seconds < 1 || time.Duration(seconds)*time.Second > maxTook }
		if st.Package == "" || st.Stage == "" || len(st.Recent) == 0 || st.Count < len(st.Recent) ||
			slices.ContainsFunc(st.Recent, outside) {
			return errors.New("a stage without its name, or with times that cannot be")
		}
	}
	return nil
}

// Basis is what an estimate goes by.
type Basis string

// What an estimate goes by, the best first.
const (
	BasisVersion Basis = "version" // runs of the very stage
	BasisPackage Basis = "package" // runs of the stage of other versions of the package
	BasisSkyhook Basis = "skyhook" // runs of the stage of other packages of the Skyhook
	BasisUsual   Basis = "usual"   // nothing was measured
)

// Estimate is how long a stage is going to take, by so many runs.
type Estimate struct {
	Takes time.Duration
	Basis Basis
	Runs  int
}

// Estimate returns what half of the runs most like a stage took at most; false if there were none.
func (s Stages) Estimate(k Key) (Estimate, bool) {
	for _, level := range []struct {
		basis Basis
		like  func(Key) Key
	}{
		{BasisVersion, func(k Key) Key { return k }},
		{BasisPackage, func(k Key) Key { k.Version = ""; return k }},
		{BasisSkyhook, func(k Key) Key { k.Package, k.Version = "", ""; return k }},
	} {
		var runs []int32
		e := Estimate{Basis: level.basis}
		for _, st := range s {
			if level.like(st.Key) == level.like(k) {
				runs = append(runs, st.Recent...)
				e.Runs += st.Count
			}
		}
		if len(runs) > 0 {
			e.Takes = quantile(runs, 50)
			return e, true
		}
	}
	return Estimate{}, false
}
