package operator

import (
	"crypto/tls"

	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/skyhook-operator/skyhook/internal/certs"
)

// MetricsOptions say how metrics are served.
type MetricsOptions struct {
	// Address to listen on; "0" for nowhere.
	Address string
	// Secure serves them over TLS, and only to those whose token the API server knows and who may get /metrics there.
	Secure bool
	// Service is what others call, in the operator's namespace.
	Service string
}

func (e *environment) metrics() MetricsOptions {
	return MetricsOptions{
		Address: e.text("METRICS_PORT", ":8080"),
		Secure:  e.flag("METRICS_SECURE", true),
		Service: e.text("METRICS_SERVICE_NAME", "skyhook-operator-controller-manager-metrics-service"),
	}
}

// metricsServer says how to serve metrics: with the webhooks' certificate, which names the Service of the metrics too,
// or, without webhooks, with one that signs itself.
func (o Options) metricsServer(k *certs.Keeper) metricsserver.Options {
	s := metricsserver.Options{BindAddress: o.Metrics.Address}
	if !o.Metrics.Secure {
		return s
	}
	s.SecureServing, s.FilterProvider = true, filters.WithAuthenticationAndAuthorization
	s.TLSOpts = []func(*tls.Config){func(c *tls.Config) {
		// The server speaks HTTP/1.1 on such a connection, so it must not offer more.
		c.MinVersion, c.NextProtos = tls.VersionTLS12, []string{"http/1.1"}
		if o.Webhook.Enabled {
			c.GetCertificate = k.GetCertificate
		}
	}}
	return s
}
