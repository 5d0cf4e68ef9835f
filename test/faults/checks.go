package faults

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/forecast/cluster"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// watcher looks at every write and remembers what the checks compare with.
type watcher struct {
	w *World
	// garbage and foreign say that the garbage collector or other controllers may have something to do.
	garbage, foreign bool
	nodes            map[string]*corev1.Node
	skyhooks         map[string]*v1alpha1.Skyhook
	// names of pods, by what they are for.
	podNames map[string]string
	// failures that really happened and those that were counted, by "node/skyhook/package".
	failures, counted map[string]int
	// troubled are Skyhooks of which anything ever failed.
	troubled map[string]bool
	// userCordon are nodes that a user cordoned while they were not.
	userCordon map[string]bool
	// protectedUntil is when the last protected pod was seen on a node.
	protectedUntil map[string]time.Time
	// reboots that agents asked for while the world rests, at all and by host.
	restReboots int
	rebootsOf   map[string]int
	// pods created while the world rests, by "node/skyhook/package".
	restPods map[string]int
	cured    string
	// cordonedAt is when a Skyhook began to hold its cordon, by "node/skyhook".
	cordonedAt map[string]time.Time
	// firstPod is when the first pod of a package's present stage was created, by "node/skyhook/package".
	firstPod map[string]time.Time
	// begins are the stages that began last, by "node/skyhook/package".
	begins map[string]begin
	// writes counts what operators wrote, but for pods of others.
	writes int
	// activity counts writes in a world at rest.
	activity map[string]int
	ledger   ledger
	// overdue are pods that last longer than their stages may.
	overdue map[types.UID]overdue
}

func (c *watcher) init(w *World) {
	*c = watcher{
		w: w, nodes: map[string]*corev1.Node{}, skyhooks: map[string]*v1alpha1.Skyhook{}, podNames: map[string]string{},
		failures: map[string]int{}, counted: map[string]int{}, troubled: map[string]bool{}, userCordon: map[string]bool{},
		protectedUntil: map[string]time.Time{}, restPods: map[string]int{},
		cordonedAt: map[string]time.Time{}, activity: map[string]int{},
		firstPod: map[string]time.Time{}, begins: map[string]begin{}, ledger: newLedger(w),
		overdue: map[types.UID]overdue{},
	}
}

// written is called after every write that took effect.
func (w *World) written(verb string, o client.Object) {
	c := &w.watch
	w.past.changed(cluster.Kind(kindOf(o)))
	w.audit.note(o)
	if w.acting != nil && o.GetNamespace() != workloads {
		c.writes++
	}
	switch o := o.(type) {
	case *corev1.Node:
		old := c.nodes[o.Name]
		if verb == "delete" {
			delete(c.nodes, o.Name)
			delete(c.userCordon, o.Name)
			c.ledger.nodeGone(o.Name)
			return
		}
		c.nodes[o.Name] = o
		if old != nil && old.UID == o.UID {
			c.nodeChanged(old, o)
		}
	case *v1alpha1.Skyhook:
		old := c.skyhooks[o.Name]
		c.ledger.edited(o)
		if c.skyhooks[o.Name] = o; old != nil && old.UID == o.UID {
			c.skyhookChanged(old, o)
		}
		c.garbage = true
		if verb == "delete" {
			delete(c.skyhooks, o.Name)
		}
	case *v1alpha1.DeploymentPolicy:
		c.ledger.policyChanged(o)
	case *corev1.Pod:
		c.podWritten(verb, o)
	case *corev1.ConfigMap:
		w.trace.add(w, "    %s ConfigMap %s", verb, o.Name)
	}
}

// active notes what goes on in a world at rest.
func (c *watcher) active(what string) {
	if c.w.resting {
		c.activity[what]++
	}
}

