package chart

import (
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestVersionIsTheProjects(t *testing.T) {
	version, err := os.ReadFile("../../VERSION")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../charts/skyhook-operator/Chart.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var chart struct{ AppVersion string }
	if err := yaml.Unmarshal(text, &chart); err != nil {
		t.Fatal(err)
	}
	if want := strings.TrimSpace(string(version)); chart.AppVersion != want {
		t.Errorf("appVersion is %s, want %s as in the file VERSION", chart.AppVersion, want)
	}
}
