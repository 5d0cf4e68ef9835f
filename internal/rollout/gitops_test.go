package rollout_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/rollout"
	"github.com/skyhook-operator/skyhook/internal/situation"
	"github.com/skyhook-operator/skyhook/test/gitops"
)

// TestGitOps: what GitOps tools make of each status, as docs/gitops.md tells.
func TestGitOps(t *testing.T) {
	held := func(status v1alpha1.Status, reason string, frees record.Frees) func(*rollout.Input) {
		return func(in *rollout.Input) {
			in.Hold = &situation.Hold{Status: status, Wait: record.Wait{Reason: reason, Message: reason, Frees: frees}}
		}
	}
	paused := held(v1alpha1.StatusPaused, v1alpha1.ReasonPaused, record.FreesAdministrator)
	disabled := held(v1alpha1.StatusDisabled, v1alpha1.ReasonDisabled, record.FreesAdministrator)
	invalid := held(v1alpha1.StatusBlocked, v1alpha1.ReasonSpecInvalid, record.FreesAuthor)
	deleting := func(in *rollout.Input) {
		now := metav1.NewTime(now)
		in.Deleting, in.Skyhook.DeletionTimestamp = true, &now
	}
	for _, c := range []struct {
		name, nodes     string
		change          func(*rollout.Input)
		kstatus, argoCD string
	}{
		{"no nodes", "", nil, "Current", "Healthy"},
		{"complete", "n1 complete", nil, "Current", "Healthy"},
		{"in progress", "n1 complete; n2 in_progress", nil, "InProgress", "Progressing"},
		{"waits for an earlier Skyhook", "n1 held=WaitingForSkyhook", nil, "InProgress", "Progressing"},
		{"not Ready", "n1 complete; n2 not-ready", nil, "InProgress", "Progressing"},
		{"fails while another works", "n1 erroring trouble=X; n2 in_progress", nil, "InProgress", "Progressing"},
		{"fails", "n1 complete; n2 erroring trouble=X", nil, "Failed", "Degraded"},
		{"ignored", "n1 complete; n2 held=NodeIgnored", nil, "Failed", "Degraded"},
		{"paused", "n1 complete; n2", paused, "InProgress", "Suspended"},
		{"complete and paused", "n1 complete", paused, "Current", "Healthy"},
		{"disabled", "n1 complete; n2", disabled, "InProgress", "Suspended"},
		{"complete and disabled", "n1 complete", disabled, "Current", "Healthy"},
		{"invalid", "n1 complete", invalid, "Failed", "Degraded"},
		{"complete without its policy", "n1 complete", func(in *rollout.Input) { in.PolicyMissing = true }, "Failed", "Degraded"},
		{"not seen", "n1 complete", nil, "InProgress", "Progressing"},
		{"not retained", "n1", func(in *rollout.Input) { invalid(in); in.Unretained = true }, "InProgress", "Degraded"},
		{"being deleted", "n1 in_progress", deleting, "Terminating", "Progressing"},
		{"its deletion is blocked", "n1", func(in *rollout.Input) { deleting(in); paused(in) }, "Terminating", "Progressing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := rollout.Input{Skyhook: skyhook(0), Nodes: nodes(c.nodes), Now: now}
			in.Skyhook.Status.ObservedGeneration = -1 // as the API server makes it
			if c.change != nil {
				c.change(&in)
			}
			s := in.Skyhook.DeepCopy()
			s.Kind = "Skyhook"
			s.Status = rollout.Plan(in)
			if c.name == "not seen" {
				s.Generation++
			}
			content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(s)
			if err != nil {
				t.Fatal(err)
			}
			got := gitops.Judge(t, "../..", &unstructured.Unstructured{Object: content})
			if got.KStatus != c.kstatus || got.ArgoCD != c.argoCD {
				t.Errorf("%+v, want %s and %s: %+v", got, c.kstatus, c.argoCD, s.Status.Conditions)
			}
		})
	}
}
