//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// withoutValue is a message of the API server without the wrong value, of which Kubernetes 1.31 says only the type.
func withoutValue(message string) string {
	return regexp.MustCompile(`Invalid value: "[^"]*": `).ReplaceAllString(message, "Invalid value: ")
}

func TestBrokenManifestsAreRefused(t *testing.T) {
	files, err := filepath.Glob("invalid/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 10 {
		t.Fatalf("%d broken manifests, want at least 10", len(files))
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			first, _, _ := strings.Cut(string(text), "\n")
			want, ok := strings.CutPrefix(first, "# expect: ")
			if !ok {
				t.Fatalf("%s does not start with \"# expect: \"", file)
			}
			out, err := kubectl(t, string(text), "apply", "-f", "-")
			if err == nil {
				t.Errorf("accepted: %s", out)
			}
			if !strings.Contains(withoutValue(out), withoutValue(want)) {
				t.Errorf("refused with\n%s\nwant\n%s", out, want)
			}
		})
	}
}

func TestEveryFieldIsExplained(t *testing.T) {
	for _, kind := range []string{"skyhook", "skyhook.spec.packages", "deploymentpolicy"} {
		out := mustKubectl(t, "", "explain", kind, "--recursive")
		if !strings.Contains(out, "DESCRIPTION") {
			t.Errorf("kubectl explain %s:\n%s", kind, out)
		}
	}
	for _, field := range []string{
		"version", "image", "containerSHA", "agentImageOverride", "dependsOn", "configMap", "env",
		"resources", "gracefulShutdown", "interrupt", "configInterrupts", "uninstall",
	} {
		out := mustKubectl(t, "", "explain", "skyhook.spec.packages."+field)
		if strings.Contains(out, "<empty>") || strings.Contains(out, "<no description>") {
			t.Errorf("skyhook.spec.packages.%s is not explained:\n%s", field, out)
		}
	}
}
