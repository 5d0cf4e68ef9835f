package main

import (
	"maps"
	"net/http"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// counter counts the writes of this process. The API server's own metrics count those of everyone, but do not tell who
// asked; what is left of them without ours is the operator's. That costs nothing, where an audit log or a proxy would
// take part of the processors that are measured.
type counter struct {
	mu     sync.Mutex
	writes counts
}

func newCounter() *counter { return &counter{writes: counts{}} }

func (c *counter) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		answer, err := next.RoundTrip(r)
		if key := writeKey(r); err == nil && key != "" {
			c.mu.Lock()
			c.writes[key]++
			c.mu.Unlock()
		}
		return answer, err
	})
}

func (c *counter) snapshot() counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.writes)
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

var requestInfo = &request.RequestInfoFactory{
	APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api"),
}

// writeKey names a write as the API server's metrics do; empty for what only reads.
func writeKey(r *http.Request) string {
	if r.Method == http.MethodGet {
		return ""
	}
	info, err := requestInfo.NewRequestInfo(r)
	if err != nil || !info.IsResourceRequest {
		return ""
	}
	verb := r.Method
	switch {
	case info.Verb == "deletecollection":
		verb = "DELETECOLLECTION"
	case r.Method == http.MethodPatch && strings.HasPrefix(r.Header.Get("Content-Type"), "application/apply-patch"):
		verb = "APPLY"
	}
	return requestKey(verb, info.Resource, info.Subresource)
}

// serverResources are what the API server itself writes, at its start and while it is idle.
var serverResources = sets.New(
	"leases", "flowschemas", "prioritylevelconfigurations", "apiservices", "customresourcedefinitions",
	"endpoints", "endpointslices", "services", "namespaces", "ipaddresses", "servicecidrs",
	"subjectaccessreviews", "tokenreviews",
)

// ofOperator leaves out what the API server writes itself. That includes the operator's lease, which is no matter of
// nodes.
func (c counts) ofOperator() counts {
	rest := maps.Clone(c)
	maps.DeleteFunc(rest, func(key string, _ float64) bool {
		_, resource, _ := strings.Cut(key, " ")
		resource, _, _ = strings.Cut(resource, "/")
		return serverResources.Has(resource)
	})
	return rest
}
