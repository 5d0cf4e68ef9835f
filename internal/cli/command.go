package cli

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/forecast"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/text"
)

// conclude adds the command that ends a cause, where one command can without harm. None deletes a pod, widens a budget or
// removes a taint: what is copied is run, and the one who set these may have had a reason.
func (e explainer) conclude(v *view, f forecast.Forecast, c *cause) {
	if c.later {
		return
	}
	if len(c.Nodes) > 0 {
		c.Command = forNodes(named(v.Skyhooks, c.Skyhook), c)
	}
	if c.Command == "" {
		c.Command = e.forSkyhook(v, f, c)
	}
	if c.Command != "" && !c.RunOnNode {
		c.Command = e.toCluster(c.Command)
	}
	if c.first {
		c.Do += e.addressed(fmt.Sprintf(" The command is for the first %d of %d nodes; after it, `kubectl skyhook why %s` has the "+
			"one for those that are left.", text.MostNames, len(c.Nodes), c.Skyhook))
	}
}

// commanded are the nodes that a command names: thousands are too long for a line. Those that are left follow when these
// no longer wait.
func (c *cause) commanded() []string {
	c.first = len(c.Nodes) > text.MostNames
	return c.Nodes[:min(len(c.Nodes), text.MostNames)]
}

// targets are the nodes of a command that does nothing to other nodes that the Skyhook selects: their names, or where
// they are many the selector, and what all of them have in their labels as well.
func (c *cause) targets(sk *v1alpha1.Skyhook, label string) string {
	if sk == nil || len(c.Nodes) <= text.MostNames {
		return strings.Join(c.commanded(), " ")
	}
	selector, err := metav1.LabelSelectorAsSelector(&sk.Spec.NodeSelectors)
	if err != nil {
		return strings.Join(c.commanded(), " ")
	}
	all := slices.DeleteFunc([]string{selector.String(), label}, func(s string) bool { return s == "" })
	return "-l '" + strings.Join(all, ",") + "'"
}

// forNodes ends what is about the nodes themselves.
func forNodes(sk *v1alpha1.Skyhook, c *cause) string {
	switch c.Reason {
	case v1alpha1.ReasonNodeIgnored:
		return fmt.Sprintf("kubectl label node %s %s-", c.targets(sk, v1alpha1.LabelIgnore), v1alpha1.LabelIgnore)
	case v1alpha1.ReasonNodeStateMalformed, v1alpha1.ReasonNodeStateUnsealed:
		if sk != nil && sk.DeletionTimestamp != nil { // without its record, nothing would be uninstalled there
			return ""
		}
		return fmt.Sprintf("kubectl annotate node %s %s%s-", strings.Join(c.commanded(), " "), v1alpha1.AnnotationNodeStatePrefix,
			c.Skyhook)
	case v1alpha1.ReasonNodeNotReady:
		if c.RunOnNode = c.EndedBy == string(record.FreesAdministrator); c.RunOnNode {
			return "systemctl restart kubelet"
		}
	}
	return ""
}

// forSkyhook ends what is about a Skyhook, or about a pod.
func (e explainer) forSkyhook(v *view, f forecast.Forecast, c *cause) string {
	switch cmp.Or(c.of, c.Reason) {
	case v1alpha1.ReasonPaused, v1alpha1.ReasonPausedWithPendingUninstall:
		return without(c.Skyhook, v1alpha1.AnnotationPause)
	case v1alpha1.ReasonAllStopped:
		return "kubectl skyhook resume --all"
	case v1alpha1.ReasonDisabled, v1alpha1.ReasonDisabledWithPendingUninstall:
		return without(c.Skyhook, v1alpha1.AnnotationDisable)
	case v1alpha1.ReasonWaitingForSkyhook, v1alpha1.ReasonTaintNotTolerable, v1alpha1.ReasonWaitingForInterrupt:
		return e.forEarlier(named(f.Skyhooks, c.by), c)
	case v1alpha1.ReasonWaitingForPermit:
		e.adviseOnPermit(v, named(f.Skyhooks, c.Skyhook), c)
		return ""
	case v1alpha1.ReasonFailureThreshold, v1alpha1.ReasonRolloutStopped:
		return forStopped(named(f.Skyhooks, c.Skyhook), c)
	}
	return e.forPod(v, c)
}

// forStopped continues a rollout that is stopped; not while a node needs somebody, as the next ones would go the same way.
func forStopped(sk *v1alpha1.Skyhook, c *cause) string {
	switch {
	case sk == nil:
		return ""
	case sk.Status.Status == v1alpha1.StatusPaused, sk.Status.Status == v1alpha1.StatusDisabled:
		c.later, c.Do = true, "Nothing while the Skyhook is "+string(sk.Status.Status)+"."
		return ""
	case slices.ContainsFunc(sk.Status.Attention, func(a v1alpha1.NodeAttention) bool { return a.Reason != v1alpha1.ReasonNodeIgnored }):
		c.Do = "Repair what is wrong on the nodes that the message names, as `status.attention` says, or correct the spec: it " +
			"continues by itself when they are complete. `kubectl skyhook resume-rollout " + c.Skyhook + "` starts the next " +
			"nodes before that, which may go the same way."
		return ""
	case len(sk.Status.Attention) > 0:
		c.Do += " Before that is fixed, it starts the next nodes, which may go the same way."
		return ""
	case retries(sk):
		c.Do = "Nothing at first: nodes that stopped it are tried again, and it continues by itself when they are complete. " + c.Do
		return ""
	}
	return "kubectl skyhook resume-rollout " + c.Skyhook
}

