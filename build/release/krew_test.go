//go:build integration

package release

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// checkKrew: the manifest names each of the plugin's archives, with its sum and the program that is in it.
func checkKrew(t *testing.T, r Result, files map[string][]byte) {
	var plugin krewPlugin
	if err := yaml.UnmarshalStrict(files[krewFile], &plugin); err != nil {
		t.Fatal(err)
	}
	if plugin.Spec.Version != r.Version || plugin.Metadata["name"] != "skyhook" || len(plugin.Spec.ShortDescription) > 50 {
		t.Errorf("it is %+v", plugin)
	}
	var want, got []string
	for file := range maps.Keys(files) {
		if strings.HasSuffix(file, archiveExt) {
			want = append(want, file)
		}
	}
	for _, p := range plugin.Spec.Platforms {
		file, ok := strings.CutPrefix(p.URI, "https://github.com/skyhook-operator/skyhook/releases/download/"+r.Version+"/")
		if got = append(got, file); !ok || fmt.Sprintf("%x", sha256.Sum256(files[file])) != p.SHA256 {
			t.Errorf("the archive %s has another sum or place", p.URI)
		}
		members := must(untarGzip(files[file]))(t)
		if !slices.ContainsFunc(members, func(m member) bool { return m.name == p.Bin && m.mode == 0o755 }) {
			t.Errorf("%s has no program %s", file, p.Bin)
		}
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" || len(want) == 0 {
		t.Errorf("archives (-release +manifest):\n%s", diff)
	}
}
