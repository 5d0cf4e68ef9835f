package faults

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

const cordonPrefix = v1alpha1.GroupName + "/cordon_"

// traceNode shows what a write changed.
func (c *watcher) traceNode(old, now *corev1.Node) {
	if !c.w.trace.on {
		return
	}
	if old.Spec.Unschedulable != now.Spec.Unschedulable {
		c.w.trace.add(c.w, "    node %s unschedulable=%t", now.Name, now.Spec.Unschedulable)
	}
	for _, key := range sortedKeys(now.Annotations) {
		if was, is := old.Annotations[key], now.Annotations[key]; was != is {
			c.w.trace.add(c.w, "    node %s %s: %s", now.Name, strings.TrimPrefix(key, v1alpha1.GroupName+"/"), shorten(key, is))
		}
	}
	for _, key := range sortedKeys(old.Annotations) {
		if _, ok := now.Annotations[key]; !ok {
			c.w.trace.add(c.w, "    node %s %s is gone", now.Name, strings.TrimPrefix(key, v1alpha1.GroupName+"/"))
		}
	}
}

// shorten shows a record's entries in few words.
func shorten(key, value string) string {
	prefix := v1alpha1.GroupName + "/nodeState_"
	name, ok := strings.CutPrefix(key, prefix)
	if !ok {
		return value
	}
	r, err := record.Read(name, map[string]string{key: value})
	if err != nil {
		return value
	}
	var parts []string
	for _, k := range sortedKeys(r.Packages) {
		e := r.Packages[k]
		text := fmt.Sprintf("%s %s/%s run %s", k, e.Stage, e.State, e.Run)
		if e.Restarts > 0 || e.Reason != "" {
			text += fmt.Sprintf(" (%s, %d restarts)", e.Reason, e.Restarts)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

// checkCordon: a node is uncordoned only if we cordoned it and no other owner still needs it.
func (c *watcher) checkCordon(old, now *corev1.Node) {
	for key, value := range now.Annotations {
		if strings.HasPrefix(key, cordonPrefix) && value == "true" && old.Annotations[key] != "true" {
			c.cordonedAt[now.Name+"/"+strings.TrimPrefix(key, cordonPrefix)] = c.w.now
		}
	}
	if old.Spec.Unschedulable == now.Spec.Unschedulable {
		return
	}
	if c.w.acting == nil {
		// While ours stands, lifting it and setting it again leaves nothing that anyone could tell apart.
		c.userCordon[now.Name] = now.Spec.Unschedulable && !hasCordon(now)
		return
	}
	if now.Spec.Unschedulable {
		c.cordoned(old, now)
		return
	}
	c.uncordoned(old, now)
	if c.userCordon[now.Name] {
		c.w.find("uncordoned-foreign", "node %s was cordoned by somebody else", now.Name)
	}
	for key, value := range now.Annotations {
		if name, ok := strings.CutPrefix(key, cordonPrefix); ok && value == "true" && c.skyhooks[name] != nil {
			c.w.find("uncordoned-needed", "node %s is uncordoned, but Skyhook %s holds its cordon", now.Name, name)
		}
	}
	for _, pod := range c.w.cluster.Pods() {
		if _, ours := ownerOf(pod); ours && pod.Spec.NodeName == now.Name && isInterruptStage(identityOf(pod).Stage) &&
			live(pod) {
			c.w.find("uncordoned-interrupted", "node %s is uncordoned, but interrupt pod %s is there", now.Name, pod.Name)
		}
	}
}

// cordoned: with a cordon, work begins. The annotation that comes with it only tells whose it is.
func (c *watcher) cordoned(old, now *corev1.Node) {
	for _, name := range c.newCordons(old, now) {
		c.ledger.begins(now.Name, c.skyhooks[name])
	}
}

// uncordoned: with the cordon, a place is given back that nothing else came of.
func (c *watcher) uncordoned(old, now *corev1.Node) {
	for _, name := range c.newCordons(now, old) {
		c.ledger.uncordoned(now.Name, name)
	}
}

// newCordons names the Skyhooks that hold the cordon of b and not that of a, which are one node at two times.
func (c *watcher) newCordons(a, b *corev1.Node) []string {
	return slices.DeleteFunc(sortedKeys(c.skyhooks), func(name string) bool {
		key := cordonPrefix + name
		return b.Annotations[key] != "true" || a.Annotations[key] == "true"
	})
}

// hasCordon reports whether a Skyhook holds the node's cordon, by its annotation.
func hasCordon(n *corev1.Node) bool {
	for key, value := range n.Annotations {
		if strings.HasPrefix(key, cordonPrefix) && value == "true" {
			return true
		}
	}
	return false
}

// checkCounted: what failed is counted once.
func (c *watcher) checkCounted(node, skyhook string, was, now record.Entry) {
	key := node + "/" + skyhook + "/" + now.Name
	more := int(now.Restarts - was.Restarts)
	if was.Run == "" {
		c.counted[key], more = 0, int(now.Restarts)
	} else if was.Stage != now.Stage {
		more = int(now.Restarts)
	}
	if more <= 0 {
		return
	}
	if c.counted[key] += more; c.counted[key] > c.failures[key] {
		c.w.findClass("overcounted", now.Reason, "entry %s of node %s counts %d failures (%s), but only %d happened",
			key, node, c.counted[key], now.Reason, c.failures[key])
	}
}

// checkDrainTimeout: the limit of a drain counts from when the drain could begin.
func (c *watcher) checkDrainTimeout(n *corev1.Node, skyhook string, after record.Node) {
	s := c.skyhooks[skyhook]
	if after.Wait == nil || after.Wait.Reason != "DrainTimeout" || s == nil || s.Spec.Drain == nil ||
		s.Spec.Drain.TimeoutSeconds == nil {
		return
	}
	limit := time.Duration(*s.Spec.Drain.TimeoutSeconds) * time.Second
	since := c.cordonedAt[n.Name+"/"+skyhook]
	if len(s.Spec.PodNonInterruptLabels.MatchLabels) > 0 {
		if c.protectedUntil[n.Name].After(since) {
			since = c.protectedUntil[n.Name]
		}
	}
	if c.w.clocksAgree() && c.w.now.Sub(since) < limit-2*time.Second {
		c.w.find("drain-timeout-early", "the drain of %s for %s timed out %s after it could begin, its limit is %s",
			n.Name, skyhook, c.w.now.Sub(since), limit)
	}
	c.troubled[skyhook] = true
}

// clocksAgree reports whether all processes have the time of the world.
func (w *World) clocksAgree() bool {
	if w.plan.Offset != 0 {
		return false
	}
	for _, h := range w.plan.Happenings {
		if h.Kind == "restart-behind" || h.Kind == "restart-ahead" {
			return false
		}
	}
	return true
}