// retries reports whether nodes that stopped a rollout have a permit again.
func retries(sk *v1alpha1.Skyhook) bool {
	for name := range sk.Status.CompartmentStatuses {
		if b := sk.Status.CompartmentStatuses[name].BatchState; b != nil && b.ShouldStop &&
			slices.ContainsFunc(b.Closed, func(c v1alpha1.ClosedBatch) bool { return len(c.Holding) > 0 }) {
			return true
		}
	}
	return false
}

// forEarlier continues an earlier Skyhook that is paused; where one does not progress by itself, it says where to look.
func (e explainer) forEarlier(earlier *v1alpha1.Skyhook, c *cause) string {
	switch {
	case earlier == nil:
		return ""
	case earlier.Paused():
		return without(c.by, v1alpha1.AnnotationPause)
	}
	for _, kind := range []string{v1alpha1.ConditionStalled, v1alpha1.ConditionRolloutStopped} {
		if meta.IsStatusConditionTrue(earlier.Status.Conditions, kind) {
			c.Do = e.addressed("Look at what keeps Skyhook " + c.by + " from progressing: `kubectl skyhook why " + c.by + "`.")
			return ""
		}
	}
	return ""
}

func named(all []v1alpha1.Skyhook, name string) *v1alpha1.Skyhook {
	return first(all, func(s *v1alpha1.Skyhook) bool { return s.Name == name })
}

func without(skyhook, annotation string) string {
	return fmt.Sprintf("kubectl annotate skyhook %s %s-", skyhook, annotation)
}

// forPod ends what keeps the pod of a stage from starting or from succeeding.
func (e explainer) forPod(v *view, c *cause) string {
	refused := c.lost || c.Reason == v1alpha1.ReasonPodRejected // and would be again
	if refused || c.stage == "" && c.Reason != v1alpha1.ReasonPodCannotStart {
		return ""
	}
	if sk := named(v.Skyhooks, c.Skyhook); sk != nil {
		if command := e.create(sk.Spec.Packages[c.Package].Env, c.Message); command != "" {
			return command
		}
	}
	stage := ""
	switch c.stage {
	case v1alpha1.StageConfig, v1alpha1.StagePostInterrupt:
		stage = " --stage " + string(c.stage)
	case v1alpha1.StageInterrupt, v1alpha1.StageUninstall, v1alpha1.StageUninstallInterrupt:
		return "" // an interrupt in flight cannot be run again, and no uninstall
	case v1alpha1.StageApply, v1alpha1.StageUpgrade:
	}
	again := fmt.Sprintf("kubectl skyhook package rerun %s --skyhook %s --node %s%s", c.Package, c.Skyhook,
		strings.Join(c.commanded(), " --node "), stage)
	if before := v.beforeFailing(c); before != "" {
		c.Do += e.addressed(fmt.Sprintf(" The command goes back to %s. If the cause is on the host, %#q runs the stage again once it is corrected.",
			before, again))
		c.first = false
		return "kubectl skyhook rollback " + c.Skyhook
	}
	return again
}

// beforeFailing is what a rollback puts back, if a script failed that came with the last change: the same one would fail
// again. Empty if it did not, or if nothing of before is retained.
func (v *view) beforeFailing(c *cause) string {
	sk := named(v.Skyhooks, c.Skyhook)
	if sk == nil || c.logs == "" {
		return ""
	}
	chosen, err := beforeLast(sk, retainedAmong(v.Revisions, sk, func(error) {}))
	if err != nil || !slices.ContainsFunc(chosen, func(d retained) bool { return d.Package == c.Package }) {
		return ""
	}
	return choices(chosen)
}

// notFound is how kubelets name what an env of a container refers to and is not there.
var notFound = regexp.MustCompile(`(configmap|secret) "([^"]+)" not found`)

// create makes the object that a pod lacks. Its values are for a person to fill in.
func (e explainer) create(env []corev1.EnvVar, message string) string {
	m := notFound.FindStringSubmatch(message)
	if m == nil {
		return ""
	}
	kind, name := m[1], m[2]
	var literals []string
	for _, v := range env {
		if key := keyIn(v.ValueFrom, kind, name); key != "" {
			literals = append(literals, "--from-literal="+key+"=VALUE")
		}
	}
	if len(literals) == 0 {
		return ""
	}
	if kind == "secret" {
		kind = "secret generic"
	}
	return fmt.Sprintf("kubectl create %s -n %s %s %s", kind, e.namespace, name, strings.Join(literals, " "))
}

// keyIn is the key that a source of a variable takes from an object; empty if it takes none.
func keyIn(from *corev1.EnvVarSource, kind, name string) string {
	switch {
	case from == nil:
	case kind == "secret" && from.SecretKeyRef != nil && from.SecretKeyRef.Name == name:
		return from.SecretKeyRef.Key
	case kind == "configmap" && from.ConfigMapKeyRef != nil && from.ConfigMapKeyRef.Name == name:
		return from.ConfigMapKeyRef.Key
	}
	return ""
}
