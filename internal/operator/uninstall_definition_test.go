//go:build integration

package operator_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

func (s *scene) definitions() []appsv1.ControllerRevision {
	s.t.Helper()
	var list appsv1.ControllerRevisionList
	s.must(s.client.List(s.t.Context(), &list, client.InNamespace(s.namespace), client.MatchingLabels{"skyhook.nvidia.com/name": s.name}))
	return list.Items
}

// remove takes package fw out of the spec, which keeps another one.
func (s *scene) remove(x *v1alpha1.Skyhook) *v1alpha1.Skyhook {
	s.t.Helper()
	return s.edit(x, func(x *v1alpha1.Skyhook) { delete(x.Spec.Packages, "fw") })
}

func policy(w v1alpha1.WhenRemoved) func(*v1alpha1.Package) {
	return func(p *v1alpha1.Package) { p.Uninstall.WhenRemoved = w }
}

// TestRetainedDefinitions: what is on a node is undone as it was installed there, whatever became of the spec.
func TestRetainedDefinitions(t *testing.T) {
	config := func(v string) map[string]string { return map[string]string{"k": v} }
	perform(t,
		play{name: "a lower version has to wait", nodes: 2, act: func(s *scene) {
			x := s.install(uninstallable("2.0.0", config("2"), nil))
			x = s.set(x, func(p *v1alpha1.Package) { p.Version, p.ConfigMap = "1.0.0", config("1") })
			message := s.condition(x, "UninstallRequired", "UninstallRequired")
			for _, want := range append(s.nodes, "fw", "2.0.0", "1.0.0", "whenRemoved") {
				if !strings.Contains(message, want) {
					s.t.Errorf("%q does not name %s", message, want)
				}
			}
			if note := s.event("UninstallRequired"); !strings.Contains(note, s.nodes[0]) {
				s.t.Errorf("the event says %q", note)
			}
			s.expectStory("fw apply, fw apply, fw config, fw config")
			x = s.set(x, policy(v1alpha1.WhenRemovedUninstall))
			x = s.installed(x, 1)
			if diff := cmp.Diff(map[string]map[string]string{s.nodes[0]: config("2"), s.nodes[1]: config("2")}, s.got); diff != "" {
				s.t.Errorf("uninstalled with -want +got\n%s", diff)
			}
			if s.count("fw uninstall") != 2 || s.count("fw apply") != 4 || meta.FindStatusCondition(x.Status.Conditions, "UninstallRequired") != nil {
				s.t.Errorf("ran %s, conditions %v", s.story(), x.Status.Conditions)
			}
		}},
		play{name: "a lower version goes by itself", nodes: 1, act: func(s *scene) {
			x := s.install(uninstallable("2.0.0", config("2"), whenRemoved))
			x = s.set(x, func(p *v1alpha1.Package) { p.Version, p.ConfigMap = "1.0.0", config("1") })
			s.until(x, "installed", func(x *v1alpha1.Skyhook) bool {
				_, ok := x.Status.NodeState[s.nodes[0]]["fw|1.0.0"]
				return ok && x.Status.Status == v1alpha1.StatusComplete
			})
			s.expectStory("fw apply, fw config, fw uninstall, fw apply, fw config")
			if diff := cmp.Diff(config("2"), s.got[s.nodes[0]]); diff != "" {
				s.t.Errorf("uninstalled with -want +got\n%s", diff)
			}
		}},
		play{name: "two definitions of one version", nodes: 2, act: func(s *scene) {
			x := s.installBoth(uninstallable("1.0.0", config("1"), whenRemoved))
			s.changeNode(s.nodes[1], func(n *corev1.Node) { n.Labels["skyhook.nvidia.com/ignore"] = "true" })
			x = s.set(x, func(p *v1alpha1.Package) { p.ConfigMap = config("2") })
			s.until(x, "the other node has it", func(x *v1alpha1.Skyhook) bool { return x.Status.Nodes.Complete == 1 && s.count("fw config") == 3 })
			x = s.remove(x)
			s.until(x, "planned", func(*v1alpha1.Skyhook) bool { return true })
			s.changeNode(s.nodes[1], func(n *corev1.Node) { delete(n.Labels, "skyhook.nvidia.com/ignore") })
			s.installed(x, 1)
			if diff := cmp.Diff(map[string]map[string]string{s.nodes[0]: config("2"), s.nodes[1]: config("1")}, s.got); diff != "" {
				s.t.Errorf("uninstalled with -want +got\n%s", diff)
			}
		}},
		play{name: "Secrets stay references", nodes: 1, act: func(s *scene) {
			fw := uninstallable("1.0.0", nil, whenRemoved)
			secret := &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "pass"}, Key: "word"}
			fw.Env = []corev1.EnvVar{{Name: "PASSWORD", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: secret}}}
			s.must(s.client.Create(s.t.Context(), &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "pass"}, Data: map[string][]byte{"word": []byte("hunter2")},
			}))
			x := s.installBoth(fw)
			for _, d := range s.definitions() {
				raw := string(d.Data.Raw)
				if strings.Contains(raw, "hunter2") || strings.Contains(d.Name, "-fw-") && !strings.Contains(raw, `"secretKeyRef":{"name":"pass","key":"word"}`) {
					s.t.Errorf("%s holds %s", d.Name, raw)
				}
			}
			s.when("fw uninstall", goesOn)
			x = s.remove(x)
			env := s.runs("uninstall").Spec.InitContainers[1].Env
			if !slices.ContainsFunc(env, func(e corev1.EnvVar) bool { return cmp.Equal(e, fw.Env[0]) }) {
				s.t.Errorf("the uninstall pod has %v", env)
			}
			s.release()
			s.installed(x, 1)
		}},
		play{name: "unused ones go", nodes: 1, act: func(s *scene) {
			x := s.install(uninstallable("1.0.0", config("0"), nil))
			upgrade := func(v string) {
				x = s.set(x, func(p *v1alpha1.Package) { p.Version, p.ConfigMap = "1."+v+".0", config(v) })
				x = s.until(x, "upgraded to "+v, func(x *v1alpha1.Skyhook) bool {
					_, ok := x.Status.NodeState[s.nodes[0]]["fw|1."+v+".0"]
					return ok && x.Status.Status == v1alpha1.StatusComplete && len(x.Status.Permits) == 0
				})
			}
			for _, v := range []string{"1", "2", "3", "4", "5", "6", "7"} {
				upgrade(v)
			}
			s.becomes("a minute after the start five are kept beside the spec's", func() bool { return len(s.definitions()) == 6 })
			upgrade("8")
			if n := len(s.definitions()); n > 7 { // and one that a node had until now
				s.t.Errorf("%d definitions are kept", n)
			}
			s.becomes("five again", func() bool { return len(s.definitions()) == 6 })
		}},
		play{name: "the last word is Uninstall", nodes: 1, act: func(s *scene) {
			x := flipped(s, s.installBoth(uninstallable("1.0.0", config("1"), whenRemoved)), v1alpha1.WhenRemovedRefuse, v1alpha1.WhenRemovedUninstall)
			x = s.remove(x)
			s.installed(x, 1)
			if s.count("fw uninstall") != 1 {
				s.t.Errorf("ran %s", s.story())
			}
		}},
		play{name: "the last word is Refuse", nodes: 1, act: func(s *scene) {
			x := flipped(s, s.installBoth(uninstallable("1.0.0", config("1"), nil)), v1alpha1.WhenRemovedUninstall, v1alpha1.WhenRemovedRefuse)
			x = s.remove(x)
			if got := s.condition(x, "UninstallRequired", "UninstallRequired"); !strings.Contains(got, s.nodes[0]) {
				s.t.Errorf("UninstallRequired says %q", got)
			}
			if s.count("fw uninstall") != 0 {
				s.t.Errorf("ran %s", s.story())
			}
		}},
	)
}

// flipped sets one policy after the other for package fw.
func flipped(s *scene, x *v1alpha1.Skyhook, policies ...v1alpha1.WhenRemoved) *v1alpha1.Skyhook {
	s.t.Helper()
	for _, w := range policies {
		x = s.set(x, policy(w))
		x = s.until(x, "planned with "+string(w), func(x *v1alpha1.Skyhook) bool { return x.Status.Status == v1alpha1.StatusComplete })
	}
	return x
}
