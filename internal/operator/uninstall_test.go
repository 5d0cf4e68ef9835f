//go:build integration

package operator_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// uninstallable is a package that can be uninstalled; change edits what it says about that.
func uninstallable(version string, config map[string]string, change func(*v1alpha1.Uninstall)) v1alpha1.Package {
	p := pkg(version, config)
	p.Env = []corev1.EnvVar{{Name: "PORT", Value: "8080"}}
	p.Uninstall = &v1alpha1.Uninstall{Enabled: new(true)}
	if change != nil {
		change(p.Uninstall)
	}
	return p
}

func whenRemoved(u *v1alpha1.Uninstall) { u.WhenRemoved = v1alpha1.WhenRemovedUninstall }

// expectUninstalled checks that fw was uninstalled on every node, as it was installed.
func (s *scene) expectUninstalled(config map[string]string) {
	s.t.Helper()
	if got := s.count("fw uninstall"); got != len(s.nodes) {
		s.t.Errorf("%d uninstalls: %s", got, s.story())
	}
	for _, node := range s.nodes {
		if diff := cmp.Diff(config, s.got[node]); diff != "" || s.env["PORT"] != "8080" {
			s.t.Errorf("the uninstall pod on %s had PORT=%q and configMap %s", node, s.env["PORT"], diff)
		}
	}
}

func TestUninstall(t *testing.T) {
	config := map[string]string{"uninstall.sh": "rm x"}
	perform(t,
		play{name: "asked for, and no more", nodes: 2, act: func(s *scene) {
			x := s.apply(s.install(uninstallable("1.0.0", config, nil)), true)
			if x = s.installed(x, 0); len(x.Status.NodeState) != 0 {
				s.t.Errorf("the status shows %v", x.Status.NodeState)
			}
			s.expectUninstalled(config)
			for _, node := range s.nodes {
				if got := s.remembers(node); got != "{}" {
					s.t.Errorf("node %s remembers %s", node, got)
				}
				a := s.appearance(node)
				if _, ok := a.Labels["skyhook.nvidia.com/status_"+s.name]; ok || len(a.Conditions) != 1 {
					s.t.Errorf("node %s still has %v %v", node, a.Labels, a.Conditions)
				}
			}
			s.installed(s.apply(x, false), 1)
		}},
		play{name: "removed from the spec", nodes: 2, act: func(s *scene) {
			s.installed(s.remove(s.installBoth(uninstallable("1.0.0", config, whenRemoved))), 1)
			s.expectUninstalled(config)
			if n := len(s.definitions()); n != 2 {
				s.t.Errorf("%d definitions are kept: the spec's, and one to go back to", n)
			}
		}},
		play{name: "before a deletion", nodes: 3, act: func(s *scene) {
			remain := s.remain()
			two := uninstallable("2.0.0", nil, nil)
			two.DependsOn = map[string]string{"one": "1.0.0"}
			one := serviceInterrupt(uninstallable("1.0.0", map[string]string{"k": "v"}, nil))
			s.delete(s.createComplete(s.skyhook("", map[string]v1alpha1.Package{"one": one, "two": two})))
			remain()
			if s.count("one uninstall") != 3 || s.count("two uninstall") != 3 {
				s.t.Errorf("ran %s", s.story())
			}
		}},
		play{name: "a failure is shown until an edit fixes it", nodes: 2, act: func(s *scene) {
			x := s.install(uninstallable("1.0.0", map[string]string{"uninstall.sh": "false"}, nil))
			s.endBy(func(node, stage string) int32 {
				if stage == "fw uninstall" && s.got[node]["uninstall.sh"] == "false" {
					return 1
				}
				return 0
			})
			x = s.apply(x, true)
			x = s.until(x, "uninstall fails", func(x *v1alpha1.Skyhook) bool {
				c := meta.FindStatusCondition(x.Status.Conditions, "UninstallFailed")
				return c != nil && strings.Contains(c.Message, s.nodes[0]) && strings.Contains(c.Message, "the step failed")
			})
			x = s.set(x, func(p *v1alpha1.Package) { p.ConfigMap["uninstall.sh"] = "true" })
			if x = s.installed(x, 0); meta.FindStatusCondition(x.Status.Conditions, "UninstallFailed") != nil {
				s.t.Error("UninstallFailed stays")
			}
		}},
	)
}
