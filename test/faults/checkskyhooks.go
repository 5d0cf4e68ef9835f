package faults

import (
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// skyhookChanged compares a Skyhook with what it was before the write.
func (c *watcher) skyhookChanged(old, now *v1alpha1.Skyhook) {
	c.traceSkyhook(old, now)
	c.ledger.steered(old, now)
	if !slices.Equal(old.Status.Permits, now.Status.Permits) {
		c.active("permit")
	}
	if len(granted(old, now)) > 0 {
		c.checkBudget(now, granted(old, now))
	}
	c.entries(old, now)
	if trueCondition(old, "RolloutStopped") == nil && trueCondition(now, "RolloutStopped") != nil &&
		!c.troubled[now.Name] && !c.ledger.blemished(now.Name) && !c.unstarted("", now.Name) &&
		!slices.ContainsFunc(c.w.selected(now), func(n *corev1.Node) bool { return c.ledger.refused(n.Name, now) }) {
		c.w.find("stopped-without-failure", "the rollout of %s is stopped, but nothing failed: %s",
			now.Name, trueCondition(now, "RolloutStopped").Message)
	}
}

// unstarted reports whether a pod of a Skyhook has been on a node for half an hour, or on any if none is named, and none of
// its containers has started.
func (c *watcher) unstarted(node, skyhook string) bool {
	return slices.ContainsFunc(c.w.cluster.Pods(), func(pod *corev1.Pod) bool {
		return pod.Namespace == namespace && identityOf(pod).Skyhook == skyhook && live(pod) &&
			(node == "" || pod.Spec.NodeName == node) &&
			c.w.now.Sub(pod.CreationTimestamp.Time) >= 30*time.Minute &&
			!slices.ContainsFunc(pod.Status.InitContainerStatuses, func(s corev1.ContainerStatus) bool {
				return s.State.Running != nil || s.State.Terminated != nil || s.LastTerminationState.Terminated != nil
			})
	})
}

func (c *watcher) traceSkyhook(old, now *v1alpha1.Skyhook) {
	if !c.w.trace.on {
		return
	}
	if !slices.Equal(old.Status.Permits, now.Status.Permits) {
		c.w.trace.add(c.w, "    Skyhook %s permits %v", now.Name, now.Status.Permits)
	}
	if old.Status.Status != now.Status.Status || old.Status.ObservedGeneration != now.Status.ObservedGeneration {
		c.w.trace.add(c.w, "    Skyhook %s is %s, observed generation %d",
			now.Name, now.Status.Status, now.Status.ObservedGeneration)
	}
}

// granted are the nodes that got a permit.
func granted(old, now *v1alpha1.Skyhook) []string {
	var list []string
	for _, p := range now.Status.Permits {
		if !slices.ContainsFunc(old.Status.Permits, func(o v1alpha1.Permit) bool { return o.Node == p.Node }) {
			list = append(list, p.Node)
		}
	}
	return list
}

// entries keeps account of when nodes were let in, which is when they got their permits.
func (c *watcher) entries(old, now *v1alpha1.Skyhook) {
	for _, p := range old.Status.Permits {
		if !slices.ContainsFunc(now.Status.Permits, func(o v1alpha1.Permit) bool { return o.Node == p.Node }) {
			c.ledger.left(p.Node, now.Name)
		}
	}
	for _, p := range now.Status.Permits {
		if !p.Revoked && !slices.Contains(old.Status.Permits, p) {
			c.ledger.letIn(p.Node, now)
		}
	}
}

// failing reports whether a container of the pod failed. Under a policy such a node does not hold up its batch.
func failing(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.InitContainerStatuses, func(c corev1.ContainerStatus) bool {
		stuck := c.State.Waiting != nil && c.State.Waiting.Reason != "" && c.State.Waiting.Reason != "PodInitializing" &&
			c.State.Waiting.Reason != "ContainerCreating"
		return stuck || c.RestartCount > 0 || c.State.Terminated != nil && c.State.Terminated.ExitCode != 0 ||
			c.LastTerminationState.Terminated != nil
	})
}

// checkBudget: no more nodes are let in than there is room for beside those that are in the middle of work, by what ran on
// their hosts. Who was let in before holds a place until it gives the permit back, whether or not its work has begun.
func (c *watcher) checkBudget(s *v1alpha1.Skyhook, added []string) {
	if s.DeletionTimestamp != nil {
		return
	}
	places, all := c.ledger.places(s), c.ledger.rulesOf(s)
	begun := maps.Clone(places)
	for _, p := range s.Status.Permits {
		places[p.Node] = false
	}
	for _, node := range added {
		if _, works := begun[node]; works {
			continue // as more did under the rules of before: none more begins
		}
		if !slices.ContainsFunc(all, func(r rules) bool { return r.allow(node, places) }) {
			class := "permit"
			if all[0].policy {
				class = "policy permit"
			}
			c.w.findClass("budget", class, "%s is let in for %s, and %v were or are in the middle of work (new: %v): %s",
				node, s.Name, sortedKeys(places), added, all[0])
		}
	}
}

