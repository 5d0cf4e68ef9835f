//go:build integration

package admissionpolicies

import "testing"

func interrupts(pkg, user, allowed string) string {
	return "package " + pkg + " has an interrupt, or an entry of configInterrupts, that " + user +
		" may not declare, nor change or delete a Skyhook that does; allowed are these types: " + allowed +
		"; use one of them, or ask an administrator to make the change or to edit the policy skyhook-interrupts"
}

func TestInterrupts(t *testing.T) {
	c := newCluster(t)
	const (
		reboot     = public + ", interrupt: {type: reboot}"
		service    = public + ", interrupt: {type: service, services: [cron]}"
		noop       = public + ", interrupt: {type: noop}"
		restartAll = public + ", interrupt: {type: restartAllServices}"
		onChange   = public + `, configMap: {a: "1", b: "2"}, configInterrupts: `
		forGPU     = "noop, service"
	)
	c.install("interrupts", skyhook("demo", packages("a", reboot)))
	refused := interrupts("a", "alice", forGPU)
	c.attempts([]attempt{
		{"no spec", nobody, none, "", ""},
		{"none", nobody, none, packages("a", public), ""},
		{"reboot", fleet, none, packages("a", reboot), ""},
		{"everything else", fleet, none, packages("a", service, "b", noop, "c", restartAll), ""},
		{"reboot", gpu, none, packages("a", reboot), refused},
		{"service", gpu, none, packages("a", service), ""},
		{"noop", gpu, none, packages("a", noop), ""},
		{"restartAllServices", gpu, none, packages("a", restartAll), refused},
		{"service by nobody", nobody, none, packages("a", service), interrupts("a", "eve", "none")},
		{"noop by nobody", nobody, none, packages("a", noop), interrupts("a", "eve", "none")},
		{"the first by name", gpu, none, packages("d", reboot, "b", service, "a", reboot, "c", reboot), refused},
		{"on change of a key", gpu, none, packages("a", onChange+"{a: {type: service, services: [cron]}}"), ""},
		{"on change of a key", gpu, none, packages("a", onChange+"{b: {type: noop}, a: {type: reboot}}"), refused},
		{"on change of any key", gpu, none, packages("a", onChange+`{"*": {type: reboot}}`), refused},
		{"none on change", nobody, none, packages("a", onChange+"{}"), ""},

		{"reboot is added", gpu, packages("a", service), packages("a", reboot), refused},
		{"a package with it is added", gpu, packages("b", service), packages("a", reboot, "b", service), refused},
		{"reboot is removed", gpu, packages("a", reboot), packages("a", public), refused},
		{"its package is removed", gpu, packages("a", reboot), "serial: true", refused},
		{"its spec is removed", gpu, packages("a", reboot), "", refused},
		{"its package is changed", gpu, packages("a", reboot), packages("a", reboot+", env: [{name: A}]"), refused},
		{"something else is changed", gpu, packages("a", reboot), packages("a", reboot) + "serial: true", refused},
		{"nothing but metadata", gpu, packages("a", reboot), packages("a", reboot), ""},
		{"nothing but metadata, without spec", gpu, "", "", ""},
		{"it is deleted", gpu, packages("a", reboot), none, refused},
		{"it is deleted", fleet, packages("a", reboot), none, ""},
		{"another is deleted", gpu, packages("a", service), none, ""},
		{"one without spec is deleted", gpu, "", none, ""},
		{"who may change the policy", admin, none, packages("a", reboot), ""},
		{"who may change the policy", admin, packages("a", reboot), none, ""},
		{"the operator", operator, packages("a", reboot), none, ""},
		{"the end of a deletion", collector, packages("a", reboot), none, ""},
		{"a namesake of the operator", impostor, packages("a", reboot), none, interrupts("a", impostor.user, "none")},
	})
}
