package admission

import (
	"maps"
	"slices"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/text"
)

// Scripts returns the scripts in configMaps of which hosts would take a carriage return at the end of a line for part
// of it. Of an edit only what it brings: a Skyhook that is stored stays valid. old is nil for a new Skyhook.
func Scripts(old, s *v1alpha1.Skyhook) []Problem {
	c := &checker{}
	for _, name := range slices.Sorted(maps.Keys(s.Spec.Packages)) {
		before, _ := packageOf(old, name)
		now := s.Spec.Packages[name].ConfigMap
		for _, key := range slices.Sorted(maps.Keys(now)) {
			line := text.CarriageReturn(key, []byte(now[key]))
			if stored, ok := before.ConfigMap[key]; line == 0 || ok && stored == now[key] {
				continue
			}
			c.add("spec.packages."+name+".configMap."+key, "line %d ends with CR and LF, and the CR counts as part of it; %s",
				line, text.FixLineEnds)
		}
	}
	return c.sorted()
}
