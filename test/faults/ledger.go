package faults

import (
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// ledger tells what hosts went through for each Skyhook: what ran there, and what specs ask for. Nothing in it is what
// the operator says of itself, in records, permits or conditions: else it would count as the operator does.
type ledger struct {
	w        *World
	accounts map[string]*account
	// specs are all that a Skyhook had, the newest last.
	specs map[types.UID][]*v1alpha1.Skyhook
	// entries are the moments at which nodes were let in, by node and Skyhook.
	entries map[string]entry
	// rollouts are the hosts on which a content began, by the Skyhook and the generation that the content came with, and
	// policies are all that there were of a name.
	rollouts map[string][]member
	policies map[string][]*v1alpha1.DeploymentPolicy
	// changed is the step at which a person last changed a Skyhook, by its UID, or a policy, by its name.
	changed map[string]int
	// relabelled is the step at which a person last changed the labels of a node, by its name.
	relabelled map[string]int
}

// account is one host for one Skyhook, by its name: a new one of that name takes over what is on the disk.
type account struct {
	node, skyhook string
	// owner is the Skyhook whose work has begun and was not whole since; empty when none is.
	owner types.UID
	// began is the step at which it did, and touched says that a pod was created since.
	began   int
	touched bool
	// content is the spec with which it did, or of which it got something new since.
	content *v1alpha1.Skyhook
	// debts are what packages owe, by their names.
	debts map[string]*debt
	// failures are those of packages since their last success, by the packages' names, and recovered is the step of the last
	// such success.
	failures  map[string]*failures
	recovered int
	// late says that a stage lasted longer than a spec allows, since the host was let in.
	late bool
	// tampered says that a user edited what the operator remembers of the host, so that nobody can know what has begun.
	tampered bool
	// blemished is the step at which something last happened that may end in a verdict on the host.
	blemished int
	// unseen are packages of which a stage ended well as its pod was deleted: maybe nobody learnt of it.
	unseen map[string]bool
}

// failures are what failed in a row, from when on. attempts are those of them that were no pods that got lost, and doomed
// is the step at which they were too many.
type failures struct {
	all, attempts, doomed int
	since                 time.Time
}

func newLedger(w *World) ledger {
	return ledger{
		w: w, accounts: map[string]*account{}, specs: map[types.UID][]*v1alpha1.Skyhook{}, entries: map[string]entry{},
		rollouts: map[string][]member{}, policies: map[string][]*v1alpha1.DeploymentPolicy{}, changed: map[string]int{},
		relabelled: map[string]int{},
	}
}

func (l *ledger) account(node, skyhook string) *account {
	key := node + "/" + skyhook
	a := l.accounts[key]
	if a == nil {
		a = &account{
			node: node, skyhook: skyhook, debts: map[string]*debt{}, unseen: map[string]bool{}, failures: map[string]*failures{},
		}
		l.accounts[key] = a
	}
	return a
}

// of are the accounts of a Skyhook, by the names of their nodes.
func (l *ledger) of(skyhook string) []*account {
	var list []*account
	for _, key := range sortedKeys(l.accounts) {
		if l.accounts[key].skyhook == skyhook {
			list = append(list, l.accounts[key])
		}
	}
	return list
}

// nodeGone forgets a host. One on which work had begun was a bad member of its batch; so is one that was let in, of which
// nobody can tell any more whether it had.
func (l *ledger) nodeGone(node string) {
	for key, a := range l.accounts {
		if a.node == node {
			_, in := l.entries[key]
			l.w.watch.troubled[a.skyhook] = l.w.watch.troubled[a.skyhook] || a.owner != "" || in
			delete(l.accounts, key)
		}
	}
}

// reinstalled forgets what a host had: it owes nothing any more, and has nothing.
func (l *ledger) reinstalled(node string) {
	for _, a := range l.accounts {
		if a.node == node {
			clear(a.debts)
			clear(a.unseen)
			clear(a.failures)
		}
	}
}

// edited notes a spec.
func (l *ledger) edited(s *v1alpha1.Skyhook) {
	list := l.specs[s.UID]
	if len(list) > 0 && list[len(list)-1].Generation == s.Generation {
		return
	}
	l.specs[s.UID] = append(list, s)
	l.changed[string(s.UID)] = l.w.step
	for _, a := range l.of(s.Name) {
		a.forgive(s)
	}
}

// steered notes what people tell a Skyhook other than its spec.
func (l *ledger) steered(old, now *v1alpha1.Skyhook) {
	if old.Disabled() != now.Disabled() || old.Paused() != now.Paused() ||
		old.Annotations[v1alpha1.AnnotationResume] != now.Annotations[v1alpha1.AnnotationResume] {
		l.changed[string(now.UID)] = l.w.step
		l.blemish("", now.Name)
	}
	if !reflect.DeepEqual(old.Spec.NodeSelectors, now.Spec.NodeSelectors) {
		l.blemish("", now.Name)
	}
}

// policyChanged notes a policy.
func (l *ledger) policyChanged(p *v1alpha1.DeploymentPolicy) {
	list := l.policies[p.Name]
	if len(list) > 0 && reflect.DeepEqual(list[len(list)-1].Spec, p.Spec) {
		return
	}
	l.policies[p.Name], l.changed[p.Name] = append(list, p), l.w.step
}

// begins notes that work begins on a host, unless it has begun already.
func (l *ledger) begins(node string, s *v1alpha1.Skyhook) (fresh bool) {
	a, views := l.account(node, s.Name), l.w.views(s)
	if a.owner == s.UID && !l.settle(a, views) {
		return false
	}
	a.owner, a.began, a.touched, a.tampered = s.UID, l.w.step, false, false
	l.checkPlace(a, s)
	return true
}

// uncordoned ends an account if nothing but the cordon ever came of it.
func (l *ledger) uncordoned(node, skyhook string) {
	if a := l.account(node, skyhook); !a.touched {
		a.owner = ""
	}
}

// settle ends an account once its host has all that is wanted, by any of the specs that somebody sees.
func (l *ledger) settle(a *account, views []*v1alpha1.Skyhook) (whole bool) {
	for _, v := range views {
		if l.lacks(a, v) == "" {
			a.owner, a.tampered, a.late = "", false, false
			clear(a.failures)
			return true
		}
	}
	return false
}

// settleAll looks at a host after something changed there.
func (l *ledger) settleAll(node string) {
	for _, key := range sortedKeys(l.accounts) {
		a := l.accounts[key]
		if a.node != node || a.owner == "" {
			continue
		}
		if s := l.w.skyhook(a.skyhook); s != nil && s.UID == a.owner {
			l.settle(a, l.w.views(s))
		}
	}
}

// failed notes that something failed on a host, and succeeded that a stage ended well.
func (l *ledger) failed(node string, id identity) {
	a := l.account(node, id.Skyhook)
	f := a.failures[id.Name]
	if f == nil {
		f = &failures{since: l.w.now}
		a.failures[id.Name] = f
	}
	f.all++
	a.blemished = l.w.step
}

// overran notes a pod that ends, if its stage took longer than a spec allows.
func (l *ledger) overran(pod *corev1.Pod, id identity) {
	s := l.w.skyhook(id.Skyhook)
	if s == nil || !live(pod) || !l.overTime(pod, l.w.views(s)) {
		return
	}
	a := l.account(pod.Spec.NodeName, id.Skyhook)
	a.late, a.blemished = true, l.w.step
}

// attempted notes that what failed was a container by itself.
func (l *ledger) attempted(node string, id identity) {
	f := l.account(node, id.Skyhook).failures[id.Name]
	f.attempts++
	if f.attempts == 2*attemptsForGood { // whatever its limit, and seen by now
		f.doomed = l.w.step
	}
}

func (a *account) succeeded(step int, pkg string) {
	if a.failures[pkg] != nil {
		a.recovered = step
		delete(a.failures, pkg)
	}
}

// doomed is the step at which a package had failed too often.
func (a *account) doomed() int {
	step := 0
	for _, f := range a.failures {
		step = max(step, f.doomed)
	}
	return step
}

// observers are all through whom the cluster can be seen: the API server, and each operator's caches.
func (w *World) observers() []client.Reader {
	list := []client.Reader{w.user}
	for _, o := range w.operators {
		list = append(list, o.replica.Client())
	}
	return list
}

// views are the specs of a Skyhook that somebody sees: the one that is there first.
func (w *World) views(s *v1alpha1.Skyhook) []*v1alpha1.Skyhook {
	list := []*v1alpha1.Skyhook{s}
	for _, o := range w.operators {
		if seen := seenBy(o.replica.Client(), s); seen != nil && (seen.Generation != s.Generation || seen.Disabled() != s.Disabled()) {
			list = append(list, seen)
		}
	}
	return list
}

// seenBy is a Skyhook as somebody sees it; nil when not at all.
func seenBy(c client.Reader, s *v1alpha1.Skyhook) *v1alpha1.Skyhook {
	var seen v1alpha1.Skyhook
	if c.Get(background, client.ObjectKeyFromObject(s), &seen) != nil || seen.UID != s.UID {
		return nil
	}
	return &seen
}

// nodesSeenBy are the nodes that a Skyhook selects, as somebody sees them.
func nodesSeenBy(c client.Reader, s *v1alpha1.Skyhook) []*corev1.Node {
	var nodes corev1.NodeList
	selector, err := metav1.LabelSelectorAsSelector(&s.Spec.NodeSelectors)
	if err != nil || c.List(background, &nodes, client.MatchingLabelsSelector{Selector: selector}) != nil {
		return nil
	}
	list := make([]*corev1.Node, len(nodes.Items))
	for i := range nodes.Items {
		list[i] = &nodes.Items[i]
	}
	return list
}

// takenOut reports whether a person keeps a Skyhook off a node, or it no longer is one of its, as far as anybody sees.
func (w *World) takenOut(node string, s *v1alpha1.Skyhook) bool {
	for _, c := range w.observers() {
		seen := seenBy(c, s)
		var n corev1.Node
		if seen == nil || seen.Disabled() || c.Get(background, client.ObjectKey{Name: node}, &n) != nil || v1alpha1.Ignored(n.Labels) {
			return true
		}
		if !selects(seen, &n) {
			return true
		}
	}
	return false
}
