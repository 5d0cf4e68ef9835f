package cli

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// reestimate is how often it is estimated how long the rest takes, at most: that reads the cluster and plays the
	// rollout, and may take one part in estimateShare of the time.
	reestimate    = 30 * time.Second
	estimateShare = 20
)

// progress is how many nodes were complete when.
type progress struct {
	at       time.Time
	complete int
}

// speeds are how far each Skyhook was when it was seen first, by name.
type speeds map[string]progress

// see adds to a status how fast it goes since then.
func (s speeds) see(st *rolloutStatus, now time.Time) {
	first, known := s[st.Name]
	if !known || st.Nodes.Complete < first.complete { // another rollout has begun
		s[st.Name] = progress{now, st.Nodes.Complete}
		return
	}
	if took := now.Sub(first.at).Minutes(); took > 0 {
		st.rate = float64(st.Nodes.Complete-first.complete) / took
	}
}

// remainder is how long a rollout still takes, as it was estimated last.
type remainder struct {
	// left is nil if that could not be told.
	left *metav1.Duration
	// estimated is when, and next when it is to be estimated again.
	estimated, next time.Time
}

// due reports whether to estimate now. If so, it is not due again until that is told.
func (r *remainder) due(now time.Time) bool {
	if now.Before(r.next) {
		return false
	}
	r.next = now.Add(farAhead)
	return true
}

// told takes an estimate that took a while to make.
func (r *remainder) told(left *metav1.Duration, took time.Duration, now time.Time) {
	r.left, r.estimated, r.next = left, now, now.Add(max(reestimate, estimateShare*took))
}

// tell adds to a status what is left of the estimate.
func (r *remainder) tell(st *rolloutStatus, now time.Time) {
	if r.left != nil && estimable(st) {
		st.TimeLeft = &metav1.Duration{Duration: r.left.Duration - now.Sub(r.estimated)}
	}
}
