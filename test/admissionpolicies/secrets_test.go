//go:build integration

package admissionpolicies

import (
	"fmt"
	"strings"
	"testing"
)

func TestSecrets(t *testing.T) {
	c := newCluster(t)
	env := func(secrets ...string) string {
		all := []string{
			"{name: PLAIN, value: a}", "{name: MAP, valueFrom: {configMapKeyRef: {name: webhook-cert, key: a}}}",
			"{name: FIELD, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}",
		}
		for _, name := range secrets {
			all = append(all, fmt.Sprintf("{name: %s, valueFrom: {secretKeyRef: {name: %s, key: k, optional: true}}}",
				strings.ToUpper(strings.ReplaceAll(name, "-", "_")), name))
		}
		return public + ", env: [" + strings.Join(all, ", ") + "]"
	}
	uses := func(pkg, secret, user, allowed string) string {
		return "spec.packages." + pkg + ".env uses Secret " + secret + ", but " + user + " may only use these: " + allowed +
			"; remove it, or ask an administrator to add it to the policy skyhook-secrets"
	}
	c.install("secrets", skyhook("demo", packages("a", env("webhook-cert"))))
	certificate := uses("a", "webhook-cert", "eve", "license-server")
	c.attempts([]attempt{
		{"no spec", nobody, none, "", ""},
		{"no env", nobody, none, packages("a", public), ""},
		{"no Secret", nobody, none, packages("a", env()), ""},
		{"for everybody", nobody, none, packages("a", env("license-server")), ""},
		{"of a group", gpu, none, packages("a", env("license-server", "gpu-telemetry")), ""},
		{"of a ServiceAccount", pipeline, none, packages("a", env("gpu-telemetry")), ""},
		{"of another group", storage, none, packages("a", env("license-server", "gpu-telemetry")), uses("a", "gpu-telemetry", "bob", "license-server")},
		{"the operator's", nobody, none, packages("a", env("webhook-cert")), certificate},
		{"the operator's, of the first package by name", nobody, none, packages("c", env("webhook-cert"), "a", env("webhook-cert"), "b", env()), certificate},
		{"one without a name", nobody, none, packages("a", env(`""`)), uses("a", "", "eve", "license-server")},
		{"one is added", nobody, packages("a", env()), packages("a", env("webhook-cert")), certificate},
		{"one is removed", nobody, packages("a", env("webhook-cert")), packages("a", env()), ""},
		{"one that was stored before is left alone", nobody, packages("a", env("webhook-cert")), packages("a", env("webhook-cert")), ""},
		{"who may change the policy", admin, none, packages("a", env("webhook-cert")), ""},
		{"the operator", operator, none, packages("a", env("webhook-cert")), ""},
	})
}
