//go:build integration

package admissionpolicies

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/skyhook-operator/skyhook/test/apiserver"
)

const folder = "../../examples/admission"

func TestMain(m *testing.M) { apiserver.Main(m) }

// who asks the API server.
type who struct {
	user   string
	groups []string
}

var (
	root       = who{"root", []string{"system:masters"}}
	admin      = who{"admin", []string{"platform-admins"}} // by a role that may do everything, like those of cloud providers
	gpu        = who{"alice", []string{"team-gpu"}}
	storage    = who{"bob", []string{"team-storage"}}
	both       = who{"carol", []string{"team-storage", "team-gpu"}}
	fleet      = who{"dora", []string{"fleet-operators"}}
	nobody     = who{"eve", nil}
	namesake   = who{"team-gpu", nil} // a user called like a group
	pipeline   = who{"system:serviceaccount:gitops:team-gpu", []string{"system:serviceaccounts", "system:serviceaccounts:gitops"}}
	operator   = who{"system:serviceaccount:skyhook:any-release", []string{"system:serviceaccounts", "system:serviceaccounts:skyhook"}}
	impostor   = who{"system:serviceaccount:elsewhere:any-release", []string{"system:serviceaccounts", "system:serviceaccounts:elsewhere"}}
	collector  = who{"system:serviceaccount:kube-system:generic-garbage-collector", []string{"system:serviceaccounts", "system:serviceaccounts:kube-system"}}
	controller = who{"system:kube-controller-manager", nil}
	kubelet    = who{"system:node:node1", []string{"system:nodes"}}
)

// cluster is an API server with one or more of the policies in force.
type cluster struct {
	t      *testing.T
	config *rest.Config
}

func newCluster(t *testing.T) cluster {
	t.Helper()
	c := cluster{t: t, config: apiserver.Start(t)}
	everything := []string{"*"}
	c.role("platform-admins", rbacv1.PolicyRule{APIGroups: everything, Resources: everything, Verbs: everything})
	c.role("system:authenticated",
		rbacv1.PolicyRule{APIGroups: []string{"skyhook.nvidia.com"}, Resources: everything, Verbs: everything},
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"nodes", "nodes/status"}, Verbs: everything})
	return c
}

// role lets a group do what the rules say.
func (c cluster) role(group string, rules ...rbacv1.PolicyRule) {
	c.t.Helper()
	name := strings.ReplaceAll(group, ":", "-")
	c.keep(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules})
	c.keep(&rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: group}},
	})
}

// keep creates an object until the end of the test.
func (c cluster) keep(object client.Object) {
	c.t.Helper()
	admin := c.as(root)
	c.must(admin.Create(c.t.Context(), object))
	c.t.Cleanup(func() {
		if err := client.IgnoreNotFound(admin.Delete(context.Background(), object)); err != nil {
			c.t.Error(err)
		}
	})
}

func (c cluster) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

func (c cluster) as(w who) client.Client {
	c.t.Helper()
	config := rest.CopyConfig(c.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: w.user, Groups: w.groups}
	result, err := client.New(config, client.Options{})
	c.must(err)
	return result
}

// install puts an example in force: once the API server refuses what it must refuse, it knows the policy.
func (c cluster) install(name string, must client.Object) {
	c.t.Helper()
	policy, binding := example(c.t, name)
	c.enforce(policy, binding, must)
}

// enforce puts a policy in force until the end of the test: the API server notices some time after it is created, and after
// it is deleted, which is looked for with what it must refuse.
func (c cluster) enforce(policy, binding, must client.Object) {
	c.t.Helper()
	c.t.Cleanup(func() { c.eventually("an end of "+policy.GetName(), func() bool { return !c.refuses(must) }) })
	c.keep(policy)
	c.keep(binding)
	c.eventually(policy.GetName()+" is in force", func() bool { return c.refuses(must) })
}

