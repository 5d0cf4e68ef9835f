//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

const (
	// operatorPods selects the operator's own pods in its namespace.
	operatorPods = "control-plane=controller-manager"
	// busybox is the image of the workloads.
	busybox     = "ghcr.io/skyhook-testbed/busybox:1.36.1"
	rebooting   = "interrupt: {type: reboot}"
	cronRestart = "interrupt: {type: service, services: [cron]}"
)

// with adds YAML to a manifest that skyhook made: fields of the spec, and fields of its package.
func with(manifest, spec, pkg string) string {
	if spec != "" {
		manifest = strings.Replace(manifest, "  packages:\n", "  "+strings.ReplaceAll(spec, "\n", "\n  ")+"\n  packages:\n", 1)
	}
	return strings.Replace(manifest, "      configMap:\n", "      "+strings.ReplaceAll(pkg, "\n", "\n      ")+"\n      configMap:\n", 1)
}

// journal is a script line that leaves a mark of one run of a step in a file on the host.
func journal(file, what string) string { return "echo " + what + " >> " + file }

// gated is a script that leaves its mark and then waits for a file on the host, so that a test can act in its midst.
func gated(file, what string) string {
	return journal(file, what) + "\nuntil [ -e " + gate(file, what) + " ]; do sleep 0.3; done"
}

func gate(file, what string) string { return file + "-go-" + what }

// awaitHost waits until a shell condition holds on a node.
func awaitHost(t *testing.T, node, condition string) {
	t.Helper()
	script := "until " + condition + "; do sleep 0.3; done"
	if _, err := here(t).Exec(t.Context(), node, "timeout", "60", "sh", "-c", script); err != nil {
		t.Fatalf("node %s: not within a minute: %s: %v", node, condition, err)
	}
}

func awaitMark(t *testing.T, node, file, what string) {
	t.Helper()
	awaitHost(t, node, "grep -qx '"+what+"' "+file+" 2>/dev/null")
}

// marks checks the lines that steps left on a node: each once, in this order.
func marks(t *testing.T, node, file string, want ...string) {
	t.Helper()
	if got := strings.Fields(onHost(t, node, "cat", file)); strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("node %s: %s has %v, want %v", node, file, got, want)
	}
}

// cronStart is when cron was started last on a node.
func cronStart(t *testing.T, node string) string {
	t.Helper()
	return strings.TrimSpace(onHost(t, node, "systemctl", "show", "--property", "ActiveEnterTimestampMonotonic", "--value", "cron"))
}

func bootID(t *testing.T, node string) string {
	t.Helper()
	id, err := here(t).BootID(t.Context(), node)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// boots counts the boots of a node, as its console tells them.
func boots(t *testing.T, node string) int {
	t.Helper()
	var console bytes.Buffer
	if err := here(t).Logs(t.Context(), node, &console, "-n", "0"); err != nil {
		t.Fatal(err)
	}
	return strings.Count(console.String(), "--- boot at")
}

// untilNode waits until a node is as wanted.
func untilNode(t *testing.T, node, what string, ok func(*corev1.Node) bool) *corev1.Node {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	w, err := here(t).client.Watch(ctx, &corev1.NodeList{}, client.MatchingFields{"metadata.name": node})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for e := range w.ResultChan() {
		if n, is := e.Object.(*corev1.Node); is && e.Type != watch.Deleted && ok(n) {
			return n
		}
	}
	t.Fatalf("node %s not within %s: %s", node, patience, what)
	return nil
}

// untilAttention waits until the Skyhook's status names a node with a reason.
func untilAttention(t *testing.T, name, node, reason string) v1alpha1.NodeAttention {
	t.Helper()
	var found v1alpha1.NodeAttention
	until(t, name, "attention "+reason+" for "+node, func(s *v1alpha1.Skyhook) bool {
		for _, a := range s.Status.Attention {
			if a.Node == node && a.Reason == reason {
				found = a
				return true
			}
		}
		return false
	})
	return found
}

// untilReady waits until the spec as it is now is complete on all nodes.
func untilReady(t *testing.T, name string) {
	t.Helper()
	until(t, name, "Ready", func(s *v1alpha1.Skyhook) bool { return s.Status.Status == v1alpha1.StatusComplete })
}

// inStage reports whether a package of a Skyhook is in the midst of a stage on a node.
func inStage(n *corev1.Node, skyhook string, stage v1alpha1.Stage) bool {
	r, err := record.Read(skyhook, n.Annotations)
	if err != nil {
		return false
	}
	for _, e := range r.Packages {
		if e.Stage == stage && e.State == v1alpha1.StateInProgress {
			return true
		}
	}
	return false
}

// versions are all versions of one kind of object that the API showed since a moment, in order.
type versions[T client.Object] struct {
	mu    sync.Mutex
	grown *sync.Cond
	list  []T
}

func watchAll[T client.Object](t *testing.T, list client.ObjectList) *versions[T] {
	t.Helper()
	v := &versions[T]{}
	v.grown = sync.NewCond(&v.mu)
	watchEvents(t, list, func(e watch.Event) {
		if o, is := e.Object.(T); is {
			v.mu.Lock()
			defer v.mu.Unlock()
			v.list = append(v.list, o)
			v.grown.Broadcast()
		}
	})
	return v
}

// watchEvents calls back for each event from now on, one after another, until the test ends.
func watchEvents(t *testing.T, list client.ObjectList, see func(watch.Event)) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	w, err := here(t).client.Watch(ctx, list)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for e := range w.ResultChan() {
			see(e)
		}
	}()
	t.Cleanup(func() { w.Stop(); cancel(); <-done })
}