func ceiling(b v1alpha1.Budget, matched int) int {
	if b.Count != nil {
		return max(1, *b.Count)
	}
	return max(1, matched**b.Percent/100)
}

// checkEnd looks at a world in which everything says that it is complete.
func (w *World) checkEnd() {
	for _, n := range w.cluster.Nodes() {
		w.checkHost(n)
		w.checkLeft(n)
		if n.Spec.Unschedulable && !w.watch.userCordon[n.Name] {
			w.find("cordon-left", "all is complete, but node %s is cordoned: %v", n.Name, n.Annotations)
		}
	}
	for _, pod := range w.cluster.Pods() {
		if _, ours := ownerOf(pod); ours && live(pod) {
			w.find("pod-left", "all is complete, but pod %s is there", pod.Name)
		}
	}
	for _, s := range w.cluster.Skyhooks() {
		if len(s.Status.Permits) > 0 {
			w.find("permit-left", "Skyhook %s is complete, but %v hold permits", s.Name, s.Status.Permits)
		}
	}
	w.checkHistory()
	for _, cm := range w.cluster.ConfigMaps() {
		node := cm.Annotations[v1alpha1.GroupName+"/Node.name"]
		if node != "" && w.node(node) == nil {
			w.find("leaked-configmap", "ConfigMap %s of node %s, which is gone", cm.Name, node)
		}
	}
}

// checkHost: what is complete is on the host, as the spec says.
func (w *World) checkHost(n *corev1.Node) {
	h := w.kubelet(n.Name).host
	for _, s := range w.cluster.Skyhooks() {
		if !slices.ContainsFunc(w.selected(s), func(o *corev1.Node) bool { return o.Name == n.Name }) {
			continue
		}
		pins := w.pins(s)
		if h.forged[s.Name] {
			continue
		}
		for _, name := range sortedKeys(s.Spec.Packages) {
			pkg := s.Spec.Packages[name]
			on := h.installed[s.Name+"/"+name]
			if pkg.Uninstall == nil || !pkg.Uninstall.Apply {
				w.checkInstalled(n.Name, s.Name, name, pkg, on)
				its := w.watch.ledger.account(n.Name, s.Name).owner == s.UID // else it may be of a Skyhook of that name before
				if pin, ok := pins[name+"|"+pkg.Version]; ok && its && on != nil && on.version == pkg.Version && pin.Image == pkg.Image {
					w.checkImage(n.Name, pin, on)
				}
			} else if on != nil && !on.forgotten {
				w.find("not-uninstalled", "%s is complete, but %s is on %s: %v", s.Name, name, n.Name, h)
			}
		}
	}
}

// checkInstalled: a package of a complete Skyhook is on the host as the spec says.
func (w *World) checkInstalled(node, skyhook, name string, pkg v1alpha1.Package, on *installed) {
	if on == nil || on.version != pkg.Version || on.configured != pkg.Version || !maps.Equal(on.config, pkg.ConfigMap) {
		w.findClass("false-complete", hostFacts(on, pkg), "%s is complete, but %s %s with config %v is not on %s: %+v",
			skyhook, name, pkg.Version, pkg.ConfigMap, node, on)
	}
}

func hostFacts(on *installed, pkg v1alpha1.Package) string {
	switch {
	case on == nil:
		return "absent"
	case on.version != pkg.Version:
		return "version"
	case on.configured != pkg.Version:
		return "unconfigured"
	}
	return "config"
}

// checkLeft: a Skyhook that is gone leaves nothing but what tells which files may be there.
func (w *World) checkLeft(n *corev1.Node) {
	for _, name := range record.Skyhooks(n.Annotations, n.Labels) {
		if w.skyhook(name) != nil {
			continue
		}
		r, _ := record.Read(name, n.Annotations)
		_, label := n.Labels[v1alpha1.GroupName+"/status_"+name]
		_, seal := n.Labels[v1alpha1.LabelSealPrefix+name]
		seal = seal && n.Annotations[v1alpha1.AnnotationNodeStatePrefix+name] == "" // it stays with what it seals
		if r.Cordoned || r.Wait != nil || label || seal || r.Status != "" {
			w.find("left-behind", "Skyhook %s is gone, but node %s has %v and labels %v", name, n.Name, n.Annotations, n.Labels)
		}
	}
	for _, c := range n.Status.Conditions {
		name, ours := strings.CutPrefix(string(c.Type), v1alpha1.GroupName+"/")
		if name, _, _ = strings.Cut(name, "/"); ours && w.skyhook(name) == nil {
			w.find("left-behind", "Skyhook %s is gone, but node %s has condition %s", name, n.Name, c.Type)
		}
	}
}
