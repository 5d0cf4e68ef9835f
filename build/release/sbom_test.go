package release

import (
	"bytes"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx"
	"github.com/spdx/tools-golang/spdxlib"

	"github.com/skyhook-operator/skyhook/build/images"
)

// readDocument reads a document as others do, and checks that its relationships are between what is there.
func readDocument(t *testing.T, file string) *spdx.Document {
	t.Helper()
	doc := must(spdxjson.Read(bytes.NewReader(read(t, file))))(t)
	if err := spdxlib.ValidateDocument(doc); err != nil {
		t.Errorf("%s: %v", file, err)
	}
	return doc
}

// purls are the references of all packages, in their order.
func purls(doc *spdx.Document) []string {
	var all []string
	for _, p := range doc.Packages {
		for _, ref := range p.PackageExternalReferences {
			all = append(all, ref.Locator)
		}
	}
	return all
}

func TestDocument(t *testing.T) {
	info := &debug.BuildInfo{
		GoVersion: "go1.26.8", Path: "example.test/m/cmd/p", Main: debug.Module{Path: "example.test/m", Version: "(devel)"},
		Deps: []*debug.Module{
			{Path: "example.test/a_b", Version: "v1.0.0", Sum: "h1:one="},
			{Path: "example.test/a-b", Version: "v1.0.0", Sum: "h1:two="},
			{Path: "old.test/c", Version: "v1.0.0", Replace: &debug.Module{Path: "new.test/c/v2", Version: "v2.0.0+incompatible"}},
		},
	}
	file := filepath.Join(t.TempDir(), "d")
	err := writeDocument(file, Options{version: "v0.2.0", created: time.Unix(1e9, 0).UTC()}, subject{
		name: "registry.test/p", version: "1.2.3", purpose: "CONTAINER", sha256: strings.Repeat("a", 64), license: unknown, purl: "pkg:oci/p@sha256:aa",
		programs: []goProgram{{"/p", info}, {"/q", info}},
		debian: []images.DebianFile{{
			Name: "bash-static", Version: "1:5.2+b1", Arch: "arm64", Distribution: "debian-12", License: "GPL-3.0-or-later",
			Sum: strings.Repeat("b", 64),
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	doc := readDocument(t, file)
	want := []string{
		"pkg:oci/p@sha256:aa", "pkg:golang/example.test/m@1.2.3", "pkg:golang/stdlib@1.26.8",
		"pkg:golang/example.test/a_b@v1.0.0", "pkg:golang/example.test/a-b@v1.0.0", "pkg:golang/new.test/c/v2@v2.0.0%2Bincompatible",
		"pkg:deb/debian/bash-static@1:5.2%2Bb1?arch=arm64&distro=debian-12",
	}
	if diff := cmp.Diff(want, purls(doc)); diff != "" {
		t.Errorf("references (-want +got):\n%s", diff)
	}
	if doc.CreationInfo.Created != "2001-09-09T01:46:40Z" || doc.SPDXVersion != "SPDX-2.3" {
		t.Errorf("created is %s, version %s", doc.CreationInfo.Created, doc.SPDXVersion)
	}
	if got := doc.Packages[3].PackageComment; got != "go.sum h1:one=" {
		t.Errorf("the comment of a module is %q", got)
	}
	described, err := spdxlib.GetDescribedPackageIDs(doc)
	if err != nil || len(described) != 1 || described[0] != doc.Packages[0].PackageSPDXIdentifier {
		t.Errorf("the document describes %v, %v", described, err)
	}
}

func TestCreated(t *testing.T) {
	for _, test := range []struct {
		given, want string
	}{
		{"1000000000", "2001-09-09T01:46:40Z"},
		{"", "1970-01-01T00:00:00Z"}, // no git folder
	} {
		t.Setenv("SOURCE_DATE_EPOCH", test.given)
		got, err := created(t.TempDir())
		if err != nil || got.Format(time.RFC3339) != test.want {
			t.Errorf("SOURCE_DATE_EPOCH=%s: got %s, %v, want %s", test.given, got, err, test.want)
		}
	}
	t.Setenv("SOURCE_DATE_EPOCH", "yesterday")
	if _, err := created(t.TempDir()); err == nil || !strings.Contains(err.Error(), `"yesterday"`) {
		t.Errorf("got %v", err)
	}
	t.Setenv("SOURCE_DATE_EPOCH", "")
	if got, err := created("../.."); err != nil || got.Year() < 2020 {
		t.Errorf("a commit is from %s, %v", got, err)
	}
}
