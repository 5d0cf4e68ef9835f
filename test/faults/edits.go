package faults

import (
	"math/rand/v2"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

// edit is one edit that a user makes.
type edit struct {
	*rand.Rand
	w *World
	*v1alpha1.Skyhook
	// name of the package that it is about; empty when there is none.
	name string
}

func (w *World) editSomeSkyhook(kind string, r *rand.Rand, change func(*edit)) {
	all := names(w.cluster.Skyhooks())
	if len(all) == 0 {
		return
	}
	focus, pkg, _ := w.focusOn()
	name := aim(r, focus, all)
	w.editSkyhook(name, func(s *v1alpha1.Skyhook) {
		e := &edit{Rand: r, w: w, Skyhook: s}
		if len(s.Spec.Packages) > 0 {
			e.name = aim(r, pkg, sortedKeys(s.Spec.Packages))
		} else if s.Spec.Packages == nil {
			s.Spec.Packages = map[string]v1alpha1.Package{}
		}
		w.trace.add(w, "user: %s on Skyhook %s, package %q", kind, name, e.name)
		change(e)
	})
}

// pkg edits the package.
func (e *edit) pkg(change func(*v1alpha1.Package)) {
	if pkg, ok := e.Spec.Packages[e.name]; ok {
		change(&pkg)
		e.Spec.Packages[e.name] = pkg
	}
}

func (e *edit) annotate(key, value string) {
	annotated(key, value)(e.Skyhook)
}

func (e *edit) generator() *generator { return &generator{Rand: e.Rand, odds: odds{interrupt: 0.5}} }

// editKinds are the edits of a Skyhook.
var editKinds = map[string]func(*edit){
	"edit-config": (*edit).config,
	"edit-env": func(e *edit) {
		e.pkg(func(p *v1alpha1.Package) { p.Env = []corev1.EnvVar{{Name: "MODE", Value: e.word()}} })
	},
	"version-up":       func(e *edit) { e.version(pick(e.Rand, "2.1.0", "3.0.0", "3.1.0")) },
	"version-down":     func(e *edit) { e.version(pick(e.Rand, "0.9.0", "1.0.0", "1.1.0")) },
	"edit-interrupt":   (*edit).interrupt,
	"poison":           func(e *edit) { e.pkg(func(p *v1alpha1.Package) { e.generator().poison(p) }); e.follow() },
	"cure":             (*edit).cure,
	"remove-package":   (*edit).removePackage,
	"add-package":      (*edit).addPackage,
	"rename-package":   (*edit).rename,
	"edit-budget":      (*edit).budget,
	"edit-priority":    func(e *edit) { e.Spec.Priority = 100 * (1 + e.IntN(3)) },
	"edit-serial":      func(e *edit) { e.Spec.Serial = !e.Spec.Serial },
	"edit-limits":      (*edit).limits,
	"edit-drain":       func(e *edit) { e.Spec.Drain = &v1alpha1.Drain{Force: new(e.IntN(2) == 0)} },
	"deselect":         (*edit).deselect,
	"edit-selector":    func(e *edit) { e.Spec.NodeSelectors = e.generator().selector() },
	"pause":            func(e *edit) { e.annotate(v1alpha1.AnnotationPause, "true") },
	"unpause":          func(e *edit) { e.annotate(v1alpha1.AnnotationPause, "") },
	"disable":          func(e *edit) { e.annotate(v1alpha1.AnnotationDisable, "true") },
	"enable":           func(e *edit) { e.annotate(v1alpha1.AnnotationDisable, "") },
	"resume":           func(e *edit) { e.annotate(v1alpha1.AnnotationResume, strconv.Itoa(e.IntN(1000))) },
	"uninstall-apply":  func(e *edit) { e.uninstall(true) },
	"uninstall-cancel": func(e *edit) { e.uninstall(false) },
	"when-removed":     (*edit).whenRemoved,
	"policy-switch":    (*edit).policySwitch,
	"huge-config":      func(e *edit) { e.setConfig("a", strings.Repeat("x", 1<<20+1)) },
}

func (e *edit) word() string { return pick(e.Rand, "one", "two", "three", "four") }

func (e *edit) config() { e.setConfig(pick(e.Rand, "a", "a", "b"), e.word()) }

func (e *edit) setConfig(key, value string) {
	e.pkg(func(p *v1alpha1.Package) {
		if p.ConfigMap == nil {
			p.ConfigMap = map[string]string{}
		}
		p.ConfigMap[key] = value
	})
}

func (e *edit) version(v string) {
	e.pkg(func(p *v1alpha1.Package) { p.Version = v })
	e.follow()
}

// follow brings the dependencies on the package to its version, as a user does most of the time.
func (e *edit) follow() {
	if e.IntN(8) == 0 {
		return
	}
	repairDependencies(e.Spec.Packages)
}

// repairDependencies makes all dependencies name what is there.
func repairDependencies(packages map[string]v1alpha1.Package) {
	for _, name := range sortedKeys(packages) {
		pkg := packages[name]
		if len(pkg.DependsOn) == 0 {
			continue
		}
		deps := map[string]string{}
		for dep := range pkg.DependsOn {
			if other, ok := packages[dep]; ok {
				deps[dep] = other.Version
			}
		}
		pkg.DependsOn = deps
		packages[name] = pkg
	}
}

func (e *edit) interrupt() {
	e.pkg(func(p *v1alpha1.Package) {
		if p.Interrupt != nil && e.IntN(3) == 0 {
			p.Interrupt = nil
		} else {
			p.Interrupt = new(e.generator().interrupt())
		}
	})
}

// cure takes the poison out of all packages.
func (e *edit) cure() {
	eachPackage(curePackage)(e.Skyhook)
	repairDependencies(e.Spec.Packages)
}

// eachPackage edits all packages of a Skyhook.
func eachPackage(change func(*v1alpha1.Package)) func(*v1alpha1.Skyhook) {
	return func(s *v1alpha1.Skyhook) {
		for name, pkg := range s.Spec.Packages {
			change(&pkg)
			s.Spec.Packages[name] = pkg
		}
	}
}

func curePackage(p *v1alpha1.Package) {
	p.Version, _, _ = strings.Cut(p.Version, "-"+poisonMark)
	for key, value := range p.ConfigMap {
		if strings.HasPrefix(value, poisonMark) || len(value) > 1000 {
			p.ConfigMap[key] = "cured"
		}
	}
	for i := range p.Env {
		if strings.HasPrefix(p.Env[i].Value, poisonMark) {
			p.Env = []corev1.EnvVar{{Name: "MODE", Value: "cured"}}
		}
	}
}

func (e *edit) removePackage() {
	if len(e.Spec.Packages) > 1 {
		delete(e.Spec.Packages, e.name)
		e.follow()
	}
}

func (e *edit) addPackage() {
	g := e.generator()
	name := pick(e.Rand, "conf", "driver", "driver-tuning", "kernel", "tuning")
	if _, ok := e.Spec.Packages[name]; !ok {
		e.Spec.Packages[name] = g.pkg(name, map[string]v1alpha1.Package{})
	}
}

func (e *edit) rename() {
	if pkg, ok := e.Spec.Packages[e.name]; ok && e.name != "renamed" {
		delete(e.Spec.Packages, e.name)
		pkg.Name = ""
		e.Spec.Packages["renamed"] = pkg
		e.follow()
	}
}

func (e *edit) budget() {
	if e.Spec.DeploymentPolicy == "" {
		e.Spec.InterruptionBudget = e.generator().interruptionBudget()
	}
}

func (e *edit) limits() {
	e.pkg(func(p *v1alpha1.Package) {
		p.MaxRetries, p.StageTimeout = nil, nil
		if e.IntN(2) == 0 {
			p.MaxRetries = new(int32(e.IntN(3)))
		}
		if e.IntN(2) == 0 {
			p.StageTimeout = &metav1.Duration{Duration: pick(e.Rand, shortTimeout, longTimeout)}
		}
	})
}

func (e *edit) uninstall(apply bool) {
	e.pkg(func(p *v1alpha1.Package) {
		if p.Uninstall == nil && e.IntN(3) > 0 {
			return
		}
		if p.Uninstall == nil {
			p.Uninstall = &v1alpha1.Uninstall{}
		}
		p.Uninstall.Enabled, p.Uninstall.Apply = new(true), apply
	})
}

func (e *edit) whenRemoved() {
	e.pkg(func(p *v1alpha1.Package) {
		if p.Uninstall != nil {
			p.Uninstall.WhenRemoved = pick(e.Rand, v1alpha1.WhenRemovedRefuse, v1alpha1.WhenRemovedUninstall)
		}
	})
}

func (e *edit) policySwitch() {
	if e.Spec.DeploymentPolicy != "" {
		e.Spec.DeploymentPolicy = ""
		e.Spec.InterruptionBudget = e.generator().interruptionBudget()
		return
	}
	e.Spec.DeploymentPolicy, e.Spec.InterruptionBudget = "pace", v1alpha1.InterruptionBudget{}
}

// takePodName puts a pod of somebody else where a package pod is to be.
func (w *World) takePodName(r *rand.Rand) {
	w.take(r, func(s *v1alpha1.Skyhook, pkg string, p v1alpha1.Package, node string) {
		stage := pick(r, v1alpha1.StageApply, v1alpha1.StageConfig, v1alpha1.StageConfig)
		name := workload.PodName(s.Name, pkg, p.Version, stage, node)
		w.trace.add(w, "user creates a pod %s of his own", name)
		w.watch.troubled[s.Name] = true // its own pod is rejected for that
		w.create(&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "app"}}},
		})
	})
}

func (w *World) takeConfigName(r *rand.Rand) {
	w.take(r, func(s *v1alpha1.Skyhook, pkg string, p v1alpha1.Package, _ string) {
		name := workload.ConfigMapName(s.Name, pkg, p.Version)
		w.trace.add(w, "user creates a ConfigMap %s of his own", name)
		w.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})
	})
}

func (w *World) take(r *rand.Rand, do func(s *v1alpha1.Skyhook, name string, p v1alpha1.Package, node string)) {
	all := names(w.cluster.Skyhooks())
	if len(all) == 0 {
		return
	}
	s := w.skyhook(pick(r, all...))
	if len(s.Spec.Packages) == 0 {
		return
	}
	name := pick(r, sortedKeys(s.Spec.Packages)...)
	do(s, name, s.Spec.Packages[name], pick(r, w.plan.Nodes...).Name)
}
