package admission_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/admission"
)

func skyhook(t *testing.T, spec string) *v1alpha1.Skyhook {
	t.Helper()
	s := &v1alpha1.Skyhook{ObjectMeta: metav1.ObjectMeta{Name: "demo"}}
	if err := yaml.UnmarshalStrict([]byte(spec), &s.Spec); err != nil {
		t.Fatal(err)
	}
	return s
}

var digest = "sha256:" + strings.Repeat("a", 64)

// TestCheck: each wrong thing gives the fields and a part of the message that says how to fix it.
func TestCheck(t *testing.T) {
	for _, c := range []struct {
		name string
		spec string
		want []string // "field: part of the message"
	}{
		{name: "nothing", spec: `{}`},
		{
			name: "all that is supported",
			spec: `
nodeSelectors: {matchLabels: {a: b}, matchExpressions: [{key: c, operator: In, values: [d]}]}
interruptionBudget: {percent: 10}
additionalTolerations: [{operator: Exists}]
priority: 5
sequencing: all
serial: true
podNonInterruptLabels: {matchLabels: {a: b}, matchExpressions: [{key: a, operator: Exists}]}
drain: {timeoutSeconds: 60, force: true}
packages:
  a: {name: a, version: 1.0.0, image: x/a, configMap: {k: v}, interrupt: {type: reboot}, configInterrupts: {k: {type: service, services: [x]}}, env: [{name: E, value: v}], gracefulShutdown: 5s}
  b: {version: v2.1, image: "localhost:5000/b:2", dependsOn: {a: 1.0.0}, uninstall: {enabled: true, apply: true, whenRemoved: Uninstall}}
  c: {version: 2024.7.6, image: x/c, dependsOn: {a: v1.0, b: v2.1}, resources: {cpuRequest: 50m, cpuLimit: 1, memoryRequest: 64Mi, memoryLimit: 64Mi}}
`,
		},
		{name: "a selector that is none", spec: `nodeSelectors: {matchExpressions: [{key: c, operator: Near}]}`, want: []string{"spec.nodeSelectors: is not a label selector"}},
		{name: "a selector without values", spec: `nodeSelectors: {matchExpressions: [{key: c, operator: In}]}`, want: []string{"spec.nodeSelectors: is not a label selector"}},
		{name: "two budgets", spec: `interruptionBudget: {percent: 10, count: 2}`, want: []string{"spec.interruptionBudget: keep one"}},
		{name: "budgets of zero are budgets", spec: `interruptionBudget: {percent: 0, count: 0}`, want: []string{"spec.interruptionBudget: keep one"}},

		{name: "another name than the key", spec: `packages: {a: {name: b, version: 1.0.0, image: x}}`, want: []string{`spec.packages.a.name: repeat the key "a"`}},
		{name: "no version", spec: `packages: {a: {version: "", image: x}}`, want: []string{`spec.packages.a: must fit into a label`, `spec.packages.a.version: "" is not a semantic version`}},
		{name: "a version that is none", spec: `packages: {a: {version: latest, image: x}}`, want: []string{`spec.packages.a.version: write it like 1.2.3`}},
		{name: "four parts", spec: `packages: {a: {version: 1.2.3.4, image: x}}`, want: []string{`spec.packages.a.version: "1.2.3.4" is not a semantic version`}},
		{name: "build metadata", spec: `packages: {a: {version: 1.2.3+b, image: x}}`, want: []string{`spec.packages.a: "a-1.2.3+b", must fit into a label value`}},
		{
			name: "name and version too long together", spec: `packages: {` + strings.Repeat("a", 43) + `: {version: 1.2.3-` + strings.Repeat("b", 20) + `, image: x}}`,
			want: []string{`spec.packages.` + strings.Repeat("a", 43) + `: no more than 63`},
		},
		{name: "no image", spec: `packages: {a: {version: 1.0.0, image: ""}}`, want: []string{`spec.packages.a.image: name the image's repository`}},
		{name: "a digest", spec: `packages: {a: {version: 1.0.0, image: "x:1@` + digest + `"}, b: {version: 1.0.0, image: "x@` + digest + `", containerSHA: "` + digest + `"}}`},
		{
			name: "two digests", spec: `packages: {a: {version: 1.0.0, image: "x@` + digest + `", containerSHA: "` + strings.ReplaceAll(digest, "aaaa", "bbbb") + `"}}`,
			want: []string{`spec.packages.a.image: has the digest "` + digest + `", but containerSHA is "sha256:bbb`},
		},
		{
			name: "a digest that is none", spec: `packages: {a: {version: 1.0.0, image: "x@sha256:1"}, b: {version: 1.0.0, image: "x@"}}`,
			want: []string{`spec.packages.a.image: "sha256:1", which is not a digest`, `spec.packages.b.image: "", which is not a digest`},
		},
		{name: "only a tag", spec: `packages: {a: {version: 1.0.0, image: ":1"}}`, want: []string{`spec.packages.a.image: is empty`}},

		{
			name: "a configMap that no ConfigMap holds", want: []string{`spec.packages.a.configMap: holds 1048577 bytes, but a ConfigMap takes at most 1048576`},
			spec: `packages: {a: {version: 1.0.0, image: x, configMap: {k: ` + strings.Repeat("v", 1<<19) + `, l: ` + strings.Repeat("v", 1<<19+1) + `}}}`,
		},
		{
			name: "the largest configMap",
			spec: `packages: {a: {version: 1.0.0, image: x, configMap: {k: ` + strings.Repeat("v", 1<<19) + `, l: ` + strings.Repeat("v", 1<<19) + `}}}`,
		},
		{
			name: "limits below their requests",
			spec: `packages: {a: {version: 1.0.0, image: x, resources: {cpuRequest: 1, cpuLimit: 999m, memoryRequest: 65Mi, memoryLimit: 64Mi}}}`,
			want: []string{`spec.packages.a.resources.cpuLimit: 999m is below cpuRequest, which is 1`, `spec.packages.a.resources.memoryLimit: 64Mi is below memoryRequest, which is 65Mi`},
		},
		{
			name: "limits that equal their requests, written otherwise",
			spec: `packages: {a: {version: 1.0.0, image: x, resources: {cpuRequest: 1000m, cpuLimit: 1, memoryRequest: 1024Mi, memoryLimit: 1Gi}}}`,
		},
		{name: "resources of zeros are none", spec: `packages: {a: {version: 1.0.0, image: x, resources: {}}}`},

		{name: "a dependency that is missing", spec: `packages: {a: {version: 1.0.0, image: x, dependsOn: {b: 1.0.0}}}`, want: []string{`spec.packages.a.dependsOn.b: package "b" is not in spec.packages`}},
		{
			name: "a dependency on another version", spec: `packages: {a: {version: 1.0.0, image: x, dependsOn: {b: 1.0.0}}, b: {version: 1.1.0, image: x}}`,
			want: []string{`spec.packages.a.dependsOn.b: wants version "1.0.0", but spec.packages.b.version is "1.1.0"`},
		},
		{
			name: "a dependency without a version", spec: `packages: {a: {version: 1.0.0, image: x, dependsOn: {b: ""}}, b: {version: 1.1.0, image: x}}`,
			want: []string{`spec.packages.a.dependsOn.b: wants version ""`},
		},
		{name: "itself", spec: `packages: {a: {version: 1.0.0, image: x, dependsOn: {a: 1.0.0}}}`, want: []string{`spec.packages.a.dependsOn.a: cannot depend on itself`}},
		{
			name: "a cycle of two", spec: `packages: {a: {version: 1.0.0, image: x, dependsOn: {b: 1.0.0}}, b: {version: 1.0.0, image: x, dependsOn: {a: 1.0.0}}}`,
			want: []string{`spec.packages.a.dependsOn: (a -> b -> a)`},
		},
		{
			name: "a cycle of three, and one outside that depends on it",
			spec: `
packages:
  a: {version: 1.0.0, image: x, dependsOn: {b: 1.0.0}}
  b: {version: 1.0.0, image: x, dependsOn: {c: 1.0.0}}
  c: {version: 1.0.0, image: x, dependsOn: {a: 1.0.0}}
  d: {version: 1.0.0, image: x, dependsOn: {a: 1.0.0}}
`,
			want: []string{`spec.packages.a.dependsOn: (a -> b -> c -> a)`},
		},
		{
			name: "two cycles, one of which one leads to",
			spec: `
packages:
  a: {version: 1.0.0, image: x, dependsOn: {b: 1.0.0, c: 1.0.0}}
  b: {version: 1.0.0, image: x, dependsOn: {a: 1.0.0}}
  c: {version: 1.0.0, image: x, dependsOn: {d: 1.0.0}}
  d: {version: 1.0.0, image: x, dependsOn: {c: 1.0.0}}
`,
			want: []string{`spec.packages.a.dependsOn: (a -> b -> a)`, `spec.packages.c.dependsOn: (c -> d -> c)`},
		},
		{
			name: "two cycles that meet are told of once",
			spec: `
packages:
  a: {version: 1.0.0, image: x, dependsOn: {b: 1.0.0}}
  b: {version: 1.0.0, image: x, dependsOn: {a: 1.0.0, c: 1.0.0}}
  c: {version: 1.0.0, image: x, dependsOn: {b: 1.0.0}}
`,
			want: []string{`spec.packages.a.dependsOn: (a -> b -> a); remove one of these dependencies; more cycles are among a, b, c`},
		},
		{
			name: "one that depends on itself as well",
			spec: `packages: {a: {version: 1.0.0, image: x, dependsOn: {a: 1.0.0, b: 1.0.0}}, b: {version: 1.0.0, image: x, dependsOn: {a: 1.0.0}}}`,
			want: []string{`spec.packages.a.dependsOn: (a -> b -> a)`, `spec.packages.a.dependsOn.a: cannot depend on itself`},
		},
		{
			name: "a diamond is no cycle",
			spec: `
packages:
  a: {version: 1.0.0, image: x}
  b: {version: 1.0.0, image: x, dependsOn: {a: 1.0.0}}
  c: {version: 1.0.0, image: x, dependsOn: {a: 1.0.0}}
  d: {version: 1.0.0, image: x, dependsOn: {b: 1.0.0, c: 1.0.0}}
`,
		},

		{
			name: "podNonInterruptLabels that are no selector", spec: `podNonInterruptLabels: {matchExpressions: [{key: a, operator: Near}]}`,
			want: []string{"spec.podNonInterruptLabels: is not a label selector"},
		},

		{
			name: "all problems at once, sorted by field",
			spec: `{interruptionBudget: {percent: 1, count: 1}, packages: {b: {version: x, image: ""}}}`,
			want: []string{
				"spec.interruptionBudget: keep one", "spec.packages.b.image: is empty",
				"spec.packages.b.version: is not a semantic version",
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) { checkProblems(t, skyhook(t, c.spec), c.want) })
	}
}

