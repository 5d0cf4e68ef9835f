package admission

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/text"
)

// Cluster is what a Skyhook meets. What is not known is left out, and nothing is said of it.
type Cluster struct {
	// PriorityClass of package pods, as the operator is set up.
	PriorityClass string
	Nodes         []corev1.Node
	// Skyhooks are those that there are; the one in question does not count.
	Skyhooks []v1alpha1.Skyhook
}

// criticalPrefix begins the names of Kubernetes' own priority classes, which alone are above those of users: kubelets end
// other pods for theirs.
const criticalPrefix = "system-"

// foreign are labels of nodes that packages cannot work on: Windows, and nodes without a host of their own. They are
// never selected.
var foreign = []struct{ key, value string }{
	{corev1.LabelOSStable, "windows"},
	{"type", "virtual-kubelet"},
	{"eks.amazonaws.com/compute-type", "fargate"},
}

// Target selects the nodes of a Skyhook. All that asks which nodes these are asks here.
func Target(s *v1alpha1.Skyhook) (labels.Selector, error) {
	selector, err := Selector(&s.Spec.NodeSelectors)
	if err != nil {
		return nil, err
	}
	for _, f := range foreign {
		r, err := labels.NewRequirement(f.key, selection.NotIn, []string{f.value})
		if err != nil {
			return nil, fmt.Errorf("leave out nodes with %s=%s: %w", f.key, f.value, err)
		}
		selector = selector.Add(*r)
	}
	return selector, nil
}

// Advice is what may do damage to a Skyhook, or what it may do, because of what it meets, one sentence each.
func (c Cluster) Advice(s *v1alpha1.Skyhook) []string {
	var out []string
	if strings.HasPrefix(c.PriorityClass, criticalPrefix) {
		out = append(out, fmt.Sprintf("package pods have the priority class %s: when a package requests more than its node has "+
			"free, the node ends other pods for it, also protected ones; set controllerManager.manager.env.packagePriorityClass "+
			"of the chart to another", c.PriorityClass))
	}
	return slices.Concat(out, c.selection(s), c.contradictions(s))
}

// Touches reports what of the cluster a change may meet: which nodes there are, and what other Skyhooks want of their
// hosts. Most changes meet neither. old is nil for a new Skyhook.
func Touches(old, s *v1alpha1.Skyhook) (nodes, settings bool) {
	wants := wishes(s)
	if old == nil || !equality.Semantic.DeepEqual(old.Spec.NodeSelectors, s.Spec.NodeSelectors) {
		return true, len(wants) > 0
	}
	return false, len(wants) > 0 && !reflect.DeepEqual(wants, wishes(old))
}

// selection says that the selector matches no node, or that some of those that it matches are left out.
func (c Cluster) selection(s *v1alpha1.Skyhook) []string {
	named, err := Selector(&s.Spec.NodeSelectors)
	if err != nil || len(c.Nodes) == 0 {
		return nil
	}
	target, err := Target(s)
	if err != nil {
		return nil
	}
	matched, selected := 0, 0
	for i := range c.Nodes {
		of := labels.Set(c.Nodes[i].Labels)
		if named.Matches(of) {
			matched++
		}
		if target.Matches(of) {
			selected++
		}
	}
	switch {
	case matched == 0:
		return []string{fmt.Sprintf("spec.nodeSelectors: none of the cluster's %s has these labels, so nothing happens until one "+
			"has them; compare `kubectl get nodes --show-labels`", text.Count(len(c.Nodes), "node"))}
	case matched > selected:
		return []string{fmt.Sprintf("spec.nodeSelectors: of %s that it matches, %d that run Windows or are virtual are left out: "+
			"packages need a Linux host", text.Count(matched, "node"), matched-selected)}
	}
	return nil
}
