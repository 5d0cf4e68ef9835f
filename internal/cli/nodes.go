package cli

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// matching returns the nodes that any pattern names. A pattern with a character that means something to regular
// expressions is one, anchored at both ends; any other is a name. No pattern means every node.
func matching(nodes []corev1.Node, patterns []string) ([]corev1.Node, error) {
	if len(patterns) == 0 {
		return nodes, nil
	}
	var matches []func(string) bool
	for _, p := range patterns {
		m, err := matcher(p)
		if err != nil {
			return nil, fmt.Errorf("matching nodes: %w", err)
		}
		matches = append(matches, m)
	}
	return slices.DeleteFunc(slices.Clone(nodes), func(n corev1.Node) bool {
		return !slices.ContainsFunc(matches, func(m func(string) bool) bool { return m(n.Name) })
	}), nil
}

func matcher(pattern string) (func(string) bool, error) {
	is := func(name string) bool { return name == pattern }
	if !strings.ContainsAny(pattern, `.*+?^${}[]|()\`) {
		return is, nil
	}
	re, err := regexp.Compile("^(?:" + pattern + ")$")
	if err != nil {
		return nil, fmt.Errorf("invalid regex pattern %q: %w", pattern, err)
	}
	return func(name string) bool { return is(name) || re.MatchString(name) }, nil
}

// onNode is what one node has of one Skyhook.
type onNode struct {
	node    corev1.Node
	skyhook string
	record  record.Node
}

// having returns the nodes with package states of a Skyhook. One whose states cannot be read is left out, with a
// warning.
func (r *reader) having(nodes []corev1.Node, skyhook string) []onNode {
	var found []onNode
	for _, n := range nodes {
		if _, ok := n.Annotations[v1alpha1.AnnotationNodeStatePrefix+skyhook]; !ok {
			continue
		}
		known, err := record.Read(skyhook, n.Annotations)
		if err != nil {
			fmt.Fprintf(r.err, "Warning: node %s is left out: %v\n", n.Name, err)
		}
		if err == nil {
			found = append(found, onNode{node: n, skyhook: skyhook, record: known})
		}
	}
	return found
}

// entries are the package states, sorted by name and version.
func (o *onNode) entries() []record.Entry {
	all := make([]record.Entry, 0, len(o.record.Packages))
	for _, e := range o.record.Packages {
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b record.Entry) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Version, b.Version))
	})
	return all
}

// progress counts the packages that a node has or needs. One that another version took the place of, or shall take, is
// none; one that has not begun counts. sk is the Skyhook if it selects the node; nil otherwise.
func (o *onNode) progress(sk *v1alpha1.Skyhook) (complete, total int) {
	needed := map[string]v1alpha1.Package{}
	if sk != nil && sk.DeletionTimestamp == nil {
		needed = sk.Spec.Packages
	}
	for name, p := range needed {
		_, begun := o.record.Packages[record.Key(name, p.Version)]
		if !begun && (p.Uninstall == nil || !p.Uninstall.Apply) {
			total++
		}
	}
	for _, e := range o.record.Packages {
		if p, is := needed[e.Name]; e.Superseded || is && p.Version != e.Version {
			continue
		}
		total++
		if e.State == v1alpha1.StateComplete {
			complete++
		}
	}
	return complete, total
}

func (o *onNode) restarts() (sum int32) {
	for _, e := range o.record.Packages {
		sum += e.Restarts
	}
	return sum
}
