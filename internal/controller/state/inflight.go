package state

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// InFlight returns the interrupt in flight on a node: as its annotation says, else as the records of the Skyhooks that
// target it do, which an earlier version wrote; nil for none.
func (sn Snapshot) InFlight(node *corev1.Node, records *Records) *record.Interrupt {
	return sn.standing(node, records).inFlight
}

// Written returns the interrupt in flight on a node as its annotation alone says; nil for none.
func (sn Snapshot) Written(node *corev1.Node, records *Records) *record.Interrupt {
	return sn.standing(node, records).written
}

func (sn Snapshot) inFlight(node *corev1.Node, st *standing, records *Records) *record.Interrupt {
	if st.written != nil && sn.confirms(st.written, node, st, records) {
		return st.written
	}
	for i := range st.records {
		h := &st.records[i]
		if !h.targets || !sn.wants.of[i].target.keys.MayInterrupt(node.Annotations) {
			continue
		}
		if v, _ := sn.view(i, st, node, records).usable(); v != nil && v.InFlight != nil {
			return v.InFlight
		}
	}
	return st.written
}

// confirms reports whether the record of the Skyhook that the annotation names shows an interrupt, as far as it can be
// read: somebody may have edited the annotation.
func (sn Snapshot) confirms(i *record.Interrupt, node *corev1.Node, st *standing, records *Records) bool {
	place := sn.wants.find(i.Skyhook, 0)
	if place < 0 {
		return true
	}
	if v := sn.view(place, st, node, records); v != nil {
		return v.unusable != nil || v.InFlight != nil
	}
	n, unusable := sn.Record(sn.skyhooks[place], node, records)
	return unusable != nil || lifecycle.InFlightOf(i.Skyhook, n) != nil
}

// OwnReboot reports whether the node came up with its present boot id because a Skyhook asked for the reboot.
func (sn Snapshot) OwnReboot(node *corev1.Node, inFlight *record.Interrupt, records *Records) bool {
	current := node.Status.NodeInfo.BootID
	if current == "" || !Ready(node) {
		return false
	}
	if inFlight.IsReboot() && inFlight.BootID != "" && inFlight.BootID != current {
		return true
	}
	for _, s := range sn.skyhooks {
		if !sn.selects(s, node) {
			continue // what it asked for there is over
		}
		if n, unusable := sn.Record(s, node, records); unusable == nil && lifecycle.AskedForReboot(n, current) {
			return true
		}
	}
	return false
}
