package node

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/skyhook-operator/skyhook/internal/controller/logs"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
)

// logChange tells of one transition. What a step printed is in events and records, which fewer people read.
func logChange(ctx context.Context, i *item, c lifecycle.Change) {
	values := []any{
		logs.Skyhook, i.skyhook.Name, logs.Node, i.pass.node.Name, logs.Package, c.Package, logs.Version, c.Version,
		logs.Stage, c.Stage,
	}
	if c.Reason != "" {
		ctrl.LoggerFrom(ctx).Info("package changed", append(values, logs.Reason, c.Reason)...)
		return
	}
	for _, e := range i.decision.Record.Packages {
		if e.Name == c.Package && e.Version == c.Version && e.Reason != "" {
			values = append(values, logs.Reason, e.Reason)
		}
	}
	ctrl.LoggerFrom(ctx).Info("stage changed", append(values, logs.State, c.State)...)
}

// logRecord tells what else a record says anew: the status, and the permit that the node is done with.
func logRecord(ctx context.Context, i *item) {
	log := ctrl.LoggerFrom(ctx).V(logs.Debug).WithValues(logs.Skyhook, i.skyhook.Name, logs.Node, i.pass.node.Name)
	before, now := i.before, i.decision.Record
	if now.Status != before.Status {
		log.Info("node status changed", logs.From, before.Status, logs.To, now.Status)
	}
	if now.FinishedPermit != before.FinishedPermit && now.FinishedPermit != "" {
		log.Info("permit finished", logs.Permit, now.FinishedPermit)
	}
}

// logCordon tells that the node was cordoned or uncordoned in this pass.
func logCordon(ctx context.Context, node string, before, now bool) {
	if before == now {
		return
	}
	message := "node uncordoned"
	if now {
		message = "node cordoned"
	}
	ctrl.LoggerFrom(ctx).Info(message, logs.Node, node)
}

// logPod tells what was done with a pod of a package.
func logPod(ctx context.Context, i *item, message, pod string, values ...any) {
	ctrl.LoggerFrom(ctx).V(logs.Debug).Info(message,
		append([]any{logs.Skyhook, i.skyhook.Name, logs.Node, i.pass.node.Name, logs.Pod, pod}, values...)...)
}
