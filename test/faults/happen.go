package faults

import (
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/forecast/cluster"
	"github.com/skyhook-operator/skyhook/internal/forecast/podlife"
)

// happen lets one Happening happen; one that finds nothing to hit does nothing.
func (w *World) happen(h Happening) {
	r := rand.New(rand.NewPCG(h.R, 0xacc1))
	if f, ok := editKinds[h.Kind]; ok {
		w.editSomeSkyhook(h.Kind, r, f)
		return
	}
	if f, ok := otherKinds[h.Kind]; ok {
		f(w, r)
		return
	}
	panic("no such happening: " + h.Kind)
}

// otherKinds are the happenings that are no edit of a Skyhook.
var otherKinds = map[string]func(*World, *rand.Rand){
	"undermine":      (*World).undermine,
	"edit-earlier":   (*World).editEarlier,
	"create-skyhook": (*World).happenCreate,
	"delete-skyhook": (*World).happenDelete,
	"force-delete":   (*World).happenForceDelete,

	"delete-pod":   func(w *World, r *rand.Rand) { w.hitPod(r, "delete") },
	"lose-pod":     func(w *World, r *rand.Rand) { w.hitPod(r, "lose") },
	"shutdown-pod": func(w *World, r *rand.Rand) { w.hitPod(r, "shutdown") },

	"ignore-node":     func(w *World, r *rand.Rand) { w.hitNode(r, setLabel(v1alpha1.LabelIgnore, "true")) },
	"unignore-node":   func(w *World, _ *rand.Rand) { w.eachNode(setLabel(v1alpha1.LabelIgnore, "")) },
	"label-node":      func(w *World, r *rand.Rand) { w.hitNode(r, setLabel("pool", pick(r, "x", "y"))) },
	"cordon":          func(w *World, r *rand.Rand) { w.hitNode(r, setCordon(true)) },
	"uncordon":        func(w *World, r *rand.Rand) { w.hitNode(r, setCordon(false)) },
	"taint":           func(w *World, r *rand.Rand) { w.hitNode(r, addTaint) },
	"untaint":         func(w *World, _ *rand.Rand) { w.eachNode(dropTaint) },
	"not-ready":       func(w *World, r *rand.Rand) { w.hitKubelet(r, (*kubelet).flicker) },
	"reboot":          func(w *World, r *rand.Rand) { w.hitKubelet(r, (*kubelet).goDown) },
	"node-down":       func(w *World, r *rand.Rand) { w.hitKubelet(r, func(k *kubelet) { k.lost(w.seconds(60, 900)) }) },
	"delete-node":     func(w *World, r *rand.Rand) { w.hitKubelet(r, (*kubelet).deleteNode) },
	"boot-id-missing": func(w *World, r *rand.Rand) { w.hitKubelet(r, (*kubelet).hideBootID) },

	"foreign-pod": func(w *World, r *rand.Rand) {
		w.happenPod(r, pick(r, podManaged, podReturning, podAlone, podEmptyDir))
	},
	"protected-pod": func(w *World, r *rand.Rand) { w.happenPod(r, podProtected) },
	"late-binding":  func(w *World, r *rand.Rand) { w.faults.bindings = 10 + r.IntN(20) },
	"pdb-strict":    func(w *World, _ *rand.Rand) { w.faults.strict = true },
	"pdb-loose":     func(w *World, _ *rand.Rand) { w.faults.strict = false },

	"crash":             func(w *World, r *rand.Rand) { w.restart(r, 0) },
	"restart":           func(w *World, r *rand.Rand) { w.restart(r, 0) },
	"restart-behind":    func(w *World, r *rand.Rand) { w.restart(r, -time.Duration(1+r.IntN(3600))*time.Second) },
	"restart-ahead":     func(w *World, r *rand.Rand) { w.restart(r, time.Duration(1+r.IntN(3600))*time.Second) },
	"second-operator":   (*World).secondOperator,
	"take-over":         (*World).takeOver,
	"relist":            (*World).happenRelist,
	"write-fails":       func(w *World, r *rand.Rand) { w.faults.failBefore = 1 + r.IntN(4) },
	"write-lost":        func(w *World, r *rand.Rand) { w.faults.failAfter = 1 + r.IntN(4) },
	"crash-after-write": func(w *World, r *rand.Rand) { w.faults.crashAfter = 1 + r.IntN(4) },
	"list-fails":        func(w *World, r *rand.Rand) { w.faults.failLists = 1 + r.IntN(3) },

	"garbage-states": func(w *World, r *rand.Rand) {
		w.hitRecord(r, "nodeState_", pick(r, "{", `{"x":1}`, `{"a|1":{"name":"b","version":"1"}}`, ""))
	},
	"garbage-wait":  func(w *World, r *rand.Rand) { w.hitRecord(r, "wait_", "?") },
	"remove-states": func(w *World, r *rand.Rand) { w.hitRecord(r, "nodeState_", removed) },
	"remove-record": func(w *World, r *rand.Rand) {
		w.hitRecord(r, pick(r, "status_", "cordon_", "version_", "boot_"), removed)
	},

	"move-tags": (*World).moveTags,

	"forge-record": (*World).forgeRecord,
	"forge-node":   func(w *World, r *rand.Rand) { w.hitKubelet(r, (*kubelet).forgeNode) },

	"policy-edit":   (*World).policyEdit,
	"policy-break":  func(w *World, _ *rand.Rand) { w.editPolicies("breaks", breakBudget) },
	"policy-delete": (*World).policyDelete,
	"policy-create": (*World).policyCreate,

	"quota-on":  func(w *World, _ *rand.Rand) { w.faults.quota = "*" },
	"quota-one": func(w *World, r *rand.Rand) { w.faults.quota = pick(r, "conf", "driver", "kernel", "interrupt") },
	"quota-off": func(w *World, _ *rand.Rand) { w.faults.quota = "" },

	"stop-all":       (*World).stopAll,
	"stop-take-over": (*World).stopAndTakeOver,
	"resume-all":     func(w *World, _ *rand.Rand) { w.resumeAll() },

	"delete-maps": (*World).deleteMaps,

	"take-pod-name":    (*World).takePodName,
	"take-config-name": (*World).takeConfigName,
}

