package cli

import (
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/board"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/workload"
	"github.com/skyhook-operator/skyhook/test/faults"
)

// TestCausesFirst: what fails comes before what only waits for it, whichever is on fewer nodes.
func TestCausesFirst(t *testing.T) {
	of := func(reason string, change func(*cause)) cause {
		c := cause{Skyhook: "gpu", Cause: board.Cause{Reason: reason, Message: reason}, Nodes: []string{"n0"}}
		if change != nil {
			change(&c)
		}
		return c
	}
	all := worstFirst([]cause{
		of(v1alpha1.ReasonRolloutStopped, func(c *cause) { c.Nodes = nil }),
		of(v1alpha1.ReasonWaitingForPermit, nil),
		of(v1alpha1.ReasonProtectedPod, nil),
		of(v1alpha1.ReasonStepFailed, func(c *cause) { c.stage = v1alpha1.StageApply }),
		of(v1alpha1.ReasonPodCannotStart, func(c *cause) { c.stage, c.behind = v1alpha1.StageApply, true }),
		of(v1alpha1.ReasonNodeNotReady, func(c *cause) { c.EndedBy = string(record.FreesAdministrator) }),
		of("OperatorNotReady", func(c *cause) { c.Skyhook = theOperator }),
	})
	var got []string
	for i := range all {
		got = append(got, all[i].Reason)
	}
	want := []string{
		"OperatorNotReady", v1alpha1.ReasonStepFailed, v1alpha1.ReasonNodeNotReady, v1alpha1.ReasonProtectedPod,
		v1alpha1.ReasonRolloutStopped, v1alpha1.ReasonWaitingForPermit, v1alpha1.ReasonPodCannotStart,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %s\nwant %s", strings.Join(got, ", "), strings.Join(want, ", "))
	}
}

// TestRollbackBeforeRerun: the same script fails again, so the way back is offered where there is one.
func TestRollbackBeforeRerun(t *testing.T) {
	s := faults.NewScene(2, false, script("fails", 0))
	s.Pass(15 * time.Minute)
	r := s.Show()
	for _, retainsBefore := range []bool{false, true} {
		v := &view{Snapshot: r.Snapshot, options: r.Settings}
		if retainsBefore {
			v.Revisions = append(slices.Clone(v.Revisions), earlier(t, named(v.Skyhooks, "gpu"), r.Settings.Workload))
		}
		f, err := v.decided(r.Now, "")
		if err != nil {
			t.Fatal(err)
		}
		e := explainer{target{namespace: r.Settings.Workload.Namespace}}
		var lines strings.Builder
		all := e.causes(v, f, "", "")
		for i := range all {
			e.conclude(v, f, &all[i])
			lines.WriteString(all[i].lines(r.Now, false))
		}
		said := lines.String()
		if !strings.HasPrefix(said, "gpu on n00, package driver: StepFailed") {
			t.Errorf("first is not what fails:\n%s", said)
		}
		if back := strings.Contains(said, "Command: kubectl skyhook rollback gpu"); back != retainsBefore ||
			!strings.Contains(said, "kubectl skyhook package rerun driver") {
			t.Errorf("retained %t, offered %t:\n%s", retainsBefore, back, said)
		}
	}
}

// earlier is a definition of the driver from before the last change.
func earlier(t *testing.T, sk *v1alpha1.Skyhook, o workload.Options) appsv1.ControllerRevision {
	t.Helper()
	old := sk.DeepCopy()
	driver(&old.Spec, func(p *v1alpha1.Package) { p.Version = "0.9.0" })
	rev, err := o.Revision(old, workload.DefinitionOf(old, "driver"))
	if err != nil {
		t.Fatal(err)
	}
	rev.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(sk, v1alpha1.GroupVersion.WithKind("Skyhook"))}
	rev.Revision = 0
	return *rev
}
