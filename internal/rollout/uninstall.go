package rollout

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/text"
)

func (c conditions) uninstall(sum *summary) {
	in := &sum.Input
	var uninstalling, failed, again, malformed []string
	var last *Node
	for i := range in.Nodes {
		n := &in.Nodes[i]
		if n.Uninstalling {
			uninstalling = append(uninstalling, n.Name)
		}
		if n.UninstallFailure != nil {
			failed = append(failed, n.Name)
			if sum.retries(n) {
				again = append(again, n.Name)
			}
			if last == nil || later(n, last) {
				last = n
			}
		}
		if n.Hold != nil && n.Hold.Reason == v1alpha1.ReasonNodeStateMalformed {
			malformed = append(malformed, n.Name)
		}
	}
	c.while(len(uninstalling) > 0, v1alpha1.ConditionUninstallInProgress, v1alpha1.ReasonUninstallInProgress,
		"packages are being uninstalled on "+text.Nodes(uninstalling))
	message := ""
	if last != nil {
		message = fmt.Sprintf("the uninstall fails on %s%s; last error: %s", text.Nodes(failed), retried(failed, again),
			last.UninstallFailure.Message)
		if in.Deleting { // it is retried without end, so that nothing counts as blocked
			slices.Sort(failed)
			message += sum.wayOut(failed)
		}
	}
	c.while(last != nil, v1alpha1.ConditionUninstallFailed, v1alpha1.ReasonUninstallPodFailing, message)
	c.while(in.Removal != "", v1alpha1.ConditionUninstallRequired, v1alpha1.ReasonUninstallRequired, in.Removal)
	// Readers of this API match the start of the message.
	helps := ""
	if !in.Deleting { // without its record, nothing would be uninstalled there
		helps = fmt.Sprintf(", or apply the packages again with `kubectl annotate node NODE %s%s-`", v1alpha1.AnnotationNodeStatePrefix, in.Skyhook.Name)
	}
	c.while(len(malformed) > 0, v1alpha1.ConditionNodeStateMalformed, v1alpha1.ReasonParseError, fmt.Sprintf(
		"nodeState annotation cannot be parsed on %d node(s): %s; correct the annotation%s", len(malformed), text.Names(malformed), helps))
	blocked := blockedDependents(sum.Input)
	c.while(blocked != "", v1alpha1.ConditionBlocked, v1alpha1.ReasonDependencyUninstalled, blocked)
	c.while(sum.blocked != "", v1alpha1.ConditionDeletionBlocked, sum.blocked, sum.blockedWhy)
}

// retries reports whether what failed on a node is retried before a person does something.
func (sum *summary) retries(n *Node) bool {
	held := sum.Hold != nil && sum.Hold.Frees.ByPerson() || n.Hold != nil && n.Hold.Frees.ByPerson()
	return !held && !n.GaveUp() && (!n.Facts.Unavailable || n.Facts.Disturbed)
}

func retried(failed, again []string) string {
	switch len(again) {
	case 0:
		return ""
	case len(failed):
		return " and is retried"
	default:
		return ", and is retried on " + text.Nodes(again)
	}
}

// later reports whether a node failed after another, whichever is listed first.
func later(a, b *Node) bool {
	if d := a.UninstallFailure.Since.Compare(b.UninstallFailure.Since.Time); d != 0 {
		return d > 0
	}
	return a.Name < b.Name
}

// blockedDependents tells which packages wait for one that is, or is to be, uninstalled; empty when none does. Packages
// that were complete before stay so.
func blockedDependents(in Input) string {
	if in.Deleting || AllComplete(in.Nodes) {
		return ""
	}
	var list []string
	packages := in.Skyhook.Spec.Packages
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		for _, dep := range slices.Sorted(maps.Keys(packages[name].DependsOn)) {
			if !packages[dep].Uninstall.Requested() || packages[name].Uninstall.Requested() || in.CompleteEverywhere[name] {
				continue
			}
			state := "has been uninstalled"
			if in.Installed[dep] {
				state = "is being uninstalled"
			}
			list = append(list, fmt.Sprintf("package %s depends on %s, which %s", name, dep, state))
		}
	}
	if len(list) == 0 {
		return ""
	}
	return strings.Join(list, "; ") + "; set uninstall.apply of the dependency to false, or remove it from dependsOn"
}

// deletionBlocked tells why a deletion does not progress; no reason when it does.
func (sum *summary) deletionBlocked() (reason, message string) {
	in := &sum.Input
	if !in.Deleting {
		return "", ""
	}
	pending := sum.pendingNodes()
	switch {
	case len(pending) == 0:
		return sum.leftover()
	case in.Hold != nil && in.Hold.Status == v1alpha1.StatusPaused && in.Skyhook.Paused():
		return v1alpha1.ReasonPausedWithPendingUninstall,
			pendingMessage(in.Skyhook, "paused", v1alpha1.AnnotationPause, pending)
	case in.Hold != nil && in.Hold.Status == v1alpha1.StatusDisabled:
		return v1alpha1.ReasonDisabledWithPendingUninstall,
			pendingMessage(in.Skyhook, "disabled", v1alpha1.AnnotationDisable, pending)
	}
	if in.Hold != nil {
		if !in.Hold.Frees.ByPerson() {
			return "", ""
		}
		return in.Hold.Reason, in.Hold.Message + sum.wayOut(pending)
	}
	first, stuck := sum.stuckNodes()
	if len(stuck) == 0 {
		return "", ""
	}
	return first.Reason, fmt.Sprintf("node %s: %s", stuck[0], first.Message) + sum.wayOut(stuck)
}