func (c *watcher) podWritten(verb string, pod *corev1.Pod) {
	_, ours := ownerOf(pod)
	if !ours {
		c.foreign = c.foreign || verb == "delete"
		if verb == "evict" && c.w.acting != nil {
			c.checkEviction(pod)
		}
		if over := verb == "delete" && finishedPod(pod); pod.Labels[protectedLabel] != "" && pod.Spec.NodeName != "" &&
			!over {
			c.protectedUntil[pod.Spec.NodeName] = c.w.now
		}
		return
	}
	id := identityOf(pod)
	if verb != "update/status" {
		c.w.trace.add(c.w, "    %s pod %s (%s %s %s run %s)%s",
			verb, pod.Name, id.key(), id.Version, id.Stage, runOf(pod), ending(pod))
	}
	switch verb {
	case "create":
		c.garbage = true
		c.podCreated(pod, id)
	case "delete":
		c.ledger.overran(pod, id)
		if c.w.acting != nil {
			c.ledger.heard(pod, id)
		}
	}
}

func ending(pod *corev1.Pod) string {
	if pod.DeletionTimestamp != nil {
		return " ending"
	}
	return ""
}

// live reports whether something of the pod may still run on its host. One whose stage is done runs nothing any more.
func live(pod *corev1.Pod) bool { return !finishedPod(pod) && !doneWell(pod) }

// doneWell reports whether all steps of a pod succeeded.
func doneWell(pod *corev1.Pod) bool {
	done := 0
	for _, s := range pod.Status.InitContainerStatuses {
		if s.State.Terminated != nil && s.State.Terminated.ExitCode == 0 {
			done++
		}
	}
	return done > 0 && done >= len(pod.Spec.InitContainers)
}

func podKey(node string, id identity) string { return node + "/" + id.key() }

// podCreated checks what must hold at the very moment at which the operator creates a pod.
func (c *watcher) podCreated(pod *corev1.Pod, id identity) {
	key := fmt.Sprintf("%s %s %s %s", podKey(pod.Spec.NodeName, id), id.Version, id.Stage,
		pod.Labels[v1alpha1.GroupName+"/interrupt"])
	if isInterruptStage(id.Stage) {
		kind, _ := interruptArgs(pod)
		key = id.Skyhook + " " + pod.Spec.NodeName + " " + string(id.Stage) + " " + kind
	}
	if before, ok := c.podNames[key]; ok && before != pod.Name {
		c.w.find("pod-name", "%s was %s and is %s", key, before, pod.Name)
	}
	c.podNames[key] = pod.Name
	c.active("pod " + string(id.Stage))
	if _, again := c.firstPod[podKey(pod.Spec.NodeName, id)]; !again {
		c.firstPod[podKey(pod.Spec.NodeName, id)] = c.w.now
	}
	c.checkStopped(pod, id)
	c.checkAlone(pod, id)
	if s := c.skyhooks[id.Skyhook]; s != nil && c.w.node(pod.Spec.NodeName) != nil {
		fresh := c.ledger.begins(pod.Spec.NodeName, s)
		c.ledger.account(pod.Spec.NodeName, id.Skyhook).touched = true
		c.ledger.joins(pod, id, s, fresh)
		c.ledger.checkAsked(pod, id)
		c.ledger.starting(pod, id)
		c.checkOrder(pod, id)
	}
	if isInterruptStage(id.Stage) {
		c.checkInterrupt(pod, id)
	} else {
		c.checkDependencies(pod, id)
		c.checkStage(pod, id)
		c.checkBegin(pod, id)
	}
	if c.w.resting {
		c.restPods[podKey(pod.Spec.NodeName, id)]++
		if c.restPods[podKey(pod.Spec.NodeName, id)] > 60 {
			c.w.findClass("pods-forever", c.w.restlessness(), "%d pods for %s in a world at rest",
				60, podKey(pod.Spec.NodeName, id))
		}
	}
}

