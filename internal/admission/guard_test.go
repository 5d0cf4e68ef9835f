package admission_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/admission"
)

// installed returns version 1.2.0 of the package tuning, which can be uninstalled, on the given nodes.
func installed(nodes ...string) admission.Installed {
	return admission.Installed{Package: "tuning", Version: "1.2.0", Enabled: true, WhenRemoved: v1alpha1.WhenRemovedRefuse, Nodes: nodes}
}

func with(i admission.Installed, change func(*admission.Installed)) admission.Installed {
	change(&i)
	return i
}

func uninstalling(i *admission.Installed)          { i.Uninstalling = true }
func uninstallsWhenRemoved(i *admission.Installed) { i.WhenRemoved = v1alpha1.WhenRemovedUninstall }

// TestGuard: what is on nodes, what the spec becomes, what is refused.
func TestGuard(t *testing.T) {
	const (
		field   = "spec.packages.tuning: "
		version = "spec.packages.tuning.version: "
	)
	for _, c := range []struct {
		name      string
		installed admission.Installed
		spec      string
		want      []string // "field: part of the message"
	}{
		{name: "nothing changes", installed: installed("n1"), spec: `packages: {tuning: {version: 1.2.0, image: x}}`},
		{name: "the same version, written otherwise", installed: installed("n1"), spec: `packages: {tuning: {version: v1.2, image: x}}`},
		{name: "nothing changes while uninstalling", installed: with(installed("n1"), uninstalling), spec: `packages: {tuning: {version: v1.2.0, image: x}}`},

		{name: "removed", installed: installed("n1"), spec: `{}`, want: []string{field + "(uninstall.enabled=true) and is still on node n1; keep the package and set uninstall.apply=true"}},
		{name: "removed, another stays", installed: installed("n1"), spec: `packages: {other: {version: 1.2.0, image: x}}`, want: []string{field + "uninstall.enabled=true"}},
		{name: "removed, installed nowhere", installed: installed(), spec: `{}`},
		{name: "removed, but cannot be uninstalled", installed: with(installed("n1"), func(i *admission.Installed) { i.Enabled = false }), spec: `{}`},
		{name: "removed to be uninstalled", installed: with(installed("n1"), uninstallsWhenRemoved), spec: `{}`},
		{name: "removed with the default policy unset", installed: with(installed("n1"), func(i *admission.Installed) { i.WhenRemoved = "" }), spec: `{}`, want: []string{field + "whenRemoved=Uninstall first"}},
		{name: "removed too early", installed: with(installed("n1"), uninstalling), spec: `{}`, want: []string{field + "(uninstall.enabled=true) and is still on node n1; its uninstall is not finished"}},
		{name: "removed while uninstalling, to be uninstalled", installed: with(with(installed("n1"), uninstalling), uninstallsWhenRemoved), spec: `{}`},

		{name: "raised", installed: installed("n1"), spec: `packages: {tuning: {version: 1.2.1, image: x}}`},
		{name: "lowered", installed: installed("n1"), spec: `packages: {tuning: {version: 1.1.9, image: x}}`, want: []string{version + "is lowered to 1.1.9, but 1.2.0 can be uninstalled and is on node n1; set uninstall.apply=true first"}},
		{name: "lowered to a pre-release", installed: installed("n1"), spec: `packages: {tuning: {version: 1.2.0-rc.1, image: x}}`, want: []string{version + "is lowered to 1.2.0-rc.1"}},
		{name: "lowered, installed nowhere", installed: installed(), spec: `packages: {tuning: {version: 1.1.0, image: x}}`},
		{name: "lowered, but cannot be uninstalled", installed: with(installed("n1"), func(i *admission.Installed) { i.Enabled = false }), spec: `packages: {tuning: {version: 1.1.0, image: x}}`},
		{name: "lowered to be uninstalled, as was said before", installed: with(installed("n1"), uninstallsWhenRemoved), spec: `packages: {tuning: {version: 1.1.0, image: x}}`},
		{
			name: "lowered to be uninstalled, as is said now", installed: installed("n1"),
			spec: `packages: {tuning: {version: 1.1.0, image: x, uninstall: {enabled: true, apply: false, whenRemoved: Uninstall}}}`,
		},
		{
			name: "lowered and disabled in one", installed: installed("n1"),
			spec: `packages: {tuning: {version: 1.1.0, image: x, uninstall: {enabled: false, apply: false}}}`, want: []string{version + "set uninstall.apply=true first"},
		},
		{name: "versions that cannot be compared", installed: with(installed("n1"), func(i *admission.Installed) { i.Version = "old" }), spec: `packages: {tuning: {version: 1.1.0, image: x}}`},

		{
			name: "raised while uninstalling", installed: with(installed("n1"), uninstalling), spec: `packages: {tuning: {version: 1.3.0, image: x}}`,
			want: []string{version + "is changed to 1.3.0 while 1.2.0 is being uninstalled and still on node n1; change it back"},
		},
		{
			name: "lowered while uninstalling", installed: with(installed("n1"), uninstalling), spec: `packages: {tuning: {version: 1.1.0, image: x}}`,
			want: []string{version + "is changed to 1.1.0 while 1.2.0 is being uninstalled"},
		},
		{
			name: "changed while uninstalling, in spite of whenRemoved", installed: with(with(installed("n1"), uninstalling), uninstallsWhenRemoved),
			spec: `packages: {tuning: {version: 1.1.0, image: x}}`, want: []string{version + "while 1.2.0 is being uninstalled"},
		},
		{name: "changed when the uninstall is over", installed: with(installed(), uninstalling), spec: `packages: {tuning: {version: 1.3.0, image: x}}`},

		{name: "five nodes are named", installed: installed("a", "b", "c", "d", "e"), spec: `{}`, want: []string{field + "on nodes a, b, c, d, e;"}},
		{name: "more are counted", installed: installed("a", "b", "c", "d", "e", "f", "g"), spec: `{}`, want: []string{field + "on nodes a, b, c, d, e, f, g;"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			matchProblems(t, admission.Guard(skyhook(t, c.spec), []admission.Installed{c.installed}), c.want)
		})
	}
}

