//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/test/install"
)

const (
	patience  = 3 * time.Minute
	testLabel = "skyhook.nvidia.com/test-node"
)

// example is the text of a file in examples/.
func example(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "examples", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// kubectl runs kubectl with standard input and returns both outputs as one text.
func kubectl(t *testing.T, input string, args ...string) (string, error) {
	t.Helper()
	// Some calls clean up after the test's own context has ended.
	cmd := here(t).kubectl(context.WithoutCancel(t.Context()), args...)
	input = forOwnNodes(t, input)
	if strings.HasPrefix(input, "{") {
		input = "---\n" + input // YAML too: kubectl 1.31 takes what begins with a brace for JSON
	}
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	return string(bytes.TrimSpace(out)), err
}

func (b *bed) kubectl(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(b.Bin(), "kubectl"), args...)
	cmd.Env = append(cmd.Environ(), "KUBECONFIG="+b.Kubeconfig())
	return cmd
}

// forOwnNodes has a manifest that selects the nodes of tests, as most do, select those of this test.
func forOwnNodes(t *testing.T, manifest string) string {
	t.Helper()
	return strings.ReplaceAll(manifest, testLabel+": demo", testLabel+": "+here(t).value)
}

// follow reads what a container of a package pod says, also while the pod goes. The function returned waits for its
// end.
func follow(t *testing.T, pod, container string) (said func() string) {
	t.Helper()
	mustKubectl(t, "", "wait", "-n", "skyhook", "pod/"+pod, "--timeout=1m",
		`--for=jsonpath={.status.initContainerStatuses[?(@.name=="`+container+`")].state.running}`)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	var out bytes.Buffer
	cmd := here(t).kubectl(ctx, "logs", "--follow", "-n", "skyhook", pod, "-c", container)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return func() string {
		_ = cmd.Wait() // a container that is gone ends it with an error
		return out.String()
	}
}

func mustKubectl(t *testing.T, input string, args ...string) string {
	t.Helper()
	out, err := kubectl(t, input, args...)
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// apply applies a manifest's text to the test's nodes, freshly labelled, and undoes all of it after the test: the
// Skyhook, the label, the records and the given files on the nodes.
func apply(t *testing.T, name, manifest string, hostFiles ...string) {
	t.Helper()
	applyTo(t, here(t).Nodes(), name, manifest, hostFiles...)
}

// applyTo is apply for some of the nodes.
func applyTo(t *testing.T, nodes []string, name, manifest string, hostFiles ...string) {
	t.Helper()
	label(t, nodes)
	t.Cleanup(func() { cleanUp(t, name, hostFiles) })
	// An earlier test may have killed or drained the operator, and with it the webhooks.
	if err := install.Available(t.Context(), here(t).client, patience); err != nil {
		t.Fatal(err)
	}
	mustKubectl(t, manifest, "apply", "-f", "-")
}

// label makes the manifests of the tests select nodes.
func label(t *testing.T, nodes []string) {
	t.Helper()
	for _, node := range nodes {
		patchNode(t, node, map[string]any{"labels": map[string]any{testLabel: here(t).value}})
	}
}

// patchNode merges metadata into that of a node, and returns what became of it. It costs much less than a kubectl.
func patchNode(t *testing.T, node string, metadata map[string]any) *corev1.Node {
	t.Helper()
	patch, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		t.Fatal(err)
	}
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}
	ctx := context.WithoutCancel(t.Context()) // also in clean-up
	if err := here(t).client.Patch(ctx, n, client.RawPatch(types.MergePatchType, patch)); err != nil {
		t.Fatalf("patch node %s: %v", node, err)
	}
	return n
}

func cleanUp(t *testing.T, name string, hostFiles []string) {
	cleanUpOn(t, here(t).Nodes(), name, hostFiles)
}

// cleanUpOn leaves other nodes alone, where other tests may be at work.
func cleanUpOn(t *testing.T, nodes []string, name string, hostFiles []string) {
	mustKubectl(t, "", "delete", "skyhook", name, "--ignore-not-found", "--timeout=2m")
	for _, node := range nodes {
		n := patchNode(t, node, map[string]any{
			"labels":      map[string]any{testLabel: nil},
			"annotations": map[string]any{"skyhook.nvidia.com/nodeState_" + name: nil, "skyhook.nvidia.com/version_" + name: nil},
		})
		if n.Spec.Unschedulable {
			t.Errorf("node %s is left cordoned", node)
			mustKubectl(t, "", "uncordon", node)
		}
		remove := append([]string{"rm", "-rf", "/var/lib/skyhook/" + name, "/var/log/skyhook/" + name}, hostFiles...)
		if _, err := here(t).Exec(context.WithoutCancel(t.Context()), node, remove...); err != nil {
			t.Errorf("clean up node %s: %v", node, err)
		}
	}
}

// waitReady waits as users do.
func waitReady(t *testing.T, name string) {
	t.Helper()
	out, err := kubectl(t, "", "wait", "--for=condition=Ready", "skyhook/"+name, "--timeout="+patience.String())
	if err != nil {
		t.Fatalf("%s\n%s", out, describe(t, name))
	}
}

func describe(t *testing.T, name string) string {
	t.Helper()
	status, _ := kubectl(t, "", "get", "skyhook", name, "-o", "yaml")
	pods, _ := kubectl(t, "", "get", "pods", "-n", "skyhook", "-o", "wide")
	logs, _ := kubectl(t, "", "logs", "-n", "skyhook", "-l", "control-plane=controller-manager", "--tail=40")
	return status + "\n" + pods + "\n" + logs
}

// until waits until a Skyhook is as wanted.
func until(t *testing.T, name, what string, ok func(*v1alpha1.Skyhook) bool) *v1alpha1.Skyhook {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	w, err := here(t).client.Watch(ctx, &v1alpha1.SkyhookList{}, client.MatchingFields{"metadata.name": name})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for e := range w.ResultChan() {
		if s, is := e.Object.(*v1alpha1.Skyhook); is && e.Type != watch.Deleted && s.Status.ObservedGeneration == s.Generation && ok(s) {
			return s
		}
	}
	t.Fatalf("Skyhook %s not within %s: %s\n%s", name, patience, what, describe(t, name))
	return nil
}

// onHost runs a command on a node and returns its output.
func onHost(t *testing.T, node string, argv ...string) string {
	t.Helper()
	out, err := here(t).Exec(context.WithoutCancel(t.Context()), node, argv...) // also in clean-up
	if err != nil {
		t.Fatalf("on node %s: %v", node, err)
	}
	return string(out)
}

// absent checks that a path does not exist on a node.
func absent(t *testing.T, node, path string) {
	t.Helper()
	if out, err := here(t).Exec(t.Context(), node, "ls", "-d", path); err == nil {
		t.Errorf("node %s has %s", node, strings.TrimSpace(string(out)))
	}
}

func getNode(t *testing.T, name string) *corev1.Node {
	t.Helper()
	var n corev1.Node
	if err := here(t).client.Get(context.WithoutCancel(t.Context()), client.ObjectKey{Name: name}, &n); err != nil {
		t.Fatal(err)
	}
	return &n
}
