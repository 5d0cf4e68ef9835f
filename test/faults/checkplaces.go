package faults

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// entry is the moment at which a node was let in: by which rules that was, and who used the budget then. What people
// change between then and the first pod takes nothing back.
type entry struct {
	step   int
	rules  []rules
	places map[string]bool
}

// rules are how many hosts may be in the middle of work, as one observer sees it.
type rules struct {
	// limit is for all hosts, unless there are compartments; negative for none.
	limit int
	// homes are the compartments of nodes, and ceilings theirs.
	homes    map[string]string
	ceilings map[string]int
	policy   bool
}

// letIn notes that a node is let in.
func (l *ledger) letIn(node string, s *v1alpha1.Skyhook) {
	l.account(node, s.Name).late = false
	l.entries[node+"/"+s.Name] = entry{step: l.w.step, rules: l.rulesOf(s), places: l.places(s)}
}

// left notes that a node has to be let in again before work begins there.
func (l *ledger) left(node, skyhook string) { delete(l.entries, node+"/"+skyhook) }

// places are the hosts on which work of a Skyhook has begun and that are not whole, and whether each is one that failed
// without having been disturbed: under a policy it makes room.
func (l *ledger) places(s *v1alpha1.Skyhook) map[string]bool {
	places, views := map[string]bool{}, l.w.views(s)
	for _, a := range l.of(s.Name) {
		n := l.w.node(a.node)
		if a.owner != s.UID || n == nil || a.tampered || l.w.kubelet(a.node).host.forged[s.Name] || l.w.takenOut(a.node, s) ||
			l.settle(a, views) {
			continue
		}
		places[a.node] = l.givesUp(a, n, views)
	}
	return places
}

const (
	// attemptsForGood is how often a stage fails before others may go on instead, without a limit of its own, and
	// failingForGood how long it does.
	attemptsForGood = 3
	failingForGood  = 4 * time.Minute
	// unawareSteps is for how many steps an operator may not know what became of a host.
	unawareSteps = 150
)

// givesUp reports whether a host may have failed for good, and is neither cordoned by us nor interrupted.
func (l *ledger) givesUp(a *account, n *corev1.Node, views []*v1alpha1.Skyhook) bool {
	if n.Spec.Unschedulable && !l.w.watch.userCordon[n.Name] && !l.others(a) {
		return false
	}
	attempts := attemptsForGood
	for _, v := range views {
		for _, pkg := range v.Spec.Packages {
			if pkg.MaxRetries != nil {
				attempts = min(attempts, int(*pkg.MaxRetries)+1)
			}
		}
	}
	failed := a.late
	for _, f := range a.failures {
		failed = failed || f.all >= attempts || l.longAgo(f.since, failingForGood)
	}
	for _, pod := range l.w.cluster.Pods() {
		owner, ours := ownerOf(pod)
		if !ours || owner.UID != a.owner || pod.Spec.NodeName != a.node || !live(pod) {
			continue
		}
		if isInterruptStage(identityOf(pod).Stage) {
			return false
		}
		failed = failed || l.overTime(pod, views) || failing(pod) && l.longAgo(pod.CreationTimestamp.Time, failingForGood)
	}
	return failed
}

// others reports whether the cordon of a host may be that of another Skyhook.
func (l *ledger) others(a *account) bool {
	for _, other := range l.accounts {
		if other.node == a.node && other.skyhook != a.skyhook && other.owner != "" {
			return true
		}
	}
	return false
}

// overTime reports whether a stage lasts longer than a spec allows.
func (l *ledger) overTime(pod *corev1.Pod, views []*v1alpha1.Skyhook) bool {
	return slices.ContainsFunc(views, func(v *v1alpha1.Skyhook) bool {
		limit := v.Spec.Packages[identityOf(pod).Name].StageTimeout
		return limit != nil && l.longAgo(pod.CreationTimestamp.Time, limit.Duration-5*time.Second)
	})
}

// longAgo reports whether a time may be as long ago, by any clock.
func (l *ledger) longAgo(t time.Time, d time.Duration) bool {
	return l.w.now.Sub(t) >= d || !l.w.clocksAgree()
}

// checkPlace: as many hosts as budget or policy allow are in the middle of work when it begins on another one.
func (l *ledger) checkPlace(a *account, s *v1alpha1.Skyhook) {
	places := l.places(s)
	places[a.node] = false
	in, was := l.entries[a.node+"/"+s.Name]
	all := l.rulesOf(s)
	if was {
		all = append(all, in.rules...)
		for name := range places {
			other := l.account(name, s.Name)
			if _, counted := in.places[name]; name != a.node && !counted && other.began <= in.step {
				delete(places, name) // it came back since: the place was taken already
			}
			if other.recovered > max(0, in.step-unawareSteps) { // 0 is never
				places[name] = true
			}
		}
	}
	if slices.ContainsFunc(all, func(r rules) bool { return r.allow(a.node, places) }) {
		return
	}
	class := "hosts"
	if all[0].policy {
		class = "policy hosts"
	}
	l.w.findClass("budget", class, "work for %s begins on %s, and it has begun and is not done on %v: %s",
		s.Name, a.node, sortedKeys(places), all[0])
}

