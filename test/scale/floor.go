package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// floorNodes are the most that the floor is measured with: the operator never works on more at a time.
const floorNodes = 1000

// hasFloor reports whether the null operator does the same work as an install by the operator.
func hasFloor(world string, size Size) bool { return world == "plain" && size.Nodes <= floorNodes }

// nullOperator is this very program.
func nullOperator() (Program, error) {
	self, err := os.Executable()
	if err != nil {
		return Program{}, fmt.Errorf("find this program, which is the null operator as well: %w", err)
	}
	return Program{File: self, Args: []string{nullCommand}}, nil
}

// measureFloor observes an install by the null operator, which is the one that runs, and has the operator take over an
// empty cluster.
func (r *run) measureFloor(ctx context.Context, skyhooks []*v1alpha1.Skyhook) (Result, error) {
	seen, err := r.observe(ctx, phaseFloor, skyhooks)
	if err != nil {
		return Result{}, err
	}
	if err := errors.Join(r.operator.stop(), r.sweep(ctx, skyhooks)); err != nil {
		return Result{}, err
	}
	started, err := startOperator(ctx, r.program, r.control.kubeconfig, r.folder)
	if err != nil {
		return Result{}, err
	}
	r.operator = started
	return seen.result(r.name, phaseFloor, r.size), errors.Join(r.findProcesses(), settle(ctx, r.operator.pid()))
}

// sweep removes the Skyhooks that the null operator was given, and makes sure that it left no pod.
func (r *run) sweep(ctx context.Context, skyhooks []*v1alpha1.Skyhook) error {
	for _, s := range skyhooks {
		if err := r.control.client.Delete(ctx, s); err != nil {
			return fmt.Errorf("delete Skyhook %s: %w", s.Name, err)
		}
		err := r.control.client.Get(ctx, client.ObjectKeyFromObject(s), &v1alpha1.Skyhook{})
		if !apierrors.IsNotFound(err) {
			return errors.Join(fmt.Errorf("Skyhook %s stays after the floor", s.Name), err)
		}
	}
	var pods corev1.PodList
	if err := r.control.client.List(ctx, &pods, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("list pods: %w", err)
	}
	if len(pods.Items) > 0 {
		return fmt.Errorf("the null operator left %d pods, such as %s", len(pods.Items), pods.Items[0].Name)
	}
	return nil
}

// awaitPods waits until as many pods have come and gone as an install needs.
func (r *run) awaitPods(ctx context.Context) error {
	wanted := r.size.Nodes * r.size.Packages * len(nullStages)
	for r.kubelets.removed() < wanted {
		select {
		case err := <-r.operator.ended:
			r.operator.ended <- err
			return fmt.Errorf("the null operator ended: %w", err)
		case err := <-r.kubelets.failed:
			return fmt.Errorf("the kubelets: %w", err)
		case <-ctx.Done():
			return fmt.Errorf("the null operator had %d of %d pods within %s", r.kubelets.removed(), wanted, r.patience)
		case <-time.After(10 * time.Millisecond):
		}
	}
	return nil
}

// byFloor adds what an install cost by what the null operator's did.
func (r Result) byFloor(floor Result) {
	for name, figure := range map[string]string{"secondsByFloor": "seconds", "cpuAPIServerByFloor": "cpuAPIServer"} {
		r.Figures[name] = r.Figures[figure] / floor.Figures[figure]
	}
}
