//go:build integration

package admissionpolicies

import (
	"strings"
	"testing"
)

// packages is a spec with packages of version 1.0.0: names and further fields.
func packages(namesAndFields ...string) string {
	var text strings.Builder
	text.WriteString("packages:\n")
	for i := 0; i < len(namesAndFields); i += 2 {
		text.WriteString("  " + namesAndFields[i] + `: {version: 1.0.0, ` + namesAndFields[i+1] + "}\n")
	}
	return text.String()
}

const (
	public      = "image: ghcr.io/nvidia/skyhook-packages/tuning"
	ofGPU       = "image: registry.example.com/gpu/driver"
	ofDocker    = "image: docker.io/library/debian"
	publicOnly  = "ghcr.io/nvidia/skyhook-packages/"
	publicOrGPU = publicOnly + ", registry.example.com/gpu/"
)

func image(field, is, user, allowed string) string {
	return "spec.packages." + field + " is " + is + ", but " + user + " may only use images that begin with one of: " + allowed +
		"; use another image, or ask an administrator to add its registry to the policy skyhook-images"
}

func TestImages(t *testing.T) {
	c := newCluster(t)
	c.install("images", skyhook("demo", packages("a", ofDocker)))
	docker := image("a.image", "docker.io/library/debian", "eve", publicOnly)
	override := public + ", agentImageOverride: "
	const digest = "sha256:0123456789012345678901234567890123456789012345678901234567890123"
	c.attempts([]attempt{
		{"no spec", nobody, none, "", ""},
		{"no packages", nobody, none, "serial: true", ""},
		{"for everybody", nobody, none, packages("a", public), ""},
		{"for everybody, by digest", nobody, none, packages("a", public+"@"+digest), ""},
		{"of a group", gpu, none, packages("a", ofGPU, "b", public), ""},
		{"of a ServiceAccount", pipeline, none, packages("a", ofGPU), ""},
		{"of another group", storage, none, packages("a", ofGPU), image("a.image", "registry.example.com/gpu/driver", "bob", publicOnly)},
		{"of nobody", nobody, none, packages("a", ofDocker), docker},
		{"of nobody", gpu, none, packages("a", ofDocker), image("a.image", "docker.io/library/debian", "alice", publicOrGPU)},
		{"the first by name", nobody, none, packages("c", ofDocker, "b", public, "a", ofDocker), docker},
		{"no registry", nobody, none, packages("a", "image: nvidia/skyhook-packages/tuning"), image("a.image", "nvidia/skyhook-packages/tuning", "eve", publicOnly)},
		{"the beginning of a name", nobody, none, packages("a", "image: ghcr.io/nvidia/skyhook-packages-of-mine/a"), image("a.image", "ghcr.io/nvidia/skyhook-packages-of-mine/a", "eve", publicOnly)},
		{"another port", nobody, none, packages("a", `image: "ghcr.io:444/nvidia/skyhook-packages/a"`), image("a.image", "ghcr.io:444/nvidia/skyhook-packages/a", "eve", publicOnly)},
		{"another case", nobody, none, packages("a", "image: GHCR.io/nvidia/skyhook-packages/a"), image("a.image", "GHCR.io/nvidia/skyhook-packages/a", "eve", publicOnly)},

		{"an agent of everybody's", nobody, none, packages("a", override+publicOnly+"agent:1.0.0"), ""},
		{"no agent", nobody, none, packages("a", override+`""`), ""},
		{"an agent of nobody's", nobody, none, packages("a", override+"docker.io/me/agent:1"), image("a.agentImageOverride", "docker.io/me/agent:1", "eve", publicOnly)},
		{"an agent of another group", nobody, none, packages("a", override+"registry.example.com/gpu/agent@"+digest), image("a.agentImageOverride", "registry.example.com/gpu/agent@"+digest, "eve", publicOnly)},

		{"a change to another image", nobody, packages("a", public), packages("a", ofDocker), docker},
		{"another package is added", nobody, packages("b", public), packages("b", public, "a", ofDocker), docker},
		{"one that was stored before is changed", nobody, packages("a", ofDocker), packages("a", ofDocker+", env: [{name: A}]"), docker},
		{"one that was stored before is left alone", nobody, packages("a", ofDocker), packages("a", ofDocker), ""},
		{"one that was stored before is fixed", nobody, packages("a", ofDocker), packages("a", public), ""},
		{"the spec is removed", nobody, packages("a", ofDocker), "", ""},
		{"one that was stored before is deleted", nobody, packages("a", ofDocker), none, ""},
		{"who may change the policy", admin, none, packages("a", ofDocker), ""},
		{"the operator", operator, none, packages("a", ofDocker), ""},
		{"a namesake of the operator", impostor, none, packages("a", ofDocker), image("a.image", "docker.io/library/debian", impostor.user, publicOnly)},
	})
}
