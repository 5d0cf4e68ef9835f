package cluster_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// TestStatusIsChecked has statuses that a server takes or refuses. Each line changes one that is good.
func TestStatusIsChecked(t *testing.T) {
	state := func(change func(*v1alpha1.PackageStatus)) func(*v1alpha1.SkyhookStatus) {
		return func(s *v1alpha1.SkyhookStatus) {
			p := v1alpha1.PackageStatus{Name: "a", Version: "1", Image: "x/a", Stage: v1alpha1.StageApply, State: v1alpha1.StateComplete}
			change(&p)
			s.NodeState = map[string]map[string]v1alpha1.PackageStatus{"n": {"a|1": p}}
		}
	}
	attention := func(n, message int) func(*v1alpha1.SkyhookStatus) {
		return func(s *v1alpha1.SkyhookStatus) {
			for i := range n {
				s.Attention = append(s.Attention, v1alpha1.NodeAttention{
					Node: fmt.Sprint(i % 11), Status: v1alpha1.StatusErroring, Reason: "R", Message: strings.Repeat("ä", message), Since: metav1.NewTime(start),
				})
			}
		}
	}
	condition := func(reason string, n int) func(*v1alpha1.SkyhookStatus) {
		return func(s *v1alpha1.SkyhookStatus) {
			for range n {
				s.Conditions = append(s.Conditions, metav1.Condition{Type: "Ready", Status: "True", Reason: reason, LastTransitionTime: metav1.NewTime(start)})
			}
		}
	}
	permits := func(n int, node string) func(*v1alpha1.SkyhookStatus) {
		return func(s *v1alpha1.SkyhookStatus) {
			for range n {
				s.Permits = append(s.Permits, v1alpha1.Permit{Node: node, Order: 1, Generation: 1})
			}
		}
	}
	for name, c := range servers(t) {
		s := scene{t, c, "status"}
		h := s.skyhook()
		for _, test := range []struct {
			name   string
			change func(*v1alpha1.SkyhookStatus)
			taken  bool
		}{
			{"good", func(*v1alpha1.SkyhookStatus) {}, true},
			{"an unheard-of status", func(s *v1alpha1.SkyhookStatus) { s.Status = "fine" }, false},
			{"package states", state(func(*v1alpha1.PackageStatus) {}), true},
			{"an unheard-of stage", state(func(p *v1alpha1.PackageStatus) { p.Stage = "teardown" }), false},
			{"an unheard-of state", state(func(p *v1alpha1.PackageStatus) { p.State = "fine" }), false},
			{"no stage", state(func(p *v1alpha1.PackageStatus) { p.Stage = "" }), false},
			{"no name", state(func(p *v1alpha1.PackageStatus) { p.Name = "" }), true},
			{"an unheard-of status of a node", func(s *v1alpha1.SkyhookStatus) { s.NodeStatus = map[string]v1alpha1.Status{"n": "fine"} }, false},
			{"a boot id of any length", func(s *v1alpha1.SkyhookStatus) { s.NodeBootIDs = map[string]string{"n": strings.Repeat("x", 9999)} }, true},
			{"attention for ten", attention(10, 1024), true},
			{"attention for eleven", attention(11, 1), false},
			{"a long sentence", attention(1, 1025), false},
			{"a condition", condition("Fine", 1), true},
			{"a condition without reason", condition("", 1), false},
			{"a condition with a reason of two words", condition("Not fine", 1), false},
			{"a condition twice", condition("Fine", 2), false},
			{"1000 permits", permits(1000, "n"), true},
			{"1001 permits", permits(1001, "n"), false},
			{"a permit of a node with a long name", permits(1, strings.Repeat("n", 320)), false},
			{"a negative order", func(s *v1alpha1.SkyhookStatus) { s.NextOrder = -1 }, false},
			{"a long token", func(s *v1alpha1.SkyhookStatus) { s.Resumed = strings.Repeat("x", 129) }, false},
			{"66 compartments", func(s *v1alpha1.SkyhookStatus) {
				s.CompartmentStatuses = map[string]v1alpha1.CompartmentStatus{}
				for i := range 66 {
					s.CompartmentStatuses[fmt.Sprint(i)] = v1alpha1.CompartmentStatus{}
				}
			}, false},
		} {
			t.Run(name+"/"+test.name, func(t *testing.T) {
				next := h.DeepCopy()
				test.change(&next.Status)
				body := toJSON(t, map[string]any{"status": next.Status})
				err := c.Status().Patch(t.Context(), next, client.RawPatch(types.MergePatchType, []byte(body)))
				if test.taken && err != nil || !test.taken && !apierrors.IsInvalid(err) {
					t.Errorf("got %v", err)
				}
			})
		}
	}
}

