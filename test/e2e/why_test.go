//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// why expects the answer to "why does this node not progress" to have a reason for a Skyhook with all of some texts, and
// returns the command that ends it, and whether it is for the node's own shell.
func why(t *testing.T, skyhook, node, reason string, texts ...string) (command string, onNode bool) {
	t.Helper()
	// In the moment before the operator records a failure, why foretells it, and knows no command yet.
	found := told(t, skyhook, node, reason, append(texts, "\n    Command")...)
	for _, line := range strings.Split(found, "\n") {
		if c, ok := strings.CutPrefix(line, "    Command: "); ok {
			return c, false
		}
		if c, ok := strings.CutPrefix(line, "    Command, on the node: "); ok {
			return c, true
		}
	}
	t.Fatalf("why node %s prints no command:\n%s", node, found)
	return "", false
}

// toldAlone is told, of what no command ends without harm to others: none is offered.
func toldAlone(t *testing.T, skyhook, node, reason string, texts ...string) {
	t.Helper()
	if found := told(t, skyhook, node, reason, texts...); strings.Contains(found, "\n    Command") {
		t.Errorf("why node %s offers a command:\n%s", node, found)
	}
}

// told waits until why tells the reason of a node with all texts, and returns what it says of that.
func told(t *testing.T, skyhook, node, reason string, texts ...string) (found string) {
	t.Helper()
	var out string
	err := wait.PollUntilContextTimeout(t.Context(), 250*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		out = mustPlugin(t, "why", "node", node)
		found = block(out, skyhook+" on "+node, reason)
		return found != "" && containsAll(found, texts), nil
	})
	if err != nil {
		t.Fatalf("why node %s does not say %s of %s with %q:\n%s\n%s", node, reason, skyhook, texts, out, describe(t, skyhook))
	}
	t.Log(found)
	return found
}

// block is what is said about one cause: the line that names it, and those below that are indented.
func block(out, who, reason string) string {
	var found []string
	for _, line := range strings.Split(out, "\n") {
		switch {
		case strings.HasPrefix(line, who) && strings.Contains(line, ": "+reason):
			found = []string{line}
		case len(found) > 0 && !strings.HasPrefix(line, " "):
			return strings.Join(found, "\n")
		case len(found) > 0:
			found = append(found, line)
		}
	}
	return strings.Join(found, "\n")
}

func containsAll(text string, parts []string) bool {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			return false
		}
	}
	return true
}

// asPlugin is the name under which this very program is kubectl's plugin.
const asPlugin = "kubectl-skyhook"

// pluginPath is a folder with the plugin.
func pluginPath(t *testing.T) string {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := os.Symlink(program, filepath.Join(folder, asPlugin)); err != nil {
		t.Fatal(err)
	}
	return folder
}

