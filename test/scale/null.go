package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/controller/state"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/settings"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

// nullCommand is the argument with which this program is the null operator.
const nullCommand = "null"

// nullWorkers is how many nodes it works on at a time: as many as the operator.
const nullWorkers = 16

// nullStages are those of an install without interrupts.
var nullStages = []v1alpha1.Stage{v1alpha1.StageApply, v1alpha1.StageConfig}

// null creates, awaits and deletes the pod of each stage on each node, and remembers nothing beyond its own process: no
// record, no order, no status, no event. It is the floor, the least that a pod for each stage can cost. It is built like
// the operator, with the same caches, client and number of workers, and what has begun is finished first.
type null struct {
	client client.Client
	pods   workload.Options
	// nodes have, by name, the turn of each of their packages. One node is worked on once at a time.
	nodes sync.Map
}

// turn of one package on one node.
type turn struct {
	stages int
	pod    types.NamespacedName
	uid    types.UID
}

// runNull runs the null operator until the context ends. Its settings are the operator's.
func runNull(ctx context.Context) error {
	o, err := settings.FromEnvironment(settings.Environment, nullCommand)
	if err != nil {
		return err
	}
	scheme, err := settings.Scheme()
	if err != nil {
		return err
	}
	cluster, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find the cluster: %w", err)
	}
	cluster.QPS = -1
	mgr, err := ctrl.NewManager(cluster, ctrl.Options{
		Scheme: scheme, Cache: settings.CacheOptions(o.Workload.Namespace), PprofBindAddress: o.PprofAddress,
		Metrics: metricsserver.Options{BindAddress: o.Metrics.Address}, HealthProbeBindAddress: "0",
	})
	if err != nil {
		return fmt.Errorf("create the manager: %w", err)
	}
	n := &null{client: mgr.GetClient(), pods: o.Workload}
	err = state.SetUp(mgr, "node", state.Order{Workers: nullWorkers, Urgent: n.begun}, []state.Source{
		state.Keyed(&corev1.Node{}, state.NodeChanged()),
		state.Mapped(&corev1.Pod{}, nodeOf),
		state.Mapped(&v1alpha1.Skyhook{}, n.allNodes),
	}, n)
	if err != nil {
		return fmt.Errorf("set up the controller: %w", err)
	}
	return mgr.Start(ctx)
}

func nodeOf(_ context.Context, o client.Object) []reconcile.Request {
	if pod, ok := o.(*corev1.Pod); ok && pod.Spec.NodeName != "" {
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: pod.Spec.NodeName}}}
	}
	return nil
}

func (n *null) allNodes(ctx context.Context, _ client.Object) []reconcile.Request {
	var nodes corev1.NodeList
	if err := n.client.List(ctx, &nodes, client.UnsafeDisableDeepCopy); err != nil {
		return nil // the cache refuses nothing that it watches
	}
	var all []reconcile.Request
	for i := range nodes.Items {
		all = append(all, reconcile.Request{NamespacedName: types.NamespacedName{Name: nodes.Items[i].Name}})
	}
	return all
}

// begun reports whether a node has had a pod: it goes before those that have not.
func (n *null) begun(req reconcile.Request) bool {
	_, has := n.nodes.Load(req.Name)
	return has
}

// Reconcile brings each package of one node a step further.
func (n *null) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var skyhooks v1alpha1.SkyhookList
	if err := n.client.List(ctx, &skyhooks, client.UnsafeDisableDeepCopy); err != nil {
		return ctrl.Result{}, fmt.Errorf("list Skyhooks: %w", err)
	}
	if len(skyhooks.Items) == 0 {
		return ctrl.Result{}, nil
	}
	known, _ := n.nodes.LoadOrStore(req.Name, map[string]*turn{})
	packages, ok := known.(map[string]*turn)
	if !ok {
		return ctrl.Result{}, fmt.Errorf("node %s has a turn of type %T", req.Name, known)
	}
	for i := range skyhooks.Items {
		for _, name := range slices.Sorted(maps.Keys(skyhooks.Items[i].Spec.Packages)) {
			if packages[name] == nil {
				packages[name] = &turn{}
			}
			task := workload.Task{Skyhook: &skyhooks.Items[i], Package: name, Node: req.Name, Generation: 1}
			if err := n.step(ctx, packages[name], task); err != nil {
				return ctrl.Result{}, err
			}
		}
	}
	return ctrl.Result{}, nil
}

// step deletes the pod of a stage that is done, and creates that of the next.
func (n *null) step(ctx context.Context, p *turn, task workload.Task) error {
	if p.uid != "" {
		done, err := n.done(ctx, p)
		if !done || err != nil {
			return err
		}
		object := &corev1.Pod{}
		object.Name, object.Namespace = p.pod.Name, p.pod.Namespace
		err = n.client.Delete(ctx, object, client.Preconditions{UID: &p.uid}, client.GracePeriodSeconds(0))
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete pod %s: %w", p.pod.Name, err)
		}
		p.uid = ""
		p.stages++
	}
	if p.stages == len(nullStages) {
		return nil
	}
	task.Stage = nullStages[p.stages]
	task.Run = fmt.Sprintf("%s-%d", task.Skyhook.UID, p.stages)
	pod, err := n.pods.Pod(task)
	if err != nil {
		return err
	}
	if err := n.client.Create(ctx, pod); err != nil {
		return fmt.Errorf("create pod %s: %w", pod.Name, err)
	}
	p.pod, p.uid = client.ObjectKeyFromObject(pod), pod.UID
	return nil
}

// done reports whether the cache has the pod, with its last init container ended.
func (n *null) done(ctx context.Context, p *turn) (bool, error) {
	var pod corev1.Pod
	err := n.client.Get(ctx, p.pod, &pod, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) || err == nil && pod.UID != p.uid {
		return false, nil // the cache has yet to show it
	}
	if err != nil {
		return false, fmt.Errorf("get pod %s: %w", p.pod.Name, err)
	}
	seen, err := workload.Observe(&pod)
	return err == nil && seen.Outcome == lifecycle.Done, err
}
