package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
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
	// interrupted ends a look ahead that takes long.
	interrupted <-chan struct{}
}

// look reads the cluster.
func (s *session) look(ctx context.Context) (*view, error) { return s.lookAt(ctx, "") }

// lookAt reads what the operator goes by on one node, or on all without a name.
func (s *session) lookAt(ctx context.Context, node string) (*view, error) {
	nodes, err := s.nodes(ctx)
	if err != nil {
		return nil, err
	}
	return s.around(ctx, nodes, node)
}

// around is lookAt for who knows the nodes.
func (s *session) around(ctx context.Context, nodes []corev1.Node, node string) (*view, error) {
	v := &view{added: map[string]bool{}, interrupted: ctx.Done()}
	v.Nodes = nodes
	in := client.InNamespace(s.namespace)
	ours := client.HasLabels{v1alpha1.LabelName}
	var (
		skyhooks  v1alpha1.SkyhookList
		policies  v1alpha1.DeploymentPolicyList
		configs   corev1.ConfigMapList
		revisions appsv1.ControllerRevisionList
		budgets   policyv1.PodDisruptionBudgetList
	)
	if err := s.client.List(ctx, &skyhooks); err != nil {
		return nil, fmt.Errorf("listing skyhooks: %w", err)
	}
	for _, l := range []struct {
		what    string
		list    client.ObjectList
		options []client.ListOption
	}{
		{"DeploymentPolicies; Skyhooks that name one are shown as if it were missing", &policies, nil},
		{"ConfigMaps in namespace " + s.namespace, &configs, []client.ListOption{in}},
		{
			"ControllerRevisions in namespace " + s.namespace + "; uninstalls may look blocked", &revisions,
			[]client.ListOption{in, ours},
		},
		{"PodDisruptionBudgets; drains may take longer than shown", &budgets, nil},
	} {
		if err := s.client.List(ctx, l.list, l.options...); err != nil {
			if err := v.tolerate(err, l.what); err != nil {
				return nil, err
			}
		}
	}
	v.Skyhooks, v.Policies, v.ConfigMaps = skyhooks.Items, policies.Items, configs.Items
	v.Revisions, v.Budgets = revisions.Items, budgets.Items
	if err := s.pods(ctx, v, node); err != nil {
		return nil, err
	}
	return v, s.settings(ctx, v)
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
func (s *session) pods(ctx context.Context, v *view, node string) error {
	var err error
	if node == "" {
		err = s.podsIn(ctx, v)
	} else if err = s.podsIn(ctx, v, client.MatchingFields{"spec.nodeName": node}); err == nil {
		v.Pods = slices.DeleteFunc(v.Pods, func(p corev1.Pod) bool { return p.Namespace == s.namespace })
		err = s.podsIn(ctx, v, client.InNamespace(s.namespace))
	}
	if apierrors.IsForbidden(err) {
		v.Pods = nil
		v.unread = append(v.unread,
			"pods outside of namespace "+s.namespace+"; what a drain evicts or waits for is not known")
		err = s.podsIn(ctx, v, client.InNamespace(s.namespace))
	}
	if apierrors.IsForbidden(err) {
		return v.tolerate(err, "pods in namespace "+s.namespace+"; what runs is not known")
	}
	return err
}

func (s *session) podsIn(ctx context.Context, v *view, options ...client.ListOption) error {
	page := corev1.PodList{}
	for {
		all := append([]client.ListOption{client.Limit(pageSize), client.Continue(page.Continue)}, options...)
		if err := s.client.List(ctx, &page, all...); err != nil {
			return err
		}
		v.Pods = append(v.Pods, page.Items...)
		if page.Continue == "" {
			return nil
		}
	}
}

// settings reads the operator's from its Deployment; without one they are the defaults.
func (s *session) settings(ctx context.Context, v *view) error {
	var found appsv1.DeploymentList
	err := s.client.List(ctx, &found, client.InNamespace(s.namespace))
	if err != nil {
		what := "Deployments in namespace " + s.namespace + "; the operator's settings are taken to be the defaults"
		if err := v.tolerate(err, what); err != nil {
			return err
		}
	} else {
		v.nowhere = !slices.ContainsFunc(found.Items, func(d appsv1.Deployment) bool { return isOperator(&d) })
	}
	env := map[string]string{}
	for i := range found.Items {
		d := &found.Items[i]
		if !isOperator(d) || len(d.Spec.Template.Spec.Containers) == 0 {
			continue
		}
		v.deployment = d
		for _, e := range d.Spec.Template.Spec.Containers[0].Env {
			if e.ValueFrom == nil {
				env[e.Name] = e.Value
			}
		}
		break
	}
	env["NAMESPACE"] = s.namespace
	v.options, err = settings.FromEnvironment(func(name string) (string, bool) {
		value, ok := env[name]
		return value, ok
	}, s.version)
	if err != nil {
		return errors.Join(errors.New("the settings of the operator's Deployment cannot be read"), err)
	}
	if v.deployment == nil || !v.options.LeaderElection {
		return nil
	}
	lease := &coordinationv1.Lease{}
	err = s.client.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: settings.LeaseName}, lease)
	if err == nil || apierrors.IsNotFound(err) {
		v.lease = lease // who may not read it learns no more than before
	}
	return nil
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

// down reports whether the operator does not run.
func (v *view) down() bool { return v.deployment != nil && v.deployment.Status.ReadyReplicas == 0 }

// caution says on standard error what an answer from the view lacks without naming it.
func (s *session) caution(v *view) {
	if v.nowhere {
		fmt.Fprintf(s.err, "Warning: there is no operator in namespace %s, so its pods, ConfigMaps and retained definitions "+
			"are not seen; name its namespace with --namespace. If there is none at all, nothing happens by itself\n", s.namespace)
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
