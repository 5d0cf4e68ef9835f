package cluster_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestGarbage has ConfigMaps of a Skyhook that is there, gone, or being deleted in some way.
func TestGarbage(t *testing.T) {
	foreground, orphan := client.PropagationPolicy(metav1.DeletePropagationForeground), client.PropagationPolicy(metav1.DeletePropagationOrphan)
	for _, test := range []struct {
		name string
		// kind of the owner, and another owner that is there.
		kind  string
		other bool
		block bool
		// remove is what happens to the owner; nil for nothing.
		remove []client.DeleteOption
		// want is what is left of owner and owned.
		want string
	}{
		{"the owner is there", "Skyhook", false, true, nil, "owner owned"},
		{"the owner is gone", "Skyhook", false, true, []client.DeleteOption{}, ""},
		{"one owner is gone", "Skyhook", true, true, []client.DeleteOption{}, "owned"},
		{"an owner of a kind that is not stored", "ReplicaSet", false, true, []client.DeleteOption{}, "owned"},
		{"the owner waits", "Skyhook", false, true, []client.DeleteOption{foreground}, ""},
		{"the owner need not wait", "Skyhook", false, false, []client.DeleteOption{foreground}, ""},
		{"the owner lets go", "Skyhook", false, true, []client.DeleteOption{orphan}, "free"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newCluster(t)
			s := scene{t, c.Client(), "x"}
			owner := s.skyhook()
			ref := func(kind string, uid types.UID) metav1.OwnerReference {
				return metav1.OwnerReference{APIVersion: "v1", Kind: kind, Name: "x", UID: uid, BlockOwnerDeletion: &test.block}
			}
			cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: namespace, OwnerReferences: []metav1.OwnerReference{ref(test.kind, owner.UID)}}}
			if test.other {
				n := s.node()
				cm.OwnerReferences = append(cm.OwnerReferences, ref("Node", n.UID))
			}
			s.create(cm)
			if test.remove != nil {
				s.must(s.Delete(t.Context(), owner, test.remove...))
			}
			for range 3 {
				c.CollectGarbage()
			}
			if c.CollectGarbage() {
				t.Error("it never comes to rest")
			}
			var left []string
			for range c.Skyhooks() {
				left = append(left, "owner")
			}
			for _, cm := range c.ConfigMaps() {
				if len(cm.OwnerReferences) == 0 {
					left = append(left, "free")
				} else {
					left = append(left, "owned")
				}
			}
			if got := strings.Join(left, " "); got != test.want {
				t.Errorf("left: %q, want %q", got, test.want)
			}
		})
	}
}

// A pod on a node ends when its kubelet says so, and a deletion in the foreground waits for that.
func TestGarbageOnNodesEndsGracefully(t *testing.T) {
	c := newCluster(t)
	s := scene{t, c.Client(), "x"}
	owner := s.skyhook()
	p := newPod("x", "n")
	p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, schemaKind)}
	s.create(p)
	s.must(s.Delete(t.Context(), owner, client.PropagationPolicy(metav1.DeletePropagationForeground)))
	if !c.CollectGarbage() || c.CollectGarbage() {
		t.Error("it should delete the pod, once")
	}
	s.now(p)
	if p.DeletionTimestamp == nil || len(c.Skyhooks()) != 1 {
		t.Errorf("deletion %v, %d Skyhooks", p.DeletionTimestamp, len(c.Skyhooks()))
	}
	s.must(s.Delete(t.Context(), p, client.GracePeriodSeconds(0)))
	if !c.CollectGarbage() || len(c.Skyhooks()) != 0 {
		t.Error("the owner stays")
	}
}
