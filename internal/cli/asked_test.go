//go:build integration

package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/test/apiserver"
)

// through puts a proxy before the API server until the end of the test. It answers where answer returns true.
func (c *cluster) through(answer func(w http.ResponseWriter, r *http.Request) bool) {
	c.t.Helper()
	server := c.server()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !answer(w, r) {
			server.ServeHTTP(w, r)
		}
	}))
	c.t.Cleanup(s.Close)
	c.use(filepath.Join(c.t.TempDir(), "proxied"))
	writeKubeconfig(c.t, c.kubeconfig, &rest.Config{Host: s.URL})
}

// server answers as the API server does.
func (c *cluster) server() http.Handler {
	c.t.Helper()
	config := apiserver.Start(c.t)
	target, err := url.Parse(config.Host)
	if err != nil {
		c.t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	if proxy.Transport, err = rest.TransportFor(config); err != nil {
		c.t.Fatal(err)
	}
	return proxy
}

// fails answers as an API server that does not do it.
func fails(w http.ResponseWriter, code int, reason metav1.StatusReason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Reason: reason, Message: message, Code: int32(code),
	})
}

func isWrite(r *http.Request) bool { return r.Method != http.MethodGet && r.Method != http.MethodHead }

// as makes the commands those of a user who may do no more than get and list resources, written as in group/resources.
func (c *cluster) as(user string, resources ...string) {
	c.t.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: user}}
	for _, r := range resources {
		group, name, _ := strings.Cut(r, "/")
		role.Rules = append(role.Rules, rbacv1.PolicyRule{
			APIGroups: []string{group}, Resources: []string{name}, Verbs: []string{"get", "list"},
		})
	}
	c.put(role)
	c.put(&rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user},
	})
	c.use(filepath.Join(c.t.TempDir(), user))
	writeKubeconfig(c.t, c.kubeconfig, apiserver.As(c.t, apiserver.Start(c.t), user))
}

// TestPlanRefused tells a refusal of a webhook, which has the status of a missing right, as a refusal.
func TestPlanRefused(t *testing.T) {
	c := newCluster(t)
	c.put(gpu())
	c.put(newNode("worker-1", nil))
	without := func(s *v1alpha1.Skyhook) { delete(s.Spec.Packages, "tuning") }
	const denied = `admission webhook "validate-skyhook.nvidia.com" denied the request: spec.packages: no`
	_, _, err := c.run("", "plan", "-f", c.file(wanted(func(s *v1alpha1.Skyhook) { s.Name = "No Name" })))
	if err == nil || err.Error() != "the API server refuses 1 object; correct what it says above" {
		t.Errorf("a name that is none: %v", err)
	}
	zero := c.text(`{"apiVersion":"skyhook.nvidia.com/v1alpha1","kind":"Skyhook","metadata":{"name":"zero"},"spec":{"priority":0}}`)
	if out, _, err := c.run("", "plan", "-f", zero); err == nil || !strings.Contains(out, "spec.priority") {
		t.Errorf("a zero that is refused: %v\n%s", err, out)
	}
	c.through(func(w http.ResponseWriter, r *http.Request) bool {
		refused := isWrite(r) && strings.Contains(r.URL.Path, "/skyhooks")
		if refused {
			fails(w, http.StatusForbidden, metav1.StatusReasonForbidden, denied)
		}
		return refused
	})
	out, _, err := c.run("", "plan", "-f", c.file(wanted(without)))
	if err == nil || !strings.Contains(out, "Refused by the API server:\n- Skyhook gpu: "+denied) ||
		strings.Contains(out, "You may not read") || strings.Contains(out, "Changes") {
		t.Errorf("a webhook: %v\n%s", err, out)
	}
}