func matchProblems(t *testing.T, problems []admission.Problem, want []string) {
	t.Helper()
	if len(problems) != len(want) {
		t.Fatalf("got %d problems, want %d:\n%v", len(problems), len(want), problems)
	}
	for i, p := range problems {
		field, part, _ := strings.Cut(want[i], ": ")
		if p.Field != field || !strings.Contains(p.Message, part) {
			t.Errorf("got %s\nwant %s: ... %s ...", p, field, part)
		}
	}
}

// TestGuardOfMany: each version of each package is judged for itself, and all are told, sorted by field.
func TestGuardOfMany(t *testing.T) {
	of := func(name, version string, nodes ...string) admission.Installed {
		return admission.Installed{Package: name, Version: version, Enabled: true, Nodes: nodes}
	}
	s := skyhook(t, `packages: {b: {version: 2.0.0, image: x}, d: {version: 1.0.0, image: x}}`)
	matchProblems(t, admission.Guard(s, []admission.Installed{
		of("d", "1.0.0", "n1"), of("c", "1.0.0", "n1"), of("c", "0.9.0", "n2"), of("b", "2.1.0", "n1"), of("b", "1.0.0", "n2"), of("a", "1.0.0", "n1"),
	}), []string{
		"spec.packages.a: version 1.0.0", "spec.packages.b.version: but 2.1.0 can be uninstalled and is on node n1",
		"spec.packages.c: version 1.0.0", "spec.packages.c: version 0.9.0",
	})
}

