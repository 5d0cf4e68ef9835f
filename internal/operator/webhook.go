package operator

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/certs"
	"github.com/skyhook-operator/skyhook/internal/settings"
	"github.com/skyhook-operator/skyhook/internal/webhook"
)

// keeper returns the keeper of the certificate, which needs its clients yet.
func keeper(o settings.Options) *certs.Keeper {
	service := host(o, o.Webhook.Service)
	names := []string{service, service + "." + o.ClusterDomain}
	if o.Metrics.Secure {
		names = append(names, host(o, o.Metrics.Service))
	}
	return &certs.Keeper{
		Clock:  clock.RealClock{},
		Secret: types.NamespacedName{Namespace: o.Workload.Namespace, Name: o.Webhook.Secret},
		Names:  names,

		Given: !o.Webhook.Managed, Configuration: webhook.Configuration, Webhooks: []string{webhook.SkyhookName, webhook.PolicyName},
	}
}

// host is the name by which the API server and others in the cluster call a Service of the operator.
func host(o settings.Options, service string) string {
	return service + "." + o.Workload.Namespace + ".svc"
}

// withWebhooks adds to the cache what webhooks need.
func withWebhooks(c cache.Options, o settings.Options) cache.Options {
	if o.Webhook.Enabled {
		keeper(o).Cache(c.ByObject)
	}
	return c
}

// addWebhooks has every replica, leader or not, answer the API server.
func addWebhooks(mgr ctrl.Manager, o settings.Options, k *certs.Keeper) error {
	if !o.Webhook.Enabled {
		return nil
	}
	k.Client, k.Live = mgr.GetClient(), mgr.GetAPIReader()
	if err := k.SetupWithManager(mgr); err != nil {
		return fmt.Errorf("set up the webhooks' certificate: %w", err)
	}
	server := webhook.NewServer(o.Webhook.Address, k.GetCertificate)
	webhook.Register(server, mgr.GetScheme(), mgr.GetClient(), mgr.GetAPIReader(), o.Images,
		o.Workload.PriorityClass)
	// A replica that is not the leader would read these only when it is asked, and be late with its answer.
	for _, kind := range []client.Object{&corev1.Node{}, &v1alpha1.Skyhook{}, &v1alpha1.DeploymentPolicy{}} {
		if _, err := mgr.GetCache().GetInformer(context.Background(), kind); err != nil {
			return fmt.Errorf("watch objects of %T: %w", kind, err)
		}
	}
	if err := mgr.Add(server); err != nil {
		return fmt.Errorf("add the webhook server: %w", err)
	}
	if err := mgr.AddReadyzCheck("webhooks", k.Ready); err != nil {
		return fmt.Errorf("add the readiness check of webhooks: %w", err)
	}
	return nil
}
