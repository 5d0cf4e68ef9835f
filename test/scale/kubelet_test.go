package main

import (
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// TestSuperseded: a pod that another one replaced is no failure, whatever the API server calls it.
func TestSuperseded(t *testing.T) {
	pods, pod := corev1.Resource("pods"), corev1.SchemeGroupVersion.WithKind("Pod").GroupKind()
	invalid := func(at *field.Path) error {
		return apierrors.NewInvalid(pod, "a", field.ErrorList{field.Invalid(at, "x", "field is immutable")})
	}
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"gone":           {apierrors.NewNotFound(pods, "a"), true},
		"another UID":    {apierrors.NewConflict(pods, "a", errors.New("uid mismatch")), true},
		"another, later": {fmt.Errorf("patch: %w", invalid(field.NewPath("metadata", "uid"))), true},
		"a wrong status": {invalid(field.NewPath("status", "phase")), false},
		"anything else":  {apierrors.NewInternalError(errors.New("disk")), false},
	} {
		if got := superseded(c.err); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestHandover: from the end of a stage to the pod of the next of that package, but for what comes after an interrupt.
func TestHandover(t *testing.T) {
	k := newKubelets(nil, Pace{}, nil)
	see := func(pkg string, ends, interrupt bool) {
		p := stagePod(3)
		p.Spec.NodeName, p.Labels = "n", map[string]string{v1alpha1.LabelName: "s", v1alpha1.LabelPackage: pkg}
		if interrupt {
			p.Labels[v1alpha1.LabelInterrupt] = "True"
		}
		k.handOver(p)
		if ends {
			k.noteEnd(p)
		}
	}
	for _, c := range []struct {
		what            string
		pkg             string
		ends, interrupt bool
		want            int
	}{
		{"a first stage", "a", true, false, 0},
		{"of another package", "b", true, false, 0},
		{"the next", "a", true, false, 1},
		{"an interrupt for both", "a", true, true, 0},
		{"what follows it", "a", true, false, 0},
		{"in the other as well", "b", true, false, 0},
		{"and then the next", "b", false, false, 1},
	} {
		k.handover = nil
		see(c.pkg, c.ends, c.interrupt)
		if len(k.handover) != c.want {
			t.Errorf("%s: %d handovers, want %d", c.what, len(k.handover), c.want)
		}
	}
}
