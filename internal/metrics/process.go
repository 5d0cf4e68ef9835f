// Package metrics has what the operator tells Prometheus of itself, beside what its libraries tell.
package metrics

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// PlanSeconds is how long passes over one Skyhook take to read its fleet and to plan. Writes are left out.
var PlanSeconds = prometheus.NewHistogram(prometheus.HistogramOpts{
	Name:    "skyhook_plan_duration_seconds",
	Help:    "How long it takes to read the fleet and to plan for one Skyhook, without writing anything.",
	Buckets: []float64{0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5},
})

// CertificateEnd is when the certificate ends that the webhooks of this process serve. It has no labels; as a vector it
// is absent until there is one.
var CertificateEnd = prometheus.NewGaugeVec(prometheus.GaugeOpts{
	Name: "skyhook_webhook_certificate_expiry_timestamp_seconds",
	Help: "Unix time at which the certificate ends that the webhooks of this replica serve; absent without webhooks.",
}, nil)

// Register adds everything to a registry, which may have it from an earlier manager of this process.
func Register(to prometheus.Registerer) error {
	for _, c := range []prometheus.Collector{PlanSeconds, CertificateEnd} {
		if err := to.Register(c); err != nil && !errors.As(err, &prometheus.AlreadyRegisteredError{}) {
			return fmt.Errorf("register metrics: %w", err)
		}
	}
	return nil
}
