//go:build e2e && nightly

package e2e

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// TestDeletionDuringAnErroringInstall: what may be half installed is undone, and the Skyhook goes. Its
// name is the suffix of an annotation that is not its own.
func TestDeletionDuringAnErroringInstall(t *testing.T) {
	const (
		file = "/skyhook-half"
		auto = "skyhook.nvidia.com/autoTaint_half"
	)
	node := ownNode(t)
	mustKubectl(t, "", "annotate", "node", node, auto+"=true")
	t.Cleanup(func() { mustKubectl(t, "", "annotate", "node", node, auto+"-") })
	before := portrait(t, node)
	half := scripted(undoable(file))
	half.ConfigMap["apply.sh"] += "\nexit 1"
	w := &wish{name: "half", nodes: []string{node}, packages: map[string]v1alpha1.Package{"half": half}}
	ready(t, w.name, w.nodes, []string{file})
	w.apply(t)
	until(t, "half", "erroring", func(s *v1alpha1.Skyhook) bool { return s.Status.Status == v1alpha1.StatusErroring })
	w.delete(t)
	nothingLeft(t, "half")
	samePortrait(t, node, before)
	if got := strings.Fields(onHost(t, node, "cat", file)); len(got) < 2 || got[len(got)-1] != "uninstall" || strings.Count(strings.Join(got, " "), "uninstall") != 1 {
		t.Errorf("ran %v, want uninstall once, last", got)
	}
}

// TestForcedDeletionDuringAnUninstall: a Skyhook that was deleted without its finalizer in the midst of an uninstall is
// created again.
func TestForcedDeletionDuringAnUninstall(t *testing.T) {
	const file = "/skyhook-forced"
	node := ownNode(t)
	before := portrait(t, node)
	p := scripted(undoable(file))
	p.ConfigMap["uninstall.sh"] = gated(file, "begin") + "\n" + journal(file, "end")
	w := &wish{name: "forced", nodes: []string{node}, packages: map[string]v1alpha1.Package{"forced": p}}
	w.install(t, file, gate(file, "begin"))
	t.Cleanup(func() { openGate(t, node, file, "begin") })
	mustKubectl(t, "", "delete", "skyhook", "forced", "--wait=false")
	awaitMark(t, node, file, "begin")
	pods := watchPods(t, "forced")
	mustKubectl(t, "", "patch", "skyhook", "forced", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	w.apply(t)
	untilReady(t, "forced")
	marks(t, node, file, "apply", "begin", "apply")
	if names := pods.named("apply"); len(names) != 1 {
		t.Errorf("%d apply pods, want one: %v", len(names), names)
	}
	openGate(t, node, file, "begin")
	w.delete(t)
	nothingLeft(t, "forced")
	samePortrait(t, node, before)
	marks(t, node, file, "apply", "begin", "apply", "begin", "end")
}

// podHistory is every pod of a Skyhook that was created since a moment.
type podHistory struct {
	names map[types.UID]string
	stop  func()
}

func watchPods(t *testing.T, skyhook string) *podHistory {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	w, err := here(t).client.Watch(ctx, &corev1.PodList{}, client.InNamespace("skyhook"), client.MatchingLabels{"skyhook.nvidia.com/name": skyhook})
	if err != nil {
		t.Fatal(err)
	}
	h, done := &podHistory{names: map[types.UID]string{}}, make(chan struct{})
	go func() {
		defer close(done)
		for e := range w.ResultChan() {
			if p, is := e.Object.(*corev1.Pod); is {
				h.names[p.UID] = p.Annotations["skyhook.nvidia.com/package"]
			}
		}
	}()
	h.stop = func() { w.Stop(); cancel(); <-done }
	t.Cleanup(h.stop)
	return h
}

// named ends the watch and returns the pods of a stage.
func (h *podHistory) named(stage v1alpha1.Stage) []string {
	h.stop()
	var names []string
	for _, identity := range h.names {
		if strings.Contains(identity, `"stage":"`+string(stage)+`"`) {
			names = append(names, identity)
		}
	}
	return names
}
