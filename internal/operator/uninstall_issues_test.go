//go:build integration

package operator_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// TestKnownIssues has one play or more for each issue that the documentation of uninstalling used to list.
func TestKnownIssues(t *testing.T) {
	fw := func() v1alpha1.Package { return uninstallable("1.0.0", map[string]string{"k": "1"}, nil) }
	perform(t,
		play{name: "deletion during a failing install", nodes: 1, act: func(s *scene) { deletedWhile(s, "apply", 1) }},
		play{name: "deletion while the install cannot pull", nodes: 1, act: func(s *scene) { deletedWhile(s, "apply", cannotPull) }},
		play{name: "deletion while the install runs", nodes: 1, act: func(s *scene) { deletedWhile(s, "config", goesOn) }},
		play{name: "deletion during a failing upgrade", nodes: 1, act: func(s *scene) {
			remain := s.remain()
			x := s.install(fw())
			s.when("fw upgrade", 1)
			x = s.set(x, func(p *v1alpha1.Package) { p.Version = "2.0.0" })
			s.untilStatus(x, v1alpha1.StatusErroring)
			s.delete(x)
			remain()
			if s.count("fw uninstall") == 0 {
				s.t.Errorf("ran %s", s.story())
			}
		}},
		play{name: "interrupt removed without its pod", nodes: 1, act: func(s *scene) {
			x := s.install(serviceInterrupt(fw()))
			s.when("interrupt", goesOn)
			x = s.apply(x, true)
			pod := s.runs("interrupt")
			x = s.set(x, func(p *v1alpha1.Package) { p.Interrupt = nil })
			s.when("", 0)
			s.must(s.client.Delete(s.t.Context(), pod))
			s.installed(x, 0)
		}},
		play{name: "apply on what was never installed", nodes: 1, act: func(s *scene) {
			p := fw()
			p.Uninstall.Apply = true
			x := s.install(p)
			s.expectStory("")
			x = s.apply(x, false)
			s.installed(x, 1)
			s.expectStory("fw apply, fw config")
		}},
		play{name: "version changed during uninstall", nodes: 1, act: func(s *scene) {
			x := s.install(fw())
			s.when("fw uninstall", goesOn)
			x = s.apply(x, true)
			s.runs("uninstall")
			x = s.set(x, func(p *v1alpha1.Package) { p.Version, p.ConfigMap = "2.0.0", map[string]string{"k": "2"} })
			s.until(x, "planned", func(*v1alpha1.Skyhook) bool { return true })
			s.release()
			x = s.installed(x, 0)
			if diff := cmp.Diff(map[string]string{"k": "1"}, s.got[s.nodes[0]]); diff != "" || s.count("fw apply") != 1 {
				s.t.Errorf("ran %s; uninstalled with %s", s.story(), diff)
			}
			x = s.apply(x, false)
			x = s.installed(x, 1)
			if _, ok := x.Status.NodeState[s.nodes[0]]["fw|2.0.0"]; !ok {
				s.t.Errorf("installed is %v", x.Status.NodeState)
			}
		}},
		play{name: "cancelled while uninstall runs", nodes: 1, act: func(s *scene) {
			x := s.install(fw())
			s.when("fw uninstall", goesOn)
			x = s.apply(x, true)
			old := s.runs("uninstall")
			x = s.apply(x, false)
			s.installed(x, 1)
			s.expectStory("fw apply, fw config, fw uninstall, fw apply, fw config")
			if err := s.client.Get(s.t.Context(), client.ObjectKeyFromObject(old), &corev1.Pod{}); client.IgnoreNotFound(err) != nil || err == nil {
				s.t.Errorf("the uninstall pod was not killed: %v", err)
			}
		}},
		play{name: "cancelled while uninstall fails", nodes: 1, act: func(s *scene) {
			x := s.install(fw())
			s.when("fw uninstall", 1)
			x = s.apply(x, true)
			s.condition(x, "UninstallFailed", "UninstallPodFailing")
			x = s.apply(x, false)
			s.installed(x, 1)
			s.expectStory("fw apply, fw config, fw uninstall, fw apply, fw config")
		}},
		play{name: "cancelled while the interrupt waits", nodes: 1, act: cancelledWaiting},
		play{name: "cancelled while the interrupt runs", nodes: 1, act: func(s *scene) {
			x := s.install(serviceInterrupt(fw()))
			s.when("interrupt", goesOn)
			x = s.apply(x, true)
			pod := s.runs("interrupt")
			x = s.apply(x, false)
			s.until(x, "planned", func(*v1alpha1.Skyhook) bool { return true })
			s.must(s.client.Get(s.t.Context(), client.ObjectKeyFromObject(pod), pod)) // it runs to its end
			s.release()
			s.installed(x, 1)
			const install = "fw apply, fw config, interrupt, fw post-interrupt"
			s.expectStory(install + ", fw uninstall, interrupt, " + install)
		}},
		play{name: "named like the taint key", nodes: 1, skyhook: "skyhook.nvidia.com", act: func(s *scene) {
			s.annotate(s.nodes[0], "skyhook.nvidia.com/autoTaint_skyhook.nvidia.com", "true")
			remain := s.remain()
			s.delete(s.install(fw()))
			remain()
		}},
		play{name: "forced deletion and the same name again", nodes: 1, act: forcedDeletion},
	)
}

