package admission_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/admission"
)

func nodesWith(all ...map[string]string) (nodes []corev1.Node) {
	for _, l := range all {
		nodes = append(nodes, corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: l}})
	}
	return nodes
}

// TestAdviceOfTheCluster: what is known of the cluster besides the Skyhook; what is not known is not told.
func TestAdviceOfTheCluster(t *testing.T) {
	gpu := map[string]string{"pool": "gpu"}
	windows := map[string]string{"pool": "gpu", "kubernetes.io/os": "windows"}
	for name, tt := range map[string]struct {
		in   admission.Cluster
		want []string
	}{
		"nothing is known":          {admission.Cluster{}, nil},
		"a class of the chart":      {admission.Cluster{PriorityClass: "skyhook-packages"}, nil},
		"a class above all others":  {admission.Cluster{PriorityClass: "system-node-critical"}, []string{"package pods have the priority class system-node-critical"}},
		"the operator's own class":  {admission.Cluster{PriorityClass: "system-cluster-critical"}, []string{"package pods have the priority class"}},
		"it selects nodes":          {admission.Cluster{Nodes: nodesWith(nil, gpu)}, nil},
		"it selects none":           {admission.Cluster{Nodes: nodesWith(nil, nil)}, []string{"spec.nodeSelectors: none of the cluster's 2 nodes has these labels"}},
		"some of them run Windows":  {admission.Cluster{Nodes: nodesWith(gpu, windows)}, []string{"spec.nodeSelectors: of 2 nodes that it matches, 1 that run"}},
		"all of them do":            {admission.Cluster{Nodes: nodesWith(windows)}, []string{"spec.nodeSelectors: of 1 node that it matches, 1 that run"}},
		"only others run Windows":   {admission.Cluster{Nodes: nodesWith(gpu, map[string]string{"kubernetes.io/os": "windows"})}, nil},
		"a virtual node is no host": {admission.Cluster{Nodes: nodesWith(gpu, map[string]string{"pool": "gpu", "type": "virtual-kubelet"})}, []string{"spec.nodeSelectors: of 2 nodes"}},
	} {
		t.Run(name, func(t *testing.T) { begins(t, admission.Advice(nil, harmless(), tt.in), tt.want) })
	}
}

// TestTarget: nodes without a Linux host are no targets, whatever the selector says.
func TestTarget(t *testing.T) {
	for _, tt := range []struct {
		name string
		node map[string]string
		want bool
	}{
		{"Linux", map[string]string{"kubernetes.io/os": "linux"}, true},
		{"no labels", nil, true},
		{"another type", map[string]string{"type": "gpu"}, true},
		{"Windows", map[string]string{"kubernetes.io/os": "windows"}, false},
		{"virtual", map[string]string{"kubernetes.io/os": "linux", "type": "virtual-kubelet", "kubernetes.io/role": "agent"}, false},
		{"Fargate", map[string]string{"eks.amazonaws.com/compute-type": "fargate"}, false},
	} {
		for _, s := range []metav1.LabelSelector{{}, {MatchLabels: tt.node}} {
			selector, err := admission.Target(&v1alpha1.Skyhook{Spec: v1alpha1.SkyhookSpec{NodeSelectors: s}})
			if err != nil || selector.Matches(labels.Set(tt.node)) != tt.want {
				t.Errorf("%s: error %v, want %t", tt.name, err, tt.want)
			}
		}
	}
}
