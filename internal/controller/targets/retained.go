package targets

import (
	"context"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

// View is what a pass knows of all Skyhooks: their targets, and the definitions retained for them.
type View struct {
	index    *Index
	runtime  corev1.Taint
	retained map[types.UID]lifecycle.Retained
}

// View reads the retained definitions from the cache, once for a pass.
func (i *Index) View(ctx context.Context, reader client.Reader, o workload.Options, skyhooks []*v1alpha1.Skyhook) (View, error) {
	var all appsv1.ControllerRevisionList
	if err := reader.List(ctx, &all, client.InNamespace(o.Namespace), client.HasLabels{workload.LabelName},
		client.UnsafeDisableDeepCopy); err != nil {
		return View{}, fmt.Errorf("list retained definitions: %w", err)
	}
	owned := map[types.UID][]*appsv1.ControllerRevision{}
	for k := range all.Items {
		if owner := metav1.GetControllerOfNoCopy(&all.Items[k]); owner != nil {
			owned[owner.UID] = append(owned[owner.UID], &all.Items[k])
		}
	}
	v := View{index: i, runtime: o.RuntimeTaint, retained: make(map[types.UID]lifecycle.Retained, len(skyhooks))}
	for _, s := range skyhooks {
		v.retained[s.UID] = i.retainedOf(s, owned[s.UID])
	}
	return v, nil
}

// Wanted is what a Skyhook wants on a node.
func (v View) Wanted(s *v1alpha1.Skyhook, node string) lifecycle.Wanted {
	t := v.index.Of(s)
	return lifecycle.Wanted{
		Packages: t.Packages, Retained: v.retained[s.UID],
		Deleting: s.DeletionTimestamp != nil, Abandoned: t.Abandoned[node],
	}
}

// Interrupting returns the name of the Skyhook whose interrupt runs on a node; empty when none does. What a record says of
// a node that the Skyhook no longer targets is over.
func (v View) Interrupting(node *corev1.Node, skyhooks []*v1alpha1.Skyhook, records *Records) string {
	for _, s := range skyhooks {
		n, err := records.Read(s.Name, node)
		if err == nil && lifecycle.Interrupting(n) && v.index.Selects(s, node.Labels) {
			return s.Name
		}
	}
	return ""
}

// retainedOf decodes the definitions of a Skyhook, once for as long as they stay the same.
func (i *Index) retainedOf(s *v1alpha1.Skyhook, revisions []*appsv1.ControllerRevision) lifecycle.Retained {
	target := i.Of(s)
	var signature strings.Builder
	fmt.Fprintf(&signature, "%p", target) // hashes of pods depend on the spec's tolerations
	for _, r := range revisions {
		signature.WriteString("/" + string(r.UID) + "/" + r.ResourceVersion)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	e := i.entries[s.UID]
	if e.signature != signature.String() {
		e.signature, e.retained = signature.String(), decode(s, revisions)
		i.entries[s.UID] = e
	}
	return e.retained
}

// decode makes of ControllerRevisions what decisions are based on. Whether and when a package is undone is said by the
// newest definition of its version; how, by each one itself. One that cannot be read is as good as missing.
func decode(s *v1alpha1.Skyhook, revisions []*appsv1.ControllerRevision) lifecycle.Retained {
	type word struct {
		revision   int64
		definition workload.Definition
	}
	all, newest := make(lifecycle.Retained, len(revisions)), map[string]word{}
	for _, r := range revisions {
		d, name, err := workload.ReadRevision(r)
		if err != nil {
			continue
		}
		all[name] = lifecycle.PreparePackage(d.Spec, lifecycle.Derived{Hash: workload.Hash(s, d.Spec), Definition: name})
		key := d.Package + "|" + d.Spec.Version
		if last, ok := newest[key]; !ok || r.Revision > last.revision {
			newest[key] = word{r.Revision, d}
		}
	}
	for name, pkg := range all {
		last := newest[pkg.Name+"|"+pkg.Version].definition
		pkg.Uninstallable, pkg.Uninstall = last.Enabled, last.Spec.Uninstall
		all[name] = pkg
	}
	return all
}
