package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

// pageSize is how many objects one request lists.
const pageSize = 500

// reader reads the cluster, and writes nothing.
type reader struct {
	target
	client client.Client
	// version is that of this program.
	version string
	// err is told what an answer lacks.
	err io.Writer
}

// skyhook reads one Skyhook.
func (r *reader) skyhook(ctx context.Context, name string) (*v1alpha1.Skyhook, error) {
	var found v1alpha1.Skyhook
	err := r.client.Get(ctx, client.ObjectKey{Name: name}, &found)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("getting skyhook %q: %w; %s lists those that exist", name, err, r.toCluster("kubectl get skyhooks"))
	}
	if err != nil {
		return nil, fmt.Errorf("getting skyhook %q: %w", name, err)
	}
	return &found, nil
}

func (r *reader) skyhooks(ctx context.Context) ([]v1alpha1.Skyhook, error) {
	var all v1alpha1.SkyhookList
	if err := r.client.List(ctx, &all); err != nil {
		return nil, fmt.Errorf("listing skyhooks: %w", err)
	}
	return all.Items, nil
}

// nodes lists all nodes, sorted by name.
func (r *reader) nodes(ctx context.Context) ([]corev1.Node, error) {
	var all []corev1.Node
	page := corev1.NodeList{}
	for {
		err := r.client.List(ctx, &page, client.Limit(pageSize), client.Continue(page.Continue))
		if err != nil {
			return nil, fmt.Errorf("listing nodes: %w", err)
		}
		all = append(all, page.Items...)
		if page.Continue == "" {
			break
		}
	}
	slices.SortFunc(all, func(a, b corev1.Node) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}

// nodesNamed lists the nodes that any pattern names, sorted by name.
func (r *reader) nodesNamed(ctx context.Context, patterns []string) ([]corev1.Node, error) {
	all, err := r.nodes(ctx)
	if err != nil {
		return nil, err
	}
	return matching(all, patterns)
}

// podsLabelled are pods in the operator's namespace.
func (r *reader) podsLabelled(ctx context.Context, of client.ListOption) ([]corev1.Pod, error) {
	var pods corev1.PodList
	if err := r.client.List(ctx, &pods, client.InNamespace(r.namespace), of); err != nil {
		return nil, fmt.Errorf("listing pods in namespace %q: %w", r.namespace, err)
	}
	return pods.Items, nil
}

// packagePods are the pods of stages that have not ended.
func (r *reader) packagePods(ctx context.Context, wanted func(*corev1.Pod) bool) ([]corev1.Pod, error) {
	pods, err := r.podsLabelled(ctx, client.HasLabels{v1alpha1.LabelName})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(pods, func(p corev1.Pod) bool {
		return workload.Ended(&p) || p.DeletionTimestamp != nil || metav1.GetControllerOf(&p) == nil || !wanted(&p)
	}), nil
}

// ownPods reads the package pods, of which some may have no record yet.
func (r *reader) ownPods(ctx context.Context, v *view) error {
	pods, err := r.podsLabelled(ctx, client.HasLabels{v1alpha1.LabelName})
	if apierrors.IsForbidden(err) {
		fmt.Fprintln(r.err, "Warning: you may not read pods in namespace "+r.namespace)
		err = nil
	}
	v.Pods = pods
	return err
}

// podsOn are the package pods on a node, wherever an operator has its namespace, or in --namespace if no more may be read.
func (r *reader) podsOn(ctx context.Context, node string) ([]corev1.Pod, error) {
	pods := corev1.PodList{}
	of := []client.ListOption{client.HasLabels{v1alpha1.LabelName}, client.MatchingFields{"spec.nodeName": node}}
	err := r.client.List(ctx, &pods, of...)
	if apierrors.IsForbidden(err) {
		fmt.Fprintf(r.err, "Warning: you may not read pods outside of namespace %s; an operator elsewhere is not seen\n", r.namespace)
		err = r.client.List(ctx, &pods, append(of, client.InNamespace(r.namespace))...)
	}
	if err != nil {
		return nil, fmt.Errorf("listing pods on node %q: %w", node, err)
	}
	return pods.Items, nil
}

// namesOf lists names without the rest of the objects.
func (r *reader) namesOf(ctx context.Context, kind string) []string {
	list := metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind))
	if kind == "SkyhookList" {
		list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
	}
	if r.client.List(ctx, &list, client.Limit(pageSize)) != nil {
		return nil
	}
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names
}

// operatorVersion finds the operator among the Deployments of the namespace.
func (r *reader) operatorVersion(ctx context.Context) (string, error) {
	var found appsv1.DeploymentList
	if err := r.client.List(ctx, &found, client.InNamespace(r.namespace)); err != nil {
		return "", fmt.Errorf("listing deployments in namespace %q: %w", r.namespace, err)
	}
	for i := range found.Items {
		if d := &found.Items[i]; isOperator(d) {
			if v := versionOf(d); v != "" {
				return v, nil
			}
		}
	}
	return "", fmt.Errorf("unable to determine operator version; no skyhook operator deployment found in namespace %q; "+
		"name its namespace with --namespace", r.namespace)
}

// supports refuses what the operator of a Skyhook would not notice.
func (r *reader) supports(ctx context.Context, sk *v1alpha1.Skyhook, st steer) error {
	known, err := semver.NewVersion(sk.Annotations[v1alpha1.AnnotationVersion])
	if err != nil {
		v, discovery := r.operatorVersion(ctx)
		known, err = semver.NewVersion(v)
		err = cmp.Or(discovery, err)
	}
	if err != nil { // they are believed to be new enough
		fmt.Fprintf(r.err, "Warning: unable to determine operator version; cannot verify compatibility (requires %s+)\n",
			steeredSince)
		return nil //nolint:nilerr // the user was warned
	}
	if !known.LessThan(semver.MustParse(steeredSince)) || !r.hasPauseField(ctx, sk) {
		return nil
	}
	v := "v" + strings.TrimPrefix(known.Original(), "v")
	if st.annotation == v1alpha1.AnnotationPause {
		return fmt.Errorf("operator version %s uses spec.pause and not the annotation; "+
			"run kubectl edit skyhook %s and set spec.pause: %t", v, sk.Name, st.set)
	}
	return fmt.Errorf("operator version %s does not support %s; this feature was added in %s", v, st.verb, steeredSince)
}

// hasPauseField reports whether the API has the field spec.pause, by which earlier operators are paused. Versions alone
// do not tell: those of other implementations count from elsewhere.
func (r *reader) hasPauseField(ctx context.Context, sk *v1alpha1.Skyhook) bool {
	asked := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"pause":true}}`))
	err := r.client.Patch(ctx, sk.DeepCopy(), asked, client.DryRunAll, client.FieldValidation("Strict"))
	return err == nil
}

// unlessGone is the error of a read, but for a Skyhook that does not exist: nodes may remember one that is gone.
func (r *reader) unlessGone(name string, err error) error {
	if !apierrors.IsNotFound(err) {
		return err
	}
	fmt.Fprintf(r.err, "Warning: there is no Skyhook %q; %s lists those that exist\n", name, r.toCluster("kubectl get skyhooks"))
	return nil
}
