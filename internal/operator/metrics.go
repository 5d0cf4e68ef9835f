package operator

import (
	"crypto/tls"

	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/skyhook-operator/skyhook/internal/certs"
	"github.com/skyhook-operator/skyhook/internal/settings"
)

// metricsServer says how to serve metrics: with the webhooks' certificate, which names the Service of the metrics too,
// or, without webhooks, with one that signs itself.
func metricsServer(o settings.Options, k *certs.Keeper) metricsserver.Options {
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
