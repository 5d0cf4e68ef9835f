package faults

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// checkOrder: what begins has its turn, by the specs that the operator sees: among the packages of its Skyhook, and
// after the Skyhooks that come before.
func (c *watcher) checkOrder(pod *corev1.Pod, id identity) {
	s := c.skyhooks[id.Skyhook]
	if c.w.acting == nil || isInterruptStage(id.Stage) {
		return
	}
	seen := seenBy(c.w.acting.replica.Client(), s)
	if seen == nil {
		return
	}
	if s.Spec.Serial && seen.Spec.Serial {
		c.checkSerial(pod, id)
	}
	if id.Stage == v1alpha1.StageUninstall {
		c.checkUninstallOrder(pod, id, seen)
	}
	c.checkEarlier(pod, id, seen)
}

// checkSerial: the packages of a serial Skyhook run one at a time.
func (c *watcher) checkSerial(pod *corev1.Pod, id identity) {
	mine, _ := ownerOf(pod)
	for _, other := range c.w.cluster.Pods() {
		owner, ours := ownerOf(other)
		if is := identityOf(other); ours && owner.UID == mine.UID && other.UID != pod.UID && is.Name != id.Name &&
			other.Spec.NodeName == pod.Spec.NodeName && live(other) {
			c.w.findClass("serial", string(is.Stage), "%s is created while %s is there, and Skyhook %s is serial",
				pod.Name, other.Name, id.Skyhook)
		}
	}
}

// checkUninstallOrder: of packages that are uninstalled, those that depend on others come first.
func (c *watcher) checkUninstallOrder(pod *corev1.Pod, id identity, seen *v1alpha1.Skyhook) {
	h := c.w.kubelet(pod.Spec.NodeName).host
	for _, name := range sortedKeys(seen.Spec.Packages) {
		pkg := seen.Spec.Packages[name]
		_, depends := pkg.DependsOn[id.Name]
		on := h.installed[id.Skyhook+"/"+name]
		goes := uninstallable(pkg) && (leaves(pkg) || seen.DeletionTimestamp != nil)
		if depends && goes && on != nil && !on.forgotten && !h.forged[id.Skyhook] {
			c.w.find("uninstall-order", "%s is created on %s, but %s, which depends on it and is uninstalled as well, is still there",
				pod.Name, pod.Spec.NodeName, name)
		}
	}
}

// checkEarlier: a Skyhook waits on a node until all that come before it are whole there, or everywhere if they say so.
// What is deleted waits for nobody, and nobody for it.
func (c *watcher) checkEarlier(pod *corev1.Pod, id identity, seen *v1alpha1.Skyhook) {
	var all v1alpha1.SkyhookList
	var nodes corev1.NodeList
	reader := c.w.acting.replica.Client()
	if reader.List(background, &all) != nil || reader.List(background, &nodes) != nil || seen.Spec.RuntimeRequired ||
		seen.DeletionTimestamp != nil {
		return
	}
	for i := range all.Items {
		first := &all.Items[i]
		if !comesBefore(first, seen) || first.Disabled() || first.DeletionTimestamp != nil || first.Spec.RuntimeRequired ||
			c.unknown(first) {
			continue
		}
		for j := range nodes.Items {
			n := &nodes.Items[j]
			here := n.Name == pod.Spec.NodeName
			joins := c.w.now.Sub(n.CreationTimestamp.Time) < 2*time.Second // the first is complete until it is planned again
			if !here && (joins || first.Spec.Sequencing != v1alpha1.SequencingAll) || !selects(first, n) {
				continue
			}
			if lacks := c.lacksOn(n, first); lacks != "" {
				class := "node"
				if !here {
					class = "all"
				}
				c.w.findClass("order", class, "%s (%s) is created on %s, but Skyhook %s comes first, and %s lacks %s",
					pod.Name, id.Stage, pod.Spec.NodeName, first.Name, n.Name, lacks)
			}
		}
	}
}

// unknown reports whether a Skyhook as it was seen is not there any more.
func (c *watcher) unknown(s *v1alpha1.Skyhook) bool {
	now := c.w.skyhook(s.Name)
	return now == nil || now.UID != s.UID
}

// lacksOn is what a node as it was seen lacks of what a Skyhook asks for; empty also when nobody can know.
func (c *watcher) lacksOn(n *corev1.Node, s *v1alpha1.Skyhook) string {
	k, now := c.w.kubelet(n.Name), c.w.node(n.Name)
	if now == nil || now.UID != n.UID || k.host.forged[s.Name] {
		return ""
	}
	return c.ledger.lacks(c.ledger.account(n.Name, s.Name), s)
}

func comesBefore(a, b *v1alpha1.Skyhook) bool {
	return a.Name != b.Name && cmp.Or(cmp.Compare(a.Spec.Priority, b.Spec.Priority), cmp.Compare(a.Name, b.Name)) < 0
}

func selects(s *v1alpha1.Skyhook, n client.Object) bool {
	selector, err := metav1.LabelSelectorAsSelector(&s.Spec.NodeSelectors)
	return err == nil && selector.Matches(labels.Set(n.GetLabels()))
}