func checkProblems(t *testing.T, s *v1alpha1.Skyhook, want []string) {
	t.Helper()
	before := s.DeepCopy()
	problems := admission.Check(s, admission.ImageRules{})
	if diff := cmp.Diff(before, s); diff != "" {
		t.Errorf("Check changed the Skyhook:\n%s", diff)
	}
	matchProblems(t, problems, want)
}

func TestCheckName(t *testing.T) {
	s := skyhook(t, `{}`)
	s.Name = strings.Repeat("s", admission.MaxName)
	checkProblems(t, s, nil)
	s.Name += "s"
	checkProblems(t, s, []string{"metadata.name: is 54 characters long; use at most 53"})
}

// TestCheckOfManyDependencies: a dense graph of the largest spec is looked through in no time.
func TestCheckOfManyDependencies(t *testing.T) {
	s := &v1alpha1.Skyhook{ObjectMeta: metav1.ObjectMeta{Name: "demo"}}
	s.Spec.Packages = map[string]v1alpha1.Package{}
	var names []string
	for i := range 128 {
		pkg := v1alpha1.Package{Version: "1.0.0", Image: "x", DependsOn: map[string]string{}}
		for _, earlier := range names {
			pkg.DependsOn[earlier] = "1.0.0"
		}
		names = append(names, fmt.Sprintf("p%03d", i))
		s.Spec.Packages[names[i]] = pkg
	}
	checkProblems(t, s, nil)

	first := s.Spec.Packages[names[0]]
	first.DependsOn = map[string]string{names[127]: "1.0.0"}
	s.Spec.Packages[names[0]] = first
	checkProblems(t, s, []string{"spec.packages.p000.dependsOn: (p000 -> p127 -> p000); remove one of these dependencies; more cycles are among p000, p001, p002, p003, p004, p005, p006, p007, p008, p009 and 118 more"})
}

