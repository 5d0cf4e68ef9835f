//go:build integration

package v1alpha1_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/semver"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// accepts asks the API server about a Skyhook with one package of these fields.
func accepts(t *testing.T, c client.Client, fields map[string]any) bool {
	t.Helper()
	pkg := map[string]any{"version": "1.0.0", "image": "r/a"}
	for name, value := range fields {
		pkg[name] = value
	}
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"packages": map[string]any{"p": pkg}}}}
	u.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Skyhook"))
	u.SetName("rules")
	err := c.Create(t.Context(), u, client.DryRunAll)
	if err != nil && !apierrors.IsInvalid(err) {
		t.Fatal(err)
	}
	return err == nil
}

// The rule is a regular expression; semver's own parser says what it must accept, and Kubernetes' names and labels, of
// which a version becomes a part, say what it must refuse beyond that.
func TestVersionRuleAgreesWithSemver(t *testing.T) {
	c := strictClient(t)
	cores := []string{"", "1", "0", "01", "1.2", "1.02", "1.2.", "1.2.3", "1.2.03", "0.0.0", "1.2.3.4", "10.20.30", "1..3", "-1.2.3", "a.b.c", " 1.2.3", "1.2.3 "}
	suffixes := []string{"", "-", "-rc", "-rc.1", "-rc.01", "-0", "-01", "-0a", "-1-2", "--a", "-a-", "-a.-b", "-a..b", "-A.B", "-rc_1", "-1.", "+build", "-rc+build"}
	for _, prefix := range []string{"", "v", "V", "vv"} {
		for _, core := range cores {
			for _, suffix := range suffixes {
				version := prefix + core + suffix
				if got, want := accepts(t, c, map[string]any{"version": version}), usableVersion(version); got != want {
					t.Errorf("version %q: accepted %t, want %t", version, got, want)
				}
			}
		}
	}
}

func usableVersion(version string) bool {
	if !semver.IsValid("v"+strings.TrimPrefix(version, "v")) || semver.Build("v"+strings.TrimPrefix(version, "v")) != "" {
		return false
	}
	name := strings.ToLower("p-" + version)
	return len(validation.IsDNS1123Subdomain(name)) == 0 && len(validation.IsValidLabelValue("p-"+version)) == 0
}

// Config keys have been matched by filepath.Match, so manifests rely on its globs.
func TestConfigInterruptRuleAgreesWithFilepathMatch(t *testing.T) {
	c := strictClient(t)
	patterns := []string{"*", "a*", "*.conf", "a.conf*", "a*f", "**", "?.c*", "b*", "a.?", "*x", "a.conf", "aXconf", ".*", "[ab]*", "[!a]*", "[^a]*", "(a)*", "a+*", "{a}*", "a|b*", "^a*", "a$*", "[*"}
	for _, key := range []string{"a.conf", "axconf", "b", ".hidden", "a"} {
		for _, pattern := range patterns {
			got := accepts(t, c, map[string]any{
				"configMap":        map[string]any{key: ""},
				"configInterrupts": map[string]any{pattern: map[string]any{"type": "reboot"}},
			})
			matched, err := filepath.Match(pattern, key)
			want := pattern == key || err == nil && matched && strings.Contains(pattern, "*")
			if got != want {
				t.Errorf("pattern %q for key %q: accepted %t, want %t", pattern, key, got, want)
			}
		}
	}
}

// A duration that the schema accepts but Go cannot parse would stop every informer of the kind.
func TestGracefulShutdownRuleAgreesWithGo(t *testing.T) {
	c := strictClient(t)
	for _, s := range []string{
		"", "0", "1", "-0", "+5s", "-5s", "30s", "1m", "1h1m1s", "1.5h", ".5s", "5.s", ".s", "s", "1d", "1 s", " 1s", "1µs", "1us", "1ns",
		"2562047h", "2562048h", "9223372036854775807ns", "9223372036854775808ns", "1e3s", "0x10s", "1S", "١s",
	} {
		d, err := time.ParseDuration(s)
		if got, want := accepts(t, c, map[string]any{"gracefulShutdown": s}), err == nil && d >= 0 && !strings.HasPrefix(s, "-"); got != want {
			t.Errorf("duration %q: accepted %t, want %t (%v)", s, got, want, err)
		}
	}
}

// The API server stops evaluating rules at a cost limit; a large but sensible Skyhook must stay below it.
func TestLargeSkyhookIsAccepted(t *testing.T) {
	const count = 128
	packages := map[string]v1alpha1.Package{}
	for i := range count {
		p := v1alpha1.Package{Version: "1.2.3-rc.1", Image: "registry.example.com:5000/org/some-long-repository/name"}
		p.DependsOn = map[string]string{}
		for j := max(0, i-20); j < i; j++ {
			p.DependsOn[packageName(j)] = p.Version
		}
		p.ConfigMap = map[string]string{}
		for j := range 30 {
			p.ConfigMap[fmt.Sprintf("some_configuration_file_%d.conf", j)] = strings.Repeat("x", 100)
		}
		p.ConfigInterrupts = map[string]v1alpha1.Interrupt{
			"*_file_7.conf":                   {Type: v1alpha1.InterruptReboot},
			"some_configuration_file_29.conf": {Type: v1alpha1.InterruptService, Services: []string{"containerd"}},
		}
		packages[packageName(i)] = p
	}
	large := &v1alpha1.Skyhook{ObjectMeta: metav1.ObjectMeta{Name: "large"}, Spec: v1alpha1.SkyhookSpec{Packages: packages}}
	if err := typedClient(t).Create(t.Context(), large, client.DryRunAll); err != nil {
		t.Error(err)
	}
}

func packageName(i int) string { return fmt.Sprintf("some-package-with-a-long-name-%d", i) }
