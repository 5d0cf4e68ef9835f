package admission_test

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/admission"
)

func packages(n int) map[string]v1alpha1.Package {
	all := map[string]v1alpha1.Package{}
	for i := range n {
		all[fmt.Sprintf("p%d", i)] = v1alpha1.Package{Version: "1.0.0", Image: "x"}
	}
	return all
}

func dependencies(n int) map[string]string {
	all := map[string]string{}
	for i := range n {
		all[fmt.Sprintf("p%d", i)] = "1.0.0"
	}
	return all
}

// keys are config keys of a length, and some more.
func keys(n, length int, more ...string) map[string]string {
	all := map[string]string{}
	for i := range n {
		all[fmt.Sprintf("%0*d", length, i)] = "x"
	}
	for _, k := range more {
		all[k] = "x"
	}
	return all
}

// TestBounds: what is out of bounds is told of, and nothing else is looked at.
func TestBounds(t *testing.T) {
	one := func(name string, pkg v1alpha1.Package) v1alpha1.SkyhookSpec {
		return v1alpha1.SkyhookSpec{Packages: map[string]v1alpha1.Package{name: pkg}}
	}
	values := make([]string, admission.MaxValues)
	requirements := make([]metav1.LabelSelectorRequirement, admission.MaxRequirements)
	for i := range requirements {
		requirements[i] = metav1.LabelSelectorRequirement{Key: "k", Operator: metav1.LabelSelectorOpExists}
	}
	selecting := func(s metav1.LabelSelector) v1alpha1.SkyhookSpec { return v1alpha1.SkyhookSpec{NodeSelectors: s} }
	in := metav1.LabelSelectorRequirement{Key: "k", Operator: metav1.LabelSelectorOpIn, Values: values}
	for _, c := range []struct {
		name string
		spec v1alpha1.SkyhookSpec
		want []string
	}{
		{name: "as many packages as there may be", spec: v1alpha1.SkyhookSpec{Packages: packages(admission.MaxPackages)}},
		{
			name: "one more", spec: v1alpha1.SkyhookSpec{Packages: packages(admission.MaxPackages + 1)},
			want: []string{"spec.packages: has 129 packages; use at most 128, and another Skyhook for the rest"},
		},
		{name: "as many config keys as there may be", spec: one("a", v1alpha1.Package{Version: "1.0.0", Image: "x", ConfigMap: keys(256, 242)})},
		{
			name: "one byte more", spec: one("a", v1alpha1.Package{Version: "1.0.0", Image: "x", ConfigMap: keys(256, 242, "k")}),
			want: []string{"spec.packages: the names of the keys of all configMaps have 65551 bytes, with 14 more for each key; use at most 65536"},
		},
		{
			name: "dependencies on more than there may be", spec: one("a", v1alpha1.Package{DependsOn: dependencies(128)}),
			want: []string{"spec.packages.a.dependsOn: has 128 entries"},
		},
		{
			name: "a long name and version", spec: one(strings.Repeat("a", 44), v1alpha1.Package{Version: strings.Repeat("1", 64)}),
			want: []string{"spec.packages." + strings.Repeat("a", 44) + ": longer than 43", "spec.packages." + strings.Repeat("a", 44) + ".version: longer than 63"},
		},
		{name: "a name that is longer than a message", spec: one(strings.Repeat("a", 1<<20), v1alpha1.Package{Version: "1"}), want: []string{"spec.packages." + strings.Repeat("a", 71) + " ..." + strings.Repeat("a", 167) + ": longer than 43"}},
		{name: "as many requirements as there may be", spec: selecting(metav1.LabelSelector{MatchExpressions: requirements})},
		{
			name: "one more, a label", spec: selecting(metav1.LabelSelector{MatchExpressions: requirements, MatchLabels: map[string]string{"a": "b"}}),
			want: []string{"spec.nodeSelectors: has 257 requirements"},
		},
		{name: "as many values as there may be", spec: selecting(metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{in}})},
		{
			name: "twice as many", spec: selecting(metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{in, in}}),
			want: []string{"spec.nodeSelectors: has 20000 values"},
		},
		{
			name: "the same for pods", spec: v1alpha1.SkyhookSpec{PodNonInterruptLabels: metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{in, in}}},
			want: []string{"spec.podNonInterruptLabels: has 20000 values"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &v1alpha1.Skyhook{ObjectMeta: metav1.ObjectMeta{Name: "demo"}, Spec: c.spec}
			checkProblems(t, s, c.want)
			matchProblems(t, admission.Bounds(s), c.want)
		})
	}
}

func TestBoundsOfAPolicy(t *testing.T) {
	p := &v1alpha1.DeploymentPolicy{}
	p.Spec.Compartments = make([]v1alpha1.Compartment, admission.MaxCompartments)
	matchProblems(t, admission.CheckPolicy(p), nil)
	p.Spec.Compartments[1].Selector.MatchExpressions = make([]metav1.LabelSelectorRequirement, admission.MaxRequirements+1)
	matchProblems(t, admission.CheckPolicy(p), []string{"spec.compartments[1].selector: has 257 requirements"})
	p.Spec.Compartments = append(p.Spec.Compartments, v1alpha1.Compartment{})
	matchProblems(t, admission.CheckPolicy(p), []string{"spec.compartments: has 65 entries"})
}

func TestReport(t *testing.T) {
	var problems []admission.Problem
	for i := range 21 {
		problems = append(problems, admission.Problem{Field: fmt.Sprintf("f%d", i), Message: "is bad"})
	}
	for n, want := range map[int]string{
		0: "", 1: "f0: is bad", 2: "2 problems\n- f0: is bad\n- f1: is bad",
	} {
		if got := admission.Report(problems[:n]); got != want {
			t.Errorf("%d: got %q, want %q", n, got, want)
		}
	}
	if got := admission.Report(problems[:20]); strings.Count(got, "\n") != 20 || strings.Contains(got, "more") {
		t.Errorf("20: got %q", got)
	}
	if got := admission.Report(problems); !strings.HasSuffix(got, "\n- f19: is bad\n- and 1 more") {
		t.Errorf("21: got %q", got)
	}
}
