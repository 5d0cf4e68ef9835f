// Package permissions compares what a program may do in a cluster, by its roles, with what it did, by the API server's
// audit log: nothing should be granted that no call uses, and nothing refused that one needs.
//
// It knows neither the operator nor its chart.
package permissions

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// Request is one request of the program.
type Request struct {
	Verb, Group, Resource string
	// Namespace and Name of the object; empty where the request names none.
	Namespace, Name string
	// Home says that the namespace is the program's own.
	Home bool
	// Refused says that no role allowed it.
	Refused bool
}

func (r Request) String() string {
	return fmt.Sprintf("%s %s in %s/%s", r.Verb, resourceName(r.Group, r.Resource), r.Namespace, r.Name)
}

func resourceName(group, resource string) string {
	if group == "" {
		return resource
	}
	return resource + "." + group
}

// event is what is read of a line of the audit log.
type event struct {
	Stage, Verb string
	User        struct{ Username string }
	ObjectRef   *struct{ APIGroup, Resource, Subresource, Namespace, Name string }
	Annotations map[string]string
}

// Read returns the requests for objects, in an audit log, of a ServiceAccount by that name in any namespace. A watch is
// there once if the log has when it began.
func Read(log io.Reader, account string) ([]Request, error) {
	var all []Request
	for lines := json.NewDecoder(log); ; {
		var e event
		err := lines.Decode(&e)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) { // the last line may not be complete yet
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the audit log: %w", err)
		}
		home, found := strings.CutPrefix(e.User.Username, "system:serviceaccount:")
		home, name, _ := strings.Cut(home, ":")
		if !found || name != account || e.ObjectRef == nil || e.Stage == "RequestReceived" || e.Verb == "watch" &&
			e.Stage == "ResponseComplete" && !e.refused() {
			continue
		}
		o := e.ObjectRef
		all = append(all, Request{
			Verb: e.Verb, Group: o.APIGroup, Resource: strings.TrimSuffix(o.Resource+"/"+o.Subresource, "/"),
			Namespace: o.Namespace, Name: o.Name, Home: o.Namespace == home, Refused: e.refused(),
		})
	}
}

func (e event) refused() bool { return e.Annotations["authorization.k8s.io/decision"] == "forbid" }

// Roles are what a program may do: in its own namespace, and everywhere.
type Roles struct {
	Home, Cluster []rbacv1.PolicyRule
}

// Refused returns the requests that no role allowed, each once.
func Refused(requests []Request) []string {
	found := map[string]bool{}
	for _, r := range requests {
		if r.Refused {
			found[r.String()] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// grant is one verb on one resource by one rule.
type grant struct {
	home                  bool
	verb, group, resource string
	names                 string
}

func (g grant) String() string {
	text := g.verb + " " + resourceName(g.group, g.resource)
	if g.names != "" {
		text += " named " + g.names
	}
	if g.home {
		return text + " in its own namespace"
	}
	return text + " in the cluster"
}

// Unused returns what is granted and used by none of the requests. A request in the program's own namespace that both
// roles allow uses the narrower one.
func (r Roles) Unused(requests []Request) []string {
	home, cluster := grants(r.Home, true), grants(r.Cluster, false)
	left := map[grant]bool{}
	for _, g := range slices.Concat(home, cluster) {
		left[g] = true
	}
	for _, q := range requests {
		if q.Refused || q.Home && use(home, q, left) {
			continue
		}
		use(cluster, q, left)
	}
	var unused []string
	for g := range left {
		unused = append(unused, g.String())
	}
	slices.Sort(unused)
	return unused
}

func grants(rules []rbacv1.PolicyRule, home bool) []grant {
	var all []grant
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					all = append(all, grant{home, verb, group, resource, strings.Join(rule.ResourceNames, ",")})
				}
			}
		}
	}
	return all
}

// use strikes out what allows the request, and reports whether anything does.
func use(all []grant, q Request, left map[grant]bool) bool {
	allowed := false
	for _, g := range all {
		named := g.names == "" || q.Name != "" && slices.Contains(strings.Split(g.names, ","), q.Name)
		if g.verb == q.Verb && g.group == q.Group && g.resource == q.Resource && named {
			delete(left, g)
			allowed = true
		}
	}
	return allowed
}
