package admission

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/text"
)

// Advice returns what is allowed and may still do damage in a cluster, one sentence each; of an edit only what it brings.
// old is nil for a new Skyhook.
func Advice(old, s *v1alpha1.Skyhook, in Cluster) []string {
	return added(old, s, func(s *v1alpha1.Skyhook) []string { return append(advice(s), in.Advice(s)...) })
}

// PolicyAdvice is that of a deployment policy: strategies that bad batches never stop, or not to the end.
func PolicyAdvice(old, p *v1alpha1.DeploymentPolicy) []string { return added(old, p, policyAdvice) }

// added are the sentences that were not there before; old may be nil.
func added[T any](old, now *T, sentences func(*T) []string) []string {
	var before []string
	if old != nil {
		before = sentences(old)
	}
	return slices.DeleteFunc(sentences(now), func(sentence string) bool { return slices.Contains(before, sentence) })
}

// Steering says which annotations that steer a Skyhook do nothing, because of how they are spelled.
func Steering(s *v1alpha1.Skyhook) []string {
	var out []string
	for _, key := range []string{v1alpha1.AnnotationPause, v1alpha1.AnnotationDisable} {
		if value, ok := s.Annotations[key]; ok && !isBool(value) {
			out = append(out, fmt.Sprintf("metadata.annotations: %s is %q, which is neither true nor false, so it does nothing; "+
				"set it to \"true\", or remove it", key, text.Shorten(value, maxField)))
		}
	}
	return out
}

func advice(s *v1alpha1.Skyhook) []string {
	out := append(Steering(s), unlimited(s)...)
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if selectsAll(s) {
		add("spec.nodeSelectors: it is empty, so every node is selected, including the control plane; " +
			"set matchLabels or matchExpressions")
	}
	if b := s.Spec.InterruptionBudget; b.Count != nil && *b.Count == 0 {
		add("spec.interruptionBudget.count: 0 still lets one node work at a time; to allow none, pause the Skyhook")
	}
	if name := firstDisturbing(s); name != "" {
		if d := s.Spec.Drain; d == nil || d.DeleteEmptyDirData == nil {
			add("spec.drain.deleteEmptyDirData: package %s drains nodes, and evicted pods lose the data in their emptyDir "+
				"volumes; set it to false so that such pods hold the drain, or to true to confirm that their data may be lost", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Spec.Packages)) {
		out = append(out, packageAdvice(s, name)...)
	}
	return out
}

// unlimited tells that all nodes of a Skyhook may work at the same time.
func unlimited(s *v1alpha1.Skyhook) []string {
	const help = "nothing limits how many at a time; set interruptionBudget or deploymentPolicy"
	b, name := s.Spec.InterruptionBudget, firstDisturbing(s)
	switch {
	case b.Count != nil || b.Percent != nil || s.Spec.DeploymentPolicy != "":
		return nil
	case name != "":
		return []string{fmt.Sprintf("spec.interruptionBudget: package %s interrupts nodes, and %s", name, help)}
	}
	return []string{"spec.interruptionBudget: the packages run on nodes, and " + help}
}

func packageAdvice(s *v1alpha1.Skyhook, name string) []string {
	var out []string
	pkg := s.Spec.Packages[name]
	if pkg.ContainerSHA == "" && pkg.Digest() != "" {
		out = append(out, fmt.Sprintf("spec.packages.%s.image: its digest decides which image runs, whatever version says; "+
			"change both together", name))
	}
	for _, on := range slices.Sorted(maps.Keys(pkg.DependsOn)) {
		if s.Spec.Packages[on].Uninstall.Requested() && !pkg.Uninstall.Requested() {
			out = append(out, fmt.Sprintf("spec.packages.%s.dependsOn: %s is to be uninstalled, so %s waits; "+
				"remove the dependency, or set uninstall.apply of %s to false", name, on, name, on))
		}
	}
	return out
}

// selectsAll reports whether every node is selected.
func selectsAll(s *v1alpha1.Skyhook) bool {
	return len(s.Spec.NodeSelectors.MatchLabels) == 0 && len(s.Spec.NodeSelectors.MatchExpressions) == 0
}

// firstDisturbing is the first package that interrupts nodes, by name; empty for none.
func firstDisturbing(s *v1alpha1.Skyhook) string {
	for _, name := range slices.Sorted(maps.Keys(s.Spec.Packages)) {
		if pkg := s.Spec.Packages[name]; pkg.Interrupt != nil || len(pkg.ConfigInterrupts) > 0 {
			return name
		}
	}
	return ""
}

func isBool(value string) bool {
	_, err := strconv.ParseBool(value)
	return err == nil
}

func policyAdvice(p *v1alpha1.DeploymentPolicy) []string {
	out := strategyAdvice("spec.default.strategy", &p.Spec.Default.Strategy)
	for i := range p.Spec.Compartments {
		if c := &p.Spec.Compartments[i]; c.Strategy != nil {
			out = append(out, strategyAdvice(fmt.Sprintf("spec.compartments[%d].strategy", i), c.Strategy)...)
		}
	}
	return out
}

func strategyAdvice(field string, s *v1alpha1.Strategy) []string {
	var kind string
	var rules v1alpha1.BatchRules
	switch {
	case s.Fixed != nil:
		kind, rules = "fixed", s.Fixed.BatchRules
	case s.Linear != nil:
		kind, rules = "linear", s.Linear.BatchRules
	case s.Exponential != nil:
		kind, rules = "exponential", s.Exponential.BatchRules
	default:
		return nil
	}
	const whole, usual = 100, 50
	limit := usual
	if rules.SafetyLimit != nil {
		limit = *rules.SafetyLimit
	}
	switch {
	case rules.FailureThreshold == nil:
		return []string{fmt.Sprintf("%s.%s.failureThreshold: it is not set, so bad batches never stop the rollout; "+
			"set it to the number of bad batches in a row that should stop it", field, kind)}
	case limit < whole:
		return []string{fmt.Sprintf("%s.%s.safetyLimit: once progress reaches %d%%, bad batches no longer stop the rollout; "+
			"set it to 100 to keep failureThreshold in force to the end", field, kind, limit)}
	}
	return nil
}
