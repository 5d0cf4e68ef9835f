package faults

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// cureAll does what the reasons ask for, once per reason, and returns how often each was there in a row. One that stays
// although somebody did what it asks for is a lie.
func (w *World) cureAll(open []reason, before map[string]int) map[string]int {
	now := map[string]int{}
	fresh := map[string]bool{}
	for _, r := range open {
		if before[r.id()] == 0 {
			fresh[r.node] = true // one may hide behind another
		}
	}
	for _, r := range open {
		if slices.Contains(others, r.reason) || slices.Contains(follows, r.reason) {
			continue
		}
		if _, done := now[r.id()]; done {
			continue
		}
		if now[r.id()] = before[r.id()] + 1; fresh[r.node] {
			now[r.id()] = 1
		}
		if now[r.id()] > 3 {
			w.findClass("cure-in-vain", w.vainFacts(r), "%v is still there after %d edits that follow it; %s",
				r, now[r.id()]-1, w.state())
			return now
		}
		if s := w.skyhook(r.skyhook); now[r.id()] == 3 && s != nil && r.pkg != "" &&
			(s.DeletionTimestamp != nil || undoes(r.stage)) {
			w.trace.add(w, "cure: %v: nothing helps; its files stay on the node", r)
			w.abandon(r)
			continue
		}
		w.cure(r, now[r.id()] > 1)
		if w.over {
			return now
		}
	}
	if len(now) == 0 {
		w.findClass("no-cure", "", "nothing of this says what to do: %v", open)
	}
	return now
}

// cure makes the one edit that follows a reason.
func (w *World) cure(r reason, again bool) {
	f, ok := cureKinds[r.reason]
	switch {
	case r.pkg != "" && (again || !ok): // what helped the machine did not help, or the pod has a reason of its own
		f = (*World).curePackage
	case !ok:
		w.findClass("no-cure", r.reason, "nobody knows what to do about %v", r)
		return
	}
	w.trace.add(w, "cure: %v", r)
	f(w, r)
}

// cureKinds are the edits by the reason that asks for them.
var cureKinds = map[string]func(*World, reason){
	"Paused":                   (*World).unpause,
	"AllStopped":               func(w *World, _ reason) { w.resumeAll() },
	"Disabled":                 (*World).enable,
	"RolloutStopped":           (*World).cureStopped,
	"SpecInvalid":              (*World).cureSpec,
	"DeploymentPolicyNotFound": func(w *World, _ reason) { w.policyCreate(w.rng) },
	"DeletionBlocked":          (*World).cureDeletion,
	"ConfigMapConflict":        func(w *World, _ reason) { w.freeNames() },
	"DefinitionConflict":       func(w *World, _ reason) { w.freeNames() },
	"PodRejected":              func(w *World, _ reason) { w.freeNames() },
	"PassFailed":               func(w *World, _ reason) { w.freeNames() }, // all else that fails has ended by itself
	"ConfigMapRefused":         (*World).cureSpec,
	"DefinitionRefused":        (*World).cureSpec,
	"StageRunsLong":            func(w *World, r reason) { w.editSkyhook(r.skyhook, limitStages) },

	"NodeIgnored":        func(w *World, r reason) { w.editNode(r.node, setLabel(v1alpha1.LabelIgnore, "")) },
	"TaintNotTolerable":  func(w *World, r reason) { w.editNode(r.node, dropAllTaints) },
	"NodeStateUnsealed":  func(w *World, r reason) { w.editNode(r.node, dropStates(r.skyhook)) },
	"NodeStateMalformed": func(w *World, r reason) { w.editNode(r.node, dropStates(r.skyhook)) },
	"NodeNotReady":       func(w *World, r reason) { w.repairNode(r.node) },
	"RebootTimeout":      func(w *World, r reason) { w.repairNode(r.node) },
	"WaitingForReboot":   func(w *World, r reason) { w.repairNode(r.node) },

	"ProtectedPod":    func(w *World, r reason) { w.endPods(r.node, true) },
	"PodReturns":      func(w *World, r reason) { w.endPods(r.node, false) },
	"PodUnmanaged":    func(w *World, r reason) { w.endPods(r.node, false) },
	"PodUsesEmptyDir": func(w *World, r reason) { w.endPods(r.node, false) },
	"Evicting":        func(w *World, r reason) { w.endPods(r.node, false) },
	"PodTerminating":  func(w *World, r reason) { w.endPods(r.node, false) },
	"EvictionRefused": func(w *World, _ reason) { w.faults.strict, w.faults.loose = false, true },
	"DrainTimeout": func(w *World, r reason) {
		w.faults.strict, w.faults.loose = false, true
		w.endPods(r.node, false)
	},

	"UninstallRequired":     (*World).cureRequired,
	"DependencyUninstalled": (*World).cureDependency,
	"DefinitionMissing":     (*World).abandon,
}

