// Package operator wires the operator together: the cache, the controllers, the servers.
package operator

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/skyhook-operator/skyhook/internal/controller/node"
	"github.com/skyhook-operator/skyhook/internal/controller/policy"
	"github.com/skyhook-operator/skyhook/internal/controller/skyhook"
	"github.com/skyhook-operator/skyhook/internal/controller/state"
	"github.com/skyhook-operator/skyhook/internal/drain/evict"
	"github.com/skyhook-operator/skyhook/internal/metrics"
	"github.com/skyhook-operator/skyhook/internal/settings"
)

const (
	// lease is how long a leader that is gone keeps others from its work; they look for it a few seconds apart. Within 20 s
	// another one works.
	lease = 12 * time.Second
	// recorder is the component name of events, by which people and tools find them.
	recorder = "skyhook-controller"
	// nodeWorkers is how many nodes are worked on at a time; a pass over a node mostly waits for the API server, and for
	// webhooks of others that look at pods.
	nodeWorkers = 16
	// skyhookWorkers is how many Skyhooks are planned at a time.
	skyhookWorkers = 2
)

// NewManager returns a manager with the controllers and the webhooks, ready to start.
func NewManager(cluster *rest.Config, o settings.Options) (ctrl.Manager, error) {
	scheme, err := settings.Scheme()
	if err != nil {
		return nil, err
	}
	cluster = rest.CopyConfig(cluster)
	cluster.QPS = -1 // the API server's own fairness paces us
	cluster.UserAgent = "skyhook-operator/" + o.Version
	series := metrics.NewStore(clock.RealClock{}, o.Version)
	cluster.Wrap(countWrites(cluster.Host, series))
	k := keeper(o)
	mgr, err := ctrl.NewManager(cluster, ctrl.Options{
		Scheme:                        scheme,
		MapperProvider:                newMapper,
		Cache:                         withWebhooks(settings.CacheOptions(o.Workload.Namespace), o),
		Metrics:                       metricsServer(o, k),
		HealthProbeBindAddress:        o.ProbeAddress,
		PprofBindAddress:              o.PprofAddress,
		LeaderElection:                o.LeaderElection,
		LeaderElectionID:              settings.LeaseName,
		LeaderElectionNamespace:       o.Workload.Namespace,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 ptr.To(lease),
		RenewDeadline:                 ptr.To(lease * 2 / 3),
		RetryPeriod:                   ptr.To(lease / 8),
		// A process may run one manager after another, as the tests of crashes do.
		Controller: config.Controller{
			SkipNameValidation: ptr.To(true),
			// It may hang when it is shut down (kubernetes-sigs/controller-runtime#3538), and the lease with it.
			UsePriorityQueue: ptr.To(false),
		},
	})
	if err != nil {
		return nil, fmt.Errorf("create the manager: %w", err)
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return nil, fmt.Errorf("add the health check: %w", err)
	}
	if err := mgr.AddReadyzCheck("ping", healthz.Ping); err != nil {
		return nil, fmt.Errorf("add the readiness check: %w", err)
	}
	if err := addWebhooks(mgr, o, k); err != nil {
		return nil, err
	}
	if err := errors.Join(metrics.Register(ctrlmetrics.Registry), series.Register(ctrlmetrics.Registry)); err != nil {
		return nil, err
	}
	return mgr, addControllers(mgr, o, series)
}

func addControllers(mgr ctrl.Manager, o settings.Options, series *metrics.Store) error {
	if err := state.AddLookups(context.Background(), mgr.GetFieldIndexer()); err != nil {
		return err
	}
	told, err := newEvents(mgr)
	if err != nil {
		return err
	}
	shared := state.Shared{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Events: told, Clock: clock.RealClock{},
		Targets: &state.Index{Images: o.Images, Live: mgr.GetAPIReader(), Reapply: o.ReapplyOnReboot},
		Records: &state.Records{}, Policies: &state.Policies{},
		Transitions: &state.Transitions{}, Durations: &state.Durations{}, Metrics: series,
		Workload: o.Workload, Version: o.Version,
	}
	if shared.CachedNodes, err = cachedNodes(mgr); err != nil {
		return err
	}
	evictor, err := evict.New(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("make a client for evictions: %w", err)
	}
	nodes := &node.Reconciler{Shared: shared, Evictor: evictor, DrainForce: o.DrainForce, PodName: o.PodName}
	if err := nodes.SetupWithManager(mgr, nodeWorkers); err != nil {
		return fmt.Errorf("set up the node controller: %w", err)
	}
	skyhooks := &skyhook.Reconciler{Shared: shared}
	if err := skyhooks.SetupWithManager(mgr, skyhookWorkers); err != nil {
		return fmt.Errorf("set up the Skyhook controller: %w", err)
	}
	applied := &policy.Reconciler{Shared: shared}
	if err := applied.SetupWithManager(mgr); err != nil {
		return fmt.Errorf("set up the controller of deployment policies: %w", err)
	}
	return addCapability(mgr, o, told)
}

// cachedNodes lists the nodes in the manager's cache without copying them. It may be asked once the cache has synced, as
// it has for any controller that watches nodes.
func cachedNodes(mgr ctrl.Manager) (func() []*corev1.Node, error) {
	informer, err := mgr.GetCache().GetInformer(context.Background(), &corev1.Node{}, cache.BlockUntilSynced(false))
	if err != nil {
		return nil, fmt.Errorf("watch nodes: %w", err)
	}
	shared, ok := informer.(toolscache.SharedIndexInformer)
	if !ok {
		return nil, fmt.Errorf("the informer of nodes is a %T, which cannot be listed", informer)
	}
	store := shared.GetStore()
	return func() []*corev1.Node {
		all := store.List()
		nodes := make([]*corev1.Node, 0, len(all))
		for _, o := range all {
			if n, ok := o.(*corev1.Node); ok {
				nodes = append(nodes, n)
			}
		}
		return nodes
	}, nil
}
