package faults

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/version"
)

// member is a host on which some content began.
type member struct {
	node  string
	began int
}

// joins notes that work with a content begins on a host under a policy, and compares how many there are with what the
// policy allows. A host that is in the middle of work joins with the first pod that differs for the new content.
func (l *ledger) joins(pod *corev1.Pod, id identity, s *v1alpha1.Skyhook, fresh bool) {
	if l.w.acting == nil || isInterruptStage(id.Stage) || s.DeletionTimestamp != nil {
		return
	}
	seen := seenBy(l.w.acting.replica.Client(), s)
	if seen == nil {
		return
	}
	a := l.account(pod.Spec.NodeName, s.Name)
	had := a.content
	if fresh || had == nil {
		a.content = seen
	}
	if seen.Spec.DeploymentPolicy == "" || s.Spec.DeploymentPolicy != seen.Spec.DeploymentPolicy {
		return
	}
	in, was := l.entries[pod.Spec.NodeName+"/"+s.Name]
	again := was && in.step > a.began
	if !fresh && !again && (had == nil || sameContent(had.Spec.Packages[id.Name], seen.Spec.Packages[id.Name])) {
		return // it continues with what it had, maybe from before there was a policy
	}
	a.content = seen
	key := fmt.Sprintf("%s %d", s.UID, l.era(seen))
	members := l.rollouts[key]
	if i := slices.IndexFunc(members, func(m member) bool { return m.node == pod.Spec.NodeName }); i >= 0 {
		if fresh {
			members[i].began = l.w.step
		}
		return
	}
	if was && slices.ContainsFunc(in.rules, func(r rules) bool { return !r.policy }) {
		return // it was let in before there was a policy
	}
	members = append(members, member{pod.Spec.NodeName, l.w.step})
	l.rollouts[key] = members
	l.checkBatch(pod, s, members)
}

// era is when the content of a spec began, as a generation.
func (l *ledger) era(seen *v1alpha1.Skyhook) (generation int64) {
	list := l.specs[seen.UID]
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].Generation > seen.Generation {
			continue
		}
		if !sameContents(list[i], seen) {
			break
		}
		generation = list[i].Generation
	}
	return generation
}

func sameContents(a, b *v1alpha1.Skyhook) bool {
	if len(a.Spec.Packages) != len(b.Spec.Packages) {
		return false
	}
	for name, pkg := range a.Spec.Packages {
		if other, ok := b.Spec.Packages[name]; !ok || !sameContent(pkg, other) {
			return false
		}
	}
	return true
}

// sameContent reports whether two definitions of a package put the same on hosts.
func sameContent(a, b v1alpha1.Package) bool {
	return a.Version == b.Version && a.Image == b.Image && a.ContainerSHA == b.ContainerSHA && leaves(a) == leaves(b) &&
		reflect.DeepEqual(a.ConfigMap, b.ConfigMap) && reflect.DeepEqual(a.Env, b.Env)
}

// checkBatch: under any of the policies that there were, the last of the members may have begun.
func (l *ledger) checkBatch(pod *corev1.Pod, s *v1alpha1.Skyhook, members []member) {
	nodes := l.w.selected(s)
	policies, last := l.policies[s.Spec.DeploymentPolicy], members[len(members)-1]
	if slices.ContainsFunc(members, func(m member) bool { return l.relabelled[m.node] > 0 }) {
		return // nobody here knows in which compartment it was let in
	}
	var tooMany, missed string
	for _, p := range policies {
		homes := homesOf(p, nodes)
		home, there := homes[last.node]
		if !there || home == unsure || p.Spec.ResetBatchStateOnCompletion != nil && !*p.Spec.ResetBatchStateOnCompletion {
			return
		}
		pending, judged := l.inCompartment(home, homes, s, members)
		pace := paceOf(p, home)
		if len(pending) <= pace.bound(judged) {
			tooMany = ""
			break
		}
		tooMany = fmt.Sprintf("%v have begun and are not done, and %d are: at most %d may, by %+v", pending, judged, pace.bound(judged), pace)
	}
	if tooMany != "" {
		class := "later"
		if !slices.ContainsFunc(members, func(m member) bool { return m != last && !l.pending(m, s) }) {
			class = "first"
		}
		l.w.findClass("batch", class, "%s begins %s on %s: %s", pod.Name, s.Name, last.node, tooMany)
	}
	if len(policies) > 0 {
		missed = l.missedStop(policies[len(policies)-1], s, nodes, members)
	}
	if missed != "" {
		l.w.findClass("stop", "missed", "%s begins %s on %s, although %s", pod.Name, s.Name, last.node, missed)
	}
}

