package faults

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// reason is why a Skyhook, or one of its nodes, does not progress, as people read it.
type reason struct {
	skyhook, node, pkg string
	stage              v1alpha1.Stage
	reason, message    string
	// done is how many nodes were complete when a rollout stopped: the next batch may stop it again, by a failure of its
	// own.
	done int
}

func (r reason) String() string {
	return fmt.Sprintf("%s on %q (%s %s): %s: %s", r.skyhook, r.node, r.pkg, r.stage, r.reason, r.message)
}

// id is the same for a reason that is still there after its cure.
func (r reason) id() string {
	return fmt.Sprintf("%s/%s/%s/%s/%d", r.skyhook, r.node, r.pkg, r.reason, r.done)
}

// others are the reasons that somebody else has to end.
var others = []string{"WaitingForInterrupt", "WaitingForSkyhook", "WaitingForOtherPods"}

// follows are the reasons that end with another package of the same Skyhook, or with what keeps its ConfigMaps from being
// written; these have a reason of their own.
var follows = []string{
	"WaitingForSerial", "WaitingForDependency", "WaitingForDependent", "WaitingForUninstall", "WaitingForConfigMap",
}

// open returns the reasons of all that is not complete; a finding when there is something without a reason.
func (w *World) open() []reason {
	var all []reason
	for _, s := range w.cluster.Skyhooks() {
		if s.Status.ObservedGeneration != s.Generation && s.DeletionTimestamp == nil && unprepared(s) == nil {
			w.findClass("no-reason", w.silence(s, ""), "Skyhook %s has generation %d, its status tells of %d and not why: %s",
				s.Name,
				s.Generation, s.Status.ObservedGeneration, w.state())
			return nil
		}
	}
	for _, s := range w.cluster.Skyhooks() {
		if w.complete(s) {
			continue
		}
		whole := wholeReasons(s)
		all = append(all, whole...)
		if len(whole) > 0 && !slices.Contains([]string{"DeletionBlocked", "RolloutStopped"}, whole[0].reason) {
			continue // nodes have nothing to add
		}
		all = append(all, w.nodeReasons(s, len(whole) > 0)...)
	}
	if !w.over { // those who wait for somebody without a reason would only repeat it
		w.checkOthers(all)
	}
	return all
}

// complete reports whether a Skyhook claims to be complete everywhere, and no part of it is to go.
func (w *World) complete(s *v1alpha1.Skyhook) bool {
	return s.DeletionTimestamp == nil && s.Status.ObservedGeneration == s.Generation &&
		s.Status.Status == v1alpha1.StatusComplete
}

// wholeReasons are those that hold all of a Skyhook's nodes.
func wholeReasons(s *v1alpha1.Skyhook) []reason {
	one := func(name, message string) []reason {
		return []reason{{skyhook: s.Name, reason: name, message: message}}
	}
	if c := trueCondition(s, "DeletionBlocked"); c != nil {
		return one("DeletionBlocked", c.Reason+": "+c.Message)
	}
	if c := unprepared(s); c != nil {
		return one(c.Reason, c.Message)
	}
	if s.Status.ObservedGeneration != s.Generation {
		return nil
	}
	switch s.Status.Status {
	case v1alpha1.StatusPaused:
		if c := meta.FindStatusCondition(s.Status.Conditions, "Ready"); c != nil {
			return one(c.Reason, c.Message)
		}
	case v1alpha1.StatusDisabled:
		return one("Disabled", "")
	default:
	}
	if c := trueCondition(s, "Stalled"); c != nil &&
		slices.Contains([]string{"SpecInvalid", "DeploymentPolicyNotFound"}, c.Reason) {
		return one(c.Reason, c.Message)
	}
	if c := trueCondition(s, "RolloutStopped"); c != nil {
		return []reason{{skyhook: s.Name, reason: "RolloutStopped", message: c.Message, done: s.Status.Nodes.Complete}}
	}
	return nil
}

// unprepared is the condition that says what keeps the operator from preparing a Skyhook as it is now; nil when nothing
// does.
func unprepared(s *v1alpha1.Skyhook) *metav1.Condition {
	c := trueCondition(s, "Stalled")
	known := []string{
		"ConfigMapConflict", "ConfigMapRefused", "DefinitionConflict", "DefinitionRefused", "ClaimRefused",
		"PassFailed",
	}
	if c == nil || c.ObservedGeneration != s.Generation || !slices.Contains(known, c.Reason) {
		return nil
	}
	return c
}

func trueCondition(s *v1alpha1.Skyhook, kind string) *metav1.Condition {
	if c := meta.FindStatusCondition(s.Status.Conditions, kind); c != nil && c.Status == metav1.ConditionTrue {
		return c
	}
	return nil
}

// selected are the nodes of a Skyhook.
func (w *World) selected(s *v1alpha1.Skyhook) []*corev1.Node {
	var list []*corev1.Node
	for _, n := range w.cluster.Nodes() {
		if selects(s, n) {
			list = append(list, n)
		}
	}
	return list
}

