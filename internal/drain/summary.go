package drain

import (
	"time"

	"github.com/skyhook-operator/skyhook/internal/text"
)

// namesBytes is what the names of pods may take of a summary, of which a record keeps 256 bytes.
const namesBytes = 100

// Summary tells the one reason that users see, the first of: ProtectedPod, EvictionRefused, PodReturns, PodUnmanaged,
// PodUsesEmptyDir, PodTerminating, Evicting. The message names its first pods and how many more there are;
// since is when the first of them began to hold the drain. All are zero when the node is clear.
func (s State) Summary() (reason, message string, since time.Time) {
	if len(s.Blockers) == 0 {
		return "", "", time.Time{}
	}
	first := s.Blockers[0]
	since = first.Since
	var pods []string
	about := ": "
	for _, b := range s.Blockers {
		if b.Reason != first.Reason {
			break
		}
		pods = append(pods, b.String())
		if b.Since.Before(since) {
			since = b.Since
		}
		if b.Message != first.Message {
			about = "; " + first.String() + ": " // what is true of the first pod is not true of all
		}
	}
	return first.Reason, list(pods) + about + first.Message, since
}

// list writes "pod a", "pods a, b" or "pods a, b and 2 more".
func list(pods []string) string {
	if len(pods) == 1 {
		return "pod " + pods[0]
	}
	return "pods " + text.Fit(pods, namesBytes)
}
