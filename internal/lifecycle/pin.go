package lifecycle

import (
	"fmt"
	"maps"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

// Pin is what the tag of a package version stood for when the first node had pulled it. Every later pod of that version
// runs this, wherever the tag points by then.
type Pin struct {
	PinKey
	// Digest is what it stood for, such as sha256:4bcf….
	Digest string
	// Moved is another digest that a node got for the same tag, and Node that node; empty when none did.
	Moved, Node string
}

// PinKey is what one Pin is for.
type PinKey struct {
	Package, Version string
	// Image is the repository, without tag.
	Image string
	// Scope is the architecture whose nodes the digest is good for; empty for all. A container runtime that reports the
	// digest of the image for its own platform, instead of the index that the tag stands for, gives one that no other
	// could run.
	Scope string
}

// forAll is the key of what every architecture runs.
func (k PinKey) forAll() PinKey {
	k.Scope = ""
	return k
}

// Pins are all of a Skyhook. Nil pins nothing.
type Pins map[PinKey]Pin

// of returns the pin that counts for a package on a node; false while there is none, and for a package whose spec says
// itself what runs.
func (p Pins) of(pkg situation.Package, name string, n Node) (Pin, bool) {
	if p == nil || pkg.Digest() != "" {
		return Pin{}, false
	}
	key := PinKey{Package: name, Version: pkg.Version, Image: pkg.Image, Scope: n.Architecture}
	if pin, ok := p[key]; ok && key.Scope != "" {
		return pin, true
	}
	pin, ok := p[key.forAll()]
	return pin, ok
}

// pinScope is the scope of what a node pulls; false when nothing can be said of it.
func (n Node) pinScope() (string, bool) {
	if n.Resolves {
		return "", true
	}
	return n.Architecture, n.Architecture != ""
}

// pinned looks at the image that a pod runs, or ran: the first to pull it pins it. True when it is not the image that
// is pinned: then its result does not count, and the stage runs again with the one that is.
func (p *pass) pinned(u unit, e record.Entry, pod Pod) bool {
	scope, known := p.Node.pinScope()
	if p.Pins == nil || u.pkg.Digest() != "" || pod.Image != u.pkg.Image || pod.Digest == "" {
		return false
	}
	pin, ok := p.Pins.of(u.pkg, u.name, p.Node)
	switch {
	case !ok && (pod.ByDigest || !known):
		return false
	case !ok:
		p.pin(Pin{
			PinKey: PinKey{Package: u.name, Version: u.pkg.Version, Image: u.pkg.Image, Scope: scope},
			Digest: pod.Digest,
		})
		return false
	case pin.Digest == pod.Digest, !pod.ByDigest && pin.Scope != scope: // the latter cannot be compared
		return false
	case pod.ByDigest && p.Pins[pin.forAll()].Digest == pod.Digest: // the one of its architecture came meanwhile
		return false
	}
	if !pod.ByDigest {
		p.moved(pin, e, pod.Digest)
	}
	if !pod.Terminating {
		p.out.take(Step{Delete: &pod})
	}
	p.restart(&e, u.pkg)
	return true
}

// pin makes what the decision pins count for the rest of it.
func (p *pass) pin(pin Pin) {
	p.Pins = maps.Clone(p.Pins)
	p.Pins[pin.PinKey] = pin
	p.out.take(Step{Pin: &pin})
}

// moved tells of a tag that stood for another image a moment before.
func (p *pass) moved(pin Pin, e record.Entry, digest string) {
	if pin.Moved == "" {
		pin.Moved = digest
		p.out.take(Step{Moved: &pin})
	}
	p.out.take(Step{Tell: &Change{
		Package: e.Name, Version: e.Version, Stage: e.Stage, State: e.State, Reason: v1alpha1.ReasonImageMoved,
		Message: fmt.Sprintf("the image tag of package [%s:%s] moved: the package is pinned to %s, and this node pulled %s; "+
			"stage %s runs again with the pinned image; to run the other one, raise the version or set containerSHA",
			e.Name, e.Version, pin.Digest, digest, e.Stage),
	}})
}

// explainPull adds to the failure of a pull what people can do when the pinned image is not in the registry any more.
func (v view) explainPull(e record.Entry, pkg situation.Package, pod Pod) string {
	pin, ok := v.Pins.of(pkg, pod.Package, v.Node)
	if !ok || !pod.ByDigest || pin.Digest != pod.Digest || !pod.Missing {
		return pod.Message
	}
	if !v.DefinitionOf(e).FromSpec { // nothing of it is in the spec to be changed
		return fmt.Sprintf("%s\npinned by its first pull; put version %s back with containerSHA and uninstall.apply, "+
			"or add the node to annotation %s", pod.Message, e.Version, v1alpha1.AnnotationAbandonUninstall)
	}
	return fmt.Sprintf("%s\npinned by its first pull; to run another image, raise spec.packages.%s.version "+
		"or set containerSHA",
		pod.Message, pod.Package)
}
