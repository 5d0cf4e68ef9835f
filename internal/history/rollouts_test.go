package history

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func at(minutes int) metav1.Time {
	return metav1.NewTime(start.Add(time.Duration(minutes) * time.Minute))
}

func TestNext(t *testing.T) {
	open := Rollout{Generation: 3, Author: "edit", Started: at(0), Nodes: 10, Failures: 1}
	with := func(change func(*Rollout)) Rollout {
		r := open
		change(&r)
		return r
	}
	ended := with(func(r *Rollout) { r.Ended = at(5) })
	until := with(func(r *Rollout) { r.Ended, r.CompleteUntil = at(5), 4 })
	seen := func(generation int64, incomplete, failed int) Seen {
		return Seen{Generation: generation, Author: "argo", Incomplete: incomplete, Failed: failed, Now: at(10).Time}
	}
	begun := func(generation int64) Rollout {
		return Rollout{Generation: generation, Author: "argo", Started: at(10), Nodes: 4, Failures: 2}
	}
	since := func(s Seen, minutes int) Seen {
		s.CompleteSince = at(minutes).Time
		return s
	}
	for _, c := range []struct {
		name   string
		have   Rollouts
		seen   Seen
		want   Rollouts
		turned bool
	}{
		{"the first begins", nil, seen(1, 4, 2), Rollouts{begun(1)}, true},
		{"nothing to do at all", nil, seen(1, 0, 0), nil, false},
		{"it goes on", Rollouts{open}, seen(3, 4, 0), Rollouts{open}, false},
		{"more nodes, more failures", Rollouts{open}, seen(3, 11, 3), Rollouts{with(func(r *Rollout) { r.Nodes, r.Failures = 11, 3 })}, false},
		{"it ends", Rollouts{open}, seen(3, 0, 4), Rollouts{with(func(r *Rollout) { r.Ended, r.Failures = at(10), 4 })}, true},
		{"an end that was missed", Rollouts{open}, since(seen(3, 0, 0), 5), Rollouts{ended}, true},
		{"a time that cannot be its end", Rollouts{open}, since(seen(3, 0, 0), 0), Rollouts{with(func(r *Rollout) { r.Ended = at(10) })}, true},
		{"a clock that is ahead", Rollouts{open}, since(seen(3, 0, 0), 11), Rollouts{with(func(r *Rollout) { r.Ended = at(10) })}, true},
		{"it has ended", Rollouts{ended}, seen(3, 0, 0), Rollouts{ended}, false},
		{"a node that comes later", Rollouts{ended}, seen(3, 1, 1), Rollouts{ended}, false},
		{"the next one begins", Rollouts{ended}, seen(4, 4, 2), Rollouts{begun(4), ended}, true},
		{
			"the next one supersedes it",
			Rollouts{open},
			seen(5, 4, 2),
			Rollouts{begun(5), with(func(r *Rollout) { r.Ended, r.SupersededBy = at(10), 5 })},
			true,
		},
		{
			"an edit after which all is complete",
			Rollouts{open},
			seen(4, 0, 0),
			Rollouts{with(func(r *Rollout) { r.Ended, r.CompleteUntil = at(10), 4 })},
			true,
		},
		{
			"what failed before it is a failure of the one before",
			Rollouts{open},
			Seen{Generation: 4, Author: "argo", Incomplete: 4, FailedBefore: 3, Now: at(10).Time},
			Rollouts{
				{Generation: 4, Author: "argo", Started: at(10), Nodes: 4},
				with(func(r *Rollout) { r.Ended, r.SupersededBy, r.Failures = at(10), 4, 3 }),
			},
			true,
		},
		{"an edit that concerns no node", Rollouts{ended}, seen(4, 0, 0), Rollouts{until}, false},
		{"a node that comes after it", Rollouts{until}, seen(4, 1, 0), Rollouts{until}, false},
		{"the next edit", Rollouts{until}, seen(5, 4, 2), Rollouts{begun(5), until}, true},
		{"a cache that is behind", Rollouts{open}, seen(2, 5, 5), Rollouts{open}, false},
		{"a cache that is behind, and complete", Rollouts{open}, seen(2, 0, 0), Rollouts{open}, false},
	} {
		before := append(Rollouts(nil), c.have...)
		got, turned := c.have.Next(c.seen)
		if d := cmp.Diff(c.want, got); d != "" || turned != c.turned {
			t.Errorf("%s: turned %t (-want +got):\n%s", c.name, turned, d)
		}
		if begins := c.have.Begins(c.seen); begins != (len(got) > 0 && got[0].Started == at(10)) {
			t.Errorf("%s: begins %t", c.name, begins)
		}
		if d := cmp.Diff(before, c.have); d != "" {
			t.Errorf("%s: what was there changed:\n%s", c.name, d)
		}
		// A crash before the write: the next pass, which sees the same, comes to the same. A crash after it changes nothing.
		if again, turned := got.Next(c.seen); turned || cmp.Diff(got, again) != "" {
			t.Errorf("%s: a second pass makes %+v of it", c.name, again)
		}
	}
}

func TestNextKeepsTwenty(t *testing.T) {
	var all Rollouts
	for i := range 30 {
		all, _ = all.Next(Seen{Generation: int64(i + 1), Incomplete: 1, Now: at(i).Time})
	}
	if len(all) != MaxRollouts || all[0].Generation != 30 || all[19].Generation != 11 {
		t.Errorf("%d rollouts: %+v", len(all), all)
	}
	if err := all.check(); err != nil {
		t.Error(err)
	}
}

func TestAuthor(t *testing.T) {
	entry := func(manager, sub, fields string, minutes int) metav1.ManagedFieldsEntry {
		when := at(minutes)
		return metav1.ManagedFieldsEntry{
			Manager: manager, Subresource: sub, Time: &when, FieldsV1: &metav1.FieldsV1{Raw: []byte(fields)},
		}
	}
	spec := func(manager string, minutes int) metav1.ManagedFieldsEntry {
		return entry(manager, "", `{"f:metadata":{},"f:spec":{"f:packages":{}}}`, minutes)
	}
	for _, c := range []struct {
		name string
		of   []metav1.ManagedFieldsEntry
		want string
	}{
		{"nobody", nil, ""},
		{"only one", []metav1.ManagedFieldsEntry{spec("edit", 1)}, "edit"},
		{"the last", []metav1.ManagedFieldsEntry{spec("edit", 3), spec("apply", 2)}, "edit"},
		{"of the same second", []metav1.ManagedFieldsEntry{spec("edit", 3), spec("apply", 3)}, "apply"},
		{
			"not who changes something else",
			[]metav1.ManagedFieldsEntry{
				spec("edit", 1), entry("operator", "", `{"f:metadata":{}}`, 2), entry("operator", "status", `{"f:spec":{}}`, 3),
				{Manager: "untimed", FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:spec":{}}`)}},
				{Manager: "empty"},
			},
			"edit",
		},
	} {
		if got := Author(c.of); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	long := Seen{Generation: 1, Incomplete: 1, Author: strings.Repeat("ü", 100), Now: start}
	if r, _ := Rollouts(nil).Next(long); r[0].Author != strings.Repeat("ü", 64) {
		t.Errorf("a long name becomes %q", r[0].Author)
	}
}