// TestPlanOfViewer foresees what somebody else would apply: with the Skyhook that is there, and the defaults of the API.
func TestPlanOfViewer(t *testing.T) {
	c := newCluster(t)
	c.put(gpu())
	c.put(newNode("worker-1", states("{"+driverDone+"}")))
	manifest := c.file(wanted(func(s *v1alpha1.Skyhook) {
		p := s.Spec.Packages["tuning"]
		p.Version = "2.2.0"
		s.Spec.Packages["tuning"] = p
	}))
	refused := c.text(`{"apiVersion":"skyhook.nvidia.com/v1alpha1","kind":"Skyhook","metadata":{"name":"gpu"},"spec":{"priority":-1}}`)
	c.as("planner", "/nodes", "skyhook.nvidia.com/skyhooks")
	out, _, err := c.run("", "plan", "-f", manifest)
	for _, want := range []string{
		"- what admission says of Skyhook gpu, because you may not change it; only its schema is checked\n",
		"Changes:\n- Skyhook gpu: package tuning goes from 2.1.0 to 2.2.0\n\n",
		"Skyhook gpu is complete, 1/1 nodes complete", "tuning 2.2.0: apply, config",
	} {
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("error %v; %q is not in\n%s", err, want, out)
		}
	}
	if out, _, err := c.run("", "plan", "-f", refused); err == nil || !strings.Contains(out, "Refused by the API server:\n- Skyhook gpu: ") {
		t.Errorf("what the schema refuses: %v\n%s", err, out)
	}
}

// TestPlanWarnings has what admission warns of in the answer, once.
func TestPlanWarnings(t *testing.T) {
	c := newCluster(t)
	c.put(gpu())
	c.put(newNode("worker-1", nil))
	manifest := c.file(wanted(func(*v1alpha1.Skyhook) {}))
	c.through(func(w http.ResponseWriter, r *http.Request) bool {
		if isWrite(r) {
			w.Header().Add("Warning", `299 - "all nodes are selected"`)
		}
		return false
	})
	out, errs, err := c.run("", "plan", "-f", manifest, "-o", "json")
	var answer struct{ Warnings []string }
	if err != nil || json.Unmarshal([]byte(out), &answer) != nil ||
		!slices.Equal(answer.Warnings, []string{"Skyhook gpu: all nodes are selected"}) || strings.Contains(errs, "all nodes") {
		t.Errorf("json: %v\n%s\n%s", err, out, errs)
	}
	if out, _, err := c.run("", "plan", "-f", manifest); err != nil || !strings.Contains(out, "Warnings:\n- Skyhook gpu: all nodes are selected\n") {
		t.Errorf("table: %v\n%s", err, out)
	}
	if _, errs, err := c.run("", "node", "ignore", "worker-1"); err != nil || errs != "Warning: all nodes are selected\n" {
		t.Errorf("of a write: %v\n%s", err, errs)
	}
}

// text writes a file.
func (c *cluster) text(content string) string {
	c.t.Helper()
	name := filepath.Join(c.t.TempDir(), "manifest.yaml")
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		c.t.Fatal(err)
	}
	return name
}

// TestPlanReadsFiles finds Skyhooks wherever they are in a file, and says when there is none.
func TestPlanReadsFiles(t *testing.T) {
	c := newCluster(t)
	const skyhook = "apiVersion: skyhook.nvidia.com/v1alpha1\nkind: Skyhook\nmetadata: {name: listed}\n"
	for name, tt := range map[string]struct{ text, want, err string }{
		"a list":      {"apiVersion: v1\nkind: List\nitems:\n- " + strings.ReplaceAll(skyhook, "\n", "\n  "), "Skyhook listed is new", ""},
		"documents":   {"kind: Secret\n---\n---\n" + skyhook, "Skyhook listed is new", ""},
		"nothing":     {"", "", "no Skyhook and no DeploymentPolicy of skyhook.nvidia.com/v1alpha1"},
		"another API": {strings.ReplaceAll(skyhook, "nvidia", "example"), "", "no Skyhook and no DeploymentPolicy"},
		"no name":     {"apiVersion: skyhook.nvidia.com/v1alpha1\nkind: Skyhook\n", "", "it has no metadata.name"},
		"no object":   {"[1, 2]", "", "a document is no object of Kubernetes"},
		"a typo":      {skyhook + "spec: {pakages: {}}\n", "", `unknown field "pakages"`},
	} {
		t.Run(name, func(t *testing.T) {
			out, _, err := c.run("", "plan", "-f", c.text(tt.text))
			if !strings.Contains(out, tt.want) || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("error %v, printed\n%s", err, out)
			}
		})
	}
}

