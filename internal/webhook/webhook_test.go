//go:build integration

package webhook

import (
	"fmt"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// old are names of Skyhooks that were stored before webhooks were on.
const (
	oldCycle  = "old-cycle"
	oldPolicy = "old-policy"
	oldUsers  = 7
)

// storeOld makes what webhooks would refuse.
func (c *cluster) storeOld() {
	c.Helper()
	s := parse[*v1alpha1.Skyhook](c.T, cycle(oldCycle))
	s.Finalizers = []string{"skyhook.nvidia.com/skyhook"}
	c.must(c.client.Create(c.Context(), s))
	for i := range oldUsers {
		c.must(c.client.Create(c.Context(), parse[*v1alpha1.Skyhook](c.T, manifest(fmt.Sprintf("%s-%d", oldPolicy, i), "  deploymentPolicy: "+oldPolicy))))
	}
	c.must(c.client.Create(c.Context(), policy(c.T, oldPolicy, "zone")))
}

// TestWebhooks shares one API server and its webhooks.
func TestWebhooks(t *testing.T) {
	c := newCluster(t)
	for _, test := range []struct {
		name string
		run  func(*cluster)
	}{
		{"cycle is refused", cycleIsRefused},
		{"unknown policy is refused", unknownPolicyIsRefused},
		{"removal of an installed package", removalOfAnInstalledPackage},
		{"removal that is allowed", removalThatIsAllowed},
		{"downgrade", downgrade},
		{"version change while uninstalling", versionChangeWhileUninstalling},
		{"warnings reach the client", warningsReachTheClient},
		{"what is wrong can be held, fixed and deleted", whatIsWrongCanBeHeldFixedAndDeleted},
		{"policy stays while it is used", policyStaysWhileItIsUsed},
		{"policy with a selector that is none", policyWithASelectorThatIsNone},
		{"without the operator", withoutTheOperator},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(c.in(t)) })
	}
}

func cycleIsRefused(c *cluster) {
	err := c.create(parse[*v1alpha1.Skyhook](c.T, cycle("cycle")))
	c.refused(err, "validate-skyhook.nvidia.com", "spec.packages.a.dependsOn: is part of a cycle (a -> b -> a); remove one of these dependencies")
}

func unknownPolicyIsRefused(c *cluster) {
	err := c.create(parse[*v1alpha1.Skyhook](c.T, manifest("lost", "  deploymentPolicy: nowhere")))
	c.refused(err, "validate-skyhook.nvidia.com", `deploymentPolicy "nowhere" not found`)
}

func removalOfAnInstalledPackage(c *cluster) {
	nodes := []string{"removal-g", "removal-a", "removal-f", "removal-b", "removal-e", "removal-c", "removal-d"}
	c.installed("removal", nodes, "tuning|1.2.0", "other|1.0.0")
	s := c.skyhook("removal", wanted)
	c.refused(c.respec(s, ""), "validate-skyhook.nvidia.com", "spec.packages.tuning: is removed from the spec", "uninstall.enabled=true",
		"still on nodes removal-a, removal-b, removal-c, removal-d, removal-e, removal-f, removal-g; keep the package and set uninstall.apply=true")

	s.Annotations = map[string]string{"skyhook.nvidia.com/abandon-uninstall": strings.Join(nodes[1:], ",")}
	c.refused(c.respec(s, ""), "validate-skyhook.nvidia.com", "still on node removal-g;")
	s.Annotations = map[string]string{"skyhook.nvidia.com/abandon-uninstall": strings.Join(nodes, ",")}
	c.must(c.respec(s, ""))
}

func removalThatIsAllowed(c *cluster) {
	for name, spec := range map[string]string{"plain": plain, "when-removed": whenRemoved} {
		c.Run(name, func(t *testing.T) {
			c := c.in(t)
			c.installed("allowed-"+name, []string{"allowed-" + name}, "tuning|1.2.0")
			c.must(c.respec(c.skyhook("allowed-"+name, spec), ""))
		})
	}
}

func downgrade(c *cluster) {
	lower := strings.Replace(wanted, "1.2.0", "1.1.0", 1)
	c.installed("downgrade", []string{"downgrade-a"}, "tuning|1.2.0")
	s := c.skyhook("downgrade", wanted)
	c.refused(c.respec(s, lower), "validate-skyhook.nvidia.com", "spec.packages.tuning.version: is lowered to 1.1.0", "set uninstall.apply=true first", "on node downgrade-a")
	c.must(c.respec(s, strings.Replace(whenRemoved, "1.2.0", "1.1.0", 1)))
	c.must(c.respec(s, strings.Replace(wanted, "1.2.0", "1.3.0", 1)))
}

func versionChangeWhileUninstalling(c *cluster) {
	c.installed("bump", []string{"bump-a"}, "tuning|1.2.0")
	s := c.skyhook("bump", wanted)
	c.must(c.respec(s, applied))
	c.refused(c.respec(s, strings.Replace(applied, "1.2.0", "1.3.0", 1)), "validate-skyhook.nvidia.com",
		"spec.packages.tuning.version: is changed to 1.3.0 while 1.2.0 is being uninstalled and still on node bump-a")
	c.must(c.respec(s, strings.Replace(applied, "image: x", "image: x, env: [{name: A, value: b}]", 1)))
	c.must(c.respec(s, wanted))
	c.must(c.respec(s, strings.Replace(wanted, "1.2.0", "1.3.0", 1)))
}

