//go:build integration

package board

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// TestCompartmentsOfOneName: a compartment that is called as people call that of all other nodes is another one.
func TestCompartmentsOfOneName(t *testing.T) {
	c := newCluster(t)
	f := put(t, c, "gpu-init", "cwwCW")
	var policy v1alpha1.DeploymentPolicy
	if err := c.Get(t.Context(), client.ObjectKey{Name: "gpu-init"}, &policy); err != nil {
		t.Fatal(err)
	}
	policy.Spec.Compartments[0].Name = "default"
	if err := c.Update(t.Context(), &policy); err != nil {
		t.Fatal(err)
	}
	rename := func() {
		f.sync()
		all := f.skyhook.Status.CompartmentStatuses
		all["default"] = all["edge"]
		delete(all, "edge")
		if err := c.Status().Update(t.Context(), f.skyhook); err != nil {
			t.Fatal(err)
		}
	}
	rename()
	b := open(t, c.board(t))
	const shown = `[...document.querySelectorAll(".compartment")].map((e) => e.querySelector("[role=option]")?.ariaSetSize).join()`
	b.until("both, each with its nodes", shown+` === "3,2"`)
	for i, status := range []v1alpha1.Status{v1alpha1.StatusInProgress, v1alpha1.StatusComplete} {
		f.becomes(1, status)
		rename()
		b.sees(".caption", []string{"Current batch · 1", "Complete · 2"}[i])
	}
	b.until("still both", shown+` === "3,2"`)
}