// freeNames deletes what somebody put where the operator's own objects are to be.
func (w *World) freeNames() {
	for _, pod := range w.cluster.Pods() {
		if pod.Namespace == namespace && metav1.GetControllerOf(pod) == nil {
			w.must(client.IgnoreNotFound(w.cluster.Client().Delete(background, pod.DeepCopy(), client.GracePeriodSeconds(0))))
		}
	}
	for _, cm := range w.cluster.ConfigMaps() {
		if cm.Namespace == namespace && metav1.GetControllerOf(cm) == nil && cm.Name != v1alpha1.StopConfigMap {
			w.must(client.IgnoreNotFound(w.cluster.Client().Delete(background, cm.DeepCopy())))
		}
	}
}

func annotated(key, value string) func(*v1alpha1.Skyhook) {
	return func(s *v1alpha1.Skyhook) {
		if s.Annotations == nil {
			s.Annotations = map[string]string{}
		}
		if s.Annotations[key] = value; value == "" {
			delete(s.Annotations, key)
		}
	}
}

func (w *World) unpause(r reason) { w.editSkyhook(r.skyhook, annotated(v1alpha1.AnnotationPause, "")) }

// enable removes the annotation, and what the Skyhook was disabled for.
func (w *World) enable(r reason) {
	w.editSkyhook(r.skyhook, annotated(v1alpha1.AnnotationDisable, ""))
	w.cureSpec(r)
}

// limitStages ends what hangs: it fails then, and says so.
var limitStages = eachPackage(func(p *v1alpha1.Package) { p.StageTimeout = &metav1.Duration{Duration: shortTimeout} })

func (w *World) cureStopped(r reason) {
	w.cureSpec(r)
	w.editSkyhook(r.skyhook, annotated(v1alpha1.AnnotationResume, strconv.Itoa(w.step)))
}

// cureSpec makes the whole spec a good one, and the policies.
func (w *World) cureSpec(r reason) {
	w.editPolicies("corrects", correctBudget)
	w.editSkyhook(r.skyhook, func(s *v1alpha1.Skyhook) { (&edit{Skyhook: s}).cure() })
}

// curePackage does one of the things that end the failing of a package: its author corrects its content, brings out
// another version, takes it out, or somebody disables or deletes the Skyhook.
func (w *World) curePackage(r reason) {
	way := pick(w.rng, "correct", "correct", "version", "remove", "disable", "delete")
	deleted := w.skyhook(r.skyhook).DeletionTimestamp != nil
	if undoes(r.stage) && way == "version" || deleted && way == "disable" {
		way = "correct" // what is undone is fixed under its own version, and nobody disables what is to go
	}
	w.trace.add(w, "  by way of: %s", way)
	w.watch.cured = way
	others := len(w.cluster.Skyhooks()) > 1
	switch {
	case way == "delete" && others:
		w.remove(w.skyhook(r.skyhook).DeepCopy())
		return
	case way == "disable" && others:
		w.editSkyhook(r.skyhook, annotated(v1alpha1.AnnotationDisable, "true"))
		return
	}
	w.editSkyhook(r.skyhook, func(s *v1alpha1.Skyhook) {
		e := &edit{Rand: w.rng, w: w, Skyhook: s, name: r.pkg}
		switch {
		case way == "remove" && len(s.Spec.Packages) > 1 && s.Spec.Packages[r.pkg].Uninstall == nil:
			delete(s.Spec.Packages, r.pkg)
		case way == "version":
			e.pkg(func(p *v1alpha1.Package) {
				curePackage(p)
				p.Version = "4." + strconv.Itoa(w.step) + ".0"
			})
		default:
			e.pkg(func(p *v1alpha1.Package) {
				curePackage(p)
				if version := w.undone(r); version != "" {
					p.Version = version
				}
				p.Env = []corev1.EnvVar{{Name: "ATTEMPT", Value: strconv.Itoa(w.step)}}
			})
		}
		repairDependencies(s.Spec.Packages)
	})
}

