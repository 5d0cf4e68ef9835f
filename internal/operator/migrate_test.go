//go:build integration

package operator_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

func interrupting() map[string]v1alpha1.Package {
	return map[string]v1alpha1.Package{"fw": serviceInterrupt(pkg("1.0.0", map[string]string{"apply.sh": "true"}))}
}

// TestMigrateInTheMiddle: our operator starts over nodes that the existing one left in every stage. What is complete
// does not run again, what runs comes to its end, and nobody's cordon stays or is taken from a person.
func TestMigrateInTheMiddle(t *testing.T) {
	k := newTaken(t, 8, interrupting())
	x, at := k.skyhook, func(i int) string { return k.nodes[i] }
	k.leaveNode(x, at(0), "complete", false, "fw|1.0.0 post-interrupt:complete")
	k.leaveNode(x, at(1), "in_progress", true, "fw|1.0.0 apply:in_progress")
	k.leavePod(x, at(1), "apply")
	k.leaveNode(x, at(2), "in_progress", true, "fw|1.0.0 config:in_progress") // its pod is gone
	k.leaveNode(x, at(3), "in_progress", true, "fw|1.0.0 interrupt:in_progress")
	k.leavePod(x, at(3), "interrupt")
	k.leaveNode(x, at(4), "in_progress", true, "fw|1.0.0 post-interrupt:in_progress")
	k.leavePod(x, at(4), "post-interrupt")
	// Node 5 has not begun.
	k.leaveNode(x, at(6), "erroring", true, "fw|1.0.0 apply:erroring")
	k.leavePod(x, at(6), "apply")
	k.leaveNode(x, at(7), "complete", false, "fw|1.0.0 post-interrupt:complete")
	k.changeNode(at(7), func(n *corev1.Node) { n.Spec.Unschedulable = true }) // by a person
	k.start()
	const all = "apply, config, interrupt, post-interrupt"
	k.expect("", all, "config, interrupt, post-interrupt", "interrupt, post-interrupt", "post-interrupt", all, all, "")
	for i, node := range k.nodes {
		k.readsAsBefore(x, node, "post-interrupt")
		if n := k.get(node); n.Spec.Unschedulable != (i == 7) || n.Annotations[prefix+"cordon_"+x.Name] != "" {
			t.Errorf("node %d: unschedulable is %t, annotations %v", i, n.Spec.Unschedulable, n.Annotations)
		}
	}
	k.checkSkyhook(x)
}

// checkSkyhook checks that nothing is left of what only the existing operator writes, and that the spec is as it was.
func (k *taken) checkSkyhook(x *v1alpha1.Skyhook) {
	k.t.Helper()
	now := k.untilStatus(x, v1alpha1.StatusComplete)
	if now.Generation != x.Generation {
		k.t.Errorf("generation is %d, was %d: the spec was edited", now.Generation, x.Generation)
	}
	seen := map[string]int{}
	for _, c := range now.Status.Conditions {
		seen[c.Type]++
		if seen[c.Type] > 1 || strings.Contains(c.Message, "Transitioned") {
			k.t.Errorf("condition %+v is left", c)
		}
	}
	if seen["Ready"] != 1 || seen[prefix+"Ready"] != 1 {
		k.t.Errorf("conditions are %v", seen)
	}
	if left := k.pods(); len(left) != 0 {
		k.t.Errorf("%d pods are left, such as %s", len(left), left[0].Name)
	}
}

// TestMigrateKeepsTheBudget: nodes in the middle count, and go first.
func TestMigrateKeepsTheBudget(t *testing.T) {
	k := newTaken(t, 4, interrupting(), func(x *v1alpha1.Skyhook) { x.Spec.InterruptionBudget.Count = new(1) })
	x := k.skyhook
	k.leaveNode(x, k.nodes[2], "in_progress", true, "fw|1.0.0 config:in_progress")
	k.leavePod(x, k.nodes[2], "config")
	stop := k.watchBudget(k.name, 1)
	k.start()
	const all = "apply, config, interrupt, post-interrupt"
	k.expect(all, all, "config, interrupt, post-interrupt", all)
	stop()
}

