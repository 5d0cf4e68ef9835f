//go:build integration

package main

import (
	"strings"
	"testing"
)

func TestForeignTakesARegistry(t *testing.T) {
	f := &foreign{root: "../.."}
	public, err := f.manifest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("DEMO_REGISTRY", "registry.example/team/")
	own, err := f.manifest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, image := range []string{"/operator:", "/agent:"} {
		if !strings.Contains(string(public), publicRegistry+image) || !strings.Contains(string(own), "registry.example/team"+image) {
			t.Errorf("the image %s is not named", image)
		}
	}
	if strings.Contains(string(own), publicRegistry+"/") {
		t.Error("an image of the public registry is left")
	}
	t.Setenv("DEMO_HELM_ARGS", "--set a=b")
	if _, err := f.manifest(t.Context()); err == nil || !strings.Contains(err.Error(), "DEMO_REGISTRY") {
		t.Errorf("got %v, want the variable that took its place", err)
	}
}
