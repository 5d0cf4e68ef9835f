package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/board"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// fleet is what the board knows of the cluster, and who looks at it.
type fleet struct {
	// session prints nothing.
	session *session
	ctx     context.Context
	client  client.WithWatch
	cluster string
	// asked is the Skyhook that the command names; empty for none.
	asked string
	// reading is full while the details of a node are read.
	reading chan struct{}

	mu        sync.Mutex
	nodes     kind[*corev1.Node]
	skyhooks  kind[*v1alpha1.Skyhook]
	policies  kind[*v1alpha1.DeploymentPolicy]
	operators kind[*appsv1.Deployment]
	pages     map[*page]bool
	speeds    speeds
	left      map[string]*remainder
}

func (s *session) newFleet(ctx context.Context, asked string) (*fleet, error) {
	config := rest.CopyConfig(s.config)
	config.Timeout = 0 // a watch lasts
	c, err := client.NewWithWatch(config, client.Options{Scheme: s.client.Scheme()})
	if err != nil {
		return nil, fmt.Errorf("initializing kubernetes client: %w", err)
	}
	quiet := *s
	quiet.out, quiet.err = io.Discard, io.Discard
	quiet.context = s.currentContext() // commands are copied later, when it may be another one
	f := &fleet{
		session: &quiet, ctx: ctx, client: c, cluster: s.clusterName(), asked: asked,
		reading: make(chan struct{}, 1), pages: map[*page]bool{}, speeds: speeds{}, left: map[string]*remainder{},
	}
	f.nodes = kind[*corev1.Node]{
		mu: &f.mu, now: s.now, what: "nodes", slim: slimNode, changed: f.nodeChanged, turned: f.wake,
		objects: map[string]*corev1.Node{},
	}
	f.skyhooks = kind[*v1alpha1.Skyhook]{
		mu: &f.mu, now: s.now, what: "Skyhooks", slim: slimSkyhook, changed: f.skyhookChanged, turned: f.wake,
		objects: map[string]*v1alpha1.Skyhook{},
	}
	f.policies = kind[*v1alpha1.DeploymentPolicy]{
		mu: &f.mu, now: s.now, what: "DeploymentPolicies", slim: func(p *v1alpha1.DeploymentPolicy) { p.ManagedFields = nil },
		changed: f.policyChanged, turned: f.wake, objects: map[string]*v1alpha1.DeploymentPolicy{},
	}
	f.operators = kind[*appsv1.Deployment]{
		mu: &f.mu, now: s.now, what: "Deployments in namespace " + s.namespace, options: []client.ListOption{client.InNamespace(s.namespace)},
		slim: func(d *appsv1.Deployment) { d.ManagedFields = nil }, changed: func(_, _ **appsv1.Deployment) { f.wake() },
		turned: f.wake, objects: map[string]*appsv1.Deployment{},
	}
	return f, nil
}

// clusterName is how people call the cluster: by the context, else by its address.
func (s *session) clusterName() string { return cmp.Or(s.currentContext(), s.config.Host) }

// currentContext is that of the command; empty without a kubeconfig.
func (s *session) currentContext() string {
	if s.flags.Context != nil && *s.flags.Context != "" {
		return *s.flags.Context
	}
	raw, err := s.flags.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return ""
	}
	return raw.CurrentContext
}

// watch begins to.
func (f *fleet) watch() {
	go f.nodes.follow(f.ctx, f.client, &corev1.Node{}, &corev1.NodeList{})
	go f.skyhooks.follow(f.ctx, f.client, &v1alpha1.Skyhook{}, &v1alpha1.SkyhookList{})
	go f.policies.follow(f.ctx, f.client, &v1alpha1.DeploymentPolicy{}, &v1alpha1.DeploymentPolicyList{})
	go f.operators.follow(f.ctx, f.client, &appsv1.Deployment{}, &appsv1.DeploymentList{})
}

// slimNode leaves what the picture shows, and what the operator goes by: of a real node, a small part.
func slimNode(n *corev1.Node) {
	own := map[string]string{}
	for key, value := range n.Annotations {
		if strings.HasPrefix(key, v1alpha1.KeyPrefix) {
			own[key] = value
		}
	}
	conditions := slices.DeleteFunc(slices.Clone(n.Status.Conditions), func(c corev1.NodeCondition) bool {
		return c.Type != corev1.NodeReady && !record.OwnsCondition(c.Type)
	})
	for i := range conditions {
		conditions[i].LastHeartbeatTime = metav1.Time{}
	}
	n.ObjectMeta = metav1.ObjectMeta{
		Name: n.Name, UID: n.UID, CreationTimestamp: n.CreationTimestamp, DeletionTimestamp: n.DeletionTimestamp,
		Labels: n.Labels, Annotations: own,
	}
	n.Spec = corev1.NodeSpec{Unschedulable: n.Spec.Unschedulable, Taints: n.Spec.Taints}
	n.Status = corev1.NodeStatus{Conditions: conditions, NodeInfo: n.Status.NodeInfo}
}