// TestObjectsAreChecked has objects that a server takes or refuses when they are created.
func TestObjectsAreChecked(t *testing.T) {
	spec := func(change func(*v1alpha1.Package)) client.Object {
		h := newSkyhook("checked")
		a := h.Spec.Packages["a"]
		change(&a)
		h.Spec.Packages["a"] = a
		return h
	}
	configMap := func(key string, size int) client.Object {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "checked", Namespace: namespace}, Data: map[string]string{key: strings.Repeat("x", size)}}
	}
	meta := func(m metav1.ObjectMeta) client.Object { return &corev1.Node{ObjectMeta: m} }
	for name, c := range servers(t) {
		for _, test := range []struct {
			name   string
			object client.Object
			taken  bool
		}{
			{"a Skyhook", newSkyhook("checked"), true},
			{"a Skyhook with a name of 53", newSkyhook(strings.Repeat("x", 53)), true},
			{"a Skyhook with a name of 54", newSkyhook(strings.Repeat("x", 54)), false},
			{"a name in capitals", newSkyhook("Checked"), false},
			{"an unheard-of interrupt", spec(func(p *v1alpha1.Package) { p.Interrupt = &v1alpha1.Interrupt{Type: "bang"} }), false},
			{"a service with a space", spec(func(p *v1alpha1.Package) {
				p.Interrupt = &v1alpha1.Interrupt{Type: v1alpha1.InterruptService, Services: []string{"a b"}}
			}), false},
			{"no image", spec(func(p *v1alpha1.Package) { p.Image = "" }), false},
			{"a ConfigMap of 1 MiB", configMap("x", 1<<20), true},
			{"a ConfigMap of more", configMap("x", 1<<20+1), false},
			{"a key with a slash", configMap("x/y", 1), false},
			{"annotations of 256 KiB", meta(metav1.ObjectMeta{Name: "checked", Annotations: map[string]string{"x": strings.Repeat("x", 256<<10-1)}}), true},
			{"annotations of more", meta(metav1.ObjectMeta{Name: "checked", Annotations: map[string]string{"x": strings.Repeat("x", 256<<10)}}), false},
			{"a label of two words", meta(metav1.ObjectMeta{Name: "checked", Labels: map[string]string{"x": "a b"}}), false},
			{"two controllers", meta(metav1.ObjectMeta{Name: "checked", OwnerReferences: []metav1.OwnerReference{
				{APIVersion: "v1", Kind: "X", Name: "a", UID: "a", Controller: new(true)}, {APIVersion: "v1", Kind: "X", Name: "b", UID: "b", Controller: new(true)},
			}}), false},
		} {
			t.Run(name+"/"+test.name, func(t *testing.T) {
				o := test.object.DeepCopyObject().(client.Object)
				err := c.Create(t.Context(), o)
				if test.taken && err != nil || !test.taken && !apierrors.IsInvalid(err) {
					t.Errorf("got %v", err)
				}
				if err == nil {
					if err := c.Delete(t.Context(), o); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
}

// TestChangesAreChecked has patches that a server takes or refuses.
func TestChangesAreChecked(t *testing.T) {
	for name, c := range servers(t) {
		s := scene{t, c, "changed"}
		n, p, h := s.node(), s.pod("changed"), s.skyhook()
		for _, test := range []struct {
			name   string
			object client.Object
			body   string
			taken  bool
		}{
			{"annotations of 256 KiB", n, `{"metadata":{"annotations":{"b":"` + strings.Repeat("x", 256<<10-3) + `"}}}`, true},
			{"annotations of more", n, `{"metadata":{"annotations":{"b":"` + strings.Repeat("x", 256<<10) + `"}}}`, false},
			{"a label of two words", n, `{"metadata":{"labels":{"b":"a b"}}}`, false},
			{"a label of 64", n, `{"metadata":{"labels":{"b":"` + strings.Repeat("x", 64) + `"}}}`, false},
			{"an annotation with a name of 64", n, `{"metadata":{"annotations":{"x/` + strings.Repeat("x", 64) + `":""}}}`, false},
			{"another node for a pod", p, `{"spec":{"nodeName":"other"}}`, false},
			{"another interrupt", h, `{"spec":{"packages":{"a":{"interrupt":{"type":"reboot"}}}}}`, true},
			{"an unheard-of interrupt", h, `{"spec":{"packages":{"a":{"interrupt":{"type":"bang"}}}}}`, false},
			{"a package without version", h, `{"spec":{"packages":{"b":{"image":"x/b"}}}}`, false},
		} {
			t.Run(name+"/"+test.name, func(t *testing.T) {
				err := c.Patch(t.Context(), test.object, client.RawPatch(types.MergePatchType, []byte(test.body)))
				if test.taken && err != nil || !test.taken && !apierrors.IsInvalid(err) {
					t.Errorf("got %v", err)
				}
			})
		}
	}
}