// TestMigrateAnUpgrade: the version that was left is upgraded from, and an upgrade in the middle is finished.
func TestMigrateAnUpgrade(t *testing.T) {
	k := newTaken(t, 3, map[string]v1alpha1.Package{"fw": pkg("1.0.0", nil)})
	x := k.skyhook
	k.leaveNode(x, k.nodes[0], "in_progress", false, "fw|0.9.0 config:complete", "fw|1.0.0 upgrade:in_progress")
	k.leavePod(x, k.nodes[0], "upgrade")
	k.leaveNode(x, k.nodes[1], "complete", false, "fw|0.9.0 config:complete")
	k.leaveNode(x, k.nodes[2], "in_progress", false, "fw|1.0.0 upgrade:complete")
	k.start()
	k.expect("upgrade, config", "upgrade, config", "config")
	for _, node := range k.nodes {
		k.readsAsBefore(x, node, "config")
	}
}

// TestMigrateAPendingConfigChange: the existing operator puts a change off while a node is in the middle, and forgets it
// as well while the Skyhook is paused. What a node was configured with is what its ConfigMap still holds.
func TestMigrateAPendingConfigChange(t *testing.T) {
	k := newTaken(t, 3, map[string]v1alpha1.Package{
		"fw": pkg("1.0.0", map[string]string{"config.sh": "1", "same": "x"}), "two-words": pkg("2.0.0", map[string]string{"k": "1"}),
	})
	x := k.edit(k.skyhook, func(x *v1alpha1.Skyhook) {
		for name, key := range map[string]string{"fw": "config.sh", "two-words": "k"} {
			x.Spec.Packages[name].ConfigMap[key] = "2"
		}
	})
	done := []string{"fw|1.0.0 config:complete", "two-words|2.0.0 config:complete"}
	k.leaveNode(x, k.nodes[0], "complete", false, done...)
	k.leaveNode(x, k.nodes[1], "in_progress", false, done...)
	k.start()
	k.several = true
	const both = "config, two-words config"
	k.expect(both, both, "apply, config, two-words apply, two-words config")
	for _, name := range []string{"-fw-1.0.0", "-two-words-2.0.0"} {
		k.becomes("ConfigMap "+name+" is that of the spec, or gone", func() bool {
			var cm corev1.ConfigMap
			err := k.client.Get(t.Context(), client.ObjectKey{Namespace: k.namespace, Name: x.Name + name}, &cm)
			k.must(client.IgnoreNotFound(err))
			return err != nil || cm.Data["config.sh"] == "2" || cm.Data["k"] == "2"
		})
	}
}

// TestMigrateSpelledTwice: an older spelling of a version, which the existing operator leaves in the record, keeps nothing
// as it was.
func TestMigrateSpelledTwice(t *testing.T) {
	k := newTaken(t, 1, map[string]v1alpha1.Package{"fw": pkg("1.0.0", map[string]string{"config.sh": "1"})})
	k.leaveNode(k.skyhook, k.nodes[0], "complete", false, "fw|1.0 config:complete", "fw|1.0.0 config:complete")
	x := k.edit(k.skyhook, func(x *v1alpha1.Skyhook) { x.Spec.Packages["fw"].ConfigMap["config.sh"] = "2" })
	k.start()
	k.becomes("config has run", func() bool { k.mu.Lock(); defer k.mu.Unlock(); return len(k.did[k.nodes[0]]) > 0 })
	k.expect("config")
	k.becomes("the ConfigMap is that of the spec", func() bool {
		var cm corev1.ConfigMap
		k.must(k.client.Get(t.Context(), client.ObjectKey{Namespace: k.namespace, Name: x.Name + "-fw-1.0.0"}, &cm))
		return cm.Data["config.sh"] == "2"
	})
}

// TestMigrateToAnotherRegistry: a pod that was left because nothing can be pulled is replaced by one that can be.
func TestMigrateToAnotherRegistry(t *testing.T) {
	k := newTaken(t, 1, map[string]v1alpha1.Package{"fw": pkg("1.0.0", nil)})
	k.kubelet.judge(func(p *corev1.Pod) (int32, string) {
		if !strings.HasPrefix(p.Spec.InitContainers[0].Image, "mirror.example/") {
			return cannotPull, ""
		}
		return 0, ""
	})
	k.leaveNode(k.skyhook, k.nodes[0], "in_progress", false, "fw|1.0.0 apply:in_progress")
	k.leavePod(k.skyhook, k.nodes[0], "apply")
	k.variables = map[string]string{"PACKAGE_REGISTRY": "mirror.example"}
	k.begin()
	k.untilStatus(k.skyhook, v1alpha1.StatusComplete)
}

