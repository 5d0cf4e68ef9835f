package capability

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

const (
	// maxNamed is how many packages a summary names before it only counts.
	maxNamed = 3
	// maxSummary bounds a summary, in bytes: the note of an event may have 1,024.
	maxSummary = 900
)

// Doubt is a package of which nobody can tell whether it can be uninstalled.
type Doubt struct {
	Package, Reference string
	Verdict
}

// Doubts returns the packages that leave uninstall.enabled unset and whose images were looked at in vain, by name.
func Doubts(s *v1alpha1.Skyhook) []Doubt {
	known := Read(s)
	var doubts []Doubt
	for _, name := range slices.Sorted(maps.Keys(s.Spec.Packages)) {
		p := s.Spec.Packages[name]
		if !undecided(&p) {
			continue
		}
		if verdict, _ := known.Of(p.ImageRef()); verdict.Answer == Unknown {
			doubts = append(doubts, Doubt{Package: name, Reference: p.ImageRef(), Verdict: verdict})
		}
	}
	return doubts
}

// Summary is one text about doubts, with the package, the image and the cause of the first three, in at most 900
// bytes.
func Summary(doubts []Doubt) string {
	var texts []string
	for _, d := range doubts[:min(len(doubts), maxNamed)] {
		texts = append(texts, fmt.Sprintf("package %s (image %s): %s", d.Package, d.Reference, d.Message))
	}
	if more := len(doubts) - maxNamed; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return bounded(strings.Join(texts, "; "), maxSummary)
}
