package lifecycle

import (
	"fmt"
	"slices"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/situation"
	"github.com/skyhook-operator/skyhook/internal/version"
)

// withdraw forgets the versions that the spec no longer wants and of which nothing ever ran, such as one with a typo,
// whose image does not exist: there is nothing to uninstall, nothing to upgrade from, and often no image to do it with.
// That takes proof. The pod has to end without having begun; one that began in the last moment, or that went unseen, may
// have left something on the host, and then the version is one like any other.
func (p *pass) withdraw() {
	for key, e := range situation.Sorted(p.out.Record.Packages) {
		if !p.Withdrawn(e) {
			continue
		}
		pod, found := p.podOf(e)
		if !found {
			p.noteGone(&e)
		}
		switch {
		case !e.Untouched || found && pod.Begun:
			e.Untouched = false
			p.out.take(Step{Write: &e})
		case found && pod.Outcome != Lost:
			p.await(e, pod)
		default:
			p.out.take(Step{RemoveEntry: key})
		}
	}
	p.removals = p.Removals(p.out.Record)
}

// await ends a pod of a version that is withdrawn.
func (p *pass) await(e record.Entry, pod Pod) {
	p.claimed[pod.Name] = true
	if !pod.Terminating {
		p.out.take(Step{Delete: &pod})
	}
	p.withdrawing[e.Name] = true
	p.wait(pod.holds(newWait(e.Name, v1alpha1.ReasonWaitingForPodToEnd, fmt.Sprintf(
		"pod %s is being deleted: nothing of version %s ran so far, and the spec no longer wants it", pod.Name, e.Version))))
}

// noteGone notes that the pod of an untouched entry is gone, and whether it never began. Of one that nobody saw go,
// nothing is known, nor of one that may not have been created.
func (p *pass) noteGone(e *record.Entry) {
	if !e.Untouched || !e.RejectedAt.IsZero() {
		return
	}
	if e.Untouched = p.neverBegan(*e); e.Untouched {
		e.RejectedAt = p.stamp()
	}
	noted := *e
	p.out.take(Step{Write: &noted})
}

// neverBegan reports whether it is known of an entry without a pod that nothing of it ever began.
func (o Observation) neverBegan(e record.Entry) bool {
	return e.Untouched && (!e.RejectedAt.IsZero() || slices.ContainsFunc(o.Unbegun, func(pod Pod) bool {
		return pod.Package == e.Name && pod.Stage == e.Stage && pod.Run == e.Run && version.Same(pod.Version, e.Version)
	}))
}

// unknown reports whether the record has nothing of a version.
func (p *pass) unknown(u unit) bool {
	for _, e := range p.out.Record.Packages {
		if e.Name == u.name && version.Same(e.Version, u.pkg.Version) {
			return false
		}
	}
	return true
}
