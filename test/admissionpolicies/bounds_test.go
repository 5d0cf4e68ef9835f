//go:build integration

package admissionpolicies

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var all = []string{"images", "interrupts", "pools", "secrets", "steering"}

// TestAllExamples: each example is tested here.
func TestAllExamples(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(file), ".yaml"))
	}
	if strings.Join(names, " ") != strings.Join(all, " ") {
		t.Errorf("the examples are %v", names)
	}
}

// since130 are the functions of CEL that Kubernetes 1.30 knows, as far as the examples need them. Add one only if that knows it.
var since130 = []string{
	"all", "allowed", "check", "exists", "filter", "group", "has", "join", "map", "name", "resource", "size", "startsWith",
}

func TestOldKubernetes(t *testing.T) {
	for _, example := range all {
		raw, err := os.ReadFile(filepath.Join(folder, example+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		text := regexp.MustCompile("(?m)^ *#.*$").ReplaceAllString(string(raw), "")
		calls := regexp.MustCompile(`([A-Za-z]+)\(`).FindAllStringSubmatch(text, -1)
		if len(calls) < 10 {
			t.Errorf("%s has only %d calls", example, len(calls))
		}
		for _, call := range calls {
			if !slices.Contains(since130, call[1]) {
				t.Errorf("%s calls %s", example, call[1])
			}
		}
	}
}

// TestLargest: the largest Skyhooks are within what CEL may cost, and so are the messages about them.
func TestLargest(t *testing.T) {
	for _, name := range all {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			bad := largest("docker.io/a", "reboot", "webhook-cert", "unknown")
			bad.SetAnnotations(map[string]string{pauseKey: "true"})
			c.install(name, bad)
			good := largest("registry.example.com/gpu/"+strings.Repeat("a", 900), "service", "gpu-telemetry", "gpu")
			if got := refusal(c.as(gpu).Create(t.Context(), good, client.DryRunAll)); got != "" {
				t.Errorf("it is allowed: %.300s", got)
			}
			got := refusal(c.as(nobody).Create(t.Context(), bad.DeepCopy(), client.DryRunAll))
			if !strings.Contains(got, "eve") || strings.Contains(got, "expression") {
				t.Errorf("it is refused: %.300s", got)
			}
		})
	}
}

// largest is a Skyhook with as many packages, selector values and interrupts as the CRD allows and etcd stores.
func largest(image, interrupt, secret, pool string) *unstructured.Unstructured {
	service := ""
	if interrupt == "service" {
		service = ", services: [a]"
	}
	var configMap, interrupts, env []string
	for i := range 32 {
		configMap = append(configMap, fmt.Sprintf("k%d: v", i))
		interrupts = append(interrupts, fmt.Sprintf("k%d: {type: %s%s}", i, interrupt, service))
		env = append(env, fmt.Sprintf("{name: E%d, valueFrom: {secretKeyRef: {name: %s, key: k}}}", i, secret))
	}
	fields := fmt.Sprintf("image: %s, configMap: {%s}, configInterrupts: {%s}, env: [%s]",
		image, strings.Join(configMap, ", "), strings.Join(interrupts, ", "), strings.Join(env, ", "))
	var all []string
	for i := range 128 {
		all = append(all, fmt.Sprintf("p%d", i), fields)
	}
	values := strings.TrimSuffix(strings.Repeat(pool+", ", 10_000), ", ")
	return skyhook("demo", packages(all...)+inExpressions("{POOL, operator: In, values: ["+values+"]}"))
}

// warnings are what the API server says to whom it lets pass.
type warnings struct{ texts []string }

func (w *warnings) HandleWarningHeader(_ int, _, text string) { w.texts = append(w.texts, text) }

// TestTry: with Warn and Audit a policy refuses nothing, and says what it would refuse.
func TestTry(t *testing.T) {
	c := newCluster(t)
	policy, binding := example(t, "pools")
	binding.Spec.ValidationActions = []admissionregistrationv1.ValidationAction{admissionregistrationv1.Warn, admissionregistrationv1.Audit}
	c.keep(policy)
	c.keep(binding)
	heard := &warnings{}
	config := rest.CopyConfig(c.config)
	config.WarningHandler = heard
	config.Impersonate = rest.ImpersonationConfig{UserName: nobody.user}
	user, err := client.New(config, client.Options{})
	c.must(err)
	c.eventually("the policy warns", func() bool {
		c.must(user.Create(t.Context(), skyhook("demo", ""), client.DryRunAll))
		return len(heard.texts) > 0
	})
	if got := heard.texts[0]; !strings.HasSuffix(got, ": eve"+unlisted) {
		t.Errorf("got %s", got)
	}
}
