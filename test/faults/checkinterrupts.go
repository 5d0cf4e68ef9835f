package faults

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// checkAsked: post-interrupt comes after the interrupt that the package owed, and no interrupt takes place that nothing
// asked for.
func (l *ledger) checkAsked(pod *corev1.Pod, id identity) {
	a := l.account(pod.Spec.NodeName, id.Skyhook)
	h := l.w.kubelet(pod.Spec.NodeName).host
	switch {
	case h.forged[id.Skyhook]:
	case id.Stage == v1alpha1.StagePostInterrupt:
		if d := a.debts[id.Name]; d != nil && d.sure {
			l.w.findClass("interrupt-owed", l.owedFacts(a, id.Name, d), "%s is created on %s, but the interrupt of %s that was owed did not take place",
				pod.Name, a.node, id.key())
		}
	case isInterruptStage(id.Stage):
		l.checkDemand(a, pod)
	}
}

// owedFacts tell which interrupt is owed, by the last spec.
func (l *ledger) owedFacts(a *account, name string, d *debt) string {
	list := l.history(a, name, d)
	if len(list) == 0 {
		return ""
	}
	for _, w := range d.wants(list[len(list)-1]) {
		return w.kind
	}
	return "none"
}

// checkDemand: a package of the Skyhook needs the interrupt that begins, or may need it, as far as anybody knows.
func (l *ledger) checkDemand(a *account, pod *corev1.Pod) {
	kind, services := interruptArgs(pod)
	needs, restarts := map[string]bool{}, map[string]bool{}
	for _, name := range sortedKeys(a.debts) {
		d := a.debts[name]
		if !d.may {
			continue
		}
		list := l.history(a, name, d)
		for _, pkg := range list {
			for _, w := range d.mayWant(pkg, list) {
				needs[w.kind] = true
				for _, s := range w.services {
					restarts[s] = true
				}
			}
		}
	}
	if !needs[kind] {
		l.w.findClass("interrupt-unasked", kind, "%s is created on %s, but nothing there needs a %s: %v",
			pod.Name, a.node, kind, sortedKeys(needs))
	}
	if i := slices.IndexFunc(services, func(s string) bool { return !restarts[s] }); i >= 0 {
		l.w.findClass("interrupt-unasked", "services", "%s is created on %s and restarts %v, but nothing there needs more than %v",
			pod.Name, a.node, services, sortedKeys(restarts))
	}
}

// mayWant are the interrupts that a definition may have asked for: those of its keys that differ between any two.
func (d *debt) mayWant(pkg v1alpha1.Package, all []v1alpha1.Package) []demand {
	var list []demand
	if pkg.Interrupt != nil && d.mayInstall {
		list = append(list, demandOf(*pkg.Interrupt))
	}
	for _, key := range sortedKeys(pkg.ConfigInterrupts) {
		was, had := pkg.ConfigMap[key]
		if d.keys[key] || slices.ContainsFunc(all, func(o v1alpha1.Package) bool {
			is, has := o.ConfigMap[key]
			return is != was || has != had
		}) {
			list = append(list, demandOf(pkg.ConfigInterrupts[key]))
		}
	}
	return list
}
