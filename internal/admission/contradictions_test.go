package admission_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/admission"
)

func tunes(skyhook string, pool map[string]string, packages map[string]v1alpha1.Package) *v1alpha1.Skyhook {
	return &v1alpha1.Skyhook{
		ObjectMeta: metav1.ObjectMeta{Name: skyhook},
		Spec: v1alpha1.SkyhookSpec{
			NodeSelectors: metav1.LabelSelector{MatchLabels: pool}, Packages: packages,
			InterruptionBudget: v1alpha1.InterruptionBudget{Count: new(1)},
		},
	}
}

func one(image string, config ...string) map[string]v1alpha1.Package {
	p := v1alpha1.Package{Version: "1.2.0", Image: "registry.example/copies/" + image, ConfigMap: map[string]string{}}
	for i := 0; i < len(config); i += 2 {
		p.ConfigMap[config[i]] = config[i+1]
	}
	return map[string]v1alpha1.Package{image: p}
}

// TestContradictions: what two packages want differently on one host is told before anything runs; all else is not.
func TestContradictions(t *testing.T) {
	gpu, web := map[string]string{"pool": "gpu"}, map[string]string{"pool": "web"}
	for _, tt := range []struct {
		name   string
		a, b   map[string]v1alpha1.Package
		where  map[string]string
		gone   bool
		wanted []admission.Contradiction
	}{
		{
			name: "a key of sysctl, however it is written", a: one("tuning", "sysctl.conf", "# mine\n-net/core/somaxconn=8192\nvm.swappiness = 1"),
			b:      one("tuned", "tuned_profile", "web", "web", "[main]\nvm.swappiness=9\n[sysctl]\nnet.core.somaxconn = 1024"),
			wanted: []admission.Contradiction{{"sysctl net.core.somaxconn", "tuning", "8192", "b", "1024", "tuned"}},
		},
		{
			name: "a limit and a kernel argument", a: one("tuning", "ulimit.conf", "nofile=1\nmemlock=-1", "grub.conf", "hugepages=16 quiet"),
			b: one("tuning", "ulimit.conf", "nofile=2\nmemlock=unlimited", "grub.conf", "hugepages=8\nquiet"),
			wanted: []admission.Contradiction{
				{"the kernel argument hugepages", "tuning", "16", "b", "8", "tuning"}, {"the limit nofile", "tuning", "1", "b", "2", "tuning"},
			},
		},
		{
			name: "a profile", a: one("tuned", "tuned_profile", "web"), b: one("tuned", "tuned_profile", "db"),
			wanted: []admission.Contradiction{{"the TuneD profile", "tuned", "web", "b", "db", "tuned"}},
		},
		{name: "the same value", a: one("tuning", "sysctl.conf", "a.b =  1 2"), b: one("tuning", "sysctl.conf", "a/b=1  2\n;a.b=3")},
		{name: "another package", a: one("tuning", "sysctl.conf", "a.b=1"), b: one("shellscript", "sysctl.conf", "a.b=2")},
		{name: "other nodes", a: one("tuning", "sysctl.conf", "a.b=1"), b: one("tuning", "sysctl.conf", "a.b=2"), where: web},
		{name: "one that goes", a: one("tuning", "sysctl.conf", "a.b=1"), b: one("tuning", "sysctl.conf", "a.b=2"), gone: true},
		{
			name: "every node", a: one("tuning", "sysctl.conf", "a.b=1"), b: one("tuning", "sysctl.conf", "a.b=2"), where: map[string]string{},
			wanted: []admission.Contradiction{{"sysctl a.b", "tuning", "1", "b", "2", "tuning"}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.where == nil {
				tt.where = gpu
			}
			s, other := tunes("a", gpu, tt.a), tunes("b", tt.where, tt.b)
			if tt.gone {
				other.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
			}
			in := admission.Cluster{Nodes: nodesWith(gpu, web), Skyhooks: []v1alpha1.Skyhook{*s, *other}}
			if diff := cmp.Diff(tt.wanted, in.Contradictions(s)); diff != "" {
				t.Error(diff)
			}
			if got := admission.Advice(nil, s, in); len(got) != len(tt.wanted) {
				t.Errorf("told %q", got)
			}
		})
	}
}

// TestContradictionsWithin a Skyhook are told once, and of many the first.
func TestContradictionsWithin(t *testing.T) {
	var a, b string
	for i := range 9 {
		a, b = a+fmt.Sprintf("k.x%d = 1\n", i), b+fmt.Sprintf("k.x%d = 2\n", i)
	}
	packages := one("tuning", "sysctl.conf", a)
	packages["second"] = one("tuning", "sysctl.conf", b)["tuning"]
	s := tunes("a", map[string]string{"pool": "gpu"}, packages)
	got := admission.Advice(nil, s, admission.Cluster{})
	if len(got) != 6 {
		t.Fatalf("told %q", got)
	}
	begins(t, got, []string{
		`spec.packages.second.configMap: sysctl k.x0 is to be "2", and package tuning wants something else on the same nodes`,
		"spec.packages.second", "spec.packages.second", "spec.packages.second", "spec.packages.second", "spec.packages: 4 settings more",
	})
}
