//go:build integration

package manifest

import (
	"os"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/skyhook-operator/skyhook/build/images"
	"github.com/skyhook-operator/skyhook/test/helm"
)

const repository = "ghcr.io/skyhook-operator/skyhook/"

// TestInstall: all images are those of this version, and get the digests of what was built.
func TestInstall(t *testing.T) {
	helm.Inputs(t, "../..")
	version, err := os.ReadFile("../../VERSION")
	if err != nil {
		t.Fatal(err)
	}
	tag := strings.TrimSpace(string(version))
	var built []images.Result
	for _, name := range []string{"operator", "agent", "shellscript"} {
		built = append(built, images.Result{
			Name: name, Reference: repository + name + ":" + tag, Digest: v1.Hash{Algorithm: "sha256", Hex: name},
		})
	}
	text, err := Install(t.Context(), "../..", t.Output(), built...)
	if err != nil {
		t.Fatal(err)
	}
	named := strings.Count(string(text), repository)
	for _, name := range []string{"operator", "agent"} {
		named -= strings.Count(string(text), repository+name+":"+tag+"@sha256:"+name)
	}
	if named != 0 {
		t.Errorf("%d images are not pinned", named)
	}
}

func TestInstallOfAnotherVersion(t *testing.T) {
	helm.Inputs(t, "../..")
	_, err := Install(t.Context(), "../..", t.Output(), images.Result{Name: "operator", Reference: repository + "operator:v0.0.0-none"})
	if err == nil || !strings.Contains(err.Error(), "appVersion") {
		t.Errorf("got %v", err)
	}
}