// TestReadsWriteNothing: what only tells sends nothing that an API server stores.
func TestReadsWriteNothing(t *testing.T) {
	c := newCluster(t)
	c.put(gpu())
	c.put(newNode("worker-1", states("{"+driverDone+","+tuningBad+"}")))
	manifest := c.file(wanted(func(s *v1alpha1.Skyhook) { s.Spec.Serial = true }))
	var mu sync.Mutex
	var stored []string
	c.through(func(_ http.ResponseWriter, r *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		if isWrite(r) && r.URL.Query().Get("dryRun") != "All" {
			stored = append(stored, r.Method+" "+r.URL.String())
		}
		return false
	})
	for _, command := range []string{
		"status", "status gpu", "why gpu", "why node worker-1", "plan gpu", "plan -f " + manifest, "inventory", "history gpu",
		"logs gpu", "package logs driver --skyhook gpu", "package status driver --skyhook gpu", "node list --skyhook gpu",
		"node status", "node status worker-1", "node safe worker-1", "dp show gpu", "version", "__complete why ",
		"stop gpu --dry-run=client", "pause gpu --dry-run=client", "reset gpu --dry-run=client", "node ignore worker-1 --dry-run=client",
		"node exclude worker-1 --dry-run=client", "package rerun driver --skyhook gpu --node worker-1 --dry-run=client",
		"pause gpu --dry-run=server", "reset gpu --dry-run=server", "node ignore worker-1 --dry-run=server",
	} {
		if out, _, err := c.run("", strings.Split(command, " ")...); err != nil && !strings.HasPrefix(command, "node safe") {
			t.Errorf("%s: %v\n%s", command, err, out)
		}
	}
	if len(stored) > 0 {
		t.Errorf("stored by what only reads: %q", stored)
	}
}

// TestNoOperatorThere says with every answer that rests on a namespace that it has no operator.
func TestNoOperatorThere(t *testing.T) {
	c := newCluster(t)
	c.put(gpu())
	c.put(newNode("worker-1", nil))
	for _, command := range []string{"why gpu", "why gpu -o json", "plan gpu", "plan gpu -o json"} {
		out, errs, err := c.run("", append(strings.Fields(command), "--namespace", "elsewhere")...)
		if err != nil || !strings.Contains(errs, "Warning: there is no operator in namespace elsewhere") {
			t.Errorf("%s: %v\n%s\n%s", command, err, out, errs)
		}
	}
}

// TestPlanWithItsPolicy asks about a Skyhook and the policy that it names, which do not exist yet: admission knows no
// policy that is not stored.
func TestPlanWithItsPolicy(t *testing.T) {
	c := newCluster(t)
	c.put(newNode("worker-1", nil))
	const policy = `{"apiVersion":"skyhook.nvidia.com/v1alpha1","kind":"DeploymentPolicy","metadata":{"name":"careful"},` +
		`"spec":{"default":{"budget":{"count":1},"strategy":{"fixed":{}}}}}`
	s := wanted(func(s *v1alpha1.Skyhook) { s.Spec.DeploymentPolicy = "careful" })
	raw, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	c.through(func(w http.ResponseWriter, r *http.Request) bool {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		unknown := isWrite(r) && strings.Contains(r.URL.Path, "/skyhooks") && bytes.Contains(body, []byte("careful"))
		if unknown {
			fails(w, http.StatusForbidden, metav1.StatusReasonForbidden, `deploymentPolicy "careful" not found`)
		}
		return unknown
	})
	out, _, err := c.run("", "plan", "-f", c.text(policy+"\n---\n"+string(raw)), "-o", "wide")
	if err != nil || !strings.Contains(out, " default/1 ") || !strings.Contains(out, "Skyhook gpu is complete, 1/1") ||
		strings.Contains(out, "deploymentPolicy") || strings.Contains(out, "interruptionBudget") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestFindsTheOperator: without --namespace, commands go to the one namespace in which there is an operator.
func TestFindsTheOperator(t *testing.T) {
	c := newCluster(t)
	put := func(namespace, version string) {
		t.Helper()
		c.put(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
		d := operator()
		d.Namespace, d.Labels = namespace, map[string]string{"app": "skyhook", "control-plane": "controller-manager"}
		d.Labels["app.kubernetes.io/version"] = version
		c.put(d)
	}
	says := func(want string, flags ...string) {
		t.Helper()
		out, errs, err := c.run("", append([]string{"version"}, flags...)...)
		if said := out + errs + fmt.Sprint(err); !strings.Contains(said, want) {
			t.Errorf("version %v says %q, want %q", flags, said, want)
		}
	}
	says(`namespace "skyhook"`)
	put("platform", "7.7.7")
	says("7.7.7")
	says(`namespace "skyhook"`, "--namespace", "skyhook")
	put("second", "8.8.8")
	says(`namespace "skyhook"`)
	says("8.8.8", "--namespace", "second")
}
