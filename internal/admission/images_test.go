package admission_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/admission"
)

// TestMirroredImages: what nodes pull is judged, whatever it is called in the spec.
func TestMirroredImages(t *testing.T) {
	for _, c := range []struct {
		name, registry, image, want string
	}{
		{"from the mirror by another name", "m.example", "ghcr.io/org/a", ""},
		{"from the mirror by its own name", "m.example", "m.example/org/a", ""},
		{"no registry is named, but the mirror is one", "m.example/org", "org/a", ""},
		{"from another path of the mirror", "m.example/org", "ghcr.io/other/a", "\"ghcr.io/other/a\" is pulled as \"m.example/other/a\" (PACKAGE_REGISTRY), which is from none of the registries"},
		{"its own registry is not asked", "ghcr.io", "ghcr.io/org/a", "is pulled as \"m.example/org/a\""},
	} {
		t.Run(c.name, func(t *testing.T) {
			rules := admission.ImageRules{Registries: []string{c.registry}, Mirror: "m.example"}
			got := admission.Join(rules.Foreign("p", v1alpha1.Package{Image: c.image, Version: "1.0.0"}))
			if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if rules.Allows(c.image) != (c.want == "") {
				t.Errorf("allowed: %t", rules.Allows(c.image))
			}
		})
	}
}

// TestImageRules has one line per image and rule: the fields that are wrong.
func TestImageRules(t *testing.T) {
	const digest = "sha256:4bcff63911fcb4448bd4fdacec207030997caf25e9bea4045fa6c8c44de311d1"
	of := func(image, agent string) v1alpha1.Package {
		return v1alpha1.Package{Version: "1.0.0", Image: image, AgentImageOverride: agent}
	}
	from := func(registries ...string) admission.ImageRules { return admission.ImageRules{Registries: registries} }
	byDigest, noAgents := admission.ImageRules{RequireDigest: true}, admission.ImageRules{ForbidAgentOverride: true}
	pinned := of("ghcr.io/org/a", "")
	pinned.ContainerSHA = digest
	for _, c := range []struct {
		name  string
		rules admission.ImageRules
		pkg   v1alpha1.Package
		want  string
	}{
		{"nothing is demanded", admission.ImageRules{}, of("a", "b"), ""},

		{"a tag", byDigest, of("ghcr.io/org/a:1.0.0", ""), "containerSHA"},
		{"containerSHA", byDigest, pinned, ""},
		{"a digest in image", byDigest, of("ghcr.io/org/a@"+digest, ""), ""},
		{"an agent by tag", byDigest, of("ghcr.io/org/a@"+digest, "ghcr.io/org/agent:1"), "agentImageOverride"},
		{"an agent by digest", byDigest, of("ghcr.io/org/a@"+digest, "ghcr.io/org/agent@"+digest), ""},
		{"an agent by what is no digest", byDigest, of("ghcr.io/org/a@"+digest, "ghcr.io/org/agent@sha256:1"), "agentImageOverride"},

		{"an agent at all", noAgents, of("ghcr.io/org/a", "ghcr.io/org/agent@"+digest), "agentImageOverride"},
		{"no agent", noAgents, of("ghcr.io/org/a", ""), ""},

		{"the registry", from("ghcr.io"), of("ghcr.io/org/a", ""), ""},
		{"the registry, by digest", from("ghcr.io"), of("ghcr.io/org/a@"+digest, ""), ""},
		{"the second of two", from("r:5000", "ghcr.io/org"), of("ghcr.io/org/team/a", ""), ""},
		{"the repository itself", from("ghcr.io/org/a"), of("ghcr.io/org/a", ""), ""},
		{"another registry", from("ghcr.io"), of("evil.io/org/a", ""), "image"},
		{"one that begins the same", from("ghcr.io"), of("ghcr.io.evil.io/org/a", ""), "image"},
		{"the registry on another port", from("ghcr.io"), of("ghcr.io:5000/org/a", ""), "image"},
		{"a path that begins the same", from("ghcr.io/org"), of("ghcr.io/organisation/a", ""), "image"},
		{"the registry as a path of another", from("ghcr.io"), of("evil.io/ghcr.io/org/a", ""), "image"},
		{"no registry", from("ghcr.io", "docker.io"), of("org/a", ""), "image"},
		{"Docker Hub by name", from("docker.io/library"), of("docker.io/library/a", ""), ""},
		{"Docker Hub by its other name", from("docker.io"), of("index.docker.io/library/a", ""), ""},
		{"no image", from("ghcr.io"), of("ghcr.io/ORG/a", ""), "image"},
		{"an agent from elsewhere", from("ghcr.io"), of("ghcr.io/org/a", "evil.io/agent:1"), "agentImageOverride"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &v1alpha1.Skyhook{}
			s.Name, s.Spec.Packages = "demo", map[string]v1alpha1.Package{"a": c.pkg}
			var fields []string
			for _, p := range admission.Check(s, c.rules) {
				fields = append(fields, strings.TrimPrefix(p.Field, "spec.packages.a."))
				if !strings.Contains(p.Message, ";") {
					t.Errorf("%s: no way out", p)
				}
			}
			if got := strings.Join(fields, " "); got != c.want {
				t.Errorf("wrong: %q, want %q", got, c.want)
			}
		})
	}
}

func TestParseRegistries(t *testing.T) {
	for text, want := range map[string][]string{
		"": nil, " , ": nil, "ghcr.io": {"ghcr.io"}, "ghcr.io/org/, localhost:5000": {"ghcr.io/org", "localhost:5000"},
		"docker.io/library": {"docker.io/library"},
	} {
		if got, err := admission.ParseRegistries(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q gives %q, error %v", text, got, err)
		}
	}
	for _, text := range []string{"https://ghcr.io", "ghcr.io/Org", "a b", "ghcr.io/org:1", "ghcr.io/org@sha256:1"} {
		if got, err := admission.ParseRegistries(text); err == nil {
			t.Errorf("%q gives %q", text, got)
		}
	}
}
