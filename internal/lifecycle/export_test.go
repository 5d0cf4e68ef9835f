package lifecycle

import "github.com/skyhook-operator/skyhook/internal/situation"

// PhaseIn reads the phase of a package of the spec, or of the version of it that leaves, as Next does in its first
// look.
func PhaseIn(o Observation, name string) situation.Phase {
	p := newPass(o)
	for _, u := range p.units() {
		if u.name == name {
			return p.phase(u, p.entryOf(u))
		}
	}
	return ""
}
