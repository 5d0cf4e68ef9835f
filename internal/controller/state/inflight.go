package state

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// InFlight returns the interrupt in flight on the node: as its annotation says, else as the records of the Skyhooks that
// target it do, which an earlier version wrote; nil for none.
func (at *At) InFlight() *record.Interrupt { return at.standing.inFlight }

// Written returns the interrupt in flight on the node as its annotation alone says; nil for none.
func (at *At) Written() *record.Interrupt { return at.standing.written }

func (at *At) inFlight() *record.Interrupt {
	st := at.standing
	if st.written != nil && at.confirms(st.written) {
		return st.written
	}
	for i := range st.records {
		if !st.records[i].targets || !at.wants.of[i].target.keys.MayInterrupt(at.node.Annotations) {
			continue
		}
		if v, _ := at.view(i).usable(); v != nil && v.InFlight != nil {
			return v.InFlight
		}
	}
	return st.written
}

// confirms reports whether the record of the Skyhook that the annotation names shows an interrupt, as far as it can be
// read: somebody may have edited the annotation.
func (at *At) confirms(i *record.Interrupt) bool {
	place := at.wants.find(i.Skyhook, 0)
	if place < 0 {
		return true
	}
	if v := at.view(place); v != nil {
		return v.unusable != nil || v.InFlight != nil
	}
	n, unusable := at.Record(at.skyhooks[place], at.node, at.records)
	return unusable != nil || lifecycle.InFlightOf(i.Skyhook, n) != nil
}

// OwnReboot reports whether the node came up with its present boot id because a Skyhook asked for the reboot.
func (sn Snapshot) OwnReboot(node *corev1.Node, inFlight *record.Interrupt, records *Records) bool {
	return node.Status.NodeInfo.BootID != "" && Ready(node) && sn.askedForReboot(node, inFlight, records)
}

// askedForReboot is OwnReboot for a node that may not be Ready yet.
func (sn Snapshot) askedForReboot(node *corev1.Node, inFlight *record.Interrupt, records *Records) bool {
	current := node.Status.NodeInfo.BootID
	if inFlight.IsReboot() && inFlight.BootID != "" && inFlight.BootID != current {
		return true
	}
	for i, s := range sn.skyhooks {
		if !sn.wants.of[i].target.keys.MayInterrupt(node.Annotations) || !sn.Selects(s, node) {
			continue // what it asked for there is over
		}
		if n, unusable := sn.Record(s, node, records); unusable == nil && lifecycle.AskedForReboot(n, current) {
			return true
		}
	}
	return false
}