func undoes(s v1alpha1.Stage) bool {
	return s == v1alpha1.StageUninstall || s == v1alpha1.StageUninstallInterrupt
}

// undone is the version of a package whose uninstall fails on the node; empty when it is not one of those.
func (w *World) undone(r reason) string {
	if node := w.node(r.node); node != nil && undoes(r.stage) {
		n, _ := record.Read(r.skyhook, node.Annotations)
		for _, key := range sortedKeys(n.Packages) {
			if e := n.Packages[key]; e.Name == r.pkg && undoes(e.Stage) {
				return e.Version
			}
		}
	}
	return ""
}

// cureDeletion ends what keeps a Skyhook from going.
func (w *World) cureDeletion(r reason) {
	switch {
	case strings.HasPrefix(r.message, "AllStopped"):
		w.resumeAll()
	case strings.HasPrefix(r.message, "Paused"), strings.HasPrefix(r.message, "Disabled"):
		w.unpause(r)
		w.editSkyhook(r.skyhook, annotated(v1alpha1.AnnotationDisable, ""))
	default:
		w.abandon(r)
	}
}

// abandon gives up what is left on all nodes of a Skyhook that is being deleted, or starts over on the node of one that
// is not.
func (w *World) abandon(r reason) {
	if s := w.skyhook(r.skyhook); s != nil && s.DeletionTimestamp == nil && r.node != "" {
		w.editNode(r.node, dropStates(r.skyhook))
		return
	}
	w.editSkyhook(r.skyhook, annotated(v1alpha1.AnnotationAbandonUninstall, strings.Join(names(w.cluster.Nodes()), ",")))
}

func dropStates(skyhook string) func(*corev1.Node) {
	return func(n *corev1.Node) { delete(n.Annotations, v1alpha1.GroupName+"/nodeState_"+skyhook) }
}

func dropAllTaints(n *corev1.Node) { n.Spec.Taints = nil }

// repairNode has somebody look after a machine, and reboot it.
func (w *World) repairNode(node string) {
	k := w.kubelet(node)
	if !k.up {
		k.boot()
		return
	}
	k.goDown()
}

// endPods removes foreign pods from a node for good.
func (w *World) endPods(node string, protected bool) {
	for _, pod := range w.cluster.Pods() {
		_, guarded := pod.Labels[protectedLabel]
		if pod.Namespace != workloads || pod.Spec.NodeName != node || protected && !guarded {
			continue
		}
		for _, s := range w.foreign {
			if s.name == pod.Name {
				s.over = true
			}
		}
		w.remove(pod.DeepCopy(), client.GracePeriodSeconds(0))
	}
}

// cureRequired allows a package to be uninstalled that left the spec.
func (w *World) cureRequired(r reason) {
	w.editSkyhook(r.skyhook, eachPackage(func(p *v1alpha1.Package) {
		p.Uninstall = &v1alpha1.Uninstall{Enabled: new(true), WhenRemoved: v1alpha1.WhenRemovedUninstall}
	}))
}

// cureDependency takes uninstalls back.
func (w *World) cureDependency(r reason) {
	w.editSkyhook(r.skyhook, eachPackage(func(p *v1alpha1.Package) {
		if p.Uninstall != nil {
			p.Uninstall.Apply = false
		}
	}))
}
