package image_test

import (
	"archive/tar"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/skyhook-operator/skyhook/pkg/image"
)

const reference = "registry.test/tuning:1.2.3"

func TestLint_TagIsTheVersion(t *testing.T) {
	tests := []struct{ reference, message, fix string }{
		{reference, "", ""},
		{"tuning:1.2.3", "", ""},
		{"registry.test/tuning:1.2.4", `is "1.2.3", but the tag of the image is "1.2.4"`, "1.2.4 in its config.json, or tag it 1.2.3"},
		{"registry.test/tuning:v1.2.3", `the tag of the image is "v1.2.3"`, "tag it 1.2.3"},
		{"registry.test/tuning:latest", `the tag of the image is "latest"`, "the tag is the version"},
		{"registry.test/tuning", `the tag of the image is "latest"`, "tag it 1.2.3"},
		{"registry.test:5000/tuning", `the tag of the image is "latest"`, "tag it 1.2.3"},
		{"registry.test/tuning@sha256:" + strings.Repeat("a", 64), "", ""},
	}
	for _, test := range tests {
		t.Run(test.reference, func(t *testing.T) {
			report := lint(t, test.reference, label, base(t), layer(t, files(configJSON)...))
			expect(t, report.Errors, "config.json", test.message, test.fix)
			if len(report.Warnings) != 0 || test.message != "" && report.Errors[0].Pointer != "/package_version" {
				t.Errorf("%+v", report)
			}
		})
	}
}

func TestLint_LabelAgreesWithThePackage(t *testing.T) {
	tests := map[string]struct {
		config, label string
		err, warning  string
	}{
		"it cannot":               {configJSON, "false", "", ""},
		"it can":                  {uninstalls.Replace(configJSON), "true", "", ""},
		"says it can":             {configJSON, "true", "is true, but the package has no uninstall steps", ""},
		"says it cannot":          {uninstalls.Replace(configJSON), "false", "is false, but the package has uninstall steps", ""},
		"says something else":     {configJSON, "no", `"no", which is neither`, ""},
		"says nothing":            {configJSON, "", "", "is missing"},
		"says nothing, but can":   {uninstalls.Replace(configJSON), "", "", "is missing"},
		"only an empty uninstall": {strings.Replace(configJSON, `"apply":`, `"uninstall": [], "apply":`, 1), "false", "", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			labels := map[string]string{"com.nvidia.skyhook.uninstall": test.label}
			if test.label == "" {
				labels = nil
			}
			report := lint(t, reference, labels, base(t), layer(t, files(test.config)...))
			expect(t, report.Errors, "image configuration", test.err, "LABEL com.nvidia.skyhook.uninstall=")
			expect(t, report.Warnings, "image configuration", test.warning, "set it to ")
		})
	}
}

