package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/skyhook-operator/skyhook/internal/lifecycle"
)

// movedImages tells for which packages of the spec a node got another image than the first; empty when none did.
func movedImages(in Input) string {
	var moved []lifecycle.Pin
	for key, pin := range in.Pins {
		pkg, ok := in.Skyhook.Spec.Packages[key.Package]
		if pin.Moved != "" && ok && pkg.Version == key.Version && pkg.Repository() == key.Image && pkg.Digest() == "" {
			moved = append(moved, pin)
		}
	}
	slices.SortFunc(moved, func(a, b lifecycle.Pin) int {
		return cmp.Or(cmp.Compare(a.Package, b.Package), cmp.Compare(a.Scope, b.Scope))
	})
	messages := make([]string, 0, len(moved))
	for _, pin := range moved {
		messages = append(messages, fmt.Sprintf("the tag %s:%s moved: node %s pulled %s, but every node runs %s, "+
			"which was pulled first; to run the other image, raise spec.packages.%s.version, or set containerSHA of the package to its digest",
			pin.Image, pin.Version, pin.Node, pin.Moved, pin.Digest, pin.Package))
	}
	return strings.Join(messages, "; ")
}
