//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// undo is the clean-up for further Skyhooks of a test: apply undoes the rest.
func undo(t *testing.T, name string) {
	t.Helper()
	t.Cleanup(func() {
		mustKubectl(t, "", "delete", "skyhook", name, "--ignore-not-found", "--timeout=2m")
		for _, node := range here(t).Nodes() {
			patchNode(t, node, map[string]any{"annotations": map[string]any{
				"skyhook.nvidia.com/nodeState_" + name: nil, "skyhook.nvidia.com/version_" + name: nil,
			}})
			if _, err := here(t).Exec(context.WithoutCancel(t.Context()), node, "rm", "-rf", "/var/lib/skyhook/"+name, "/var/log/skyhook/"+name); err != nil {
				t.Errorf("clean up node %s: %v", node, err)
			}
		}
	})
}

// revision of the whole API at which an object became what it is: revisions of different objects can be compared.
func revision(t *testing.T, o client.Object) int64 {
	t.Helper()
	n, err := strconv.ParseInt(o.GetResourceVersion(), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// catchUp waits until the watch has shown an object as it is now.
func (v *versions[T]) catchUp(t *testing.T, now T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	defer context.AfterFunc(ctx, v.grown.Broadcast)()
	v.mu.Lock()
	defer v.mu.Unlock()
	seen := func(o T) bool { return o.GetUID() == now.GetUID() && revision(t, o) >= revision(t, now) }
	for !slices.ContainsFunc(v.list, seen) {
		if ctx.Err() != nil {
			t.Fatalf("the watch never showed %s at revision %s", now.GetName(), now.GetResourceVersion())
		}
		v.grown.Wait()
	}
}

// plans are every version of all Skyhooks.
type plans struct {
	*versions[*v1alpha1.Skyhook]
}

func watchPlans(t *testing.T) *plans {
	t.Helper()
	return &plans{watchAll[*v1alpha1.Skyhook](t, &v1alpha1.SkyhookList{})}
}

// granted is the revision at which a node first had a permit of a Skyhook.
func (p *plans) granted(t *testing.T, skyhook, node string) int64 {
	t.Helper()
	p.catchUp(t, getSkyhook(t, skyhook))
	var first int64
	p.each(func(s *v1alpha1.Skyhook) {
		if first == 0 && s.Name == skyhook && slices.Contains(holders(s), node) {
			first = revision(t, s)
		}
	})
	if first == 0 {
		t.Errorf("node %s never had a permit of %s", node, skyhook)
	}
	return first
}

// most is the largest number of permits of a Skyhook at a time.
func (p *plans) most(t *testing.T, skyhook string) int {
	t.Helper()
	p.catchUp(t, getSkyhook(t, skyhook))
	most := 0
	p.each(func(s *v1alpha1.Skyhook) {
		if s.Name == skyhook {
			most = max(most, len(s.Status.Permits))
		}
	})
	return most
}

// completed is the revision at which a Skyhook was first complete on a node.
func (h *history) completed(t *testing.T, skyhook, node string) int64 {
	t.Helper()
	h.catchUp(t, getNode(t, node))
	var first int64
	h.each(func(n *corev1.Node) {
		if first == 0 && n.Name == node && completeOn(n, skyhook) {
			first = revision(t, n)
		}
	})
	if first == 0 {
		t.Errorf("Skyhook %s was never complete on node %s", skyhook, node)
	}
	return first
}

func completeOn(n *corev1.Node, skyhook string) bool {
	return n.Labels["skyhook.nvidia.com/status_"+skyhook] == string(v1alpha1.StatusComplete)
}

func getSkyhook(t *testing.T, name string) *v1alpha1.Skyhook {
	t.Helper()
	var s v1alpha1.Skyhook
	if err := here(t).client.Get(context.WithoutCancel(t.Context()), client.ObjectKey{Name: name}, &s); err != nil {
		t.Fatal(err)
	}
	return &s
}

// holders are the nodes with a permit, by its order.
func holders(s *v1alpha1.Skyhook) []string {
	var nodes []string
	for _, p := range s.Status.Permits {
		nodes = append(nodes, p.Node)
	}
	return nodes
}

// untilHolders waits until as many nodes hold a permit and returns them, by the permits' order.
func untilHolders(t *testing.T, name string, count int) []string {
	t.Helper()
	return holders(until(t, name, fmt.Sprintf("%d permits", count), func(s *v1alpha1.Skyhook) bool { return len(s.Status.Permits) == count }))
}

// others are the test's nodes but one.
func others(t *testing.T, node string) []string {
	t.Helper()
	return slices.DeleteFunc(here(t).Nodes(), func(n string) bool { return n == node })
}

// annotate sets an annotation of a Skyhook below the project's prefix, or removes it when the value is empty.
func annotate(t *testing.T, skyhook, key, value string) {
	t.Helper()
	change := key + "=" + value
	if value == "" {
		change = key + "-"
	}
	mustKubectl(t, "", "annotate", "skyhook", skyhook, "--overwrite", "skyhook.nvidia.com/"+change)
}

// open lets gated steps on nodes go on.
func open(t *testing.T, file, what string, nodes ...string) {
	t.Helper()
	for _, node := range nodes {
		onHost(t, node, "touch", gate(file, what))
	}
}

// held makes the first script of a manifest wait, before all else, until the gate for it is open.
func held(manifest, file, what string) string {
	const first = "          #!/bin/bash\n"
	return strings.Replace(manifest, first, first+"          until [ -e "+gate(file, what)+" ]; do sleep 0.3; done\n", 1)
}

// condition of a Skyhook; its zero value when there is none.
func condition(s *v1alpha1.Skyhook, kind string) metav1.Condition {
	if c := meta.FindStatusCondition(s.Status.Conditions, kind); c != nil {
		return *c
	}
	return metav1.Condition{}
}

// untilCondition waits until a condition is true and its message has the given parts.
func untilCondition(t *testing.T, name, kind string, parts ...string) *v1alpha1.Skyhook {
	t.Helper()
	return until(t, name, fmt.Sprintf("%s: %q", kind, parts), func(s *v1alpha1.Skyhook) bool {
		c := condition(s, kind)
		for _, part := range parts {
			if !strings.Contains(c.Message, part) {
				return false
			}
		}
		return c.Status == metav1.ConditionTrue
	})
}

// untilPodsEnd waits until no package pod of a Skyhook is left.
func untilPodsEnd(t *testing.T, skyhook string) {
	t.Helper()
	mustKubectl(t, "", "wait", "--for=delete", "pods", "-n", "skyhook", "-l", "skyhook.nvidia.com/name="+skyhook, "--timeout="+patience.String())
}

// entryOf is what a node's record says of a package.
func entryOf(n *corev1.Node, skyhook, key string) record.Entry {
	r, err := record.Read(skyhook, n.Annotations)
	if err != nil {
		return record.Entry{}
	}
	return r.Packages[key]
}

// untilPod waits until a pod in the namespace default is as wanted.
func untilPod(t *testing.T, name, what string, ok func(*corev1.Pod) bool) *corev1.Pod {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	w, err := here(t).client.Watch(ctx, &corev1.PodList{}, client.InNamespace("default"), client.MatchingFields{"metadata.name": name})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for e := range w.ResultChan() {
		if p, is := e.Object.(*corev1.Pod); is && ok(p) {
			return p
		}
	}
	t.Fatalf("pod %s not within %s: %s\n%s", name, patience, what, mustKubectl(t, "", "describe", "pod", name))
	return nil
}