func setLabel(key, value string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		if n.Labels == nil {
			n.Labels = map[string]string{}
		}
		if n.Labels[key] = value; value == "" {
			delete(n.Labels, key)
		}
	}
}

func setCordon(to bool) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Spec.Unschedulable = to }
}

const userTaint = "example.com/maintenance"

func addTaint(n *corev1.Node) {
	dropTaint(n)
	n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: userTaint, Effect: corev1.TaintEffectNoSchedule})
}

func dropTaint(n *corev1.Node) {
	var kept []corev1.Taint
	for _, t := range n.Spec.Taints {
		if t.Key != userTaint {
			kept = append(kept, t)
		}
	}
	n.Spec.Taints = kept
}

func (w *World) hitNode(r *rand.Rand, change func(*corev1.Node)) {
	if all := names(w.cluster.Nodes()); len(all) > 0 {
		_, _, node := w.focusOn()
		name := aim(r, node, all)
		w.trace.add(w, "user changes node %s", name)
		w.editNode(name, change)
	}
}

func (w *World) eachNode(change func(*corev1.Node)) {
	for _, name := range names(w.cluster.Nodes()) {
		w.editNode(name, change)
	}
}

func (w *World) hitKubelet(r *rand.Rand, hit func(*kubelet)) {
	k := pick(r, w.kubelets...)
	if w.focus != nil && r.IntN(10) < 8 {
		k = w.kubelet(w.focus.Spec.NodeName)
	}
	if w.node(k.plan.Name) != nil {
		hit(k)
	}
}

// flicker is a kubelet that does not answer for a while, but works.
func (k *kubelet) flicker() {
	if !k.up {
		return
	}
	k.report(false)
	k.w.after(k.w.seconds(1, 120), "node "+k.plan.Name+" is Ready again", func() {
		if k.up {
			k.report(true)
		}
	})
}

func (k *kubelet) hideBootID() {
	k.blind = true
	if k.up {
		k.report(true)
	}
	k.w.after(k.w.seconds(1, 120), "node "+k.plan.Name+" tells its boot id again", k.showBootID)
}