func TestWarnings(t *testing.T) {
	const (
		cancelled = "spec.packages.tuning.uninstall.apply: the uninstall is cancelled; nodes where the package is already uninstalled will be re-installed"
		never     = "spec.packages.tuning.uninstall.apply: the package was never installed on any node, or is no longer installed, so nothing is uninstalled; " +
			"it is not installed while apply is true"
		tag     = `spec.packages.tuning.image: the tag "1.1" is ignored; x:1.2.0 is used, because version is the tag; remove the tag from image`
		plain   = `packages: {tuning: {version: 1.2.0, image: x}}`
		older   = `packages: {tuning: {version: 1.1.0, image: x}}`
		reboots = `packages: {tuning: {version: 1.2.0, image: x, interrupt: {type: reboot}}}`
		later   = "spec.packages.tuning.interrupt: nodes that have the package are not interrupted for it until the package is applied again; " +
			"to interrupt them now, raise version too"
		wanted  = `packages: {tuning: {version: 1.2.0, image: x, uninstall: {enabled: true, apply: false}}}`
		applied = `packages: {tuning: {version: 1.2.0, image: x, uninstall: {enabled: true, apply: true}}}`
		tagged  = `packages: {tuning: {version: 1.2.0, image: "x:1.1"}}`
	)
	for _, c := range []struct {
		name      string
		old, spec string // no old spec: the Skyhook is new
		installed []admission.Installed
		want      []string
	}{
		{name: "nothing", old: plain, spec: plain},
		{name: "cancelled", old: applied, spec: wanted, want: []string{cancelled}},
		{name: "cancelled by taking uninstall away", old: applied, spec: plain, installed: []admission.Installed{installed("n1")}, want: []string{cancelled}},
		{name: "removed when uninstalled", old: applied, spec: `{}`},
		{name: "still uninstalling", old: applied, spec: applied},
		{name: "asked for", old: wanted, spec: applied, installed: []admission.Installed{installed("n1")}},
		{name: "asked for where there is nothing", old: wanted, spec: applied, want: []string{never}},
		{name: "asked for where only others are", old: wanted, spec: applied, installed: []admission.Installed{
			with(installed("n1"), func(i *admission.Installed) { i.Package = "other" }), installed(),
		}, want: []string{never}},
		{name: "asked for from the start", spec: applied, want: []string{never}},
		{name: "a new package to be uninstalled", old: `{}`, spec: applied, want: []string{never}},

		{name: "an interrupt is added", old: plain, spec: reboots, want: []string{later}},
		{name: "an interrupt is added with another version", old: older, spec: reboots},
		{name: "a new package with an interrupt", old: `{}`, spec: reboots},

		{name: "a tag", spec: tagged, want: []string{tag}},
		{name: "a tag, told once", old: tagged, spec: tagged},
		{name: "a tag, new", old: plain, spec: tagged, want: []string{tag}},
		{name: "a tag left behind by version", old: `packages: {tuning: {version: "1.1", image: "x:1.1"}}`, spec: tagged, want: []string{tag}},
		{name: "the tag is the version", spec: `packages: {tuning: {version: 1.1.0, image: "localhost:5000/x:1.1.0"}}`},
		{
			name: "a digest", spec: `packages: {tuning: {version: 1.2.0, image: "x@` + digest + `"}}`,
		},
		{
			name: "a digest after another tag", spec: `packages: {tuning: {version: 1.2.0, image: "x:1.1@` + digest + `"}}`,
			want: []string{`spec.packages.tuning.image: the tag "1.1" is ignored; x@` + digest + ` is used, because version is the tag; remove the tag from image`},
		},
		{name: "the digest is containerSHA", spec: `packages: {tuning: {version: 1.2.0, image: "x:1.2.0@` + digest + `", containerSHA: "` + digest + `"}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var old *v1alpha1.Skyhook
			if c.old != "" {
				old = skyhook(t, c.old)
			}
			if diff := cmp.Diff(c.want, admission.Warnings(old, skyhook(t, c.spec), c.installed)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestAffected(t *testing.T) {
	const spec = `packages: {a: {version: 1.0.0, image: x}, b: {version: 1.0.0, image: x, uninstall: {enabled: true, apply: false}}}`
	for _, c := range []struct {
		name, old, spec string
		want            []string
	}{
		{"nothing", spec, spec, nil},
		{"new", "", spec, nil},
		{"new, to be uninstalled", "", `packages: {a: {version: 1.0.0, image: x, uninstall: {enabled: true, apply: true}}}`, []string{"a"}},
		{"configuration", spec, `packages: {a: {version: v1.0, image: y, configMap: {k: v}}, b: {version: 1.0.0, image: x}}`, nil},
		{"removed", spec, `{}`, []string{"a", "b"}},
		{"added", `{}`, spec, nil},
		{"versions", spec, `packages: {a: {version: 1.0.1, image: x}, b: {version: 0.9.0, image: x}}`, []string{"a", "b"}},
		{"asked for", spec, `packages: {a: {version: 1.0.0, image: x}, b: {version: 1.0.0, image: x, uninstall: {enabled: true, apply: true}}}`, []string{"b"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var old *v1alpha1.Skyhook
			if c.old != "" {
				old = skyhook(t, c.old)
			}
			if got := admission.Affected(old, skyhook(t, c.spec)); !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestAbandoned(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{{"", nil}, {"n1", []string{"n1"}}, {" n1, n2,,", []string{"n1", "n2"}}} {
		s := &v1alpha1.Skyhook{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"skyhook.nvidia.com/abandon-uninstall": c.text}}}
		got := admission.Abandoned(s)
		for _, node := range c.want {
			if !got[node] {
				t.Errorf("%q: %s is not abandoned", c.text, node)
			}
		}
		if len(got) != len(c.want) {
			t.Errorf("%q: got %v, want %v", c.text, got, c.want)
		}
	}
}

func TestCheckPolicy(t *testing.T) {
	selector := func(key string) v1alpha1.Compartment {
		return v1alpha1.Compartment{Name: key, Selector: metav1.LabelSelector{MatchLabels: map[string]string{key: "v"}}}
	}
	p := &v1alpha1.DeploymentPolicy{}
	p.Spec.Compartments = []v1alpha1.Compartment{selector("zone"), selector("not a key")}
	matchProblems(t, admission.CheckPolicy(p), []string{"spec.compartments[1].selector: is not a label selector"})
}