// TestLongCycle: a message names the beginning of a long way.
func TestLongCycle(t *testing.T) {
	s := &v1alpha1.Skyhook{ObjectMeta: metav1.ObjectMeta{Name: "demo"}, Spec: v1alpha1.SkyhookSpec{Packages: map[string]v1alpha1.Package{}}}
	for i := range admission.MaxPackages {
		next := fmt.Sprintf("p%03d", (i+1)%admission.MaxPackages)
		s.Spec.Packages[fmt.Sprintf("p%03d", i)] = v1alpha1.Package{Version: "1.0.0", Image: "x", DependsOn: map[string]string{next: "1.0.0"}}
	}
	checkProblems(t, s, []string{"spec.packages.p000.dependsOn: (p000 -> p001 -> p002 -> p003 -> p004 -> p005 -> p006 -> p007 -> p008 -> p009 -> ... -> p000)"})
}

func TestJoin(t *testing.T) {
	a, b := admission.Problem{Field: "spec.a", Message: "is bad"}, admission.Problem{Field: "spec.b", Message: "is worse"}
	for _, c := range []struct {
		problems []admission.Problem
		want     string
	}{
		{nil, ""},
		{[]admission.Problem{a}, "spec.a: is bad"},
		{[]admission.Problem{a, b}, "spec.a: is bad; spec.b: is worse"},
		{[]admission.Problem{a, b, a}, "spec.a: is bad; spec.b: is worse; spec.a: is bad"},
		{[]admission.Problem{a, b, a, b}, "spec.a: is bad; spec.b: is worse; spec.a: is bad; and 1 more"},
		{[]admission.Problem{a, a, a, b, b}, "spec.a: is bad; spec.a: is bad; spec.a: is bad; and 2 more"},
	} {
		if got := admission.Join(c.problems); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}
