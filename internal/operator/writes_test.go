package operator

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/skyhook-operator/skyhook/internal/metrics"
)

func TestCountWrites(t *testing.T) {
	const ours = "/apis/skyhook.nvidia.com/v1alpha1/skyhooks/demo"
	for _, c := range []struct {
		name, host, method, path string
		answer                   int // 0 for none
		want                     string
	}{
		{"a node", "https://api:6443", http.MethodPatch, "/api/v1/nodes/n1", 200, "200 nodes  patch"},
		{"its status", "https://api:6443", http.MethodPatch, "/api/v1/nodes/n1/status", 409, "409 nodes status patch"},
		{"a status of ours", "https://api:6443", http.MethodPatch, ours + "/status?fieldManager=x", 200, "200 skyhooks status patch"},
		{"a pod", "https://api:6443", http.MethodPost, "/api/v1/namespaces/skyhook/pods", 201, "201 pods  create"},
		{"a deletion", "https://api:6443", http.MethodDelete, "/api/v1/namespaces/skyhook/pods/p", 404, "404 pods  delete"},
		{"of all", "https://api:6443", http.MethodDelete, "/api/v1/namespaces/skyhook/pods", 200, "200 pods  deletecollection"},
		{"an eviction", "https://api:6443", http.MethodPost, "/api/v1/namespaces/shop/pods/web/eviction", 429, "429 pods eviction create"},
		{"an event", "https://api:6443", http.MethodPost, "/apis/events.k8s.io/v1/namespaces/default/events", 201, "201 events  create"},
		{"a lease", "https://api:6443", http.MethodPut, "/apis/coordination.k8s.io/v1/namespaces/skyhook/leases/l", 200, "200 leases  update"},
		{"no answer", "https://api:6443", http.MethodPatch, "/api/v1/nodes/n1", 0, "error nodes  patch"},
		{"through a proxy", "https://proxy/k8s/clusters/c-1/", http.MethodPatch, "/k8s/clusters/c-1/api/v1/nodes/n1", 200, "200 nodes  patch"},
		{"a read", "https://api:6443", http.MethodGet, "/api/v1/nodes/n1", 200, ""},
		{"no resource", "https://api:6443", http.MethodPost, "/healthz", 200, ""},
	} {
		store := metrics.NewStore(clocktesting.NewFakePassiveClock(time.Time{}), "v1")
		var saw string
		client := countWrites(c.host, store)(roundTripper(func(r *http.Request) (*http.Response, error) {
			saw = r.URL.Path
			if c.answer == 0 {
				return nil, errors.New("refused")
			}
			return &http.Response{StatusCode: c.answer, Body: http.NoBody}, nil
		}))
		request, err := http.NewRequestWithContext(t.Context(), c.method, strings.SplitN(c.host, "/k8s", 2)[0]+c.path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.RoundTrip(request)
		if response != nil {
			response.Body.Close()
		}
		if (err == nil) != (c.answer > 0) || saw != request.URL.Path {
			t.Errorf("%s: sent to %s, error %v", c.name, saw, err)
		}
		if got := writes(t, store); got != c.want {
			t.Errorf("%s: counted %q, want %q", c.name, got, c.want)
		}
	}
}

// writes are the labels of what was counted: code, resource, subresource and verb.
func writes(t *testing.T, store *metrics.Store) string {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	if err := store.Register(registry); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "skyhook_api_writes_total" {
				var labels []string
				for _, l := range m.GetLabel() {
					labels = append(labels, l.GetValue())
				}
				list = append(list, strings.Join(labels, " "))
			}
		}
	}
	return strings.Join(list, ", ")
}