func TestLint_WhatThePackageIsCopiedWith(t *testing.T) {
	hard := func(name string) entry { return link(tar.TypeLink, name, "bin/busybox") }
	tests := map[string]struct {
		base []entry
		file string
	}{
		"in /usr/bin":               {[]entry{symlink("bin/sh", "dash"), script("usr/bin/mkdir"), script("usr/bin/cp")}, ""},
		"/bin is /usr/bin":          {[]entry{symlink("bin", "usr/bin"), script("usr/bin/sh"), script("usr/bin/mkdir"), script("usr/bin/cp")}, ""},
		"/bin is /usr/bin, rooted":  {[]entry{symlink("./bin", "/usr/bin"), hard("./usr/bin/sh"), hard("./usr/bin/mkdir"), hard("./bin/cp")}, ""},
		"/bin comes later":          {[]entry{script("usr/bin/sh"), script("usr/bin/mkdir"), script("usr/bin/cp"), symlink("bin", "usr/bin")}, ""},
		"/bin is a folder again":    {[]entry{symlink("bin", "usr/bin"), folder("bin/"), script("bin/sh"), script("bin/cp"), script("usr/bin/mkdir")}, ""},
		"links of absolute targets": {[]entry{symlink("bin/sh", "/bin/busybox"), symlink("bin/mkdir", "/bin/busybox"), symlink("bin/cp", "/bin/busybox")}, ""},
		"no shell":                  {[]entry{script("bin/mkdir"), script("bin/cp")}, "/bin/sh"},
		"a shell elsewhere":         {[]entry{script("usr/bin/sh"), script("bin/mkdir"), script("bin/cp")}, "/bin/sh"},
		"no mkdir":                  {[]entry{script("bin/sh"), script("bin/cp")}, "/bin/mkdir"},
		"no cp":                     {[]entry{script("bin/sh"), script("bin/mkdir")}, "/bin/cp"},
		"cp was taken away":         {[]entry{script("bin/sh"), script("bin/mkdir"), script("bin/cp"), gone("bin/.wh.cp")}, "/bin/cp"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			message := ""
			if test.file != "" {
				message = "does not exist in the image"
			}
			report := lint(t, reference, label, layer(t, test.base...), layer(t, files(configJSON)...))
			expect(t, report.Errors, test.file, message, "busybox")
		})
	}
	report := lint(t, reference, label, layer(t, files(configJSON)...))
	if len(report.Errors) != 3 {
		t.Errorf("from scratch: %+v", report)
	}
}

func TestLint_Platforms(t *testing.T) {
	windows := v1.Platform{OS: "windows", Architecture: "amd64"}
	unknown := v1.Platform{OS: "unknown", Architecture: "unknown"}
	v8 := v1.Platform{OS: "linux", Architecture: "arm64", Variant: "v8"}
	bad := build(t, arm64, label, base(t), layer(t, files(strings.Replace(configJSON, `"on_host": true`, `"on_host": false`, 1))...))
	tests := map[string]struct {
		images      []v1.Image
		err, warned string
	}{
		"both":                {[]v1.Image{good(t, amd64), good(t, arm64)}, "", ""},
		"with a variant":      {[]v1.Image{good(t, amd64), good(t, v8)}, "", ""},
		"with others":         {[]v1.Image{good(t, amd64), good(t, arm64), build(t, windows, nil), build(t, unknown, nil)}, "", ""},
		"amd64 alone":         {[]v1.Image{good(t, amd64)}, "", "no image for linux/arm64"},
		"arm64 alone":         {[]v1.Image{good(t, arm64)}, "", "no image for linux/amd64"},
		"one of two is wrong": {[]v1.Image{good(t, amd64), bad}, "linux/arm64: config.json /modes/apply/0/on_host: ", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			found, err := image.FromIndex(reference, index(t, test.images...))
			must(t, err)
			pkg, report, err := found.Lint(t.Context())
			if err != nil || pkg == nil || pkg.Name != "tuning" {
				t.Fatalf("package %v, error %v", pkg, err)
			}
			if test.err == "" != (len(report.Errors) == 0) || test.err != "" && !strings.HasPrefix(report.Errors[0].String(), test.err) {
				t.Errorf("errors %+v", report.Errors)
			}
			if test.warned == "" != (len(report.Warnings) == 0) || test.warned != "" && !strings.Contains(report.Warnings[0].Message, test.warned) {
				t.Errorf("warnings %+v", report.Warnings)
			}
		})
	}
	if _, err := image.FromIndex(reference, index(t, build(t, windows, nil))); err == nil || !strings.Contains(err.Error(), reference+" holds no image for linux") {
		t.Errorf("windows alone: %v", err)
	}
	many := make([]v1.Image, 33)
	for i := range many {
		many[i] = good(t, amd64)
	}
	if _, err := image.FromIndex(reference, index(t, many...)); err == nil || !strings.Contains(err.Error(), "more than 32 platforms") {
		t.Errorf("many: %v", err)
	}
}