// obey does what why prints, as a person would who copies the line and says yes.
func obey(t *testing.T, node, command string, onNode bool) {
	t.Helper()
	if onNode {
		onHost(t, node, "sh", "-c", command)
		return
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-c", command)
	cmd.Env = append(cmd.Environ(), "KUBECONFIG="+here(t).Kubeconfig(), "PATH="+pluginPath(t)+":"+here(t).Bin()+":"+os.Getenv("PATH"))
	cmd.Stdin = strings.NewReader("y\n")
	out, err := cmd.CombinedOutput()
	t.Logf("$ %s\n%s", command, out)
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
}

// heldUp is one reason for which a node does not progress.
type heldUp struct {
	name string
	// shape changes the Skyhook before it is applied.
	shape func(w *wish, p *v1alpha1.Package)
	// before arranges what will hold the node up.
	before func(t *testing.T, w *wish, node string)
	reason string
	says   []string
	// remedy is what a person corrects before the command, where the command only tells so.
	remedy func(t *testing.T, w *wish, node string)
	// ends is what those do whom it concerns, where no command is offered.
	ends  func(t *testing.T, w *wish, node string)
	marks []string
}

const whyTaint = "skyhook-example.com/why=held:NoSchedule"

// lostImage is one that no earlier run on the same cluster can have pushed.
var lostImage = fmt.Sprintf("ghcr.io/skyhook-testbed/lost-%d", os.Getpid())

func interrupting(_ *wish, p *v1alpha1.Package) {
	p.Interrupt = &v1alpha1.Interrupt{Type: v1alpha1.InterruptService, Services: []string{"cron"}}
}

// failingUntil is a script that fails until there is a file on the host. The kubelet may have tried it again by itself
// when a person does.
func failingUntil(file string) string {
	return "test -e " + file + "-device || { echo looking; echo 'no such device: eth7' >&2; exit 3; }\necho apply > " + file
}

func plugIn(t *testing.T, w *wish, node string) {
	t.Helper()
	onHost(t, node, "touch", whyFile(w)+"-device")
}

func whyFile(w *wish) string { return "/skyhook-" + w.name }

var heldUps = []heldUp{
	{
		name: "protected pod",
		shape: func(w *wish, p *v1alpha1.Package) {
			interrupting(w, p)
			w.spec = map[string]any{"podNonInterruptLabels": map[string]any{"matchLabels": map[string]string{"skyhook-example": "why"}}}
		},
		before: func(t *testing.T, w *wish, node string) { runPod(t, w.name, node, "{skyhook-example: why}") },
		reason: v1alpha1.ReasonProtectedPod, says: []string{"default/why-protected-pod", "who can end it: another node, Skyhook or workload"},
		ends: func(t *testing.T, w *wish, _ string) { mustKubectl(t, "", "delete", "pod", w.name, "--grace-period=1") },
	},
	{
		name:  "disruption budget",
		shape: interrupting,
		before: func(t *testing.T, w *wish, node string) {
			runDeployment(t, w.name, node)
			guard(t, w.name)
		},
		reason: v1alpha1.ReasonEvictionRefused,
		says:   []string{"default/why-disruption-budget-", "disruption budget", "kubectl get poddisruptionbudgets -n default"},
		ends:   func(t *testing.T, w *wish, _ string) { mustKubectl(t, "", "delete", "pdb", w.name) },
	},
	{
		name: "taint",
		before: func(t *testing.T, _ *wish, node string) {
			key, _, _ := strings.Cut(whyTaint, "=")
			t.Cleanup(func() { _, _ = kubectl(t, "", "taint", "node", node, key+"-") })
			mustKubectl(t, "", "taint", "node", node, whyTaint)
		},
		reason: v1alpha1.ReasonTaintNotTolerable, says: []string{whyTaint, "who can end it: an administrator"},
		ends: func(t *testing.T, _ *wish, node string) { mustKubectl(t, "", "taint", "node", node, whyTaint+"-") },
	},
	{
		name: "earlier Skyhook",
		before: func(t *testing.T, w *wish, _ string) {
			earlier := wish{
				name: "why-earlier", nodes: w.nodes, priority: 100, packages: w.packages,
				annotations: map[string]string{v1alpha1.AnnotationPause: "true"},
			}
			ready(t, earlier.name, earlier.nodes, nil)
			earlier.apply(t)
		},
		reason: v1alpha1.ReasonWaitingForSkyhook, says: []string{"Skyhook why-earlier", "it is paused"},
		marks: []string{"apply", "apply"},
	},
	{
		name: "pause",
		shape: func(w *wish, _ *v1alpha1.Package) {
			w.annotations = map[string]string{v1alpha1.AnnotationPause: "true"}
		},
		reason: v1alpha1.ReasonPaused, says: []string{v1alpha1.AnnotationPause},
	},
	{
		name:   "failing step",
		shape:  func(w *wish, p *v1alpha1.Package) { p.ConfigMap["apply.sh"] = failingUntil(whyFile(w)) },
		reason: v1alpha1.ReasonStepFailed, says: []string{"exited 3", "no such device: eth7", "package scripts", "kubectl skyhook package logs"},
		remedy: plugIn,
	},
	{
		name: "step that is not retried",
		shape: func(w *wish, p *v1alpha1.Package) {
			p.ConfigMap["apply.sh"], p.MaxRetries = failingUntil(whyFile(w)), ptr.To[int32](0)
		},
		reason: v1alpha1.ReasonRetriesExhausted, says: []string{"no such device: eth7", "maxRetries"},
		remedy: plugIn,
	},
	{
		name: "missing ConfigMap",
		shape: func(w *wish, p *v1alpha1.Package) {
			p.Env = []corev1.EnvVar{{Name: "LIMIT", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: w.name}, Key: "limit",
			}}}}
			p.ConfigMap["apply.sh"] = "echo limit-$LIMIT >> " + whyFile(w)
		},
		before: func(t *testing.T, w *wish, _ string) {
			t.Cleanup(func() { mustKubectl(t, "", "delete", "configmap", w.name, "-n", "skyhook", "--ignore-not-found") })
		},
		reason: v1alpha1.ReasonPodCannotStart, says: []string{`configmap "why-missing-configmap" not found`},
		marks: []string{"limit-VALUE"},
	},
	{
		name:   "image that cannot be pulled",
		shape:  func(_ *wish, p *v1alpha1.Package) { p.Image = lostImage },
		reason: v1alpha1.ReasonPodCannotStart, says: []string{"ImagePull", lostImage + ":1.1.0", "not found"},
		remedy: func(t *testing.T, _ *wish, _ string) {
			if err := here(t).Push(t.Context(), variant(t, "found"), lostImage+":1.1.0"); err != nil {
				t.Fatal(err)
			}
		},
	},
	{
		name: "node not Ready",
		before: func(t *testing.T, _ *wish, node string) {
			t.Cleanup(func() {
				if _, err := here(t).Exec(context.WithoutCancel(t.Context()), node, "systemctl", "start", "kubelet"); err != nil {
					t.Error(err)
				}
			})
			onHost(t, node, "systemctl", "stop", "kubelet")
			mustKubectl(t, "", "wait", "--for=condition=Ready=Unknown", "node/"+node, "--timeout="+patience.String())
		},
		reason: v1alpha1.ReasonNodeNotReady, says: []string{"Kubelet stopped posting node status", "kubectl delete node"},
	},
	{
		name: "malformed record",
		before: func(t *testing.T, w *wish, node string) {
			mustKubectl(t, "", "annotate", "node", node, v1alpha1.AnnotationNodeStatePrefix+w.name+`={"scripts|1.1.0": broken`)
		},
		reason: v1alpha1.ReasonNodeStateMalformed, says: []string{v1alpha1.AnnotationNodeStatePrefix + "why-malformed-record"},
	},
}

