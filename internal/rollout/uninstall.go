package rollout

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/admission"
)

// Condition types that tell about packages that go. Each exists only while it is true.
const (
	ConditionUninstalling      = "UninstallInProgress"
	ConditionUninstallFailed   = "UninstallFailed"
	ConditionUninstallRequired = "UninstallRequired"
	ConditionBlocked           = "Blocked"
	ConditionMalformed         = "NodeStateMalformed"
	ConditionDeletionBlocked   = "DeletionBlocked"
)

// Reasons of DeletionBlocked, beside those of holds.
const (
	ReasonDeletionMalformed = "MalformedNodeState"
	ReasonDeletionPaused    = "PausedWithPendingUninstall"
	ReasonDeletionDisabled  = "DisabledWithPendingUninstall"
)

// maxFewNames is how many node names such a condition lists.
const maxFewNames = 5

func (c conditions) uninstall(in Input) {
	var undoing, failed, malformed []string
	var last *Trouble
	for _, n := range in.Nodes {
		if n.Undoing {
			undoing = append(undoing, n.Name)
		}
		if n.UndoFailed != nil {
			failed = append(failed, n.Name)
			if last == nil || n.UndoFailed.Since.After(last.Since) {
				last = n.UndoFailed
			}
		}
		if n.Hold != nil && n.Hold.Reason == ReasonMalformed {
			malformed = append(malformed, n.Name)
		}
	}
	c.while(len(undoing) > 0, ConditionUninstalling, "UninstallInProgress", "packages are being uninstalled on "+fewNames(undoing))
	message := ""
	if last != nil {
		message = fmt.Sprintf("uninstall fails on %s and is tried again; last error: %s", fewNames(failed), last.Message)
	}
	c.while(last != nil, ConditionUninstallFailed, "UninstallPodFailing", message)
	c.while(in.Removal != "", ConditionUninstallRequired, ConditionUninstallRequired, in.Removal)
	c.while(len(malformed) > 0, ConditionMalformed, "ParseError", fmt.Sprintf(
		"the package states on %s cannot be read; repair the annotation, or remove it to start over there", fewNames(malformed)))
	blocked := blockedDependents(in)
	c.while(blocked != "", ConditionBlocked, "DependencyUninstalled", blocked)
	reason, message := deletionBlocked(in)
	c.while(reason != "", ConditionDeletionBlocked, reason, message)
}

// blockedDependents tells which packages wait for one that is, or is to be, uninstalled; empty when none does. Packages
// that were complete before stay so.
func blockedDependents(in Input) string {
	if in.Deleting || AllComplete(in.Nodes) {
		return ""
	}
	var texts []string
	packages := in.Skyhook.Spec.Packages
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		for _, dep := range slices.Sorted(maps.Keys(packages[name].DependsOn)) {
			if !applies(packages[dep]) || applies(packages[name]) || in.CompleteEverywhere[name] {
				continue
			}
			text := "has been uninstalled"
			if in.Installed[dep] {
				text = "is being uninstalled"
			}
			texts = append(texts, fmt.Sprintf("package %s depends on %s, which %s", name, dep, text))
		}
	}
	return strings.Join(texts, "; ")
}

func applies(p v1alpha1.Package) bool { return p.Uninstall != nil && p.Uninstall.Apply }

// deletionBlocked tells why a deletion does not go on; no reason when it does.
func deletionBlocked(in Input) (reason, message string) {
	if !in.Deleting {
		return "", ""
	}
	pending, stuck := pendingNodes(in)
	switch {
	case len(pending) == 0:
		return "", ""
	case in.Hold != nil && in.Hold.Status == v1alpha1.StatusPaused:
		return ReasonDeletionPaused, fmt.Sprintf("packages have to be uninstalled on %s; remove the annotation %s", fewNames(pending), AnnotationPause)
	case in.Hold != nil && in.Hold.Status == v1alpha1.StatusDisabled:
		return ReasonDeletionDisabled, fmt.Sprintf("packages have to be uninstalled on %s; remove the annotation %s", fewNames(pending), AnnotationDisable)
	case len(stuck) < len(pending):
		return "", ""
	}
	return stuck[0].reason, fmt.Sprintf("node %s: %s; to leave the packages on %s, set the annotation %s=%s", stuck[0].node, stuck[0].message,
		fewNames(pending), admission.AnnotationAbandon, strings.Join(pending[:min(len(pending), maxFewNames)], ","))
}

type stuckNode struct{ node, reason, message string }

// pendingNodes returns the nodes on which something has to be uninstalled, and those of them where nothing can be done.
func pendingNodes(in Input) (pending []string, stuck []stuckNode) {
	for i := range in.Nodes {
		n := &in.Nodes[i]
		switch {
		case n.Complete:
			continue
		case n.Hold != nil && n.Hold.Reason == ReasonMalformed:
			stuck = append(stuck, stuckNode{n.Name, ReasonDeletionMalformed, n.Hold.Message})
		case n.Hold != nil:
			stuck = append(stuck, stuckNode{n.Name, n.Hold.Reason, n.Hold.Message})
		case n.needsUser():
			stuck = append(stuck, stuckNode{n.Name, n.Wait.Reason, n.Wait.Message})
		case !n.Ready:
			stuck = append(stuck, stuckNode{n.Name, ReasonNotReady, "the node is not Ready"})
		}
		pending = append(pending, n.Name)
	}
	return pending, stuck
}

// fewNames joins up to five names and counts the rest.
func fewNames(names []string) string {
	names = slices.Sorted(slices.Values(names))
	if more := len(names) - maxFewNames; more > 0 {
		return fmt.Sprintf("nodes %s and %d more", strings.Join(names[:maxFewNames], ", "), more)
	}
	if len(names) == 1 {
		return "node " + names[0]
	}
	return "nodes " + strings.Join(names, ", ")
}
