package workload

import (
	"testing"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/agent/interrupt"
)

// TestAgentKnowsEveryInterrupt: each type of the API is one of the agent's, and only that of a service carries services.
func TestAgentKnowsEveryInterrupt(t *testing.T) {
	for _, kind := range v1alpha1.InterruptTypes() {
		encoded, err := encodeInterrupt(v1alpha1.Interrupt{Type: kind, Services: []string{"cron"}})
		if err != nil {
			t.Fatal(err)
		}
		request, err := interrupt.Parse(encoded)
		if err != nil || len(request.Services) > 0 != (kind == v1alpha1.InterruptService) {
			t.Errorf("%s: %v, %v", kind, request, err)
		}
	}
}
