package docs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestSignatureExamples: each example is about images, refuses what nobody signed, and has a place for a key. What the
// fields mean is for the admission controllers, whose types are not ours to depend on.
func TestSignatureExamples(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs/images.md"))
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string][]string{
		"kyverno.yaml":           {"kind: ClusterPolicy", "- skyhook\n", "failureAction: Enforce", "required: true"},
		"policy-controller.yaml": {"kind: ClusterImagePolicy", "glob: "},
	} {
		path := "examples/signatures/" + file
		if !strings.Contains(string(page), path) {
			t.Errorf("docs/images.md does not lead to %s", path)
		}
		raw, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		for document := range strings.SplitSeq(string(raw), "\n---\n") {
			var object map[string]any
			if err := yaml.UnmarshalStrict([]byte(document), &object); err != nil {
				t.Errorf("%s: %v", path, err)
			}
			again, err := yaml.Marshal(object) // without comments
			if err != nil {
				t.Fatal(err)
			}
			text.Write(again)
		}
		for _, part := range append(want, "BEGIN PUBLIC KEY", "ghcr.io/") {
			if !strings.Contains(text.String(), part) {
				t.Errorf("%s does not say %q", path, part)
			}
		}
	}
}
