package faults

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// debt is what a package on a host owes since its stages ended: an interrupt, and the stage after it. Which interrupt, the
// specs say, see wants.
type debt struct {
	// install says that an install or upgrade is to be followed by the package's interrupt, and keys are those of its
	// config that changed since the last one.
	install bool
	keys    map[string]bool
	// configured says that an operator noted the end of its config stage since it was applied.
	configured bool
	// sure says that the interrupt is owed whichever spec the operator went by.
	sure bool
	// may says that somebody may still take it for owed, and mayInstall, that of an install: until post-interrupt begins,
	// an operator may not have heard that an interrupt ran.
	may, mayInstall bool
	// post says that an interrupt ran, and post-interrupt did not end since.
	post bool
	// paid says that a boot which others asked for paid it: nobody has to know, so it may still be paid again.
	paid bool
	// gone says that the package was uninstalled, and what is owed follows that.
	gone bool
	// from is the earliest generation of the Skyhook's spec that anybody went by since it began to owe.
	from int64
	of   types.UID
}

// interruptKinds are the types of interrupts as agents call them, the strongest first: what each does includes those
// after it.
var interruptKinds = []string{nodeRestart, "restart_all_services", "service_restart", "no_op"}

var kindOfType = map[v1alpha1.InterruptType]string{
	v1alpha1.InterruptReboot: nodeRestart, v1alpha1.InterruptRestartAllServices: "restart_all_services",
	v1alpha1.InterruptService: "service_restart", v1alpha1.InterruptNoop: "no_op",
}

// demand is an interrupt, as agents know it.
type demand struct {
	kind     string
	services []string
}

func demandOf(i v1alpha1.Interrupt) demand { return demand{kindOfType[i.Type], i.Services} }

// covers reports whether an interrupt does all that another one does.
func (d demand) covers(other demand) bool {
	mine, theirs := slices.Index(interruptKinds, d.kind), slices.Index(interruptKinds, other.kind)
	if mine != theirs {
		return mine < theirs
	}
	return !slices.ContainsFunc(other.services, func(s string) bool { return !slices.Contains(d.services, s) })
}

// wants are the interrupts that a package owes by its definition in some spec.
func (d *debt) wants(pkg v1alpha1.Package) []demand {
	if d.install || d.gone {
		if pkg.Interrupt == nil {
			return nil
		}
		return []demand{demandOf(*pkg.Interrupt)}
	}
	var list []demand
	for _, key := range sortedKeys(pkg.ConfigInterrupts) { // worlds have no globs
		if d.keys[key] {
			list = append(list, demandOf(pkg.ConfigInterrupts[key]))
		}
	}
	return list
}

// forgive takes back what a spec does not ask for any more: it does not come back with another edit.
func (a *account) forgive(s *v1alpha1.Skyhook) {
	for name, d := range a.debts {
		pkg, ok := s.Spec.Packages[name]
		if d.sure && ok && len(d.wants(pkg)) == 0 || d.gone && ok && !leaves(pkg) {
			d.sure = false
		}
	}
}

// uninstalled reports whether an interrupt may follow an uninstall: it goes by the definition that was kept.
func (a *account) uninstalled() bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(a.debts)), func(d *debt) bool { return d.gone && (d.may || d.sure) })
}

// maybeInstalled reports whether a spec has a package uninstalled of which a pod was created: if that never began, so that
// the host has nothing of it, nobody has to know.
func (a *account) maybeInstalled(s *v1alpha1.Skyhook) bool {
	return slices.ContainsFunc(slices.Collect(maps.Keys(s.Spec.Packages)), func(name string) bool {
		pkg, d := s.Spec.Packages[name], a.debts[name]
		return leaves(pkg) && uninstallable(pkg) && d != nil && d.mayInstall
	})
}

func leaves(pkg v1alpha1.Package) bool { return pkg.Uninstall.Requested() }

// starting notes that a pod of a package is created: from now on somebody may find that its stage ended.
func (l *ledger) starting(pod *corev1.Pod, id identity) {
	a := l.account(pod.Spec.NodeName, id.Skyhook)
	d := a.debts[id.Name]
	if d == nil {
		d = &debt{}
		a.debts[id.Name] = d
	}
	switch {
	case id.Stage == v1alpha1.StagePostInterrupt: // until it ends well
		d.may, d.mayInstall, d.post = false, false, true
		return
	case isInterruptStage(id.Stage):
		return
	case !d.may:
		l.since(d, id.Skyhook)
	}
	d.may, d.mayInstall = true, d.mayInstall || id.Stage != v1alpha1.StageConfig
}

