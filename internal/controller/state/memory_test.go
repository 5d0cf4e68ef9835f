package state

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

func TestMemory(t *testing.T) {
	var m Memory[int]
	for _, c := range []struct {
		name      string
		uid       types.UID
		had, puts int
	}{
		{"a", "uid-a", 0, 1},
		{"a", "uid-a", 1, 2},
		{"b", "uid-b", 0, 3},
		{"a", "uid-a", 2, 4},
		{"a", "uid-again", 0, 5}, // another one of that name
		{"b", "uid-b", 3, 3},
	} {
		s := named(c.name)
		s.UID = c.uid
		if got := m.Of(s); *got != c.had {
			t.Errorf("of %s, which is %s, %d is remembered, want %d", c.name, c.uid, *got, c.had)
		}
		*m.Of(s) = c.puts
	}
	m.Forget("b")
	if got := *m.Of(named("b")); got != 0 || m.Len() != 2 {
		t.Errorf("forgotten, %d is remembered, of %d objects", got, m.Len())
	}
}

// TestFailures: people are told once, after three in a row over ten seconds.
func TestFailures(t *testing.T) {
	for name, c := range map[string]struct {
		at   []int // seconds
		told int   // at which of them; -1 for never
	}{
		"too few":         {[]int{0, 60}, -1},
		"too soon":        {[]int{0, 3, 6, 9}, -1},
		"the third":       {[]int{0, 5, 10, 15}, 2},
		"after a time":    {[]int{0, 1, 2, 9, 10, 11}, 4},
		"long afterwards": {[]int{0, 1, 3600, 7200}, 2},
	} {
		var f Failures
		for i, at := range c.at {
			begins := f.Add(time.Unix(int64(at), 0))
			if begins != (i == c.told) || f.Last != (c.told >= 0 && i >= c.told) {
				t.Errorf("%s: failure %d: begins %t, lasts %t", name, i, begins, f.Last)
			}
		}
	}
}
