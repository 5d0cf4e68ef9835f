package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// workPatience is how long the nodes may take for the demo's package.
const workPatience = 10 * time.Minute

// apply creates the Skyhook of examples/demo.yaml.
func (d *demo) apply(ctx context.Context) error {
	text, err := os.ReadFile(d.manifest())
	if err != nil {
		return err
	}
	var skyhook v1alpha1.Skyhook
	if err := yaml.UnmarshalStrict(text, &skyhook); err != nil {
		return fmt.Errorf("read %s: %w", d.manifest(), err)
	}
	if err := d.client.Create(ctx, &skyhook); err != nil {
		return fmt.Errorf("apply %s: %w", d.manifest(), err)
	}
	d.out.line("apply examples/demo.yaml")
	return nil
}

// watch prints what changes on the nodes until the Skyhook is complete.
func (d *demo) watch(ctx context.Context) error {
	var seen progress
	err := wait.PollUntilContextTimeout(ctx, interval, workPatience, true, func(ctx context.Context) (bool, error) {
		var skyhook v1alpha1.Skyhook
		if err := d.client.Get(ctx, client.ObjectKey{Name: skyhookName}, &skyhook); err != nil {
			return false, fmt.Errorf("get Skyhook %s: %w", skyhookName, err)
		}
		var nodes corev1.NodeList
		if err := d.client.List(ctx, &nodes, client.MatchingLabels{demoLabel: demoValue}); err != nil {
			return false, fmt.Errorf("list the nodes: %w", err)
		}
		for _, line := range seen.update(&skyhook, nodes.Items) {
			d.out.line("%s", line)
		}
		return complete(&skyhook), nil
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return errors.New("the nodes did not complete within " + workPatience.String() +
			"; see what they wait for: " + kubectlArgs("describe", "skyhook", skyhookName))
	}
	return err
}

// complete says whether the status is about the present spec and every node is done with it.
func complete(s *v1alpha1.Skyhook) bool {
	return s.Status.ObservedGeneration == s.Generation && s.Status.Status == v1alpha1.StatusComplete
}

// progress remembers what was printed last of each node and of the Skyhook.
type progress map[string]string

// update returns a line for everything that changed since the last call: packages by node, then the Skyhook.
func (p *progress) update(skyhook *v1alpha1.Skyhook, nodes []corev1.Node) []string {
	if *p == nil {
		*p = progress{}
	}
	var lines []string
	note := func(key, line string) {
		if (*p)[key] != line {
			(*p)[key] = line
			lines = append(lines, line)
		}
	}
	for i := range nodes {
		node := &nodes[i]
		remembered, err := record.Read(skyhook.Name, node.Annotations)
		if err != nil {
			note(node.Name, fmt.Sprintf("%-8s %v", node.Name, err))
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(remembered.Packages)) {
			note(node.Name+"/"+key, packageLine(node.Name, remembered.Packages[key]))
		}
	}
	if s := skyhook.Status; s.Status != "" {
		note("", fmt.Sprintf("%-8s %s, %s nodes complete", "Skyhook", s.Status, s.CompleteNodes))
	}
	return lines
}

func packageLine(node string, e record.Entry) string {
	line := fmt.Sprintf("%-8s %s %s  %-8s %s", node, e.Name, e.Version, e.Stage, e.State)
	if e.Restarts > 0 {
		line += fmt.Sprintf(", %d restarts", e.Restarts)
	}
	if e.State == v1alpha1.StateErroring {
		line += ": " + e.Reason + " " + e.Message
	}
	return line
}