// inCompartment are the members of a compartment on which there can be no verdict yet, the one that begins among them,
// and how many others it has, or may have.
func (l *ledger) inCompartment(home string, homes map[string]string, s *v1alpha1.Skyhook, members []member) (
	pending []string, judged int,
) {
	for _, m := range members {
		works := l.pending(m, s) // also the last may have been away since it was let in, before anything of it began
		switch homes[m.node] {
		case home:
			if works {
				pending = append(pending, m.node)
			} else {
				judged++
			}
		case unsure:
			if !works {
				judged++
			}
		}
	}
	return pending, judged + l.beforehand(home, homes, s, members)
}

// beforehand is on how many nodes of a compartment the same content began before there was a policy: batches take them in.
func (l *ledger) beforehand(home string, homes map[string]string, s *v1alpha1.Skyhook, members []member) (n int) {
	now := l.account(members[len(members)-1].node, s.Name).content
	for node, at := range homes {
		had := l.account(node, s.Name).content
		joined := slices.ContainsFunc(members, func(m member) bool { return m.node == node })
		if !joined && (at == home || at == unsure) && had != nil && sameContents(had, now) {
			n++
		}
	}
	return n
}

// pending reports whether there can be no verdict on a member yet: it works, and nothing ever went wrong there.
func (l *ledger) pending(m member, s *v1alpha1.Skyhook) bool {
	a, since := l.account(m.node, s.Name), m.began
	if in, ok := l.entries[m.node+"/"+s.Name]; ok { // it may have waited for a while before anything of it began
		since = min(since, in.step)
	}
	return a.owner == s.UID && a.began <= m.began && a.blemished < since && l.w.node(m.node) != nil &&
		!l.settle(a, l.w.views(s)) && !l.w.takenOut(m.node, s) && !l.overslept(m.node, s) &&
		!l.w.watch.unstarted(m.node, s.Name) && !l.refused(m.node, s)
}

// refused reports whether only another spec helps a host: a package on it has to be uninstalled before it may leave the
// spec, or give way to an older version, and the spec does not ask for that.
func (l *ledger) refused(node string, s *v1alpha1.Skyhook) bool {
	for _, v := range l.w.views(s) {
		for _, pkg := range v.Spec.Packages {
			for on := range pkg.DependsOn {
				if leaves(v.Spec.Packages[on]) { // what depends on it can never be installed
					return true
				}
			}
		}
	}
	for key, on := range l.w.kubelet(node).host.installed {
		name, its := strings.CutPrefix(key, s.Name+"/")
		guarded := slices.ContainsFunc(l.specs[s.UID], func(was *v1alpha1.Skyhook) bool {
			pkg, ok := was.Spec.Packages[name]
			return ok && pkg.Version == on.version && uninstallable(pkg) && pkg.Uninstall.WhenRemoved != v1alpha1.WhenRemovedUninstall
		})
		gone := slices.ContainsFunc(l.w.views(s), func(v *v1alpha1.Skyhook) bool {
			pkg, ok := v.Spec.Packages[name]
			return !ok || version.Older(pkg.Version, on.version)
		})
		if its && guarded && gone {
			return true
		}
	}
	return false
}

// overslept reports whether a host is down for longer than a stage may take: its reboot counts as failed.
func (l *ledger) overslept(node string, s *v1alpha1.Skyhook) bool {
	k := l.w.kubelet(node)
	return !k.up && slices.ContainsFunc(l.w.views(s), func(v *v1alpha1.Skyhook) bool {
		return slices.ContainsFunc(slices.Collect(maps.Values(v.Spec.Packages)), func(p v1alpha1.Package) bool {
			return p.StageTimeout != nil && l.longAgo(k.wentDown, p.StageTimeout.Duration-time.Minute)
		})
	})
}

