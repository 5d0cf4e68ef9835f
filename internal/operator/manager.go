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
	"sigs.k8s.io/controller-runtime/pkg/client"
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
	// evictionPatience is how long a worker waits for evictions; most are answered by then.
	evictionPatience = 300 * time.Millisecond
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
		Targets: &state.Index{Images: o.Images, Live: mgr.GetAPIReader(), Reapply: o.Reapply, Limits: o.Limits},
		Records: &state.Records{}, Policies: &state.Policies{},
		Transitions: &state.Transitions{}, Durations: &state.Durations{}, Metrics: series,
		Workload: o.Workload, Version: o.Version,
	}
	if shared.CachedNodes, err = cachedNodes(mgr); err != nil {
		return err
	}
	if shared.CachedPods, err = cachedPods(mgr); err != nil {
		return err
	}
	evictor, err := evict.New(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("make a client for evictions: %w", err)
	}
	nodes := &node.Reconciler{Shared: shared, Evictor: evictor, Patience: evictionPatience, DrainForce: o.DrainForce, PodName: o.PodName}
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
	informer, err := informerOf(mgr, &corev1.Node{})
	if err != nil {
		return nil, err
	}
	store := informer.GetStore()
	return func() []*corev1.Node { return typed[*corev1.Node](store.List()) }, nil
}

// cachedPods finds the package pods on a node in the manager's cache, without copying them.
func cachedPods(mgr ctrl.Manager) (func(node string) ([]*corev1.Pod, error), error) {
	informer, err := informerOf(mgr, &corev1.Pod{})
	if err != nil {
		return nil, err
	}
	err = informer.AddIndexers(toolscache.Indexers{state.PodsByNode: func(o any) ([]string, error) {
		if pod, ok := o.(*corev1.Pod); ok && pod.Spec.NodeName != "" {
			return []string{pod.Spec.NodeName}, nil
		}
		return nil, nil
	}})
	if err != nil {
		return nil, fmt.Errorf("index pods by their nodes: %w", err)
	}
	pods := informer.GetIndexer()
	return func(node string) ([]*corev1.Pod, error) {
		found, err := pods.ByIndex(state.PodsByNode, node)
		if err != nil {
			return nil, fmt.Errorf("find package pods on node %s: %w", node, err)
		}
		return typed[*corev1.Pod](found), nil
	}, nil
}

// informerOf is what fills the manager's cache with objects of a kind.
func informerOf(mgr ctrl.Manager, kind client.Object) (toolscache.SharedIndexInformer, error) {
	informer, err := mgr.GetCache().GetInformer(context.Background(), kind, cache.BlockUntilSynced(false))
	if err != nil {
		return nil, fmt.Errorf("watch objects like %T: %w", kind, err)
	}
	shared, ok := informer.(toolscache.SharedIndexInformer)
	if !ok {
		return nil, fmt.Errorf("the informer of %T is a %T, which cannot be asked", kind, informer)
	}
	return shared, nil
}

// typed are the objects of a cache that are of a type, as all of an informer's are.
func typed[T client.Object](objects []any) []T {
	all := make([]T, 0, len(objects))
	for _, o := range objects {
		if one, ok := o.(T); ok {
			all = append(all, one)
		}
	}
	return all
}
