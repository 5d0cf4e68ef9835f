//go:build integration

package cli_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// fleet is how many nodes one thing holds up: more than a line has room for.
const fleet = 25

// TestWhyInFleet: however many nodes wait for the same, lines stay short, and the command, given again as long as there
// is one, lets all of them go.
func TestWhyInFleet(t *testing.T) {
	c := newCluster(t)
	for name, tt := range map[string]struct {
		reason string
		change func(*corev1.Node)
		rounds int
	}{
		"ignored": {v1alpha1.ReasonNodeIgnored, func(n *corev1.Node) { n.Labels[v1alpha1.LabelIgnore] = "true" }, 1},
		"malformed": {v1alpha1.ReasonNodeStateMalformed, func(n *corev1.Node) {
			n.Annotations = map[string]string{v1alpha1.AnnotationNodeStatePrefix + "malformed": "{"}
		}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			c.put(heldUp(name, nil))
			for i := range fleet {
				c.put(inPool(name, fmt.Sprintf("%s-with-a-long-name-%d", name, i), tt.change))
			}
			c.put(inPool(name, name+"-well", nil))
			for round := range tt.rounds {
				out, _, err := c.run("", "why", name)
				if err != nil || strings.Count(out, tt.reason) != 1 {
					t.Fatalf("round %d: error %v; the reason is not there once in\n%s", round, err, out)
				}
				if round == 0 {
					golden(t, "why-fleet-"+name, out)
				}
				for line := range strings.Lines(out) {
					if n := utf8.RuneCountInString(line); n > 600 {
						t.Errorf("a line of %d characters in\n%s", n, out)
					}
				}
				c.paste(out)
			}
			out, _, err := c.run("", "why", name)
			if err != nil || strings.Contains(out, tt.reason) {
				t.Errorf("error %v; after the command:\n%s", err, out)
			}
		})
	}
}

// paste runs the command that why printed.
func (c *cluster) paste(out string) {
	c.t.Helper()
	_, command, ok := strings.Cut(out, "    Command: ")
	if !ok {
		c.t.Fatalf("there is no command in\n%s", out)
	}
	command, _, _ = strings.Cut(command, "\n")
	kubectl := filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kubectl")
	run := exec.CommandContext(c.t.Context(), "sh", "-c", strings.Replace(command, "kubectl", kubectl, 1))
	if said, err := run.CombinedOutput(); err != nil {
		c.t.Fatalf("%s: %v\n%s", command, err, said)
	}
}
