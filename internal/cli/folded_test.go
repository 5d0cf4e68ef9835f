package cli

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/internal/board"
)

// TestFolded breaks lines between words, and never within a command.
func TestFolded(t *testing.T) {
	for text, want := range map[string][]string{
		"":                          {""},
		"one two":                   {"one two"},
		"one two three four":        {"one two", "three four"},
		"run `kubectl get nodes` x": {"run", "`kubectl get nodes`", "x"},
		"a `b c d e f g h` i":       {"a", "`b c d e f g h`", "i"},
		"no end `a b":               {"no end `a b"},
	} {
		const columns = 10
		if got := folded(text, columns); !slices.Equal(got, want) {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

// TestWhoEnds is for people who do not know the words of the operator.
func TestWhoEnds(t *testing.T) {
	for by, want := range map[string]string{
		"":                    "",
		"time":                " (it ends by itself)",
		"time, administrator": " (it ends by itself, or an administrator ends it)",
		"other, author":       " (who can end it: another node, Skyhook or workload, or the author of the Skyhook)",
		"newer word":          " (who can end it: newer word)",
	} {
		if got := (&cause{Cause: board.Cause{EndedBy: by}}).whoEnds(); got != want {
			t.Errorf("%q: %q, want %q", by, got, want)
		}
	}
}

// TestSince: clocks of a cluster may be ahead, and a plan tells of waits that are to come.
func TestSince(t *testing.T) {
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	for past, want := range map[time.Duration]string{
		time.Minute: "gpu: Paused for 60s\n    it is\n", 0: "gpu: Paused for 0s\n    it is\n", -time.Minute: "gpu: Paused\n    it is\n",
	} {
		c := cause{Skyhook: "gpu", Cause: board.Cause{Reason: "Paused", Message: "it is", Since: metav1.NewTime(now.Add(-past))}}
		if got := c.lines(now, false); got != want {
			t.Errorf("since %s: %q, want %q", past, got, want)
		}
	}
	if got := ago(now, now.Add(time.Minute)); got != "0s" {
		t.Errorf("in a minute is %q", got)
	}
}
