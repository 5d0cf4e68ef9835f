package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// takeOver stops the operator, edits the Skyhooks and starts another operator with a second one that waits for its
// lease. When half of the nodes are done the first one is killed, and the second has to finish.
func (r *run) takeOver(ctx context.Context, skyhooks []*v1alpha1.Skyhook) (result Result, err error) {
	ctx, cancel := context.WithTimeout(ctx, r.patience)
	defer cancel()
	result = Result{World: r.name, Phase: phaseTakeover, Nodes: r.size.Nodes, Packages: r.size.Packages}
	if err := errors.Join(r.operator.stop(), r.change(ctx, phaseTakeover, skyhooks)); err != nil {
		return result, err
	}
	begin := time.Now()
	restarted, err := launch(r.program, r.control.kubeconfig, r.folder, "restarted.log")
	if err != nil {
		return result, err
	}
	r.operator = restarted
	if err := r.await(ctx, func(s *v1alpha1.Skyhook) bool { return len(s.Status.Permits) > 0 }); err != nil {
		return result, err
	}
	first := time.Since(begin)
	next, err := launch(r.program, r.control.kubeconfig, r.folder, "next.log")
	if err != nil {
		return result, err
	}
	half := func(s *v1alpha1.Skyhook) bool {
		return s.Status.ObservedGeneration == s.Generation && s.Status.Nodes.Complete >= r.size.Nodes/2
	}
	if err := r.await(ctx, half); err != nil {
		return result, errors.Join(err, next.stop())
	}
	away, err := r.replace(ctx, skyhooks, next)
	if err != nil {
		return result, err
	}
	var largest int
	for done := false; !done; {
		if done, err = r.watch(ctx, phaseTakeover, skyhooks, &largest); err != nil {
			return result, err
		}
	}
	took := time.Since(begin)
	use, err := memory(r.operator.pid())
	result.Figures = map[string]float64{
		"seconds": took.Seconds(), "secondsPerNode": took.Seconds() / float64(r.size.Nodes),
		"firstPermit": first.Seconds(), "takeover": away.Seconds(),
		"rssPeak": mebibytes(use.peak), "skyhookKB": kilobytes(largest),
	}
	return result, errors.Join(err, r.findProcesses(), settle(ctx, r.operator.pid()))
}

// replace kills the operator, and waits for the first thing that the next one changes. It returns how long that took.
func (r *run) replace(ctx context.Context, skyhooks []*v1alpha1.Skyhook, next *operator) (time.Duration, error) {
	killed := time.Now()
	err := r.operator.kill()
	if r.operator = next; err != nil {
		return 0, err
	}
	for {
		over, err := r.isOver(ctx, skyhooks)
		if err != nil {
			return 0, err
		}
		f, err := next.scrape(ctx)
		if err != nil {
			return 0, err
		}
		for _, resource := range []string{"skyhooks", "nodes", "pods"} { // it writes leases and events before
			if f.sum("skyhook_api_writes_total", labels{"resource": resource}) > 0 {
				return time.Since(killed), nil
			}
		}
		if over {
			return 0, errors.New("all nodes were complete before the operator was killed, so nothing is left to take over; " +
				"take more nodes, or a longer -container")
		}
		if !sleep(ctx, 50*time.Millisecond, nil) {
			return 0, errors.New("the next operator does nothing")
		}
	}
}

func (r *run) isOver(ctx context.Context, skyhooks []*v1alpha1.Skyhook) (bool, error) {
	var list v1alpha1.SkyhookList
	if err := r.control.client.List(ctx, &list); err != nil {
		return false, fmt.Errorf("list Skyhooks: %w", err)
	}
	return r.over(phaseTakeover, skyhooks, byName(list.Items)), nil
}

// await waits until one of the Skyhooks is as wanted.
func (r *run) await(ctx context.Context, ok func(*v1alpha1.Skyhook) bool) error {
	for {
		var list v1alpha1.SkyhookList
		if err := r.control.client.List(ctx, &list); err != nil {
			return fmt.Errorf("list Skyhooks: %w", err)
		}
		for i := range list.Items {
			if ok(&list.Items[i]) {
				return nil
			}
		}
		if !sleep(ctx, 50*time.Millisecond, nil) {
			return fmt.Errorf("not so within %s: %w", r.patience, ctx.Err())
		}
	}
}
