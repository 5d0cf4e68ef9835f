package state

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// InFlight returns the interrupt in flight on a node: as its annotation says, else as the records of the Skyhooks that
// target it do, which an earlier version wrote; nil for none.
func (sn Snapshot) InFlight(node *corev1.Node, skyhooks []*v1alpha1.Skyhook, records *Records) *record.Interrupt {
	written := record.ReadInterrupt(node.Annotations)
	if written != nil && sn.confirms(written, node, skyhooks, records) {
		return written
	}
	for _, s := range skyhooks {
		if !sn.selects(s, node) {
			continue // nor is a view kept of each node for each Skyhook
		}
		if v, _ := sn.View(s, node, records); v != nil && v.InFlight != nil {
			return v.InFlight
		}
	}
	return written
}

// confirms reports whether the record of the Skyhook that the annotation names shows an interrupt, as far as it can be
// read: somebody may have edited the annotation.
func (sn Snapshot) confirms(
	i *record.Interrupt, node *corev1.Node, skyhooks []*v1alpha1.Skyhook, records *Records,
) bool {
	for _, s := range skyhooks {
		if s.Name == i.Skyhook {
			v, unusable := sn.View(s, node, records)
			return unusable != nil || v.InFlight != nil
		}
	}
	return true
}

// OwnReboot reports whether the node came up with its present boot id because a Skyhook asked for the reboot.
func (sn Snapshot) OwnReboot(
	node *corev1.Node, inFlight *record.Interrupt, skyhooks []*v1alpha1.Skyhook, records *Records,
) bool {
	current := node.Status.NodeInfo.BootID
	if current == "" || !Ready(node) {
		return false
	}
	if inFlight.IsReboot() && inFlight.BootID != "" && inFlight.BootID != current {
		return true
	}
	for _, s := range skyhooks {
		if !sn.selects(s, node) {
			continue // what it asked for there is over
		}
		if n, unusable := sn.Record(s, node, records); unusable == nil && lifecycle.AskedForReboot(n, current) {
			return true
		}
	}
	return false
}
