package permissions

import (
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
)

const log = `
{"stage":"RequestReceived","verb":"create","user":{"username":"system:serviceaccount:ops:operator"},"objectRef":{"resource":"pods","namespace":"ops"}}
{"stage":"ResponseComplete","verb":"create","user":{"username":"system:serviceaccount:ops:operator"},"objectRef":{"resource":"pods","namespace":"ops"},"annotations":{"authorization.k8s.io/decision":"allow"}}
{"stage":"ResponseComplete","verb":"create","user":{"username":"system:serviceaccount:ops:operator"},"objectRef":{"resource":"pods","subresource":"eviction","namespace":"web","name":"a"},"annotations":{"authorization.k8s.io/decision":"allow"}}
{"stage":"ResponseStarted","verb":"watch","user":{"username":"system:serviceaccount:ops:operator"},"objectRef":{"resource":"secrets","namespace":"ops","name":"cert"},"annotations":{"authorization.k8s.io/decision":"allow"}}
{"stage":"ResponseComplete","verb":"watch","user":{"username":"system:serviceaccount:ops:operator"},"objectRef":{"resource":"secrets","namespace":"ops","name":"cert"},"annotations":{"authorization.k8s.io/decision":"allow"}}
{"stage":"ResponseComplete","verb":"delete","user":{"username":"system:serviceaccount:ops:operator"},"objectRef":{"resource":"revisions","apiGroup":"apps","namespace":"ops","name":"r"},"annotations":{"authorization.k8s.io/decision":"forbid"}}
{"stage":"ResponseComplete","verb":"delete","user":{"username":"system:serviceaccount:ops:operator"},"objectRef":{"resource":"revisions","apiGroup":"apps","namespace":"ops","name":"r"},"annotations":{"authorization.k8s.io/decision":"forbid"}}
{"stage":"ResponseComplete","verb":"get","user":{"username":"system:serviceaccount:ops:operator"}}
{"stage":"ResponseComplete","verb":"list","user":{"username":"system:serviceaccount:ops:other"},"objectRef":{"resource":"nodes"}}
{"stage":"ResponseComplete","verb":"list","user":{"username":"admin"},"objectRef":{"resource":"nodes"}}
{"stage":"Resp`

func requests(t *testing.T) []Request {
	t.Helper()
	all, err := Read(strings.NewReader(log), "operator")
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 5 {
		t.Fatalf("requests are %v", all)
	}
	return all
}

func TestRefused(t *testing.T) {
	if got, want := Refused(requests(t)), []string{"delete revisions.apps in ops/r"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestUnused(t *testing.T) {
	rule := func(resource, verb string, names ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{resource}, Verbs: []string{verb}, ResourceNames: names}
	}
	for _, test := range []struct {
		name  string
		roles Roles
		want  []string
	}{
		{"all is used", Roles{
			Home:    []rbacv1.PolicyRule{rule("pods", "create"), rule("secrets", "watch", "cert")},
			Cluster: []rbacv1.PolicyRule{rule("pods/eviction", "create")},
		}, nil},
		{"a verb", Roles{Home: []rbacv1.PolicyRule{rule("pods", "create"), rule("pods", "update")}}, []string{"update pods in its own namespace"}},
		{"the wider of two", Roles{
			Home: []rbacv1.PolicyRule{rule("pods", "create")}, Cluster: []rbacv1.PolicyRule{rule("pods", "create")},
		}, []string{"create pods in the cluster"}},
		{"only the wider is there", Roles{Cluster: []rbacv1.PolicyRule{rule("pods", "create")}}, nil},
		{"another object", Roles{Home: []rbacv1.PolicyRule{rule("secrets", "watch", "pull")}}, []string{"watch secrets named pull in its own namespace"}},
		{"a refused request uses nothing", Roles{Cluster: []rbacv1.PolicyRule{
			{APIGroups: []string{"apps"}, Resources: []string{"revisions"}, Verbs: []string{"delete"}},
		}}, []string{"delete revisions.apps in the cluster"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := test.roles.Unused(requests(t)); !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestReadRefusesWhatIsNoLog(t *testing.T) {
	if _, err := Read(strings.NewReader("audit log\n"), "operator"); err == nil {
		t.Error("no error")
	}
}
