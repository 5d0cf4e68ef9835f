package rollout_test

import (
	"testing"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/rollout"
)

// TestStopEndsByWhoCausedIt: a stop ends when what was bad is well, and not when another node becomes complete, whose
// correction tells nothing of it.
func TestStopEndsByWhoCausedIt(t *testing.T) {
	for _, c := range []struct {
		name, policy string
		// stopped are the fleets up to the stop, after a resume from the one with the number again on, and then those of what
		// becomes well.
		stopped []string
		again   int
		then    []string
	}{
		{
			name: "a member that was taken out comes back", policy: stopAtOnce2,
			stopped: []string{
				"n1; n2; n3; n4; n5; n6",
				"n1 in_progress; n2 in_progress; n3; n4; n5; n6",
				"n1 erroring; n2 begun held=NodeIgnored; n3; n4; n5; n6",
				"n1 erroring; n2 begun held=NodeIgnored done=4/1; n3; n4; n5; n6",
				"n1 erroring done=4/0; n2 begun held=NodeIgnored done=4/1; n3; n4; n5; n6",
			},
			then: []string{
				"n1 erroring done=4/0; n2 begun done=4/1; n3; n4; n5; n6",
				"n1 erroring done=4/0; n2 complete done=4/1/1; n3; n4; n5; n6",
			},
		},
		{
			name: "a node dies, and a half-done one comes back", policy: stopAtOnce2,
			stopped: []string{
				"n1; n2; n3; n4; n5; n6",
				"n1 in_progress; n2 begun held=NodeIgnored; n3; n4; n5; n6",
				"n1 in_progress; n2 begun held=NodeIgnored done=4/1; n3; n4; n5; n6",
				"n2 begun held=NodeIgnored done=4/1; n3; n4; n5; n6",
			},
			then: []string{"n2 begun done=4/1; n3; n4; n5; n6", "n2 complete done=4/1/1; n3; n4; n5; n6"},
		},
		{
			name: "the one that stopped it before is well after a resume, half done", policy: stopAtOnce1, again: 3,
			stopped: []string{
				"n1; n2; n3; n4; n5; n6",
				"n1 erroring; n2; n3; n4; n5; n6",
				"n1 erroring done=4/0; n2; n3; n4; n5; n6",
				"n1 erroring done=4/0; n2; n3; n4; n5; n6",
				"n1 erroring done=4/0; n2 erroring; n3; n4; n5; n6",
				"n1 erroring done=4/0; n2 erroring done=4/1; n3; n4; n5; n6",
			},
			then: []string{
				"n1 begun done=4/0; n2 erroring done=4/1; n3; n4; n5; n6",
				"n1 complete done=4/0/1; n2 erroring done=4/1; n3; n4; n5; n6",
			},
		},
		{
			name: "the one that stopped it before is complete after a resume", policy: stopAtOnce1, again: 3,
			stopped: []string{
				"n1; n2; n3; n4; n5; n6",
				"n1 erroring; n2; n3; n4; n5; n6",
				"n1 erroring done=4/0; n2; n3; n4; n5; n6",
				"n1 erroring done=4/0; n2; n3; n4; n5; n6",
				"n1 complete done=4/0; n2 in_progress; n3; n4; n5; n6",
				"n1 complete done=4/0; n2 erroring; n3; n4; n5; n6",
			},
			then: []string{"n1 complete done=4/0; n2 erroring done=4/1; n3; n4; n5; n6", "n1 complete done=4/0; n2 erroring done=4/1; n3; n4; n5; n6"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := skyhook(0)
			in := rollout.Input{Skyhook: s, Now: now, Policy: policy(t, c.policy)}
			for k, fleet := range c.stopped {
				if c.again > 0 && k == c.again {
					s.Annotations = map[string]string{v1alpha1.AnnotationResume: "1"}
				}
				planAll(&in, fleet)
			}
			if !stateOf(s.Status, rollout.DefaultCompartment).ShouldStop {
				t.Fatal("not stopped")
			}
			planAll(&in, c.then...)
			if !stateOf(s.Status, rollout.DefaultCompartment).ShouldStop {
				t.Errorf("what is bad is as bad as before, and others begin: %s", text(s.Status.Permits))
			}
		})
	}
}

// TestContentAndPolicyInOneEdit: nodes in progress without a policy begin other content only as members of the first
// batch, also when the policy comes with that content, or while nothing starts.
func TestContentAndPolicyInOneEdit(t *testing.T) {
	changes := map[string]func(*v1alpha1.Package){
		"version":   func(p *v1alpha1.Package) { p.Version = "2" },
		"configMap": func(p *v1alpha1.Package) { p.ConfigMap = map[string]string{"k": "2"} },
		"image":     func(p *v1alpha1.Package) { p.Image = "other" },
		"uninstall": func(p *v1alpha1.Package) { p.Uninstall = &v1alpha1.Uninstall{Enabled: new(true), Apply: true} },
	}
	for kind, change := range changes {
		for _, between := range []string{"", "paused", "missing"} {
			t.Run(kind+between, func(t *testing.T) {
				const works = "n1 in_progress; n2 in_progress; n3 in_progress; n4 in_progress; n5; n6"
				s := skyhook(4)
				pkg := v1alpha1.Package{Version: "1", ConfigMap: map[string]string{"k": "1"}}
				s.Spec.Packages = map[string]v1alpha1.Package{"p": pkg}
				in := rollout.Input{Skyhook: s, Now: now}
				planAll(&in, "n1; n2; n3; n4; n5; n6", works)
				s.Generation++
				change(&pkg)
				s.Spec.Packages = map[string]v1alpha1.Package{"p": pkg}
				switch between {
				case "paused":
					in.Hold = holdPaused
					planAll(&in, works)
				case "missing":
					s.Spec.DeploymentPolicy, in.PolicyMissing = "careful", true
					planAll(&in, works)
				}
				in.Hold, in.PolicyMissing = nil, false
				s.Spec.DeploymentPolicy, s.Spec.InterruptionBudget.Count = "careful", nil
				in.Policy = policy(t, stopAtOnce1)
				planAll(&in, works)
				if n := unrevoked(s.Status.Permits); n != 1 {
					t.Errorf("%d nodes may begin the new content, the canary is one", n)
				}
			})
		}
	}
}