func (c cluster) refuses(what client.Object) bool {
	c.t.Helper()
	object := what.DeepCopyObject().(client.Object)
	return refusal(c.as(nobody).Create(context.Background(), object, client.DryRunAll)) != ""
}

func (c cluster) eventually(what string, check func() bool) {
	c.t.Helper()
	err := wait.PollUntilContextTimeout(context.Background(), 50*time.Millisecond, time.Minute, true,
		func(context.Context) (bool, error) { return check(), nil })
	if err != nil {
		c.t.Errorf("%s: %v", what, err)
	}
}

// example reads a policy and its binding, without fields that the API does not have.
func example(t *testing.T, name string) (*admissionregistrationv1.ValidatingAdmissionPolicy, *admissionregistrationv1.ValidatingAdmissionPolicyBinding) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(folder, name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	documents := bytes.Split(raw, []byte("\n---\n"))
	if len(documents) != 2 {
		t.Fatalf("%s has %d documents", name, len(documents))
	}
	policy, binding := &admissionregistrationv1.ValidatingAdmissionPolicy{}, &admissionregistrationv1.ValidatingAdmissionPolicyBinding{}
	for i, object := range []any{policy, binding} {
		if err := yaml.UnmarshalStrict(documents[i], object); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	if policy.Name != "skyhook-"+name || binding.Spec.PolicyName != policy.Name {
		t.Errorf("%s: policy %s, bound: %s", name, policy.Name, binding.Spec.PolicyName)
	}
	return policy, binding
}

// refusal is what a policy says, or empty. Any other error is returned as it is.
func refusal(err error) string {
	if err == nil {
		return ""
	}
	if _, text, found := strings.Cut(err.Error(), " denied request: "); found {
		return text
	}
	return "ERROR: " + err.Error()
}

// skyhook is one with a spec in YAML, as people write it; without spec if that is empty.
func skyhook(name, spec string) *unstructured.Unstructured {
	object := parse("{apiVersion: skyhook.nvidia.com/v1alpha1, kind: Skyhook}")
	object.SetName(name)
	if spec != "" && spec != none {
		object.Object["spec"] = parse(spec).Object
	}
	return object
}

func parse(text string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	if err := yaml.UnmarshalStrict([]byte(text), &object.Object); err != nil {
		panic(err)
	}
	return object
}

// none stands for no object, as before a creation and after a deletion.
const none = "none"

// attempt is somebody's change of a Skyhook, from one spec to another.
type attempt struct {
	name     string
	by       who
	old, new string
	want     string
}

func (c cluster) attempts(all []attempt) {
	c.t.Helper()
	for _, a := range all {
		if got := refusal(c.try(a)); got != a.want {
			c.t.Errorf("%s, by %s:\n got %s\nwant %s", a.name, a.by.user, got, a.want)
		}
	}
}

// try makes a change that is not stored.
func (c cluster) try(a attempt) error {
	user, object := c.as(a.by), skyhook("demo", a.new)
	if a.old == none {
		return user.Create(c.t.Context(), object, client.DryRunAll)
	}
	before, admin := skyhook("demo", a.old), c.as(root)
	c.must(admin.Create(c.t.Context(), before))
	defer func() { c.must(admin.Delete(context.Background(), before)) }()
	if a.new == none {
		return user.Delete(c.t.Context(), before.DeepCopy(), client.DryRunAll)
	}
	object.SetResourceVersion(before.GetResourceVersion())
	return user.Update(c.t.Context(), object, client.DryRunAll)
}

var skyhooks = schema.GroupVersionKind{Group: "skyhook.nvidia.com", Version: "v1alpha1", Kind: "Skyhook"}

func merge(text string) client.Patch { return client.RawPatch(types.MergePatchType, []byte(text)) }

// plain is a client of whom the configuration says.
func (c cluster) plain() client.Client {
	c.t.Helper()
	result, err := client.New(c.config, client.Options{})
	c.must(err)
	return result
}
