package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

// models is on how many nodes of an adopted fleet everything is really installed.
func (r *run) models() int { return min(4, r.size.Nodes) }

// adopt makes a fleet on which everything is installed, and measures an operator that starts there: an install of 20
// Skyhooks on 5,000 nodes takes hours. A few nodes are installed, and the others get what the operator left on those.
func (r *run) adopt(ctx context.Context, skyhooks []*v1alpha1.Skyhook) (Result, error) {
	few := *r
	few.size.Nodes = r.models()
	if _, err := few.play(ctx, phaseInstall, skyhooks); err != nil {
		return Result{}, err
	}
	if err := errors.Join(settle(ctx, r.operator.pid()), r.operator.stop()); err != nil {
		return Result{}, err
	}
	r.tell("%s: copy what was installed on %d nodes to all %d", r.name, r.models(), r.size.Nodes)
	if err := r.copyModels(ctx, skyhooks); err != nil {
		return Result{}, err
	}
	var err error
	if r.operator, err = startOperator(ctx, r.program, r.control.kubeconfig, r.folder); err != nil {
		return Result{}, err
	}
	if err := r.findProcesses(); err != nil {
		return Result{}, err
	}
	seen, err := r.observe(ctx, phaseAdopt, skyhooks)
	if err != nil {
		return Result{}, err
	}
	return seen.result(r.name, phaseAdopt, r.size), nil
}

// copyModels makes the nodes that are missing, each like one of the models.
func (r *run) copyModels(ctx context.Context, skyhooks []*v1alpha1.Skyhook) error {
	var known []pattern
	for i := range r.models() {
		m, err := r.pattern(ctx, i)
		if err != nil {
			return err
		}
		known = append(known, m)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(makers)
	for i := len(known); i < r.size.Nodes; i++ {
		group.Go(func() error { return r.copyModel(ctx, known[i%len(known)], i, skyhooks) })
	}
	return group.Wait()
}

// pattern is what the operator left on a node.
type pattern struct {
	name                string
	annotations, labels map[string]string
	conditions          []corev1.NodeCondition
}

func (r *run) pattern(ctx context.Context, i int) (pattern, error) {
	m, fresh, has := pattern{name: nodeName(i)}, newNode(i), &corev1.Node{}
	if err := r.control.client.Get(ctx, client.ObjectKey{Name: m.name}, has); err != nil {
		return m, fmt.Errorf("read a node: %w", err)
	}
	m.annotations, m.labels = added(fresh.Annotations, has.Annotations), added(fresh.Labels, has.Labels)
	usual := map[corev1.NodeConditionType]bool{}
	for _, c := range fresh.Status.Conditions {
		usual[c.Type] = true
	}
	for _, c := range has.Status.Conditions {
		if !usual[c.Type] {
			m.conditions = append(m.conditions, c)
		}
	}
	return m, nil
}

func added(before, after map[string]string) map[string]string {
	more := maps.Clone(after)
	maps.DeleteFunc(more, func(key, _ string) bool { _, had := before[key]; return had })
	return more
}

// copyModel makes the i-th node like a model: every text that names the model names the node.
func (r *run) copyModel(ctx context.Context, m pattern, i int, skyhooks []*v1alpha1.Skyhook) error {
	name := nodeName(i)
	renamed := func(texts map[string]string) map[string]string {
		all := map[string]string{}
		for key, text := range texts {
			all[key] = strings.ReplaceAll(text, m.name, name)
		}
		return all
	}
	if err := r.kubelets.join(ctx, i); err != nil {
		return err
	}
	body, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"annotations": renamed(m.annotations), "labels": renamed(m.labels)},
		"status":   map[string]any{"conditions": m.conditions},
	})
	if err != nil {
		return fmt.Errorf("encode what a node has: %w", err)
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := r.control.client.Status().Patch(ctx, node, client.RawPatch(types.StrategicMergePatchType, body)); err != nil {
		return fmt.Errorf("write what a node has: %w", err)
	}
	for _, sk := range skyhooks {
		cm, err := workload.Options{Namespace: namespace, AgentImage: agentImage}.NodeMeta(sk, node)
		if err != nil {
			return fmt.Errorf("make the metadata of a node: %w", err)
		}
		if err := r.control.client.Create(ctx, cm); err != nil {
			return fmt.Errorf("write the metadata of a node: %w", err)
		}
	}
	return nil
}
