package state

import (
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/rollout"
	"github.com/skyhook-operator/skyhook/internal/situation"
	"github.com/skyhook-operator/skyhook/internal/taint"
)

// Record returns what a node remembers of a Skyhook; with a hold if nothing may go by it, because nobody can read it,
// or because workloads wait for it and somebody else than the operator wrote it. What is returned is shared and must
// not be changed.
func (sn Snapshot) Record(s *v1alpha1.Skyhook, node *corev1.Node, records *Records) (record.Node, *situation.Hold) {
	n, err := records.Read(s.Name, node)
	var malformed *record.MalformedError
	errors.As(err, &malformed)
	hold := sn.unusable(s, node, len(n.Packages) == 0, malformed)
	if hold != nil && err == nil {
		n.Packages, n.Unreadable = map[string]record.Entry{}, true
	}
	return n, hold
}

// View returns what the record tells of what the Skyhook wants on the node; with a hold, and nil, where Record returns
// one.
func (at *At) View(s *v1alpha1.Skyhook) (*rollout.View, *situation.Hold) {
	if place, ok := at.places[s]; ok {
		if v := at.view(place); v != nil {
			return v.usable()
		}
	}
	n, hold := at.Record(s, at.node, at.records) // it does not target the node: nothing is kept of that
	if hold != nil {
		return nil, hold
	}
	v := rollout.ViewOf(s.Name, at.Wanted(s, at.node.Name), n)
	return &v, nil
}

// unusable returns what keeps everybody from going by a record; nil when nothing does.
func (sn Snapshot) unusable(
	s *v1alpha1.Skyhook, node *corev1.Node, empty bool, malformed *record.MalformedError,
) *situation.Hold {
	if malformed != nil {
		return rollout.HoldMalformed(s, malformed)
	}
	// A deletion decides nothing about workloads, and must not wait for anybody.
	if !s.Spec.RuntimeRequired || s.DeletionTimestamp != nil || sn.vouches(s, node, empty) {
		return nil
	}
	return rollout.HoldUnsealed(s.Name, node.Name)
}

// SealOf is the seal of a Skyhook's record on a node.
func SealOf(s *v1alpha1.Skyhook, node *corev1.Node) record.Seal {
	return record.Seal{Skyhook: s.Name, SkyhookUID: s.UID, NodeUID: node.UID}
}

// Vouches reports whether a record may be taken as the operator's own, and be sealed: it is sealed, claims nothing, is
// from before records were sealed, or workloads do not wait for it, so that the node gains nothing from it.
func (sn Snapshot) Vouches(s *v1alpha1.Skyhook, node *corev1.Node, n record.Node) bool {
	return !n.Unreadable && sn.vouches(s, node, len(n.Packages) == 0)
}

func (sn Snapshot) vouches(s *v1alpha1.Skyhook, node *corev1.Node, empty bool) bool {
	switch {
	case empty, s.Status.SealedSince == nil, !sn.guarded(node):
		return true
	}
	seal := SealOf(s, node)
	return seal.Holds(node.Annotations, node.Labels) || seal.Missing(node.Labels) && older(s, node)
}

// older reports whether the record may be from before the Skyhook's records were sealed. One of a Skyhook that was
// sealed from its beginning never is.
func older(s *v1alpha1.Skyhook, node *corev1.Node) bool {
	since := s.Status.SealedSince
	return s.CreationTimestamp.Before(since) && !since.Before(&node.CreationTimestamp)
}

// guarded reports whether workloads are kept off a node until what they require is there, or are as soon as the
// operator comes to it.
func (sn Snapshot) guarded(node *corev1.Node) bool {
	gets := func(s *v1alpha1.Skyhook) bool { return sn.Taints(s, node) }
	return taint.Has(node, sn.taints.Runtime) || slices.ContainsFunc(sn.tainting, gets)
}

// Taints reports whether a node gets the runtime taint for a Skyhook because it is new.
func (sn Snapshot) Taints(s *v1alpha1.Skyhook, node *corev1.Node) bool {
	return taints(s) && taint.New(node, s.Status.SealedSince) && sn.Selects(s, node)
}

func taints(s *v1alpha1.Skyhook) bool {
	return s.Spec.RuntimeRequired && s.Spec.AutoTaintNewNodes && s.DeletionTimestamp == nil
}