// since notes from which spec on a debt counts: the earliest that anybody sees.
func (l *ledger) since(d *debt, skyhook string) {
	s := l.w.skyhook(skyhook)
	if s == nil {
		return
	}
	d.from, d.of = s.Generation, s.UID
	for _, v := range l.w.views(s) {
		d.from = min(d.from, v.Generation)
	}
}

// heard notes that an operator knows of the end of a config stage: what no spec asks for then is not owed any more.
func (l *ledger) heard(pod *corev1.Pod, id identity) {
	a, s := l.account(pod.Spec.NodeName, id.Skyhook), l.w.skyhook(id.Skyhook)
	d := a.debts[id.Name]
	if id.Stage != v1alpha1.StageConfig || !doneWell(pod) || d == nil || s == nil {
		return
	}
	for _, v := range l.w.views(s) {
		pkg := v.Spec.Packages[id.Name]
		if pkg.Interrupt != nil || len(pkg.ConfigInterrupts) > 0 {
			return
		}
	}
	d.may, d.mayInstall = false, false
}

// noted is what a record says: until it tells that a config stage ended, one that follows is still of the install.
func (l *ledger) noted(node, skyhook string, r record.Node) {
	a, h := l.account(node, skyhook), l.w.kubelet(node).host
	for _, e := range r.Packages {
		if on := h.installed[skyhook+"/"+e.Name]; on == nil || on.version != e.Version {
			continue // what the record tells is of another version
		}
		over := e.Stage == v1alpha1.StageConfig && e.State == v1alpha1.StateComplete || e.Stage == v1alpha1.StagePostInterrupt
		if d := a.debts[e.Name]; d != nil && (over || isInterruptStage(e.Stage)) {
			d.configured = true
		}
	}
}

// finish brings disk and ledger to what a stage leaves behind when its last container ends well.
func (k *kubelet) finish(c content) {
	var had map[string]string
	if on := k.host.installed[c.id.key()]; on != nil {
		had = maps.Clone(on.config)
	}
	k.host.finish(c)
	l := &k.w.watch.ledger
	a := l.account(k.plan.Name, c.id.Skyhook)
	a.succeeded(k.w.step, c.id.Name)
	delete(a.unseen, c.id.Name)
	switch c.id.Stage {
	case v1alpha1.StageApply, v1alpha1.StageUpgrade:
		d := &debt{install: true, may: true, mayInstall: true}
		l.since(d, c.id.Skyhook)
		a.debts[c.id.Name] = d
	case v1alpha1.StageConfig:
		l.configured(a, c, had)
	case v1alpha1.StageInterrupt, v1alpha1.StageUninstallInterrupt:
		own := a.debts[c.id.Name]
		for _, d := range a.serve(l, demand{c.kind, c.services}) {
			if d == own {
				d.install, d.keys = false, nil
			} else { // it may have been merged, or was only done by the way
				d.paid = true
			}
		}
	case v1alpha1.StagePostInterrupt:
		if d := a.debts[c.id.Name]; d != nil {
			d.post, d.sure, d.install, d.keys, d.paid = false, false, false, nil, false
		}
	case v1alpha1.StageUninstall:
		d := &debt{gone: true, may: true, mayInstall: true}
		l.since(d, c.id.Skyhook)
		d.sure = l.owedByAll(a, c, d)
		a.debts[c.id.Name] = d
	}
	l.settleAll(k.plan.Name)
}

// configured notes the end of a config stage: now it is known whether an interrupt follows.
func (l *ledger) configured(a *account, c content, had map[string]string) {
	d := a.debts[c.id.Name]
	if d == nil {
		d = &debt{}
		a.debts[c.id.Name] = d
	}
	changed := map[string]bool{}
	for key := range c.config {
		changed[key] = had[key] != c.config[key]
	}
	for key := range had {
		if _, ok := c.config[key]; !ok {
			changed[key] = true
		}
	}
	switch {
	case d.paid: // an interrupt of the install may follow, and cover every change, or just what the change asks for
		d.may, d.keys = true, changed
		return
	case d.install && (!d.configured || d.sure): // it covers every change
	case d.sure:
		for key := range changed {
			d.keys[key] = d.keys[key] || changed[key]
		}
	default:
		d.install, d.keys = false, changed
	}
	d.may = true
	d.sure = l.owedByAll(a, c, d)
}

// owedByAll reports whether an interrupt follows a stage by all specs that somebody sees.
func (l *ledger) owedByAll(a *account, c content, d *debt) bool {
	s := l.w.skyhook(a.skyhook)
	if s == nil {
		return false
	}
	for _, v := range l.w.views(s) {
		pkg, ok := v.Spec.Packages[c.id.Name]
		if !ok || pkg.Version != c.id.Version || len(d.wants(pkg)) == 0 {
			return false
		}
	}
	return true
}