func (k *kubelet) showBootID() {
	if k.blind = false; k.up {
		k.report(true)
	}
}

// deleteMaps is a user who cleans up: what the operator made may go at any time.
func (w *World) deleteMaps(r *rand.Rand) {
	w.trace.add(w, "user deletes ConfigMaps")
	for _, cm := range w.cluster.ConfigMaps() {
		if metav1.GetControllerOf(cm) != nil && r.IntN(3) > 0 {
			w.remove(cm.DeepCopy())
		}
	}
}

// hitPod hits a package pod.
func (w *World) hitPod(r *rand.Rand, how string) {
	var all []*corev1.Pod
	for _, pod := range w.cluster.Pods() {
		if _, ours := ownerOf(pod); ours {
			all = append(all, pod)
		}
	}
	if len(all) == 0 {
		return
	}
	pod := pick(r, all...)
	if w.focus != nil && r.IntN(10) < 8 {
		pod = w.focus
	}
	k := w.kubelet(pod.Spec.NodeName)
	switch state := k.runs[pod.UID]; {
	case how == "delete":
		w.trace.add(w, "user deletes pod %s", pod.Name)
		w.watch.failed(pod)
		w.remove(pod.DeepCopy())
	case state == nil || finishedPod(pod) || state.State == podlife.Over || !k.up:
	case how == "lose":
		k.failPod(pod, state, "Evicted", "The node was low on resource: ephemeral-storage.")
	default:
		k.failPod(pod, state, "Terminated", "Pod was terminated in response to imminent node shutdown.")
		w.remove(pod.DeepCopy())
	}
}

func (w *World) happenPod(r *rand.Rand, kind string) {
	p := PodPlan{Name: w.unique("late"), Node: pick(r, w.plan.Nodes...).Name, Kind: kind, Grace: r.IntN(40)}
	if kind == podProtected || r.IntN(2) == 0 {
		p.Lives = 1 + r.IntN(600)
	}
	w.addForeign(p)
}

// bindLate is the scheduler, which binds a pod to a node after an operator looked at its pods and before it cordons it.
func (w *World) bindLate(node string) {
	if n := w.node(node); n == nil || n.Spec.Unschedulable || w.chance(0.5) {
		return
	}
	w.trace.add(w, "  the scheduler binds a pod to %s meanwhile", node)
	w.addForeign(PodPlan{
		Name: w.unique("bound"), Node: node, Kind: pick(w.rng, podManaged, podProtected), Grace: w.rng.IntN(40),
		Lives: 1 + w.rng.IntN(600),
	})
}

// restart ends the operator and starts another one, with another clock.
func (w *World) restart(r *rand.Rand, offset time.Duration) {
	if len(w.operators) > 0 {
		w.kill(pick(r, w.operators...), "ends")
	}
	w.startOperator(offset)
}

// secondOperator is a new leader while the old one does not know yet that it is none.
func (w *World) secondOperator(r *rand.Rand) {
	if len(w.operators) != 1 {
		return
	}
	w.operators[0].dies = w.step + 1 + r.IntN(60)
	w.startOperator(0)
}

// takeOver is a new leader whose cache of pods is old, and stays so for a while: it knows what a node remembers, and
// not the pods that followed. Meanwhile a user may want something else.
func (w *World) takeOver(r *rand.Rand) {
	w.startBehind(r, cluster.Pods)
	if kind := pick(r, "", "version-up", "version-down", "edit-config"); kind != "" {
		w.editSomeSkyhook(kind, r, editKinds[kind])
	}
}

// stopAndTakeOver is a person who stops all Skyhooks, and a new leader whose cache does not show that for a while.
func (w *World) stopAndTakeOver(r *rand.Rand) {
	w.stopAll(r)
	w.startBehind(r, cluster.ConfigMaps)
}

// startBehind starts the operator again, with an old cache of one kind that stays so for a while.
func (w *World) startBehind(r *rand.Rand, k cluster.Kind) {
	w.old = map[cluster.Kind]int{k: 1 + r.IntN(20)}
	w.restart(r, 0)
	w.old = nil
	o := w.operators[len(w.operators)-1]
	o.late, o.from = k, w.step+r.IntN(60)
}