// checkAlone: never two pods of a package on a node, and no package pod beside an interrupt.
func (c *watcher) checkAlone(pod *corev1.Pod, id identity) {
	for _, other := range c.w.cluster.Pods() {
		owner, ours := ownerOf(other)
		if !ours || other.UID == pod.UID || other.Spec.NodeName != pod.Spec.NodeName || !live(other) {
			continue
		}
		is := identityOf(other)
		mine, _ := ownerOf(pod)
		switch {
		case is.Name == id.Name && owner.UID == mine.UID:
			c.w.findClass("two-pods", c.aloneFacts(pod, other), "pod %s is created while %s is there", pod.Name, other.Name)
		case isInterruptStage(is.Stage) || isInterruptStage(id.Stage):
			c.w.findClass("beside-interrupt", c.aloneFacts(pod, other), "pod %s (%s %s) is created while %s (%s %s) is there",
				pod.Name, id.key(), id.Stage,
				other.Name, is.key(), is.Stage)
		}
	}
}

// checkInterrupt: the node is cordoned and free of all pods that have to leave.
func (c *watcher) checkInterrupt(pod *corev1.Pod, id identity) {
	n := c.w.node(pod.Spec.NodeName)
	s := c.w.skyhook(id.Skyhook)
	if n == nil || s == nil {
		return
	}
	switch {
	case !n.Spec.Unschedulable:
		c.w.find("interrupt-uncordoned", "%s is created while node %s is not cordoned", pod.Name, n.Name)
	case !c.w.acting.readCordon(n):
		c.w.findClass("interrupt-uncordoned", "unread", "%s is created, but %s has not read that node %s is cordoned",
			pod.Name, c.w.acting.name, n.Name)
	}
	if other := c.hasToLeave(s, n); other != nil {
		c.w.find("interrupt-undrained", "%s is created while %s is on node %s", pod.Name, other.Name, n.Name)
	}
}

// checkDependencies: a stage never starts before its package's dependencies are on the host.
func (c *watcher) checkDependencies(pod *corev1.Pod, id identity) {
	s := c.w.skyhook(id.Skyhook)
	if s == nil || id.Stage == v1alpha1.StageUninstall || c.behind(s) {
		return
	}
	pkg, ok := s.Spec.Packages[id.Name]
	if !ok || pkg.Version != id.Version {
		return
	}
	h := c.w.kubelet(pod.Spec.NodeName).host
	if h.forged[id.Skyhook] {
		return
	}
	for dep, version := range pkg.DependsOn {
		if s.Spec.Packages[dep].Version != version {
			continue
		}
		on := h.installed[id.Skyhook+"/"+dep]
		if on == nil || on.version != version || on.configured != version {
			c.w.find("dependency", "%s (%s of %s) is created on %s without its dependency %s %s: %v",
				pod.Name, id.Stage, id.key(), pod.Spec.NodeName, dep, version, h)
		}
	}
}

// behind reports whether an operator has yet to see the spec as it is: what it does follows from the one before.
func (c *watcher) behind(s *v1alpha1.Skyhook) bool {
	for _, o := range c.w.operators {
		var seen v1alpha1.Skyhook
		if err := o.replica.Client().Get(background, client.ObjectKeyFromObject(s), &seen); err != nil ||
			seen.Generation != s.Generation {
			return true
		}
	}
	return false
}

// checkStage: a stage never starts before the one before it ended on the host.
func (c *watcher) checkStage(pod *corev1.Pod, id identity) {
	h := c.w.kubelet(pod.Spec.NodeName).host
	on := h.installed[id.key()]
	if h.forged[id.Skyhook] {
		return
	}
	switch id.Stage {
	case v1alpha1.StageConfig:
		if on == nil || on.version != id.Version {
			c.w.findClass("stage-order", "config", "%s is created, but %s is not applied on %s: %v",
				pod.Name, id.key(), pod.Spec.NodeName, h)
		}
	case v1alpha1.StagePostInterrupt:
		if on == nil || on.configured != id.Version || on.interrupts == h.interrupts {
			c.w.findClass("stage-order", "post-interrupt",
				"%s is created, but no interrupt followed the apply of %s on %s: %v", pod.Name, id.key(), pod.Spec.NodeName, h)
		}
	default:
	}
}

