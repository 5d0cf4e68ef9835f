package admission_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/admission"
)

// harmless is a Skyhook that nothing has to be said about.
func harmless() *v1alpha1.Skyhook {
	return &v1alpha1.Skyhook{
		ObjectMeta: metav1.ObjectMeta{Name: "demo"},
		Spec: v1alpha1.SkyhookSpec{
			NodeSelectors:      metav1.LabelSelector{MatchLabels: map[string]string{"pool": "gpu"}},
			InterruptionBudget: v1alpha1.InterruptionBudget{Count: new(1)},
			Packages: map[string]v1alpha1.Package{
				"a": {Version: "1.0.0", Image: "registry.example/a"},
				"b": {Version: "1.0.0", Image: "registry.example/b", DependsOn: map[string]string{"a": "1.0.0"}},
			},
		},
	}
}

// change edits package a.
func change(edit func(*v1alpha1.Package)) func(*v1alpha1.Skyhook) {
	return func(s *v1alpha1.Skyhook) {
		p := s.Spec.Packages["a"]
		edit(&p)
		s.Spec.Packages["a"] = p
	}
}

func interrupted(s *v1alpha1.Skyhook) {
	change(func(p *v1alpha1.Package) { p.Interrupt = &v1alpha1.Interrupt{Type: v1alpha1.InterruptReboot} })(s)
}

func TestAdvice(t *testing.T) {
	const emptyDir = "spec.drain.deleteEmptyDirData: package a drains"
	for name, tt := range map[string]struct {
		edit func(*v1alpha1.Skyhook)
		// want are the beginnings of the sentences.
		want []string
	}{
		"nothing": {func(*v1alpha1.Skyhook) {}, nil},
		"every node": {
			func(s *v1alpha1.Skyhook) { s.Spec.NodeSelectors = metav1.LabelSelector{} }, []string{"spec.nodeSelectors: it is empty"},
		},
		"expressions select": {func(s *v1alpha1.Skyhook) {
			s.Spec.NodeSelectors = metav1.LabelSelector{
				MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "gpu", Operator: metav1.LabelSelectorOpExists}},
			}
		}, nil},
		"a budget of zero": {
			func(s *v1alpha1.Skyhook) { s.Spec.InterruptionBudget.Count = new(0) }, []string{"spec.interruptionBudget.count: 0 still lets"},
		},
		"an interrupt under a budget": {interrupted, []string{emptyDir}},
		"an interrupt without one": {func(s *v1alpha1.Skyhook) {
			interrupted(s)
			s.Spec.InterruptionBudget = v1alpha1.InterruptionBudget{}
		}, []string{"spec.interruptionBudget: package a interrupts nodes", emptyDir}},
		"no limit": {
			func(s *v1alpha1.Skyhook) { s.Spec.InterruptionBudget = v1alpha1.InterruptionBudget{} },
			[]string{"spec.interruptionBudget: the packages run on nodes, and nothing limits"},
		},
		"an interrupt under a policy": {func(s *v1alpha1.Skyhook) {
			interrupted(s)
			s.Spec.InterruptionBudget, s.Spec.DeploymentPolicy = v1alpha1.InterruptionBudget{}, "careful"
		}, []string{emptyDir}},
		"a configInterrupt is one": {change(func(p *v1alpha1.Package) {
			p.ConfigInterrupts = map[string]v1alpha1.Interrupt{"x": {Type: v1alpha1.InterruptReboot}}
		}), []string{emptyDir}},
		"emptyDir data is meant to go": {func(s *v1alpha1.Skyhook) {
			interrupted(s)
			s.Spec.Drain = &v1alpha1.Drain{DeleteEmptyDirData: new(true)}
		}, nil},
		"a digest": {
			change(func(p *v1alpha1.Package) { p.Image += "@sha256:" + strings.Repeat("a", 64) }),
			[]string{"spec.packages.a.image: its digest decides"},
		},
		"a dependency that is uninstalled": {
			change(func(p *v1alpha1.Package) { p.Uninstall = &v1alpha1.Uninstall{Enabled: new(true), Apply: true} }),
			[]string{"spec.packages.b.dependsOn: a is to be uninstalled, so b waits"},
		},
		"pause is no boolean": {
			func(s *v1alpha1.Skyhook) { s.Annotations = map[string]string{v1alpha1.AnnotationPause: "yes"} },
			[]string{`metadata.annotations: skyhook.nvidia.com/pause is "yes"`},
		},
		"disable is one": {
			func(s *v1alpha1.Skyhook) { s.Annotations = map[string]string{v1alpha1.AnnotationDisable: "False"} }, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := harmless()
			tt.edit(s)
			begins(t, admission.Advice(nil, s, admission.Cluster{}), tt.want)
			begins(t, admission.Advice(harmless(), s, admission.Cluster{}), tt.want)
			begins(t, admission.Advice(s, s, admission.Cluster{}), nil)
		})
	}
}

func TestPolicyAdvice(t *testing.T) {
	policy := func(rules v1alpha1.BatchRules) *v1alpha1.DeploymentPolicy {
		return &v1alpha1.DeploymentPolicy{Spec: v1alpha1.DeploymentPolicySpec{
			Default: v1alpha1.PolicyDefault{Strategy: v1alpha1.Strategy{Fixed: &v1alpha1.FixedStrategy{BatchRules: rules}}},
			Compartments: []v1alpha1.Compartment{
				{Name: "inherits"},
				{Name: "own", Strategy: &v1alpha1.Strategy{Linear: &v1alpha1.LinearStrategy{BatchRules: v1alpha1.BatchRules{
					FailureThreshold: new(1), SafetyLimit: new(100),
				}}}},
			},
		}}
	}
	for name, tt := range map[string]struct {
		rules v1alpha1.BatchRules
		want  []string
	}{
		"it never stops":         {v1alpha1.BatchRules{}, []string{"spec.default.strategy.fixed.failureThreshold: it is not set"}},
		"it stops up to half":    {v1alpha1.BatchRules{FailureThreshold: new(2)}, []string{"spec.default.strategy.fixed.safetyLimit: once progress reaches 50%"}},
		"it stops up to 80%":     {v1alpha1.BatchRules{FailureThreshold: new(2), SafetyLimit: new(80)}, []string{"spec.default.strategy.fixed.safetyLimit: once progress reaches 80%"}},
		"it stops until it ends": {v1alpha1.BatchRules{FailureThreshold: new(2), SafetyLimit: new(100)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			begins(t, admission.PolicyAdvice(nil, policy(tt.rules)), tt.want)
			begins(t, admission.PolicyAdvice(policy(tt.rules), policy(tt.rules)), nil)
		})
	}
}

// begins compares sentences by how they begin.
func begins(t *testing.T, got, want []string) {
	t.Helper()
	cut := make([]string, len(got))
	for i := range got {
		cut[i] = got[i]
		if i < len(want) && strings.HasPrefix(got[i], want[i]) {
			cut[i] = want[i]
		}
	}
	if d := cmp.Diff(append([]string{}, want...), append([]string{}, cut...)); d != "" {
		t.Errorf("sentences (-want +got):\n%s", d)
	}
}
