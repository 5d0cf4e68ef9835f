package v1alpha1_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const (
	validManifests   = "testdata/valid"
	invalidManifests = "testdata/invalid"
)

// manifest is one file of a corpus. expect is the text after "# expect: " in the first line.
type manifest struct {
	name   string
	expect string
	object *unstructured.Unstructured
}

// readManifests returns every manifest of a folder. Fewer than least fail the test, so that an emptied folder is noticed.
func readManifests(t *testing.T, folder string, least int) []manifest {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) < least {
		t.Fatalf("%s has %d manifests, want at least %d", folder, len(paths), least)
	}
	manifests := make([]manifest, 0, len(paths))
	for _, path := range paths {
		manifests = append(manifests, readManifest(t, path))
	}
	return manifests
}

func readManifest(t *testing.T, path string) manifest {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	m := manifest{name: strings.TrimSuffix(filepath.Base(path), ".yaml"), object: &unstructured.Unstructured{}}
	first, _, _ := strings.Cut(string(text), "\n")
	if expect, ok := strings.CutPrefix(first, "# expect: "); ok {
		m.expect = expect
	}
	if err := yaml.Unmarshal(text, &m.object.Object); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return m
}