// nodeChanged compares a node with what it was before the write.
func (c *watcher) nodeChanged(old, now *corev1.Node) {
	c.traceNode(old, now)
	if !c.w.free(now) || !c.w.free(old) {
		c.ledger.blemish(now.Name, "")
	}
	if c.w.acting == nil && !maps.Equal(old.Labels, now.Labels) {
		c.ledger.relabelled[now.Name] = c.w.step
	}
	c.checkCordon(old, now)
	c.checkTaint(old, now)
	c.w.kubelet(now.Name).host.believes(now)
	for _, name := range record.Skyhooks(now.Annotations, now.Labels) {
		if keys := record.KeysOf(name); keys.Raw(old.Annotations) == keys.Raw(now.Annotations) {
			continue
		}
		before, _ := record.Read(name, old.Annotations)
		if c.w.acting == nil {
			c.w.kubelet(now.Name).host.forget(name, before)
			c.ledger.account(now.Name, name).tampered = true
			c.ledger.blemish(now.Name, name)
		}
		after, err := record.Read(name, now.Annotations)
		if err != nil {
			continue
		}
		c.ledger.noted(now.Name, name, after)
		c.recordChanged(now, name, before, after)
	}
}

func (c *watcher) recordChanged(n *corev1.Node, skyhook string, before, after record.Node) {
	for key, e := range after.Packages {
		was := before.Packages[key]
		c.checkCounted(n.Name, skyhook, was, e)
		c.checkTimeout(n.Name+"/"+skyhook+"/"+e.Name, skyhook, was, e)
		c.stageBegan(n.Name+"/"+skyhook+"/"+e.Name, was, e)
		c.noteBegin(n.Name+"/"+skyhook+"/"+e.Name, was, e)
		if e.State == v1alpha1.StateErroring &&
			slices.Contains([]string{"RebootTimeout", "StageTimeout", "ImagePullBackOff"}, e.Reason) {
			c.troubled[skyhook] = true
		}
		if e.Interrupt != nil && e.Interrupt.Type == v1alpha1.InterruptReboot && was.Stage == v1alpha1.StageInterrupt &&
			was.Active() &&
			e.Stage == v1alpha1.StageInterrupt && e.State == v1alpha1.StateComplete && (was.BootID == n.Status.NodeInfo.BootID || !readyNode(n)) {
			c.w.find("reboot-early", "reboot of %s for %s counts as done, but the boot id is still %s",
				n.Name, skyhook, was.BootID)
		}
	}
	c.checkTimes(n.Name, skyhook, before, after)
	c.active("record")
	c.checkDrainTimeout(n, skyhook, after)
}

// failed notes that something failed that may be counted.
func (c *watcher) failed(pod *corev1.Pod) {
	id := identityOf(pod)
	c.failures[podKey(pod.Spec.NodeName, id)]++
	c.ledger.failed(pod.Spec.NodeName, id)
	c.troubled[id.Skyhook] = true
}

// maxReboots is how often one host may be rebooted while a world comes to rest: twice for each package.
func (w *World) maxReboots() int {
	packages := 0
	for _, s := range w.cluster.Skyhooks() {
		packages += len(s.Spec.Packages)
	}
	return 2 + 2*packages
}

// rebooting: one run of an interrupt reboots a host once.
func (c *watcher) rebooting(k *kubelet, pod *corev1.Pod) {
	id := identityOf(pod)
	c.w.trace.add(c.w, "agent in pod %s reboots %s", pod.Name, k.plan.Name)
	if c.w.resting {
		c.restReboots++
		c.rebootsOf[k.plan.Name]++
		if c.rebootsOf[k.plan.Name] > c.w.maxReboots() {
			c.w.findClass("reboots-forever", c.w.restlessness(), "%d reboots of host %s in a world at rest",
				c.rebootsOf[k.plan.Name], k.plan.Name)
		}
	}
	key := id.Skyhook + " " + id.Name + " " + runOf(pod)
	k.rebooted[key]++
	if k.rebooted[key] > 1 {
		c.w.find("rebooted-twice", "run %s of %s rebooted %s twice", runOf(pod), id.key(), k.plan.Name)
	}
}
