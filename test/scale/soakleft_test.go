package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// tidy is a cluster in which every Skyhook is complete on its node, and a node that left one of them.
func tidy() cluster {
	var c cluster
	for _, p := range soakParts {
		c.skyhooks = append(c.skyhooks, *p.skyhook())
	}
	selected, departed := newNode(0), newNode(50)
	selected.Annotations[v1alpha1.AnnotationPermitPrefix+"left"] = "1/0"
	selected.Labels[v1alpha1.LabelStatusPrefix+"left"] = "complete"
	departed.Annotations[v1alpha1.AnnotationNodeStatePrefix+"left"] = "{}"
	departed.Annotations[v1alpha1.AnnotationVersionPrefix+"left"] = "1"
	c.nodes = []corev1.Node{*selected, *departed}
	for i := range c.skyhooks {
		s, n := &c.skyhooks[i], 0
		for j := range c.nodes {
			if selects(s, &c.nodes[j]) {
				n++
			}
		}
		s.Status.Status, s.Status.Nodes.Complete, s.Status.Nodes.Total = v1alpha1.StatusComplete, n, n
	}
	c.maps = []corev1.ConfigMap{{ObjectMeta: metav1.ObjectMeta{
		Name: "meta", Labels: map[string]string{v1alpha1.LabelNodeMeta: "left"},
		Annotations: map[string]string{v1alpha1.AnnotationNodeName: nodeName(0)},
	}}}
	return c
}

func TestLeft(t *testing.T) {
	for want, spoil := range map[string]func(*cluster){
		"": func(*cluster) {},
		"pod stage of node node-00009": func(c *cluster) {
			c.pods = []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "stage"}, Spec: corev1.PodSpec{NodeName: nodeName(9)}}}
		},
		"ConfigMap meta of node node-00000, which is gone": func(c *cluster) { c.nodes = c.nodes[1:] },
		"node node-00000: it is cordoned":                  func(c *cluster) { c.nodes[0].Spec.Unschedulable = true },
		"node node-00000: annotation skyhook.nvidia.com/cordon_left": func(c *cluster) {
			c.nodes[0].Annotations[v1alpha1.AnnotationCordonPrefix+"left"] = "true"
		},
		"node node-00000: annotation skyhook.nvidia.com/interrupt": func(c *cluster) {
			c.nodes[0].Annotations[v1alpha1.AnnotationInterrupt] = "{}"
		},
		"node node-00050: annotation skyhook.nvidia.com/permit_left of a Skyhook that does not select it": func(c *cluster) {
			c.nodes[1].Annotations[v1alpha1.AnnotationPermitPrefix+"left"] = "1/0"
		},
		"node node-00050: label skyhook.nvidia.com/status_left of a Skyhook that does not select it": func(c *cluster) {
			c.nodes[1].Labels[v1alpha1.LabelStatusPrefix+"left"] = "complete"
		},
		"node node-00050: condition skyhook.nvidia.com/left/Erroring of a Skyhook that does not select it": func(c *cluster) {
			c.nodes[1].Status.Conditions = append(c.nodes[1].Status.Conditions,
				corev1.NodeCondition{Type: v1alpha1.KeyPrefix + "left/Erroring"})
		},
	} {
		c := tidy()
		spoil(&c)
		var expected []string
		if want != "" {
			expected = []string{want}
		}
		if diff := cmp.Diff(expected, c.left()); diff != "" {
			t.Errorf("%q (-want +got):\n%s", want, diff)
		}
	}
}

func TestIncomplete(t *testing.T) {
	if c := tidy(); c.incomplete() != nil {
		t.Errorf("%q", c.incomplete())
	}
	for name, spoil := range map[string]func(*cluster){
		"one is missing":         func(c *cluster) { c.skyhooks = c.skyhooks[1:] },
		"a node is not counted":  func(c *cluster) { c.nodes = append(c.nodes, *newNode(60)) },
		"a node is counted more": func(c *cluster) { c.nodes = c.nodes[:1] },
		"the spec is newer":      func(c *cluster) { c.skyhooks[0].Generation = 2 },
		"it is paused":           func(c *cluster) { c.skyhooks[0].Status.Status = v1alpha1.StatusPaused },
	} {
		c := tidy()
		spoil(&c)
		if len(c.incomplete()) != 1 {
			t.Errorf("%s: %q", name, c.incomplete())
		}
	}
}

func TestReadLogs(t *testing.T) {
	file := filepath.Join(t.TempDir(), "operator.log")
	text := `{"level":"INFO","msg":"fine"}
{"level":"ERROR","msg":"Reconciler error","error":"x"}
{"level":"ERROR","msg":"Reconciler error","error":"y"}
panic: runtime error: index out of range
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := readLogs([]string{file})
	if err != nil {
		t.Fatal(err)
	}
	want := logged{
		Errors: counts{"Reconciler error": 2}, Panics: []string{file + ": panic: runtime error: index out of range"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
