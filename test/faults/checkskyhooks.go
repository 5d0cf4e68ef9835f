package faults

import (
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// skyhookChanged compares a Skyhook with what it was before the write.
func (c *watcher) skyhookChanged(old, now *v1alpha1.Skyhook) {
	c.traceSkyhook(old, now)
	if !slices.Equal(old.Status.Permits, now.Status.Permits) {
		c.active("permit")
	}
	if len(granted(old, now)) > 0 {
		c.checkBudget(now, granted(old, now))
	}
	if trueCondition(old, "RolloutStopped") == nil && trueCondition(now, "RolloutStopped") != nil &&
		!c.troubled[now.Name] {
		c.w.find("stopped-without-failure", "the rollout of %s is stopped, but nothing failed: %s",
			now.Name, trueCondition(now, "RolloutStopped").Message)
	}
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

// atWork are the nodes that a Skyhook disturbs or may disturb, and what for.
func (c *watcher) atWork(s *v1alpha1.Skyhook) map[string]string {
	nodes := map[string]string{}
	for _, pod := range c.w.cluster.Pods() {
		if owner, ours := ownerOf(pod); ours && owner.UID == s.UID && live(pod) &&
			(s.Spec.DeploymentPolicy == "" || !failing(pod) && !c.endless(pod, s)) {
			nodes[pod.Spec.NodeName] = "pod"
		}
	}
	for _, n := range c.w.cluster.Nodes() {
		if n.Annotations[cordonPrefix+s.Name] == "true" {
			nodes[n.Name] = "cordon"
		}
	}
	for _, p := range s.Status.Permits {
		if nodes[p.Node] == "" {
			nodes[p.Node] = "permit"
		}
	}
	return nodes
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

// endless reports whether the pod of a failed stage is still there long after its grace period, as its node is dead:
// under a policy such a node does not hold up its batch either.
func (c *watcher) endless(pod *corev1.Pod, s *v1alpha1.Skyhook) bool {
	if pod.DeletionTimestamp == nil || c.w.clocksAgree() && c.w.now.Before(pod.DeletionTimestamp.Add(30*time.Second)) {
		return false
	}
	n := c.w.node(pod.Spec.NodeName)
	if n == nil {
		return false
	}
	r, err := record.Read(s.Name, n.Annotations)
	id := identityOf(pod)
	e, known := r.Packages[id.Name+"|"+id.Version]
	return err == nil && known && e.State == v1alpha1.StateErroring
}

// checkBudget: nodes at work never exceed the budget when one more begins.
func (c *watcher) checkBudget(s *v1alpha1.Skyhook, added []string) {
	if s.DeletionTimestamp != nil {
		return
	}
	work := c.atWork(s)
	if s.Spec.DeploymentPolicy != "" {
		c.checkCeilings(s, added, work)
		return
	}
	matched := len(c.w.selected(s))
	for _, o := range c.w.operators {
		matched = max(matched, len(c.w.selectedBy(o, s)))
	}
	var limit int
	switch b := s.Spec.InterruptionBudget; {
	case b.Count != nil:
		limit = max(1, *b.Count)
	case b.Percent != nil:
		limit = max(1, matched**b.Percent/100)
	default:
		return
	}
	// Nodes that work already, as more did under the policy of before, may get their permits: none more begins.
	begins := slices.ContainsFunc(added, func(name string) bool { return work[name] == "permit" })
	if begins && len(work) > limit {
		c.w.findClass("budget", workFacts(work), "%d nodes are at work for %s, whose budget is %d: %v (new: %v)",
			len(work), s.Name, limit, work, added)
	}
}

// selectedBy are the nodes that a Skyhook selects as far as an operator's cache knows.
func (w *World) selectedBy(o *operator, s *v1alpha1.Skyhook) []corev1.Node {
	var nodes corev1.NodeList
	w.must(o.cached.List(background, &nodes, client.MatchingLabels(s.Spec.NodeSelectors.MatchLabels)))
	return nodes.Items
}

func workFacts(work map[string]string) string {
	kinds := map[string]bool{}
	for _, k := range work {
		kinds[k] = true
	}
	return strings.Join(sortedKeys(kinds), "+")
}

// checkCeilings: the same by the compartments of a policy, as far as the caches know it.
func (c *watcher) checkCeilings(s *v1alpha1.Skyhook, added []string, work map[string]string) {
	busy := map[string]int{}
	compartment := map[string]string{}
	for _, n := range c.w.selected(s) {
		compartment[n.Name] = compartmentOf(n)
		if work[n.Name] != "" {
			busy[compartmentOf(n)]++
		}
	}
	limits := map[string]int{}
	for _, o := range c.w.operators {
		var p v1alpha1.DeploymentPolicy
		if o.replica.Client().Get(background, client.ObjectKey{Name: s.Spec.DeploymentPolicy}, &p) != nil {
			return
		}
		matched := matches(c.w.selected(s), c.w.selectedBy(o, s))
		if len(p.Spec.Compartments) == 0 { // one for all
			busy = map[string]int{"default": len(work)}
			limits["default"] = max(limits["default"], ceiling(p.Spec.Default.Budget, matched["all"]))
			continue
		}
		limits["default"] = max(limits["default"], ceiling(p.Spec.Default.Budget, matched["default"]))
		limits["one"] = max(limits["one"], ceiling(p.Spec.Compartments[0].Budget, matched["one"]))
	}
	for _, n := range added {
		if work[n] != "permit" {
			continue // a retry that got on by itself: it was at work before, and gets the permit for what follows
		}
		name := compartment[n]
		if _, split := busy["one"]; !split && busy["default"] == len(work) {
			name = "default"
		}
		if limit, known := limits[name]; known && busy[name] > limit {
			c.w.findClass("budget", "policy "+workFacts(work), "%d nodes of compartment %s are at work for %s, whose ceiling is %d: %v (new: %v)", busy[name], name, s.Name, limit, work, added)
		}
	}
}

func compartmentOf(n *corev1.Node) string {
	if n.Labels["zone"] == "one" {
		return "one"
	}
	return "default"
}

// matches counts nodes by compartment, and all, as they are or as a cache has them, whichever are more.
func matches(live []*corev1.Node, cached []corev1.Node) map[string]int {
	now, then := map[string]int{}, map[string]int{}
	for _, n := range live {
		now["all"]++
		now[compartmentOf(n)]++
	}
	for i := range cached {
		then["all"]++
		then[compartmentOf(&cached[i])]++
	}
	for name, n := range then {
		now[name] = max(now[name], n)
	}
	return now
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
				if pin, ok := pins[name+"|"+pkg.Version]; ok && on != nil && on.version == pkg.Version && pin.Image == pkg.Image {
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