// each calls back for every version so far.
func (v *versions[T]) each(see func(T)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, o := range v.list {
		see(o)
	}
}

// history is every version of all nodes.
type history struct {
	*versions[*corev1.Node]
	// own are the test's nodes.
	own []string
}

func watchNodes(t *testing.T) *history {
	t.Helper()
	return &history{watchAll[*corev1.Node](t, &corev1.NodeList{}), here(t).Nodes()}
}

// bootIDs are the different boot ids of a node, in order.
func (h *history) bootIDs(node string) []string {
	var ids []string
	h.each(func(n *corev1.Node) {
		if id := n.Status.NodeInfo.BootID; n.Name == node && (len(ids) == 0 || ids[len(ids)-1] != id) {
			ids = append(ids, id)
		}
	})
	return ids
}

// cordons are how often each of the test's nodes was cordoned, and the most of them that were at the same time.
func (h *history) cordons() (times map[string]int, most int) {
	times, now := map[string]int{}, map[string]bool{}
	h.each(func(n *corev1.Node) {
		if !slices.Contains(h.own, n.Name) {
			return
		}
		if n.Spec.Unschedulable && !now[n.Name] {
			times[n.Name]++
			now[n.Name] = true
		}
		if !n.Spec.Unschedulable {
			delete(now, n.Name)
		}
		most = max(most, len(now))
	})
	return times, most
}

// killOperator ends every process of the operator with SIGKILL. Its pods are replaced at once: otherwise the kubelet
// would start the same ones again, with pauses that grow from test to test.
func killOperator(t *testing.T) {
	t.Helper()
	killed := 0
	for _, node := range here(t).Nodes() {
		// The kernel keeps 15 bytes of a process's name.
		if _, err := here(t).Exec(t.Context(), node, "pkill", "-KILL", "-x", "skyhook-operato"); err == nil {
			killed++
		}
	}
	if killed == 0 {
		t.Fatal("no operator was running")
	}
	mustKubectl(t, "", "delete", "pods", "-n", "skyhook", "-l", operatorPods, "--grace-period=0", "--force")
}

// podSpec is the YAML of a workload pod's spec that sleeps on one node, on one line.
func podSpec(t *testing.T, node string) string {
	t.Helper()
	if err := here(t).busybox(); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`{nodeSelector: {kubernetes.io/hostname: %s}, terminationGracePeriodSeconds: 1,
  containers: [{name: sleep, image: %q, command: [/bin/busybox, sleep, "3600"]}]}`, node, busybox)
}

// runPod runs a pod without a controller in the namespace default until the test ends.
func runPod(t *testing.T, name, node, labels string) {
	t.Helper()
	t.Cleanup(func() { mustKubectl(t, "", "delete", "pod", name, "--ignore-not-found", "--grace-period=1") })
	mustKubectl(t, fmt.Sprintf("{apiVersion: v1, kind: Pod, metadata: {name: %s, labels: %s}, spec: %s}", name, labels, podSpec(t, node)), "apply", "-f", "-")
	mustKubectl(t, "", "wait", "--for=condition=Ready", "pod/"+name, "--timeout=1m")
}

// runDeployment runs one replica on a node until the test ends.
func runDeployment(t *testing.T, name, node string) {
	t.Helper()
	t.Cleanup(func() {
		mustKubectl(t, "", "delete", "deployment", name, "--ignore-not-found", "--cascade=foreground", "--timeout=1m")
	})
	mustKubectl(t, fmt.Sprintf(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: %[1]s}, spec: {replicas: 1,
  selector: {matchLabels: {app: %[1]s}}, template: {metadata: {labels: {app: %[1]s}}, spec: %[2]s}}}`, name, podSpec(t, node)), "apply", "-f", "-")
	mustKubectl(t, "", "rollout", "status", "deployment/"+name, "--timeout=1m")
}

// guard lets no pod of a deployment be evicted until the returned function relaxes it.
func guard(t *testing.T, name string) (relax func()) {
	t.Helper()
	t.Cleanup(func() { mustKubectl(t, "", "delete", "pdb", name, "--ignore-not-found") })
	budget := func(least int) {
		mustKubectl(t, fmt.Sprintf(`{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: %[1]s}, spec: {minAvailable: %[2]d,
  selector: {matchLabels: {app: %[1]s}}}}`, name, least), "apply", "-f", "-")
	}
	budget(1)
	mustKubectl(t, "", "wait", "--for=jsonpath={.status.currentHealthy}=1", "pdb/"+name, "--timeout=1m")
	return func() { budget(0) }
}

func podUID(t *testing.T, selector string) string {
	t.Helper()
	return mustKubectl(t, "", "get", "pods", "-l", selector, "-o", "jsonpath={.items[*].metadata.uid}")
}

func entry(t *testing.T, node, skyhook, key string) record.Entry {
	t.Helper()
	r, err := record.Read(skyhook, getNode(t, node).Annotations)
	if err != nil {
		t.Fatal(err)
	}
	return r.Packages[key]
}