// deletedWhile deletes a Skyhook whose install is stuck in a stage.
func deletedWhile(s *scene, stage string, code int32) {
	remain := s.remain()
	s.when("fw "+stage, code)
	x := s.create(map[string]v1alpha1.Package{"fw": uninstallable("1.0.0", nil, nil)})
	if code > 0 {
		s.untilStatus(x, v1alpha1.StatusErroring)
	} else {
		s.runs(stage)
	}
	s.delete(x)
	remain()
	if s.count("fw uninstall") != 1 {
		s.t.Errorf("ran %s", s.story())
	}
}

// cancelledWaiting cancels an uninstall that is done but for its interrupt, which waits for another package.
func cancelledWaiting(s *scene) {
	x := s.create(map[string]v1alpha1.Package{
		"fw": serviceInterrupt(uninstallable("1.0.0", nil, nil)), "slow": pkg("1.0.0", map[string]string{"k": "1"}),
	})
	x = s.untilStatus(x, v1alpha1.StatusComplete)
	s.when("slow config", goesOn)
	x = s.edit(x, func(x *v1alpha1.Skyhook) {
		x.Spec.Packages["slow"].ConfigMap["k"] = "2"
		x.Spec.Packages["fw"].Uninstall.Apply = true
	})
	s.runs("config")
	x = s.until(x, "uninstall done, interrupt waits", func(x *v1alpha1.Skyhook) bool {
		e := x.Status.NodeState[s.nodes[0]]["fw|1.0.0"]
		return e.Stage == v1alpha1.StageUninstall && e.State == v1alpha1.StateComplete
	})
	interrupts := s.count("interrupt")
	x = s.apply(x, false)
	s.until(x, "installed again, interrupt waits", func(x *v1alpha1.Skyhook) bool {
		e := x.Status.NodeState[s.nodes[0]]["fw|1.0.0"]
		return e.Stage == v1alpha1.StageConfig && e.State == v1alpha1.StateComplete
	})
	if got := s.count("interrupt"); got != interrupts {
		s.t.Errorf("%d interrupts ran for a cancelled uninstall", got-interrupts)
	}
	s.release()
	s.installed(x, 2)
	if s.count("fw apply") != 2 || s.count("fw uninstall") != 1 || s.count("interrupt") != interrupts+1 {
		s.t.Errorf("ran %s", s.story())
	}
}

// forcedDeletion takes the finalizer away in the middle of an uninstall that has cordoned its node.
func forcedDeletion(s *scene) {
	x := s.install(serviceInterrupt(uninstallable("1.0.0", map[string]string{"k": "1"}, nil)))
	s.when("fw uninstall", goesOn)
	x = s.apply(x, true)
	s.runs("uninstall")
	if !s.appearance(s.nodes[0]).Unschedulable {
		s.t.Error("the node is not cordoned for the uninstall that ends in an interrupt")
	}
	s.must(s.client.Delete(s.t.Context(), x))
	s.edit(x, func(x *v1alpha1.Skyhook) { x.Finalizers = nil })
	s.collectGarbage(x)
	eventually(s.cluster, &corev1.NodeList{}, "the node is left alone", func(n *corev1.Node) bool {
		_, label := n.Labels["skyhook.nvidia.com/status_"+s.name]
		cordon := n.Annotations["skyhook.nvidia.com/cordon_"+s.name]
		return !label && cordon == "" && !n.Spec.Unschedulable && len(n.Status.Conditions) == 1
	}, client.MatchingFields{"metadata.name": s.nodes[0]})
	s.collectGarbage(x) // a pass that was under way may have made some
	if got := s.remembers(s.nodes[0]); !strings.Contains(got, "fw|1.0.0") {
		s.t.Errorf("what may still be on the node is forgotten: %q", got)
	}
	s.when("", 0)
	again := s.install(serviceInterrupt(uninstallable("1.0.0", map[string]string{"k": "1"}, nil)))
	if left := s.pods(); len(left) != 0 {
		s.t.Errorf("%d pods are left, such as %s", len(left), left[0].Name)
	}
	const install = "fw apply, fw config, interrupt, fw post-interrupt"
	s.expectStory(install + ", fw uninstall, " + install)
	s.delete(again)
}

// collectGarbage does what a cluster's garbage collector does when an owner is gone: an API server alone has none.
func (s *scene) collectGarbage(owner *v1alpha1.Skyhook) {
	s.t.Helper()
	ctx := context.WithoutCancel(s.t.Context())
	for _, list := range []client.ObjectList{&corev1.PodList{}, &corev1.ConfigMapList{}, &appsv1.ControllerRevisionList{}} {
		s.must(s.client.List(ctx, list, client.InNamespace(s.namespace)))
		s.must(meta.EachListItem(list, func(o runtime.Object) error {
			if object, ok := o.(client.Object); ok && metav1.IsControlledBy(object, owner) {
				return client.IgnoreNotFound(s.client.Delete(ctx, object))
			}
			return nil
		}))
	}
}