// TestMigratePaused: nothing starts until somebody resumes it, and then nothing that was complete runs again, not even
// an interrupt that a change of the configMap did not need.
func TestMigratePaused(t *testing.T) {
	k := newTaken(t, 2, interrupting(), func(x *v1alpha1.Skyhook) { x.Annotations[prefix+"pause"] = "true" })
	x := k.skyhook
	k.leaveNode(x, k.nodes[0], "paused", false, "fw|1.0.0 config:complete")
	k.leaveConditions(x, k.nodes[0], true, false)
	k.leaveNode(x, k.nodes[1], "paused", true, "fw|1.0.0 config:in_progress")
	k.start()
	k.untilStatus(x, v1alpha1.StatusPaused)
	k.expectDid("", "")
	if !k.get(k.nodes[1]).Spec.Unschedulable {
		t.Error("the cordon of a paused Skyhook is gone")
	}
	k.edit(x, func(x *v1alpha1.Skyhook) { delete(x.Annotations, prefix+"pause") })
	k.expect("", "config, interrupt, post-interrupt")
}

// TestMigrateDisabled: it stays so, and its node in the middle is freed; enabled again, that one is finished.
func TestMigrateDisabled(t *testing.T) {
	k := newTaken(t, 2, interrupting(), func(x *v1alpha1.Skyhook) { x.Annotations[prefix+"disable"] = "true" })
	x := k.skyhook
	k.leaveNode(x, k.nodes[0], "disabled", false, "fw|1.0.0 post-interrupt:complete")
	k.leaveNode(x, k.nodes[1], "disabled", true, "fw|1.0.0 apply:complete")
	k.start()
	k.untilStatus(x, v1alpha1.StatusDisabled)
	k.becomes("the node is freed", func() bool { return !k.get(k.nodes[1]).Spec.Unschedulable })
	k.edit(x, func(x *v1alpha1.Skyhook) { delete(x.Annotations, prefix+"disable") })
	k.expect("", "config, interrupt, post-interrupt")
}

// TestMigrateAPolicy: its batch goes on below the ceiling, although the status has no permits.
func TestMigrateAPolicy(t *testing.T) {
	k := newTaken(t, 5, map[string]v1alpha1.Package{"fw": pkg("1.0.0", nil)}, func(x *v1alpha1.Skyhook) {
		x.Annotations[prefix+"pause"] = "true" // until its policy is there
	})
	k.policy(count(2), fixed(2))
	x := k.edit(k.skyhook, func(x *v1alpha1.Skyhook) {
		x.Spec.DeploymentPolicy = k.name
		delete(x.Annotations, prefix+"pause")
	})
	k.leaveNode(x, k.nodes[0], "complete", false, "fw|1.0.0 config:complete")
	k.leaveNode(x, k.nodes[3], "in_progress", false, "fw|1.0.0 apply:in_progress")
	k.leavePod(x, k.nodes[3], "apply")
	stop := k.watchBudget(k.name, 2)
	k.start()
	k.expect("", "apply, config", "apply, config", "apply, config", "apply, config")
	stop()
}

// TestMigrateAStoppedRollout: it stays stopped until somebody resumes it.
func TestMigrateAStoppedRollout(t *testing.T) {
	k := newTaken(t, 2, map[string]v1alpha1.Package{"fw": pkg("1.0.0", nil)}, func(x *v1alpha1.Skyhook) {
		x.Annotations[prefix+"pause"] = "true" // until its policy is there
	})
	once := v1alpha1.BatchRules{InitialBatch: new(1), BatchThreshold: new(100), FailureThreshold: new(1), SafetyLimit: new(50)}
	k.policy(count(1), v1alpha1.Strategy{Fixed: &v1alpha1.FixedStrategy{BatchRules: once}})
	x := k.edit(k.skyhook, func(x *v1alpha1.Skyhook) {
		x.Spec.DeploymentPolicy = k.name
		delete(x.Annotations, prefix+"pause")
	})
	k.patchStatus(x, map[string]any{"compartmentStatuses": map[string]any{"__default__": map[string]any{"batchState": map[string]any{
		"currentBatch": 2, "failedNodes": 1, "completedNodes": 0, "consecutiveFailures": 1, "lastBatchSize": 1, "lastBatchFailed": true,
		"shouldStop": true,
	}}}})
	k.leaveNode(x, k.nodes[0], "erroring", false, "fw|1.0.0 apply:erroring")
	k.leavePod(x, k.nodes[0], "apply")
	k.begin()
	k.condition(x, "RolloutStopped", "FailureThreshold")
	k.edit(x, func(x *v1alpha1.Skyhook) { x.Annotations[prefix+"resume"] = "now" })
	k.endLeft()
	k.expect("apply, config", "apply, config")
}

