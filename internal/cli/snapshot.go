package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/forecast"
	"github.com/skyhook-operator/skyhook/internal/settings"
)

// view is the cluster as a user may read it.
type view struct {
	forecast.Snapshot
	options settings.Options
	// deployment is the operator's; nil if there is none, or it may not be read.
	deployment *appsv1.Deployment
	// lease is that of the replica that leads, without a time if none has written it yet; nil if the operator needs none, or it
	// may not be read.
	lease *coordinationv1.Lease
	// unread tells what could not be read, and what that means.
	unread []string
	// nowhere says that the namespace has no operator, as far as can be read.
	nowhere bool
	// added are DeploymentPolicies that do not exist yet.
	added map[string]bool
	// blind says that the Skyhooks may not be read.
	blind bool
	// interrupted ends a look ahead that takes long.
	interrupted <-chan struct{}
}

// look reads what the operator goes by on one node, or on all without a name.
func (r *reader) look(ctx context.Context, node string) (*view, error) {
	nodes, err := r.nodes(ctx)
	if err != nil {
		return nil, err
	}
	return r.around(ctx, nodes, node)
}

// around is look for who knows the nodes.
func (r *reader) around(ctx context.Context, nodes []corev1.Node, node string) (*view, error) {
	v := &view{added: map[string]bool{}, interrupted: ctx.Done()}
	v.Nodes = nodes
	var err error
	if v.Skyhooks, err = r.skyhooks(ctx); err != nil {
		return nil, err
	}
	if err := r.beside(ctx, v); err != nil {
		return nil, err
	}
	var budgets policyv1.PodDisruptionBudgetList
	if err := r.client.List(ctx, &budgets); err != nil {
		if err := v.tolerate(err, "PodDisruptionBudgets; drains may take longer than shown"); err != nil {
			return nil, err
		}
	}
	v.Budgets = budgets.Items
	if err := r.pods(ctx, v, node); err != nil {
		return nil, err
	}
	r.leader(ctx, v)
	return v, nil
}

// glance reads only what tells how nodes stand, beside them. Who may not read Skyhooks learns what the records say.
func (r *reader) glance(ctx context.Context) (*view, error) {
	v := &view{}
	var skyhooks v1alpha1.SkyhookList
	err := r.client.List(ctx, &skyhooks)
	if v.blind = err != nil; v.blind {
		if err := v.tolerate(err, "Skyhooks; what nodes show is what the operator wrote last"); err != nil {
			return nil, err
		}
	}
	v.Skyhooks = skyhooks.Items
	if err := r.beside(ctx, v, client.MatchingFields{"metadata.name": v1alpha1.StopConfigMap}); err != nil {
		return nil, err
	}
	for _, what := range v.unread {
		fmt.Fprintln(r.err, "Warning: you may not read "+what)
	}
	return v, nil
}

// beside reads what Skyhooks depend on, but for nodes and pods. maps says which ConfigMaps; all without.
func (r *reader) beside(ctx context.Context, v *view, maps ...client.ListOption) error {
	in := client.InNamespace(r.namespace)
	ours := client.HasLabels{v1alpha1.LabelName}
	var (
		policies  v1alpha1.DeploymentPolicyList
		configs   corev1.ConfigMapList
		revisions appsv1.ControllerRevisionList
	)
	for _, l := range []struct {
		what    string
		list    client.ObjectList
		options []client.ListOption
	}{
		{"DeploymentPolicies; Skyhooks that name one are shown as if it were missing", &policies, nil},
		{"ConfigMaps in namespace " + r.namespace, &configs, append(maps, in)},
		{
			"ControllerRevisions in namespace " + r.namespace + "; uninstalls may look blocked", &revisions,
			[]client.ListOption{in, ours},
		},
	} {
		if err := r.client.List(ctx, l.list, l.options...); err != nil {
			if err := v.tolerate(err, l.what); err != nil {
				return err
			}
		}
	}
	v.Policies, v.ConfigMaps, v.Revisions = policies.Items, configs.Items, revisions.Items
	return r.settings(ctx, v)
}

// tolerate notes what may not be read; any other error is returned.
func (v *view) tolerate(err error, what string) error {
	if apierrors.IsForbidden(err) || meta.IsNoMatchError(err) {
		v.unread = append(v.unread, what)
		return nil
	}
	what, _, _ = strings.Cut(what, ";")
	return fmt.Errorf("listing %s: %w", what, err)
}

// pods lists pods, page by page: those of all namespaces, or of the operator's alone if no more may be read. If a node is
// named, the pods of workloads on others are left out: there are many, and they say nothing of it.
func (r *reader) pods(ctx context.Context, v *view, node string) error {
	var err error
	if node == "" {
		err = r.podsIn(ctx, v)
	} else if err = r.podsIn(ctx, v, client.MatchingFields{"spec.nodeName": node}); err == nil {
		v.Pods = slices.DeleteFunc(v.Pods, func(p corev1.Pod) bool { return p.Namespace == r.namespace })
		err = r.podsIn(ctx, v, client.InNamespace(r.namespace))
	}
	if apierrors.IsForbidden(err) {
		v.Pods = nil
		v.unread = append(v.unread,
			"pods outside of namespace "+r.namespace+"; what a drain evicts or waits for is not known")
		err = r.podsIn(ctx, v, client.InNamespace(r.namespace))
	}
	if apierrors.IsForbidden(err) {
		return v.tolerate(err, "pods in namespace "+r.namespace+"; what runs is not known")
	}
	return err
}

