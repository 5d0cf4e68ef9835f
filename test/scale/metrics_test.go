package main

import (
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const someMetrics = `# TYPE apiserver_request_total counter
apiserver_request_total{code="200",resource="pods",subresource="",verb="POST"} 4
apiserver_request_total{code="409",resource="pods",subresource="",verb="POST"} 1
apiserver_request_total{code="200",resource="nodes",subresource="status",verb="PATCH"} 7
apiserver_request_total{code="200",resource="configmaps",subresource="",verb="APPLY"} 2
apiserver_request_total{code="200",resource="leases",subresource="",verb="PUT"} 9
apiserver_request_total{code="200",resource="nodes",subresource="",verb="LIST"} 100
# TYPE took histogram
took_bucket{controller="node",le="1"} 3
took_bucket{controller="node",le="+Inf"} 5
took_sum{controller="node"} 8
took_count{controller="node"} 5
took_bucket{controller="skyhook",le="1"} 1
took_bucket{controller="skyhook",le="+Inf"} 1
took_sum{controller="skyhook"} 0.5
took_count{controller="skyhook"} 1
`

func TestMetrics(t *testing.T) {
	f, err := parseMetrics(strings.NewReader(someMetrics))
	if err != nil {
		t.Fatal(err)
	}
	all := counts{"POST pods": 5, "PATCH nodes/status": 7, "APPLY configmaps": 2, "PUT leases": 9}
	if diff := cmp.Diff(all, f.writes()); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	operator := f.writes().minus(counts{"PATCH nodes/status": 7, "POST pods": 1}).ofOperator()
	if diff := cmp.Diff(counts{"POST pods": 4, "APPLY configmaps": 2}, operator); diff != "" || operator.total() != 6 {
		t.Errorf("the operator's (-want +got):\n%s", diff)
	}
	if n := f.sum("apiserver_request_total", labels{"verb": "LIST"}); n != 100 {
		t.Errorf("%g lists", n)
	}
	h := f.histogram("took", labels{"controller": "node"})
	if diff := cmp.Diff(map[float64]float64{1: 3, math.Inf(1): 5}, h.buckets); diff != "" || h.sum != 8 || h.count() != 5 {
		t.Errorf("histogram %+v (-want +got):\n%s", h, diff)
	}
}

// TestWriteKeys: requests have the names that the API server's metrics give them.
func TestWriteKeys(t *testing.T) {
	for _, c := range []struct{ method, path, content, want string }{
		{"GET", "/api/v1/nodes", "", ""},
		{"POST", "/api/v1/nodes", "", "POST nodes"},
		{"PATCH", "/api/v1/nodes/n1/status", "application/strategic-merge-patch+json", "PATCH nodes/status"},
		{"PATCH", "/api/v1/namespaces/skyhook/configmaps/c", "application/apply-patch+yaml", "APPLY configmaps"},
		{"DELETE", "/api/v1/namespaces/skyhook/pods/p", "", "DELETE pods"},
		{"DELETE", "/api/v1/namespaces/skyhook/pods", "", "DELETECOLLECTION pods"},
		{"POST", "/api/v1/namespaces/skyhook/pods/p/eviction", "", "POST pods/eviction"},
		{"PUT", "/apis/skyhook.nvidia.com/v1alpha1/skyhooks/s", "", "PUT skyhooks"},
		{"POST", "/metrics", "", ""},
	} {
		r := httptest.NewRequest(c.method, c.path, http.NoBody)
		r.Header.Set("Content-Type", c.content)
		if got := writeKey(r); got != c.want {
			t.Errorf("%s %s is %q, want %q", c.method, c.path, got, c.want)
		}
	}
}
