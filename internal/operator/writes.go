package operator

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/transport"

	"github.com/skyhook-operator/skyhook/internal/metrics"
)

// verbs are those that write.
var verbs = []string{"create", "update", "patch", "delete", "deletecollection"}

// countWrites counts what the operator writes to the API server at host, as the API server itself tells requests apart.
func countWrites(host string, series *metrics.Store) transport.WrapperFunc {
	below := ""
	if at, err := url.Parse(host); err == nil { // else no client comes to be either
		below = strings.TrimSuffix(at.Path, "/") // of a proxy
	}
	of := &request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}
	return func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			response, err := next.RoundTrip(r)
			if r.Method == http.MethodGet {
				return response, err
			}
			its := *r.URL
			its.Path = strings.TrimPrefix(its.Path, below)
			info, unknown := of.NewRequestInfo(&http.Request{Method: r.Method, URL: &its})
			if unknown == nil && info.IsResourceRequest && slices.Contains(verbs, info.Verb) {
				code := "error"
				if err == nil {
					code = strconv.Itoa(response.StatusCode)
				}
				series.Wrote(info.Verb, info.Resource, info.Subresource, code)
			}
			return response, err
		})
	}
}

// roundTripper is a function that sends requests.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