// leftover tells why a Skyhook stays on nodes where nothing has to be uninstalled any more; no reason while any of them
// gets rid of it.
func (sum *summary) leftover() (reason, message string) {
	waits := map[string]*record.Wait{}
	for i := range sum.Nodes {
		if n := &sum.Nodes[i]; n.Wait != nil {
			waits[n.Name] = n.Wait
		}
	}
	for _, name := range sum.Freeing {
		w, told := sum.departedWait(name)
		told = told && sum.Departed[name].Wait != nil // a record goes from a node that is not Ready, too
		if here := waits[name]; !told && here != nil {
			w, told = *here, true
		}
		switch {
		case !told || endsByItself(&w):
			return "", ""
		case reason == "":
			reason, message = w.Reason, fmt.Sprintf("node %s: %s", name, w.Message)
		}
	}
	return reason, message
}

// endsByItself reports whether what delays a removal is over without a person; nothing is.
func endsByItself(w *record.Wait) bool {
	return w == nil || w.Reason == v1alpha1.ReasonWaitingForReboot
}

// pendingMessage says that an annotation keeps packages from being uninstalled.
func pendingMessage(s *v1alpha1.Skyhook, stopped, annotation string, nodes []string) string {
	return fmt.Sprintf("the Skyhook is %s, and packages have to be uninstalled on %s; continue with %s",
		stopped, text.Nodes(nodes), withoutAnnotation(s, annotation))
}

// pendingNodes returns the names of the nodes on which something has to be uninstalled, sorted.
func (sum *summary) pendingNodes() []string {
	var pending []string
	for i := range sum.Nodes {
		if n := &sum.Nodes[i]; !n.Facts.Complete {
			pending = append(pending, n.Name)
		}
	}
	slices.Sort(pending)
	return pending
}

// stuckNodes returns what is in the way of a deletion on the first node by name on which it does not progress, and the
// sorted names of those with the same in their way: the way out is for no others. None while it progresses on any; one
// that waits for a permit waits for those.
func (sum *summary) stuckNodes() (why record.Wait, stuck []string) {
	first, waits, reasons := "", false, map[string]string{}
	for i := range sum.Nodes {
		n := &sum.Nodes[i]
		if n.Facts.Complete {
			continue
		}
		w, is := n.uninstallStuck()
		switch {
		case is:
			if len(stuck) == 0 || n.Name < first {
				first, why = n.Name, w
			}
			stuck, reasons[n.Name] = append(stuck, n.Name), w.Reason
		case n.Hold != nil, sum.holds[i], n.Busy(sum.paced), n.Failing() && !n.AwaitsTurn():
			return record.Wait{}, nil
		default:
			waits = true
		}
	}
	if waits && sum.departing() {
		return record.Wait{}, nil
	}
	slices.Sort(stuck)
	return why, slices.DeleteFunc(stuck, func(name string) bool { return reasons[name] != why.Reason })
}

// uninstallStuck is what a deletion cannot get past on a node by itself; false when it can: what else holds the node,
// such as an interrupt, its own or another's, ends.
func (n *Node) uninstallStuck() (record.Wait, bool) {
	switch {
	case n.Hold != nil && n.Hold.Reason == v1alpha1.ReasonNodeStateMalformed:
		return record.Wait{Reason: v1alpha1.ReasonMalformedNodeState, Message: n.Hold.Message}, true
	case n.Hold != nil:
		return n.Hold.Wait, n.Hold.Frees.ByPerson()
	case n.GaveUp(), n.NeedsAuthor() && n.Wait != nil:
		return *n.Wait, true
	case n.Facts.Unavailable && !n.Facts.Disturbed:
		return record.Wait{Reason: v1alpha1.ReasonNodeNotReady, Message: "the node is not Ready; bring it back"}, true
	}
	return record.Wait{}, false
}

// wayOut says how to leave packages that cannot be uninstalled on their nodes. It names as many as it can without
// growing too long: half of the value of an annotation would be another value, and one without the nodes that were
// abandoned before would uninstall there again.
func (sum *summary) wayOut(nodes []string) string {
	const key = v1alpha1.AnnotationAbandonUninstall
	given := strings.FieldsFunc(sum.Skyhook.Annotations[key], func(r rune) bool { return r == ',' || r == ' ' })
	nodes = slices.DeleteFunc(slices.Clone(nodes), func(n string) bool { return slices.Contains(given, n) })
	if len(nodes) == 0 {
		return ""
	}
	most := min(len(nodes), text.MostNames)
	command := func(which string, n int) string {
		return fmt.Sprintf("; or leave the packages on %s with `kubectl annotate skyhook %s --overwrite %s=%s`",
			which, sum.Skyhook.Name, key, strings.Join(append(slices.Clip(given), nodes[:n]...), ","))
	}
	if all := command(nodesNamed(nodes, most), most); len(all) <= maxWayOut {
		return all
	}
	if len(given) > 0 {
		command = func(which string, n int) string {
			return fmt.Sprintf("; to leave the packages on %s, append ,%s to the annotation %s",
				which, strings.Join(nodes[:n], ","), key)
		}
	}
	for n := most; n > 0; n-- {
		if some := command(nodesNamed(nodes, n), n); len(some) <= maxWayOut {
			return some
		}
	}
	return command("this node", 1)
}

func nodesNamed(names []string, n int) string {
	if len(names) == 1 {
		return "node " + names[0]
	}
	return "nodes " + text.First(names, n)
}
