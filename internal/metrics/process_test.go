package metrics_test

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/skyhook-operator/skyhook/internal/metrics"
)

// TestRegister: one process may run several managers, one after another, with one registry.
func TestRegister(t *testing.T) {
	registry := prometheus.NewRegistry()
	for range 2 {
		if err := metrics.Register(registry); err != nil {
			t.Fatal(err)
		}
	}
	families, err := registry.Gather()
	if err != nil || len(families) == 0 || families[0].GetName() != "skyhook_plan_duration_seconds" {
		t.Fatalf("gathered %v, %v", families, err)
	}
}