// TestMigrateTheRuntimeTaint: a node that has it keeps it until it is complete, although nobody sealed its record. One
// that is complete is not new.
func TestMigrateTheRuntimeTaint(t *testing.T) {
	k := newTaken(t, 3, map[string]v1alpha1.Package{"fw": pkg("1.0.0", nil)}, func(x *v1alpha1.Skyhook) {
		x.Spec.RuntimeRequired, x.Spec.AutoTaintNewNodes = true, true
	})
	x := k.skyhook
	k.leaveNode(x, k.nodes[0], "complete", false, "fw|1.0.0 config:complete")
	k.leaveNode(x, k.nodes[1], "in_progress", false, "fw|1.0.0 apply:complete")
	k.leaveNode(x, k.nodes[2], "in_progress", false, "fw|1.0.0 config:in_progress")
	k.leavePod(x, k.nodes[2], "config")
	for _, node := range k.nodes[1:] {
		k.changeNode(node, func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{runtimeTaint} })
	}
	k.begin()
	k.untilSeen(x)
	if got := k.taints(2); got == "" {
		t.Error("a node in the middle has lost the taint")
	}
	k.endLeft()
	k.expect("", "config", "config")
	for i, node := range k.nodes {
		k.becomes("node "+node+" has no taint", func() bool { return k.taints(i) == "" })
	}
	if k.get(k.nodes[0]).Annotations[autoTaint] != "" {
		t.Error("a node that was complete got the taint")
	}
}

// TestMigrateADeletion: its uninstall is finished, with what was begun, and nothing of it stays.
func TestMigrateADeletion(t *testing.T) {
	k := newTaken(t, 3, map[string]v1alpha1.Package{"fw": uninstallable("1.0.0", nil, nil)})
	k.must(k.client.Delete(t.Context(), k.skyhook))
	x := &v1alpha1.Skyhook{}
	k.must(k.client.Get(t.Context(), client.ObjectKeyFromObject(k.skyhook), x))
	k.leaveNode(x, k.nodes[0], "in_progress", false, "fw|1.0.0 uninstall:in_progress")
	k.leavePod(x, k.nodes[0], "uninstall")
	k.leaveNode(x, k.nodes[1], "complete", false, "fw|1.0.0 config:complete")
	k.leaveNode(x, k.nodes[2], "complete", false)
	k.begin()
	k.becomes("node 1 is uninstalled", func() bool {
		k.mu.Lock()
		defer k.mu.Unlock()
		return len(k.did[k.nodes[1]]) > 0
	})
	k.endLeft()
	k.gone(x)
	k.expectDid("uninstall", "uninstall", "")
	for _, node := range k.nodes {
		k.checkCleanNode(node, x.Name)
	}
}

// TestMigrateTwo: the later one waits on a node for the earlier one, whose cordon it does not lift.
func TestMigrateTwo(t *testing.T) {
	k := newTaken(t, 1, interrupting())
	x := k.skyhook
	other := k.leaveSkyhook("-later", interrupting(), func(x *v1alpha1.Skyhook) { x.Spec.Priority = 300 })
	k.leaveNode(x, k.nodes[0], "in_progress", true, "fw|1.0.0 post-interrupt:in_progress")
	k.leavePod(x, k.nodes[0], "post-interrupt")
	k.leaveNode(other, k.nodes[0], "waiting", false, "fw|1.0.0 apply:complete")
	k.start()
	k.untilStatus(other, v1alpha1.StatusComplete)
	k.expect("post-interrupt, config, interrupt, post-interrupt")
	k.readsAsBefore(x, k.nodes[0], "post-interrupt")
	k.readsAsBefore(other, k.nodes[0], "post-interrupt")
	if k.get(k.nodes[0]).Spec.Unschedulable {
		t.Error("the node is left cordoned")
	}
}
