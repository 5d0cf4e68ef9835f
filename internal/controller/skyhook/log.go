package skyhook

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/controller/logs"
)

// logStatus tells of permits, the status and conditions that changed. What conditions say is in the status, which fewer
// people read.
func logStatus(ctx context.Context, s *v1alpha1.Skyhook, before v1alpha1.SkyhookStatus) {
	log := ctrl.LoggerFrom(ctx).WithValues(logs.Skyhook, s.Name)
	had := make(map[string]v1alpha1.Permit, len(before.Permits))
	for _, p := range before.Permits {
		had[p.Node] = p
	}
	for _, p := range s.Status.Permits {
		old := had[p.Node]
		delete(had, p.Node)
		values := []any{logs.Node, p.Node, logs.Permit, p.Token(), logs.Generation, p.Generation}
		switch {
		case old.Token() != p.Token():
			log.Info("permit granted", values...)
		case p.Revoked && !old.Revoked:
			log.Info("permit revoked", values...)
		}
	}
	for _, p := range before.Permits {
		if _, ended := had[p.Node]; ended {
			log.Info("permit ended", logs.Node, p.Node, logs.Permit, p.Token())
		}
	}
	if before.Status != s.Status.Status {
		log.Info("status changed", logs.From, before.Status, logs.To, s.Status.Status)
	}
	for _, c := range s.Status.Conditions {
		if last := meta.FindStatusCondition(before.Conditions, c.Type); last == nil || last.Status != c.Status {
			log.V(logs.Debug).Info("condition changed", logs.Condition, c.Type, logs.To, c.Status, logs.Reason, c.Reason)
		}
	}
}