// blemish notes that something happened to a host by which a verdict on it may have come.
func (l *ledger) blemish(node, skyhook string) {
	for _, key := range sortedKeys(l.accounts) {
		if a := l.accounts[key]; (node == "" || a.node == node) && (skyhook == "" || a.skyhook == skyhook) {
			a.blemished = l.w.step
		}
	}
}

// blemished reports whether that is true of any host.
func (l *ledger) blemished(skyhook string) bool {
	return slices.ContainsFunc(l.of(skyhook), func(a *account) bool { return a.blemished > 0 })
}

// doomed is the step at which a member became bad for good as far as its host tells: its stage fails again and again.
func (l *ledger) doomed(m member, s *v1alpha1.Skyhook) (step int, is bool) {
	a := l.account(m.node, s.Name)
	n := l.w.node(m.node)
	step = a.doomed()
	is = a.owner == s.UID && step > 0 && step > m.began && n != nil && l.w.free(n) && !l.w.takenOut(m.node, s) &&
		l.lacks(a, s) != ""
	return step, is
}

// missedStop says why a rollout should have stopped before its last member; empty when it need not have. All members
// before it have to be bad for good, since before it was let in and since the last edit.
func (l *ledger) missedStop(p *v1alpha1.DeploymentPolicy, s *v1alpha1.Skyhook, nodes []*corev1.Node, members []member) string {
	homes, last := homesOf(p, nodes), members[len(members)-1]
	pace, total, bad := paceOf(p, homes[last.node]), 0, 0
	in, was := l.entries[last.node+"/"+s.Name]
	if !was {
		in.step = last.began
	}
	if homes[last.node] == unsure {
		return ""
	}
	for _, home := range homes {
		if home == homes[last.node] {
			total++
		}
	}
	for _, m := range members[:len(members)-1] {
		if homes[m.node] == unsure {
			return ""
		}
		if homes[m.node] != homes[last.node] {
			continue
		}
		step, is := l.doomed(m, s)
		if !is || step+unawareSteps > in.step || step < l.changed[string(s.UID)] || m.began < l.changed[s.Spec.DeploymentPolicy] {
			return ""
		}
		bad++
	}
	batches := (bad + pace.initial - 1) / pace.initial
	if pace.failures == 0 || batches < pace.failures || bad*100/max(1, total) >= pace.safety {
		return ""
	}
	return fmt.Sprintf("%d of %d nodes failed for good, all that had begun: %+v", bad, total, pace)
}

// strategy is how a compartment is paced.
type strategy struct {
	initial, delta, factor int
	failures, safety       int
}

func paceOf(p *v1alpha1.DeploymentPolicy, home string) strategy {
	s := p.Spec.Default.Strategy
	for _, c := range p.Spec.Compartments {
		if c.Name == home && c.Strategy != nil {
			s = *c.Strategy
		}
	}
	var rules v1alpha1.BatchRules
	out := strategy{}
	switch {
	case s.Linear != nil:
		rules, out.delta = s.Linear.BatchRules, ptr.Deref(s.Linear.Delta, 1)
	case s.Exponential != nil:
		rules, out.factor = s.Exponential.BatchRules, ptr.Deref(s.Exponential.GrowthFactor, 2)
	case s.Fixed != nil:
		rules = s.Fixed.BatchRules
	}
	out.initial, out.failures = ptr.Deref(rules.InitialBatch, 1), ptr.Deref(rules.FailureThreshold, 0)
	out.safety = ptr.Deref(rules.SafetyLimit, 50)
	return out
}

// bound is how many members may work at a time when there was a verdict on others: the first batch is the initial one,
// and a later one follows from those that were done in the last.
func (s strategy) bound(judged int) int {
	switch {
	case judged == 0, s.delta == 0 && s.factor == 0:
		return s.initial
	case s.factor > 0:
		return max(s.initial, s.factor*judged)
	}
	return s.initial + s.delta*judged
}
