package webhook

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/admission"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/text"
)

// skyhooks judges Skyhooks.
type skyhooks struct {
	cached, live client.Reader
	images       admission.ImageRules
	// class is the priority class of package pods.
	class string
}

// ValidateCreate judges a new Skyhook.
func (v *skyhooks) ValidateCreate(ctx context.Context, s *v1alpha1.Skyhook) (ctrladmission.Warnings, error) {
	return v.judge(ctx, nil, s)
}

// ValidateUpdate judges a change of the spec. Everything else passes: a Skyhook that is wrong must be possible to pause
// and to delete.
func (v *skyhooks) ValidateUpdate(ctx context.Context, old, s *v1alpha1.Skyhook) (ctrladmission.Warnings, error) {
	if s.DeletionTimestamp != nil || equality.Semantic.DeepEqual(old.Spec, s.Spec) {
		return nil, nil
	}
	return v.judge(ctx, old, s)
}

// ValidateDelete never refuses.
func (v *skyhooks) ValidateDelete(context.Context, *v1alpha1.Skyhook) (ctrladmission.Warnings, error) {
	return nil, nil
}

// judge looks at all there is to say before it refuses, unless that is too much; old is nil for a new Skyhook.
func (v *skyhooks) judge(ctx context.Context, old, s *v1alpha1.Skyhook) (ctrladmission.Warnings, error) {
	if large := admission.Bounds(s); len(large) > 0 {
		return nil, refusal(large)
	}
	problems := append(admission.Check(s, v.images), admission.Scripts(old, s)...)
	missing, err := v.policy(ctx, s.Spec.DeploymentPolicy)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	problems = append(problems, missing...)
	nodes := v.nodes(ctx)
	installed, warnings, err := v.installed(ctx, old, s, nodes)
	if err != nil {
		return nil, err
	}
	if old != nil {
		problems = append(problems, admission.Guard(s, installed)...)
	}
	warnings = append(admission.Warnings(old, s, installed), warnings...)
	in, err := v.cluster(ctx, old, s, nodes)
	if err != nil {
		return nil, err
	}
	return append(warnings, admission.Advice(old, s, in)...), refusal(problems)
}

// cluster reads of what the Skyhook meets as much as the change has to do with, from the cache: nothing is refused for it.
func (v *skyhooks) cluster(
	ctx context.Context, old, s *v1alpha1.Skyhook, nodes func() ([]corev1.Node, error),
) (in admission.Cluster, err error) {
	in.PriorityClass = v.class
	selection, settings := admission.Touches(old, s)
	if selection || settings {
		if in.Nodes, err = nodes(); err != nil {
			return in, err
		}
	}
	if settings {
		var all v1alpha1.SkyhookList
		if err := v.cached.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
			return in, apierrors.NewInternalError(fmt.Errorf("list Skyhooks: %w", err))
		}
		in.Skyhooks = all.Items
	}
	return in, nil
}

// nodes lists all nodes when it is first asked, and not again.
func (v *skyhooks) nodes(ctx context.Context) func() ([]corev1.Node, error) {
	return sync.OnceValues(func() ([]corev1.Node, error) {
		var nodes corev1.NodeList
		// Nothing here changes a node, and copies of a large fleet are dear.
		if err := v.cached.List(ctx, &nodes, client.UnsafeDisableDeepCopy); err != nil {
			return nil, apierrors.NewInternalError(fmt.Errorf("list nodes: %w", err))
		}
		return nodes.Items, nil
	})
}

// policy reads live, because a policy is often made together with the Skyhook that names it.
func (v *skyhooks) policy(ctx context.Context, name string) ([]admission.Problem, error) {
	if name == "" {
		return nil, nil
	}
	err := v.live.Get(ctx, client.ObjectKey{Name: name}, &v1alpha1.DeploymentPolicy{})
	if apierrors.IsNotFound(err) {
		return []admission.Problem{{
			Field:   "spec.deploymentPolicy",
			Message: fmt.Sprintf("deploymentPolicy %q not found; create it first, or correct the name", name),
		}}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get DeploymentPolicy %s: %w", name, err)
	}
	return nil, nil
}

// installed reads what nodes have of the packages for which that matters, and warns of nodes that cannot be read. Most
// changes matter to none, and cost nothing.
func (v *skyhooks) installed(
	ctx context.Context, old, s *v1alpha1.Skyhook, nodes func() ([]corev1.Node, error),
) ([]admission.Installed, []string, error) {
	affected := admission.Affected(old, s)
	if len(affected) == 0 {
		return nil, nil, nil
	}
	before := old
	if old == nil {
		before = s
	} else if err := checkStored(ctx, old, "skyhooks", v.cached, v.live); err != nil {
		return nil, nil, err
	}
	all, err := nodes()
	if err != nil {
		return nil, nil, err
	}
	records, unreadable, err := read(ctx, s, targeted(all, before, s))
	if err != nil {
		return nil, nil, err
	}
	return admission.Find(before, affected, maps.All(records)), warnUnreadable(s.Name, unreadable, old != nil), nil
}

// targeted are the nodes that either Skyhook selects. On others nothing is undone any more, so nothing waits for them.
// What cannot be parsed selects nothing; it is a problem of its own.
func targeted(nodes []corev1.Node, skyhooks ...*v1alpha1.Skyhook) []corev1.Node {
	var selectors []labels.Selector
	for _, s := range skyhooks {
		if selector, err := admission.Target(s); err == nil {
			selectors = append(selectors, selector)
		}
	}
	var list []corev1.Node
	for i := range nodes {
		if slices.ContainsFunc(selectors, func(s labels.Selector) bool { return s.Matches(labels.Set(nodes[i].Labels)) }) {
			list = append(list, nodes[i])
		}
	}
	return list
}

// read decodes the records of all nodes that the Skyhook does not give up.
func read(
	ctx context.Context, s *v1alpha1.Skyhook, nodes []corev1.Node,
) (records map[string]record.Node, unreadable []string, err error) {
	abandoned := admission.Abandoned(s)
	records = map[string]record.Node{}
	for i := range nodes {
		n := &nodes[i]
		if err := ctx.Err(); err != nil {
			return nil, nil, apierrors.NewTimeoutError("the answer took too long; try again", 1)
		}
		if abandoned[n.Name] || !record.Exists(s.Name, n.Annotations, n.Labels) {
			continue
		}
		r, err := record.Read(s.Name, n.Annotations)
		if err != nil {
			unreadable = append(unreadable, n.Name)
			continue
		}
		records[n.Name] = r
	}
	slices.Sort(unreadable)
	return records, unreadable, nil
}

// warnUnreadable names nodes only to who knows what is stored: anybody can ask for a new Skyhook of any name.
func warnUnreadable(skyhook string, nodes []string, named bool) []string {
	if len(nodes) == 0 {
		return nil
	}
	where := text.Count(len(nodes), "node")
	if named {
		where = "nodes " + text.Names(nodes)
	}
	return []string{fmt.Sprintf("what is installed on %s is not known, because the annotation %s there cannot be read; "+
		"correct the annotation, or remove it", where, v1alpha1.AnnotationNodeStatePrefix+skyhook)}
}