// history are the definitions of a package in all specs that somebody may have gone by since its debt began.
func (l *ledger) history(a *account, name string, d *debt) []v1alpha1.Package {
	var list []v1alpha1.Package
	for _, uid := range sortedKeys(l.specs) {
		for _, s := range l.specs[uid] {
			since := d.gone || s.UID != d.of || s.Generation >= d.from // an uninstall goes by the definition that was kept
			if pkg, ok := s.Spec.Packages[name]; ok && s.Name == a.skyhook && since {
				list = append(list, pkg)
			}
		}
	}
	return list
}

// serve pays what an interrupt pays for, and returns it.
func (a *account) serve(l *ledger, by demand) []*debt {
	var paid []*debt
	for name, d := range a.debts {
		if !d.sure && !d.may {
			continue
		}
		served := !d.sure || slices.ContainsFunc(l.history(a, name, d), func(pkg v1alpha1.Package) bool {
			wants := d.wants(pkg)
			return len(wants) > 0 && !slices.ContainsFunc(wants, func(w demand) bool { return !by.covers(w) })
		})
		if served && d.sure {
			d.sure, d.post = false, !d.gone
			paid = append(paid, d)
		}
	}
	return paid
}

// booted is a reboot, whoever asked for it: it pays for the reboots that were owed.
func (l *ledger) booted(k *kubelet) {
	for _, key := range sortedKeys(l.accounts) {
		if a := l.accounts[key]; a.node == k.plan.Name {
			for _, d := range a.serve(l, demand{kind: nodeRestart}) {
				d.paid = true
			}
		}
	}
	l.settleAll(k.plan.Name)
}

// lacks is what a host does not have of what a spec asks for; empty when it has all.
func (l *ledger) lacks(a *account, s *v1alpha1.Skyhook) string {
	h := l.w.kubelet(a.node).host
	deleting := s.DeletionTimestamp != nil
	for _, name := range sortedKeys(s.Spec.Packages) {
		pkg, on, d := s.Spec.Packages[name], h.installed[s.Name+"/"+name], a.debts[name]
		if leaves(pkg) || deleting {
			if text := owesRemoval(pkg, on, d); text != "" {
				return name + " " + text
			}
			continue
		}
		if text := owesInstall(pkg, on, d); text != "" {
			return name + " " + text
		}
	}
	return l.lacksRemoval(a, s)
}

func owesInstall(pkg v1alpha1.Package, on *installed, d *debt) string {
	switch {
	case on == nil || on.version != pkg.Version || on.configured != pkg.Version || !maps.Equal(on.config, pkg.ConfigMap):
		return hostFacts(on, pkg)
	case d == nil || d.gone:
	case d.sure && len(d.wants(pkg)) > 0:
		return "interrupt"
	case d.post && (pkg.Interrupt != nil || len(pkg.ConfigInterrupts) > 0):
		return "post-interrupt"
	}
	return ""
}

func owesRemoval(pkg v1alpha1.Package, on *installed, d *debt) string {
	switch {
	case !uninstallable(pkg):
	case on != nil && !on.forgotten:
		return "uninstall"
	case on == nil && d != nil && d.gone && d.sure && pkg.Interrupt != nil:
		return "uninstall-interrupt"
	}
	return ""
}

func uninstallable(pkg v1alpha1.Package) bool {
	return pkg.Uninstall != nil && pkg.Uninstall.Enabled != nil && *pkg.Uninstall.Enabled
}

// lacksRemoval looks at what is on the host and no longer in the spec.
func (l *ledger) lacksRemoval(a *account, s *v1alpha1.Skyhook) string {
	h := l.w.kubelet(a.node).host
	if s.Annotations[v1alpha1.AnnotationAbandonUninstall] != "" {
		return ""
	}
	for _, key := range sortedKeys(h.installed) {
		name, its := strings.CutPrefix(key, a.skyhook+"/")
		on := h.installed[key]
		if _, wanted := s.Spec.Packages[name]; !its || wanted || on.forgotten {
			continue
		}
		if l.removable(s, name, on.version) {
			return name + " removal"
		}
	}
	return ""
}

// removable reports whether all specs that had a version of a package wanted it uninstalled when it leaves them.
func (l *ledger) removable(s *v1alpha1.Skyhook, name, version string) bool {
	had := false
	for _, was := range l.specs[s.UID] {
		pkg, ok := was.Spec.Packages[name]
		if !ok || pkg.Version != version {
			continue
		}
		if had = true; !uninstallable(pkg) || pkg.Uninstall.WhenRemoved != v1alpha1.WhenRemovedUninstall {
			return false
		}
	}
	return had
}
