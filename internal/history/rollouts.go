// Package history is what the operator keeps of the past of one Skyhook: its last rollouts, and how long stages took.
// It says what follows from what a pass sees, and how that is stored. It knows no client and no clock, and decides
// nothing: whatever is lost or wrong in a history, the work on nodes stays the same.
package history

import (
	"bytes"
	"errors"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// MaxRollouts is how many rollouts are kept.
	MaxRollouts = 20
	// maxAuthor is the longest name of an author, in bytes: that of a field manager.
	maxAuthor = 128
)

// Rollout is the work that followed one generation of a spec. Work on nodes that come later belongs to none.
type Rollout struct {
	Generation int64 `json:"generation"`
	// Author is the program, such as kubectl-edit, that changed the spec last before it began; empty if nobody knows.
	Author string `json:"author,omitempty"`
	// Started is when a node was first seen that is not as the spec says, in whole seconds.
	Started metav1.Time `json:"started"`
	// Ended is when every node was complete, or the next rollout began; zero before.
	Ended metav1.Time `json:"ended,omitzero"`
	// SupersededBy is the generation whose rollout began before this one was complete; 0 for none.
	SupersededBy int64 `json:"supersededBy,omitempty"`
	// CompleteUntil is the last generation that needed no rollout of its own since; 0 for none.
	CompleteUntil int64 `json:"completeUntil,omitempty"`
	// Nodes is how many were not complete, at most at a time; Failures, how many of them failed.
	Nodes    int `json:"nodes"`
	Failures int `json:"failures"`
	// Definitions are the names under which those of its packages are retained, by package: what is in the spec twice, as
	// after a rollback, is retained once. An earlier version of the operator wrote none.
	Definitions map[string]string `json:"definitions,omitempty"`
}

// Rollouts are the last ones of a Skyhook, the newest first, at most one for a generation.
type Rollouts []Rollout

// Seen is what a pass sees of a Skyhook's nodes.
type Seen struct {
	// Generation that the pass goes by, and who changed the spec to it, which is needed only if its rollout begins.
	Generation int64
	Author     string
	// Incomplete counts the nodes that are not complete, Failed those that failed, also if they do no longer.
	Incomplete, Failed int
	// FailedBefore counts the nodes that failed in the rollout before this one. Definitions are needed only if a rollout
	// begins, see Rollout.
	FailedBefore int
	Definitions  map[string]string
	// CompleteSince is when all nodes became complete, if that is known.
	CompleteSince time.Time
	Now           time.Time
}

// Begins reports whether a rollout begins that is not listed.
func (r Rollouts) Begins(s Seen) bool {
	return s.Incomplete > 0 && (len(r) == 0 || s.Generation > max(r[0].Generation, r[0].CompleteUntil))
}

// Began is when the rollout of a generation began: now, if it is not listed.
func (r Rollouts) Began(generation int64, now time.Time) time.Time {
	if len(r) > 0 && generation <= max(r[0].Generation, r[0].CompleteUntil) {
		return r[0].Started.Time
	}
	return now
}

// Next returns the rollouts as they are after a pass, and whether one began or ended. It may be asked again: what is
// listed stays, and an end that was missed is noted by the next pass.
func (r Rollouts) Next(s Seen) (next Rollouts, turned bool) {
	now := metav1.NewTime(s.Now.Truncate(time.Second))
	next = slices.Clone(r)
	if r.Begins(s) {
		if len(next) > 0 {
			next[0].Failures = max(next[0].Failures, s.FailedBefore)
		}
		if len(next) > 0 && next[0].Ended.IsZero() {
			next[0].Ended, next[0].SupersededBy = now, s.Generation
		}
		begun := Rollout{
			Generation: s.Generation, Author: string(bytes.ToValidUTF8([]byte(s.Author)[:min(len(s.Author), maxAuthor)], nil)),
			Started: now, Nodes: s.Incomplete, Failures: s.Failed, Definitions: s.Definitions,
		}
		next = slices.Insert(next, 0, begun)
		return next[:min(len(next), MaxRollouts)], true
	}
	if len(next) == 0 || next[0].Generation > s.Generation {
		return next, false // a generation that is older than what is listed was read from a cache that is behind
	}
	open := &next[0]
	if s.Incomplete == 0 && s.Generation > max(open.Generation, open.CompleteUntil) {
		open.CompleteUntil = s.Generation
	}
	if !open.Ended.IsZero() {
		return next, false
	}
	open.Failures = max(open.Failures, s.Failed)
	if s.Incomplete > 0 {
		open.Nodes = max(open.Nodes, s.Incomplete)
		return next, false
	}
	if open.Ended = now; s.CompleteSince.After(open.Started.Time) && s.CompleteSince.Before(s.Now) {
		open.Ended = metav1.NewTime(s.CompleteSince.Truncate(time.Second))
	}
	return next, true
}

// check refuses what no operator wrote.
func (r Rollouts) check() error {
	for i := range r {
		if r[i].Started.IsZero() || i > 0 && (r[i].Generation >= r[i-1].Generation || r[i].Ended.IsZero()) {
			return errors.New("not in the order in which they began and ended")
		}
	}
	return nil
}

// Author is the manager of the fields of an object that changed its spec last; empty if nobody is known to have.
func Author(fields []metav1.ManagedFieldsEntry) string {
	var last *metav1.ManagedFieldsEntry
	for i := range fields {
		f := &fields[i]
		spec := f.Subresource == "" && f.FieldsV1 != nil && bytes.Contains(f.FieldsV1.Raw, []byte(`"f:spec":`))
		if spec && f.Time != nil && (last == nil || !f.Time.Before(last.Time)) {
			last = f
		}
	}
	if last == nil {
		return ""
	}
	return last.Manager
}
