package faults

import (
	"time"

	"github.com/skyhook-operator/skyhook/internal/record"
)

// clockSlack is how far ahead of an operator's clock a record may be before the operator moves it back as a whole.
const clockSlack = time.Minute

// checkTimes: the order of the times in a record is the order of what happened, whatever clocks those have that write
// it. What begins is later than all that the record had, and stays so when the record is moved back.
func (c *watcher) checkTimes(node, skyhook string, before, after record.Node) {
	if c.w.acting == nil {
		return
	}
	newest, kept := newestOf(before.Packages, nil), newestOf(after.Packages,
		func(e record.Entry) bool { return isKept(before, e) })
	now := c.w.acting.clock.Now().Truncate(time.Second)
	ahead := newest.Sub(now) > clockSlack
	for _, key := range sortedKeys(after.Packages) {
		e := after.Packages[key]
		switch {
		case !isNew(before, e):
		case !e.Since.After(kept):
			c.w.findClass("time-order", "kept", "%s of %s on %s begins %s at %s, but the record has something of %s",
				key, skyhook, node, e.Stage, e.Since.UTC(), kept.UTC())
		case !ahead && !e.Since.After(newest):
			c.w.findClass("time-order", "back", "%s of %s on %s begins %s at %s, but the record had something of %s",
				key, skyhook, node, e.Stage, e.Since.UTC(), newest.UTC())
		case ahead && e.Since.Sub(now) > clockSlack:
			c.w.findClass("time-order", "ahead", "%s of %s on %s begins %s at %s, but it is %s",
				key, skyhook, node, e.Stage, e.Since.UTC(), now.UTC())
		}
	}
}

// isNew reports whether a run or a stage of the entry began after the record was written.
func isNew(before record.Node, e record.Entry) bool {
	was, ok := before.Packages[e.Key()]
	return !ok || was.Run != e.Run || was.Stage != e.Stage
}

// isKept reports whether nothing happened to the entry since the record was written.
func isKept(before record.Node, e record.Entry) bool {
	was, ok := before.Packages[e.Key()]
	return ok && was.Run == e.Run && was.Stage == e.Stage && was.State == e.State
}

// newestOf is the latest time of the entries that count; all do for nil.
func newestOf(entries map[string]record.Entry, counts func(record.Entry) bool) time.Time {
	var newest time.Time
	for _, e := range entries {
		if (counts == nil || counts(e)) && e.Since.After(newest) {
			newest = e.Since.Time
		}
	}
	return newest
}