func (w *World) happenRelist(r *rand.Rand) {
	if len(w.operators) == 0 {
		return
	}
	o := pick(r, w.operators...)
	if kinds := o.replica.Pending(); len(kinds) > 0 {
		k := pick(r, kinds...)
		w.trace.add(w, "%s lists %s again", o.name, k)
		o.deliver(o.replica.Relist(k))
	}
}

// removed marks an annotation that is to go.
const removed = "\x00"

// hitRecord edits an annotation of ours on a node.
func (w *World) hitRecord(r *rand.Rand, prefix, value string) {
	var nodes, keys []string
	for _, n := range w.cluster.Nodes() {
		for _, s := range w.cluster.Skyhooks() {
			key := v1alpha1.GroupName + "/" + prefix + s.Name
			if _, ok := n.Annotations[key]; ok {
				nodes, keys = append(nodes, n.Name), append(keys, key)
			}
		}
	}
	if len(nodes) == 0 {
		return
	}
	at := r.IntN(len(nodes))
	w.trace.add(w, "user sets annotation %s of node %s to %q", keys[at], nodes[at], value)
	w.editNode(nodes[at], func(n *corev1.Node) {
		if n.Annotations[keys[at]] = value; value == removed {
			delete(n.Annotations, keys[at])
		}
		if prefix == "cordon_" && n.Spec.Unschedulable && !hasCordon(n) {
			w.watch.userCordon[n.Name] = true // nobody can tell any more that it was ours
		}
	})
}

func (w *World) policyEdit(r *rand.Rand) {
	g := &generator{Rand: r}
	w.editPolicies("edits", func(p *v1alpha1.DeploymentPolicySpec) { *p = g.policySpec() })
}

func (w *World) editPolicies(verb string, change func(*v1alpha1.DeploymentPolicySpec)) {
	for _, p := range w.cluster.Policies() {
		p = p.DeepCopy()
		change(&p.Spec)
		w.trace.add(w, "user %s policy %s", verb, p.Name)
		w.must(w.user.Update(background, p))
	}
}

// breakBudget is a mistake that only admission refuses: both forms of a budget at once.
func breakBudget(p *v1alpha1.DeploymentPolicySpec) {
	p.Default.Budget = v1alpha1.Budget{Count: new(1), Percent: new(50)}
}

func correctBudget(p *v1alpha1.DeploymentPolicySpec) {
	if p.Default.Budget.Count != nil {
		p.Default.Budget.Percent = nil
	}
}

func (w *World) policyDelete(*rand.Rand) {
	for _, p := range w.cluster.Policies() {
		w.remove(p.DeepCopy())
	}
}

func (w *World) policyCreate(r *rand.Rand) {
	g := &generator{Rand: r}
	w.create(&v1alpha1.DeploymentPolicy{ObjectMeta: metav1.ObjectMeta{Name: "pace"}, Spec: g.policySpec()})
}

func (w *World) happenCreate(r *rand.Rand) {
	for _, s := range w.plan.Skyhooks {
		if w.skyhook(s.Name) == nil && r.IntN(2) == 0 {
			w.trace.add(w, "user creates Skyhook %s", s.Name)
			w.createSkyhook(s)
		}
	}
}

func (w *World) happenDelete(r *rand.Rand) {
	if all := names(w.cluster.Skyhooks()); len(all) > 0 {
		focus, _, _ := w.focusOn()
		name := aim(r, focus, all)
		w.trace.add(w, "user deletes Skyhook %s", name)
		w.remove(w.skyhook(name).DeepCopy())
	}
}

// happenForceDelete deletes a Skyhook and takes its finalizer away.
func (w *World) happenForceDelete(r *rand.Rand) {
	all := names(w.cluster.Skyhooks())
	if len(all) == 0 {
		return
	}
	focus, _, _ := w.focusOn()
	name := aim(r, focus, all)
	w.trace.add(w, "user deletes Skyhook %s by force", name)
	w.remove(w.skyhook(name).DeepCopy())
	w.editSkyhook(name, func(s *v1alpha1.Skyhook) { s.Finalizers = nil })
}
