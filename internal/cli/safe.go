package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

func (a *app) nodeSafeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "safe NODE",
		Short: "Say whether it is safe to reboot or drain a node now",
		Long: "Says whether any Skyhook works on a node. Exit code 0: nothing runs or is about to start, so you can reboot or\n" +
			"drain the node. Exit code 1: you cannot, and the command lists what runs. A Skyhook may start something right\n" +
			"after the answer: exclude the node first with kubectl skyhook node ignore, and include it afterwards.",
		Example: "  kubectl skyhook node ignore worker-1\n  kubectl skyhook node safe worker-1 && ssh worker-1 sudo reboot\n" +
			"  kubectl skyhook node unignore worker-1",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeNodes,
		RunE:              a.run(func(ctx context.Context, s *session, args []string) error { return s.safe(ctx, args[0]) }),
	}
}

// activity is what Skyhooks do on one node.
type activity struct {
	Node string `json:"node"`
	Safe bool   `json:"safe"`
	// Running are the reasons against it.
	Running []string `json:"running"`
}

func (s *session) safe(ctx context.Context, name string) error {
	a, err := s.read.activity(ctx, name)
	if err != nil {
		return err
	}
	r := result{
		value: a, names: []string{"node/" + name}, empty: fmt.Sprintf("Node %s: safe, no Skyhook works on it.", name),
	}
	if !a.Safe {
		r.empty = fmt.Sprintf("Node %s: not safe.\n  - %s", name, strings.Join(a.Running, "\n  - "))
	}
	if err := s.print(r); err != nil {
		return err
	}
	if !a.Safe {
		return fmt.Errorf("node %s is not safe: wait until nothing is left of that, or end it with %s",
			name, s.toCluster("kubectl skyhook node exclude "+name))
	}
	return nil
}

func (r *reader) activity(ctx context.Context, name string) (activity, error) {
	a := activity{Node: name, Running: []string{}}
	node := corev1.Node{}
	if err := r.client.Get(ctx, client.ObjectKey{Name: name}, &node); err != nil {
		if apierrors.IsNotFound(err) {
			err = fmt.Errorf("%w; %s lists those that exist", err, r.toCluster("kubectl get nodes"))
		}
		return a, fmt.Errorf("getting node %q: %w", name, err)
	}
	if f := record.ReadInterrupt(node.Annotations); f != nil {
		a.Running = append(a.Running, fmt.Sprintf("the %s of Skyhook %s has been in flight since %s",
			f.Type, f.Skyhook, f.Since.UTC().Format(time.RFC3339)))
	}
	skyhooks, err := r.skyhooks(ctx)
	if err != nil {
		return a, err
	}
	for _, skyhook := range record.Skyhooks(node.Annotations, nil) {
		if gone(skyhooks, skyhook) {
			continue // what the node remembers of it, nobody continues
		}
		known, err := record.Read(skyhook, node.Annotations)
		if err != nil {
			a.Running = append(a.Running, fmt.Sprintf("nobody knows what Skyhook %s does there: %v", skyhook, err))
			continue
		}
		o := onNode{record: known}
		for _, e := range o.entries() {
			if e.Active() {
				a.Running = append(a.Running, fmt.Sprintf("Skyhook %s: %s of %s %s is %s",
					skyhook, e.Stage, e.Name, e.Version, e.State))
			}
		}
	}
	pods, err := r.podsOn(ctx, name)
	if err != nil {
		return a, err
	}
	for i := range pods {
		p := &pods[i]
		if metav1.GetControllerOf(p) != nil && !workload.Ended(p) {
			a.Running = append(a.Running, fmt.Sprintf("pod %s/%s runs", p.Namespace, p.Name))
		}
	}
	a.Running = append(a.Running, permitsOn(skyhooks, name)...)
	a.Safe = len(a.Running) == 0
	return a, nil
}

// gone reports whether a Skyhook that nodes remember exists no more.
func gone(skyhooks []v1alpha1.Skyhook, name string) bool {
	return !slices.ContainsFunc(skyhooks, func(s v1alpha1.Skyhook) bool { return s.Name == name })
}

// permitsOn are the Skyhooks that may start something on the node.
func permitsOn(skyhooks []v1alpha1.Skyhook, node string) []string {
	var out []string
	for i := range skyhooks {
		for _, p := range skyhooks[i].Status.Permits {
			if p.Node == node {
				out = append(out, fmt.Sprintf("Skyhook %s has given the node a permit, so work may start at any time", skyhooks[i].Name))
			}
		}
	}
	return out
}