// nodeReasons are the reasons node by node.
func (w *World) nodeReasons(s *v1alpha1.Skyhook, told bool) []reason {
	var all []reason
	var silent []string
	for _, n := range w.selected(s) {
		if s.Status.ObservedGeneration == s.Generation && s.Status.NodeStatus[n.Name] == v1alpha1.StatusComplete {
			continue
		}
		if s.DeletionTimestamp != nil && !record.Exists(s.Name, n.Annotations, n.Labels) {
			continue // nothing of it is there
		}
		found := w.reasonsOn(s, n)
		if len(found) == 0 && (len(s.Status.Attention) < maxAttention || hasTurn(s, n.Name)) {
			silent = append(silent, n.Name)
		}
		all = append(all, found...)
	}
	switch {
	case told:
	case len(all)+len(silent) == 0:
		w.findClass("no-reason", w.silence(s, ""), "Skyhook %s is %q and nothing tells why: %s",
			s.Name, s.Status.Status, w.state())
	case len(silent) > 0:
		w.checkSilent(s, silent, all)
	}
	return all
}

// reasonsOn are what status and record tell of one node.
func (w *World) reasonsOn(s *v1alpha1.Skyhook, n *corev1.Node) []reason {
	var all []reason
	add := func(pkg string, stage v1alpha1.Stage, name, message string) {
		if name == "" || name == "WaitingForPermit" {
			return
		}
		for _, r := range all {
			if r.reason == name && r.pkg == pkg {
				return
			}
		}
		all = append(all, reason{skyhook: s.Name, node: n.Name, pkg: pkg, stage: stage, reason: name, message: message})
	}
	r, err := record.Read(s.Name, n.Annotations)
	if c := trueCondition(s, "NodeStateMalformed"); err != nil && c != nil && strings.Contains(c.Message, n.Name) {
		add("", "", "NodeStateMalformed", c.Message)
	}
	for _, key := range sortedKeys(r.Packages) {
		if e := r.Packages[key]; e.State == v1alpha1.StateErroring {
			add(e.Name, e.Stage, e.Reason, e.Message)
		}
	}
	for _, a := range s.Status.Attention {
		if a.Node == n.Name && !slices.ContainsFunc(all, func(r reason) bool { return r.reason == a.Reason }) {
			add("", "", a.Reason, a.Message)
		}
	}
	if r.Wait != nil {
		add(r.Wait.Package, "", r.Wait.Reason, r.Wait.Message)
	}
	return all
}

// maxAttention is how many nodes a status names: the others are only counted.
const maxAttention = 10

func holds(s *v1alpha1.Skyhook, node string) bool {
	return slices.ContainsFunc(s.Status.Permits, func(p v1alpha1.Permit) bool { return p.Node == node })
}

// hasTurn reports whether it is a node's turn: one whose permit is asked back keeps its place, and waits as others do.
func hasTurn(s *v1alpha1.Skyhook, node string) bool {
	return slices.ContainsFunc(s.Status.Permits, func(p v1alpha1.Permit) bool { return p.Node == node && !p.Revoked })
}

// checkSilent looks at nodes without a reason: they may wait for their turn, as long as those whose turn it is have
// one.
func (w *World) checkSilent(s *v1alpha1.Skyhook, silent []string, told []reason) {
	// Those whose turn it is come first: the others wait for them.
	rank := func(name string) int {
		if hasTurn(s, name) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(silent, func(a, b string) int { return rank(a) - rank(b) })
	for _, name := range silent {
		if hasTurn(s, name) || len(told) == 0 || len(s.Status.Permits) == 0 && !tellsHolder(s, told) {
			w.findClass("no-reason", w.silence(s, name), "node %s is not complete for Skyhook %s and nothing tells why: %s",
				name, s.Name, w.state())
			return
		}
	}
	for _, r := range told {
		keepsOff := slices.Contains([]string{"NodeStateMalformed", "NodeStateUnsealed", "TaintNotTolerable"}, r.reason) &&
			!w.halfDone(s, r.node)
		if (keepsOff || r.reason == "NodeIgnored") && holds(s, r.node) {
			w.findClass("slot-held", r.reason, "node %s is excluded (%s) and holds a permit of Skyhook %s that nodes %v wait for",
				r.node, r.reason, s.Name, silent)
			return
		}
	}
}

// halfDone reports whether work of a Skyhook has begun on a host and is not finished, by what has run there. A cordon that
// it shares with somebody else is seen by its annotation alone.
func (w *World) halfDone(s *v1alpha1.Skyhook, node string) bool {
	n := w.node(node)
	return w.watch.ledger.account(node, s.Name).owner == s.UID || n != nil && n.Annotations[cordonPrefix+s.Name] == "true"
}

// tellsHolder reports whether the status says that a node for which something else is told uses the budget.
func tellsHolder(s *v1alpha1.Skyhook, told []reason) bool {
	return slices.ContainsFunc(s.Status.Waiting, func(w v1alpha1.WaitingNodes) bool {
		return w.Reason == v1alpha1.ReasonWaitingForPermit &&
			slices.ContainsFunc(told, func(r reason) bool { return r.node != "" && strings.Contains(w.Message, "used by "+r.node) })
	})
}

// checkOthers looks at those who wait for somebody else: there must be one who is at work and has a reason.
func (w *World) checkOthers(all []reason) {
	for _, r := range all {
		if !slices.Contains(others, r.reason) {
			continue
		}
		if !slices.ContainsFunc(all, func(o reason) bool {
			return o.skyhook != r.skyhook && o.reason != "Disabled" && !slices.Contains(others, o.reason)
		}) {
			w.findClass("waits-for-nobody", r.reason+w.holderFacts(r.node), "%v, but nobody has a reason: %v; %s",
				r, all, w.state())
			return
		}
	}
}