func (r *reader) podsIn(ctx context.Context, v *view, options ...client.ListOption) error {
	page := corev1.PodList{}
	for {
		all := append([]client.ListOption{client.Limit(pageSize), client.Continue(page.Continue)}, options...)
		if err := r.client.List(ctx, &page, all...); err != nil {
			return err
		}
		v.Pods = append(v.Pods, page.Items...)
		if page.Continue == "" {
			return nil
		}
	}
}

// settings reads the operator's from its Deployment; without one they are the defaults.
func (r *reader) settings(ctx context.Context, v *view) error {
	var found appsv1.DeploymentList
	err := r.client.List(ctx, &found, client.InNamespace(r.namespace))
	if err != nil {
		what := "Deployments in namespace " + r.namespace + "; the operator's settings are taken to be the defaults"
		if err := v.tolerate(err, what); err != nil {
			return err
		}
	} else {
		v.nowhere = !slices.ContainsFunc(found.Items, func(d appsv1.Deployment) bool { return isOperator(&d) })
	}
	v.deployment, v.options, err = operatorAmong(found.Items, r.namespace, r.version)
	if err != nil {
		return errors.Join(errors.New("the settings of the operator's Deployment cannot be read"), err)
	}
	return nil
}

// leader reads the lease of the replica that leads.
func (r *reader) leader(ctx context.Context, v *view) {
	if v.deployment == nil || !v.options.LeaderElection {
		return
	}
	lease := &coordinationv1.Lease{}
	err := r.client.Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: settings.LeaseName}, lease)
	if err == nil || apierrors.IsNotFound(err) {
		v.lease = lease // who may not read it learns no more than before
	}
}

// leaderLate is how long after the last sign of a leader there is none. An election takes seconds, but the clock of this
// computer may be minutes away from the leader's.
const leaderLate = 5 * time.Minute

// leaderless is since when no replica leads; zero while one does, and if nobody knows. Where none has written the lease yet,
// that is since the operator became available: the API server may refuse the very first one.
func (v *view) leaderless(now time.Time) time.Time {
	var since time.Time
	switch {
	case v.lease == nil:
	case v.lease.Spec.RenewTime != nil:
		since = v.lease.Spec.RenewTime.Time
	default:
		since = v.available()
	}
	if since.IsZero() || now.Sub(since) <= leaderLate {
		return time.Time{}
	}
	return since
}

// available is since when enough replicas have been ready; zero if they are not.
func (v *view) available() time.Time {
	for _, c := range v.deployment.Status.Conditions {
		if c.Type == appsv1.DeploymentAvailable && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

// leads is how long a replica that renewed the lease is taken to lead: it does so every few seconds.
const leads = time.Minute

// down reports whether the operator does not run. A replica that renews the lease does, ready or not.
func (v *view) down(now time.Time) bool {
	if v.deployment == nil || v.deployment.Status.ReadyReplicas > 0 {
		return false
	}
	renews := v.lease != nil && v.lease.Spec.RenewTime != nil && ptr.Deref(v.lease.Spec.HolderIdentity, "") != "" &&
		now.Sub(v.lease.Spec.RenewTime.Time) < leads
	return v.deployment.Status.Replicas == 0 || !renews
}

// caution says on standard error what an answer from the view lacks without naming it.
func (v *view) caution(stderr io.Writer) {
	if v.nowhere {
		fmt.Fprintf(stderr, "Warning: there is no operator in namespace %s, so its pods, ConfigMaps and retained definitions "+
			"are not seen; name its namespace with --namespace. If there is none at all, nothing happens by itself\n", v.options.Workload.Namespace)
	}
}

// decided is what the operator decides now: about one node, or about all without a name.
func (v *view) decided(now time.Time, node string) (forecast.Forecast, error) {
	o := v.ahead(now, 0)
	o.Node = node
	return forecast.Run(v.Snapshot, o)
}

// ahead says how to look ahead.
func (v *view) ahead(now time.Time, ahead time.Duration) forecast.Options {
	return forecast.Options{Operator: v.options, Now: now, Ahead: ahead, Takes: v.measured().takes, Interrupted: v.interrupted}
}

// outlook is the cluster, and how it stands after what the operator decides.
type outlook struct {
	*view
	*sight
	forecast forecast.Forecast
	nodes    map[string]*corev1.Node
	// homes are the compartments of nodes, by Skyhook.
	homes map[string]map[string]string
}

// home is the compartment of a node; empty where there is only one.
func (o *outlook) home(sk *v1alpha1.Skyhook, node string) string {
	if _, known := o.homes[sk.Name]; !known {
		o.homes[sk.Name] = compartmentOf(o.view, sk, []string{node}).homes
	}
	return o.homes[sk.Name][node]
}

// after is the outlook that a forecast gives.
func (v *view) after(f forecast.Forecast) *outlook {
	decided := v.Snapshot
	decided.Skyhooks = f.Skyhooks
	o := &outlook{
		view: v, sight: sightOf(v.options, &decided), forecast: f, nodes: make(map[string]*corev1.Node, len(f.Cluster)),
		homes: map[string]map[string]string{},
	}
	for i := range f.Cluster {
		o.nodes[f.Cluster[i].Name] = &f.Cluster[i]
	}
	return o
}
