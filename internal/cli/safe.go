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
	a, err := s.activity(ctx, name)
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

func (s *session) activity(ctx context.Context, name string) (activity, error) {
	a := activity{Node: name, Running: []string{}}
	node := corev1.Node{}
	if err := s.client.Get(ctx, client.ObjectKey{Name: name}, &node); err != nil {
		if apierrors.IsNotFound(err) {
			err = fmt.Errorf("%w; %s lists those that exist", err, s.toCluster("kubectl get nodes"))
		}
		return a, fmt.Errorf("getting node %q: %w", name, err)
	}
	if f := record.ReadInterrupt(node.Annotations); f != nil {
		a.Running = append(a.Running, fmt.Sprintf("the %s of Skyhook %s has been in flight since %s",
			f.Type, f.Skyhook, f.Since.UTC().Format(time.RFC3339)))
	}
	var skyhooks v1alpha1.SkyhookList
	if err := s.client.List(ctx, &skyhooks); err != nil {
		return a, fmt.Errorf("listing skyhooks: %w", err)
	}
	for _, skyhook := range record.Skyhooks(node.Annotations, nil) {
		if gone(skyhooks.Items, skyhook) {
			continue // what the node remembers of it, nobody continues
		}
		r, err := record.Read(skyhook, node.Annotations)
		if err != nil {
			a.Running = append(a.Running, fmt.Sprintf("nobody knows what Skyhook %s does there: %v", skyhook, err))
			continue
		}
		o := onNode{record: r}
		for _, e := range o.entries() {
			if e.Active() {
				a.Running = append(a.Running, fmt.Sprintf("Skyhook %s: %s of %s %s is %s",
					skyhook, e.Stage, e.Name, e.Version, e.State))
			}
		}
	}
	pods, err := s.podsOn(ctx, name)
	if err != nil {
		return a, err
	}
	for i := range pods {
		p := &pods[i]
		if metav1.GetControllerOf(p) != nil && !workload.Ended(p) {
			a.Running = append(a.Running, fmt.Sprintf("pod %s/%s runs", p.Namespace, p.Name))
		}
	}
	a.Running = append(a.Running, permitsOn(skyhooks.Items, name)...)
	a.Safe = len(a.Running) == 0
	return a, nil
}

// gone reports whether a Skyhook that nodes remember exists no more.
func gone(skyhooks []v1alpha1.Skyhook, name string) bool {
	return !slices.ContainsFunc(skyhooks, func(s v1alpha1.Skyhook) bool { return s.Name == name })
}

// podsOn are the package pods on a node, wherever an operator has its namespace, or in --namespace if no more may be read.
func (s *session) podsOn(ctx context.Context, node string) ([]corev1.Pod, error) {
	pods := corev1.PodList{}
	of := []client.ListOption{client.HasLabels{v1alpha1.LabelName}, client.MatchingFields{"spec.nodeName": node}}
	err := s.client.List(ctx, &pods, of...)
	if apierrors.IsForbidden(err) {
		fmt.Fprintf(s.err, "Warning: you may not read pods outside of namespace %s; an operator elsewhere is not seen\n", s.namespace)
		err = s.client.List(ctx, &pods, append(of, client.InNamespace(s.namespace))...)
	}
	if err != nil {
		return nil, fmt.Errorf("listing pods on node %q: %w", node, err)
	}
	return pods.Items, nil
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