// TestWhy: whatever holds a node up, why names it, and the command that it prints, if any, frees the node.
func TestWhy(t *testing.T) {
	t.Parallel()
	for _, h := range heldUps {
		t.Run(h.name, func(t *testing.T) {
			node := ownNode(t)
			w := &wish{name: "why-" + strings.ToLower(strings.ReplaceAll(h.name, " ", "-")), nodes: []string{node}}
			p := scripted(map[string]string{"apply.sh": journal(whyFile(w), "apply")})
			p.Uninstall = nil
			if h.shape != nil {
				h.shape(w, &p)
			}
			w.packages = map[string]v1alpha1.Package{"scripts": p}
			ready(t, w.name, w.nodes, []string{whyFile(w), whyFile(w) + "-device"})
			if h.before != nil {
				h.before(t, w, node)
			}
			w.apply(t)
			h.end(t, w, node)
			untilFree(t, w.name, node)
			if h.marks == nil {
				h.marks = []string{"apply"}
			}
			marks(t, node, whyFile(w), h.marks...)
			if out := mustPlugin(t, "why", w.name); !strings.Contains(out, "nothing waits and nothing fails") {
				t.Errorf("why still says:\n%s", out)
			}
		})
	}
}

// end has a node freed as why says.
func (h heldUp) end(t *testing.T, w *wish, node string) {
	t.Helper()
	if h.ends != nil {
		toldAlone(t, w.name, node, h.reason, h.says...)
		h.ends(t, w, node)
		return
	}
	command, onNode := why(t, w.name, node, h.reason, h.says...)
	if h.remedy != nil {
		h.remedy(t, w, node)
	}
	obey(t, node, command, onNode)
}

// TestWhyBudget: one node has the only permit, and why says which; the other one waits for it to be complete.
func TestWhyBudget(t *testing.T) {
	const file = "/skyhook-why-budget"
	nodes := ownNodes(t, 2)
	first, second := nodes[0], nodes[1]
	w := &wish{
		name: "why-budget", nodes: nodes, spec: map[string]any{"interruptionBudget": map[string]any{"percent": 50}},
		packages: map[string]v1alpha1.Package{"scripts": scripted(map[string]string{"apply.sh": gated(file, "apply")})},
	}
	ready(t, w.name, w.nodes, []string{file, gate(file, "apply")})
	t.Cleanup(func() {
		for _, node := range w.nodes {
			openGate(t, node, file, "apply")
		}
	})
	w.apply(t)
	holder := untilHolders(t, w.name, 1)[0]
	waits := first
	if holder == first {
		waits = second
	}
	toldAlone(t, w.name, waits, v1alpha1.ReasonWaitingForPermit, "the budget of 1 node is used by "+holder)
	open(t, file, "apply", w.nodes...)
	for _, node := range w.nodes {
		untilFree(t, w.name, node)
		marks(t, node, file, "apply")
	}
}