// allow reports whether a host may be one of those in the middle of work.
func (r rules) allow(node string, places map[string]bool) bool {
	if !r.policy {
		return r.limit < 0 || len(places) <= r.limit
	}
	home, known := r.homes[node]
	if !known || home == unsure {
		return true
	}
	busy := 0
	for name, gaveUp := range places {
		if r.homes[name] == home && (!gaveUp || name == node) {
			busy++
		}
	}
	return busy <= r.ceilings[home]
}

func (r rules) String() string {
	if r.policy {
		return fmt.Sprintf("ceilings %v, homes %v", r.ceilings, r.homes)
	}
	return fmt.Sprintf("limit %d", r.limit)
}

// rulesOf are those that the API server has, then those that each operator sees.
func (l *ledger) rulesOf(s *v1alpha1.Skyhook) []rules {
	var list []rules
	for _, c := range l.w.observers() {
		seen := seenBy(c, s)
		if seen == nil {
			continue
		}
		for _, from := range l.w.observers() { // each kind of object comes at its own time
			nodes := nodesSeenBy(from, seen)
			if seen.Spec.DeploymentPolicy == "" {
				list = append(list, rules{limit: budgetOf(seen.Spec.InterruptionBudget, len(nodes))})
				continue
			}
			for _, c := range l.w.observers() {
				list = append(list, policyRules(c, seen, nodes))
			}
		}
	}
	return list
}

func budgetOf(b v1alpha1.InterruptionBudget, matched int) int {
	switch {
	case b.Count != nil:
		return max(1, *b.Count)
	case b.Percent != nil:
		return max(1, matched**b.Percent/100)
	}
	return -1
}

// policyRules are those of the policy as somebody sees it; while it is not there, others decide what happens.
func policyRules(c client.Reader, s *v1alpha1.Skyhook, nodes []*corev1.Node) rules {
	var p v1alpha1.DeploymentPolicy
	if c.Get(background, client.ObjectKey{Name: s.Spec.DeploymentPolicy}, &p) != nil {
		return rules{limit: -1}
	}
	homes := homesOf(&p, nodes)
	sizes, ceilings := map[string]int{}, map[string]int{}
	for _, home := range homes {
		sizes[home]++
	}
	ceilings[""] = ceiling(p.Spec.Default.Budget, sizes[""])
	for _, c := range p.Spec.Compartments {
		ceilings[c.Name] = ceiling(c.Budget, sizes[c.Name]+sizes[unsure]) // it may have all of those
	}
	return rules{policy: true, homes: homes, ceilings: ceilings}
}

// unsure is the home of a node that several compartments select, if one of them can be stopped: it has the node then, and
// nothing here knows what is stopped.
const unsure = "?"

// homesOf puts each node into one compartment, "" for the default: of several the most careful one has it.
func homesOf(p *v1alpha1.DeploymentPolicy, nodes []*corev1.Node) map[string]string {
	all := slices.Clone(p.Spec.Compartments)
	matched := map[string]int{}
	selects := func(c v1alpha1.Compartment, n *corev1.Node) bool {
		selector, err := metav1.LabelSelectorAsSelector(&c.Selector)
		return err == nil && selector.Matches(labels.Set(n.Labels))
	}
	for _, c := range all {
		for _, n := range nodes {
			if selects(c, n) {
				matched[c.Name]++
			}
		}
	}
	slices.SortFunc(all, func(a, b v1alpha1.Compartment) int {
		return cmp.Or(
			cmp.Compare(pace(p, a), pace(p, b)),
			cmp.Compare(ceiling(a.Budget, matched[a.Name]), ceiling(b.Budget, matched[b.Name])),
			cmp.Compare(a.Name, b.Name),
		)
	})
	homes := map[string]string{}
	for _, n := range nodes {
		homes[n.Name] = ""
		if i := slices.IndexFunc(all, func(c v1alpha1.Compartment) bool { return selects(c, n) }); i >= 0 {
			homes[n.Name] = all[i].Name
			if slices.ContainsFunc(all[i+1:], func(c v1alpha1.Compartment) bool { return selects(c, n) }) && stops(p) {
				homes[n.Name] = unsure
			}
		}
	}
	return homes
}

// stops reports whether a compartment of a policy can be stopped.
func stops(p *v1alpha1.DeploymentPolicy) bool {
	return slices.ContainsFunc(p.Spec.Compartments, func(c v1alpha1.Compartment) bool { return paceOf(p, c.Name).failures > 0 })
}

// pace ranks the strategy of a compartment, the most careful first.
func pace(p *v1alpha1.DeploymentPolicy, c v1alpha1.Compartment) int {
	s := p.Spec.Default.Strategy
	if c.Strategy != nil {
		s = *c.Strategy
	}
	switch {
	case s.Fixed != nil:
		return 0
	case s.Linear != nil:
		return 1
	}
	return 2
}