// warningsReachTheClient: they come with what is allowed and with what is refused.
func warningsReachTheClient(c *cluster) {
	const field = "spec.packages.tuning.uninstall.apply: "
	s := c.skyhook("warned", wanted)
	c.warned("spec.interruptionBudget: the packages run on nodes, and nothing limits how many at a time")
	c.must(c.respec(s, applied))
	c.warned(field + "the package was never installed on any node")
	c.must(c.respec(s, wanted))
	c.warned(field + "the uninstall is cancelled; nodes where the package is already uninstalled will be re-installed")

	c.installed("warned", []string{"warned-a"}, "tuning|1.2.0")
	c.must(c.respec(s, strings.Replace(applied, "image: x", `image: "x:1.1"`, 1)))
	c.warned(`spec.packages.tuning.image: the tag "1.1" is ignored; x:1.2.0 is used`)
	c.refused(c.respec(s, wanted+"\n  deploymentPolicy: nowhere"), "validate-skyhook.nvidia.com", "spec.deploymentPolicy: deploymentPolicy \"nowhere\" not found")
	c.warned(field + "the uninstall is cancelled")
}

// whatIsWrongCanBeHeldFixedAndDeleted: metadata, status and deletion pass for a Skyhook that was stored before.
func whatIsWrongCanBeHeldFixedAndDeleted(c *cluster) {
	s := &v1alpha1.Skyhook{}
	read := func() {
		c.Helper()
		c.must(c.client.Get(c.Context(), client.ObjectKey{Name: oldCycle}, s))
	}
	read()
	s.Annotations = map[string]string{"skyhook.nvidia.com/pause": "true"}
	s.Finalizers = append(s.Finalizers, "example.com/other")
	c.must(c.client.Update(c.Context(), s))
	s.Status.Status = v1alpha1.StatusPaused
	c.must(c.client.Status().Update(c.Context(), s))
	c.refused(c.client.Patch(c.Context(), s, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"priority":7}}`))),
		"validate-skyhook.nvidia.com", "is part of a cycle")

	c.must(c.client.Delete(c.Context(), s))
	read()
	s.Finalizers = []string{"skyhook.nvidia.com/skyhook"}
	c.must(c.client.Update(c.Context(), s))
	// Even the spec may change now: nobody works by it any more.
	c.must(c.client.Patch(c.Context(), s, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"priority":7}}`))))
	read()
	s.Finalizers = nil
	c.must(c.client.Update(c.Context(), s))
}

func policyStaysWhileItIsUsed(c *cluster) {
	p := &v1alpha1.DeploymentPolicy{}
	c.must(c.client.Get(c.Context(), client.ObjectKey{Name: oldPolicy}, p))
	c.refused(c.client.Delete(c.Context(), p), "validate-deploymentpolicy.nvidia.com", "DeploymentPolicy old-policy is still referenced by 7 Skyhooks: "+
		"old-policy-0, old-policy-1, old-policy-2, old-policy-3, old-policy-4, old-policy-5, old-policy-6;")
	for i := range oldUsers {
		if i == oldUsers-1 {
			c.refused(c.client.Delete(c.Context(), p), "validate-deploymentpolicy.nvidia.com", "is still referenced by 1 Skyhook: old-policy-6;")
		}
		c.must(c.client.Delete(c.Context(), &v1alpha1.Skyhook{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", oldPolicy, i)}}))
	}
	c.must(c.client.Delete(c.Context(), p))
}

func policyWithASelectorThatIsNone(c *cluster) {
	c.refused(c.create(policy(c.T, "bad-selector", "not a key")), "validate-deploymentpolicy.nvidia.com", "spec.compartments[0].selector: is not a label selector")
	p := policy(c.T, "good-selector", "zone")
	c.must(c.create(p))
	p.Annotations = map[string]string{"a": "b"}
	c.must(c.client.Update(c.Context(), p))
	p.Spec = policy(c.T, "good-selector", "not a key").Spec
	c.refused(c.client.Update(c.Context(), p), "validate-deploymentpolicy.nvidia.com", "spec.compartments[0].selector")
}

// withoutTheOperator: where nobody answers, no spec changes, but a Skyhook can be held and deleted.
func withoutTheOperator(c *cluster) {
	label := map[string]string{"without": "operator"}
	s := parse[*v1alpha1.Skyhook](c.T, manifest("without", plain))
	s.Labels, s.Finalizers = label, []string{"skyhook.nvidia.com/skyhook"}
	c.must(c.create(s))

	w := configuration(c.T, "nowhere", 1)
	w.Name = "without"
	for i := range w.Webhooks {
		w.Webhooks[i].ClientConfig = admissionregistrationv1.WebhookClientConfig{URL: new("https://127.0.0.1:1/")}
		w.Webhooks[i].ObjectSelector = &metav1.LabelSelector{MatchLabels: label}
	}
	c.must(c.create(w))
	respec := func() error {
		return c.client.Patch(c.Context(), s, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"priority":7}}`)), client.DryRunAll)
	}
	c.eventually("changes of the spec are refused", func() bool {
		err := respec()
		return err != nil && strings.Contains(err.Error(), `failed calling webhook "validate-skyhook.nvidia.com"`)
	})
	s.Annotations = map[string]string{"skyhook.nvidia.com/pause": "true"}
	c.must(c.client.Update(c.Context(), s))
	c.must(c.client.Delete(c.Context(), s))
	// The API server shows admission the object as its cache has it, which may not know of the deletion yet.
	c.eventually("what is being deleted can be changed", func() bool { return respec() == nil })
	c.must(c.client.Get(c.Context(), client.ObjectKeyFromObject(s), s))
	s.Finalizers = nil
	c.must(c.client.Update(c.Context(), s))
}
