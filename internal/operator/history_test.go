//go:build integration

package operator_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/history"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

// TestHistoryOfRollouts: who changed the spec, on how many nodes it took effect, and how long stages took. Two writes for
// each rollout, however many nodes there are.
func TestHistoryOfRollouts(t *testing.T) {
	const nodes = 5
	f := newCluster(t, nodes)
	s := f.skyhook("told", map[string]v1alpha1.Package{"tuning": pkg("1.1.0", nil)})
	f.must(f.client.Create(t.Context(), s, client.FieldOwner("kubectl-create")))
	name := workload.HistoryName(s.Name)
	until := func(what string, ok func(history.Rollouts) bool) *corev1.ConfigMap {
		t.Helper()
		return eventually(f, &corev1.ConfigMapList{}, what, func(cm *corev1.ConfigMap) bool {
			rollouts, err := history.ReadRollouts(cm.Data)
			f.must(err)
			return ok(rollouts)
		}, client.InNamespace(f.namespace), client.MatchingFields{"metadata.name": name})
	}
	until("the first rollout is over", func(r history.Rollouts) bool { return len(r) == 1 && !r[0].Ended.IsZero() })
	now := &v1alpha1.Skyhook{}
	f.must(f.client.Get(t.Context(), client.ObjectKeyFromObject(s), now))
	p := now.Spec.Packages["tuning"]
	p.Version = "1.2.0"
	now.Spec.Packages["tuning"] = p
	f.must(f.client.Update(t.Context(), now, client.FieldOwner("gitops")))
	cm := until("the second rollout is over", func(r history.Rollouts) bool { return len(r) == 2 && !r[0].Ended.IsZero() })
	if !metav1.IsControlledBy(cm, now) {
		t.Errorf("owners %+v", cm.OwnerReferences)
	}
	rollouts, err := history.ReadRollouts(cm.Data)
	f.must(err)
	for i, author := range []string{"gitops", "kubectl-create"} {
		if r := rollouts[i]; r.Author != author || r.Generation != int64(2-i) || r.Nodes != nodes || r.Failures != 0 || r.SupersededBy != 0 {
			t.Errorf("rollout %+v", r)
		}
	}
	stages, err := history.ReadStages(cm.Data)
	f.must(err)
	if e, ok := stages.Estimate(history.Key{Package: "tuning", Version: "1.1.0", Stage: v1alpha1.StageApply}); !ok || e.Runs != nodes {
		t.Errorf("%+v of %+v", e, stages)
	}
	if n := f.writes.total(func(key string) bool { return strings.HasSuffix(key, "/"+name) }); n != 3 {
		t.Errorf("after it was created it was written %d times for the end of one rollout, and begin and end of another", n)
	}
}