// slimSkyhook leaves out what the status has of each node, and what the packages have for the operator.
func slimSkyhook(s *v1alpha1.Skyhook) {
	s.ManagedFields = nil
	st := &s.Status
	st.NodeState, st.NodeStatus, st.NodeBootIDs, st.NodePriority = nil, nil, nil, nil
	for name, p := range s.Spec.Packages {
		s.Spec.Packages[name] = v1alpha1.Package{Name: p.Name, Version: p.Version}
	}
}

// wake tells all pages that something changed.
func (f *fleet) wake() {
	for p := range f.pages {
		p.wake()
	}
}

func (f *fleet) nodeChanged(was, now **corev1.Node) {
	for p := range f.pages {
		p.nodeChanged(was, now)
	}
}

// skyhookChanged forgets what was measured of a Skyhook that is gone: another one may get its name.
func (f *fleet) skyhookChanged(was, now **v1alpha1.Skyhook) {
	if was != nil && (now == nil || (*now).UID != (*was).UID) {
		delete(f.left, (*was).Name)
		delete(f.speeds, (*was).Name)
	}
	f.wake()
}

func (f *fleet) policyChanged(_, _ **v1alpha1.DeploymentPolicy) {
	for p := range f.pages {
		p.rehome = true
		p.wake()
	}
}

// told reports whether everything is known, or why it is not.
func (f *fleet) told() bool {
	return f.nodes.told() && f.skyhooks.told() && f.policies.told() && f.operators.told()
}

// failure is why the picture is old or lacks something; empty if it does not.
func (f *fleet) failure() string { return troubles(f.skyhooks.trouble(), f.nodes.trouble()) }

// old is since when the picture may not be right; zero while it is, and where there is none.
func (f *fleet) old() time.Time {
	if !f.skyhooks.known {
		return time.Time{}
	}
	since := f.skyhooks.old()
	if nodes := f.nodes.old(); since.IsZero() || !nodes.IsZero() && nodes.Before(since) {
		since = nodes
	}
	return since
}

// warning is a sentence about what the picture of a Skyhook does not show. Whether a replica leads is not watched: its lease
// changes every other second.
func (f *fleet) warning(list []rolloutStatus, skyhook string) string {
	var all []string
	if i := slices.IndexFunc(list, func(st rolloutStatus) bool { return st.Name == skyhook }); i >= 0 {
		all = unplannedOf(list[i : i+1])
	}
	operators := slices.DeleteFunc(slices.Collect(maps.Values(f.operators.objects)), func(d *appsv1.Deployment) bool {
		return !isOperator(d)
	})
	switch {
	case allComplete(list) || !f.operators.known: // nobody is missed, or nobody knows
	case len(operators) == 0:
		all = append(all, fmt.Sprintf("there is no operator in namespace %s. If none runs in another one, which --namespace names, "+
			"nothing progresses, and this is as it was", f.session.namespace))
	default:
		down := func(d *appsv1.Deployment) bool { return (&view{deployment: d}).down() }
		if i := slices.IndexFunc(operators, down); i >= 0 {
			all = append(all, f.session.asItWas(&view{deployment: operators[i]}))
		}
	}
	if f.policies.forbidden() {
		all = append(all, "you may not list and watch DeploymentPolicies, so it is not known to which compartment nodes "+
			"belong")
	}
	return strings.Join(all, "; ")
}

// names are those of all Skyhooks, sorted.
func (f *fleet) names() []string { return slices.Sorted(maps.Keys(f.skyhooks.objects)) }

// choose is the Skyhook to show if nobody names one: the most urgent; of several, the first by name.
func (f *fleet) choose() string {
	names := f.names()
	if len(names) == 0 {
		return ""
	}
	return slices.MinFunc(names, func(a, b string) int {
		return slices.Index(v1alpha1.Statuses(), f.status(a)) - slices.Index(v1alpha1.Statuses(), f.status(b))
	})
}

func (f *fleet) status(skyhook string) v1alpha1.Status {
	return cmp.Or(f.skyhooks.objects[skyhook].Status.Status, v1alpha1.StatusUnknown)
}

// Open implements board.Source.
func (f *fleet) Open(skyhook string) board.Page {
	p := &page{fleet: f, name: cmp.Or(skyhook, f.asked), changed: make(chan struct{}, 1)}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pages[p] = true
	return p
}
