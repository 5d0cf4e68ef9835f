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
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/board"
	"github.com/skyhook-operator/skyhook/internal/forecast"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/rollout"
)

// fleet is what the board knows of the cluster, and who looks at it.
type fleet struct {
	// read prints nothing.
	read    *reader
	explain explainer
	gauge   gauge
	logs    podLogs
	wide    bool
	ctx     context.Context
	client  client.WithWatch
	// cluster is how people call it: by the context, else by its address.
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
	revisions kind[*appsv1.ControllerRevision]
	stops     kind[*corev1.ConfigMap]
	// unheard is when the API server answered last; zero while it does.
	unheard time.Time
	// seen is how the operator sees what there is; nil when that has changed. edition counts the changes that may show on
	// any node.
	seen    *sight
	edition int
	pages   map[*page]bool
	speeds  speeds
	left    map[string]*remainder
}

func newFleet(ctx context.Context, s *session, asked string) (*fleet, error) {
	config := rest.CopyConfig(s.config)
	config.Timeout = 0 // a watch lasts
	c, err := client.NewWithWatch(config, client.Options{Scheme: s.read.client.Scheme()})
	if err != nil {
		return nil, fmt.Errorf("initializing kubernetes client: %w", err)
	}
	current := contextOf(s.flags)
	to := target{s.namespace, clusterFlags(s.flags, current)} // commands are copied later, when it may be another one
	read := &reader{target: to, client: s.read.client, version: s.read.version, err: io.Discard}
	f := &fleet{
		read: read, explain: explainer{to}, gauge: gauge{read, s.now}, logs: podLogs{core: s.core}, wide: s.wide(),
		ctx: ctx, client: c, cluster: cmp.Or(current, s.config.Host), asked: asked,
		reading: make(chan struct{}, 1), pages: map[*page]bool{}, speeds: speeds{}, left: map[string]*remainder{},
	}
	in := client.InNamespace(s.namespace)
	f.nodes = kind[*corev1.Node]{
		mu: &f.mu, now: s.now, what: "nodes", slim: slimNode, changed: f.nodeChanged, turned: f.wake,
		objects: map[string]*corev1.Node{},
	}
	f.skyhooks = kind[*v1alpha1.Skyhook]{
		mu: &f.mu, now: s.now, what: "Skyhooks", slim: slimSkyhook, changed: f.skyhookChanged, turned: f.wake,
		objects: map[string]*v1alpha1.Skyhook{},
	}
	f.policies = around[*v1alpha1.DeploymentPolicy](f, "DeploymentPolicies")
	f.operators = around[*appsv1.Deployment](f, "Deployments in namespace "+s.namespace, in)
	f.revisions = around[*appsv1.ControllerRevision](f, "ControllerRevisions in namespace "+s.namespace, in,
		client.HasLabels{v1alpha1.LabelName})
	f.stops = around[*corev1.ConfigMap](f, "ConfigMaps in namespace "+s.namespace, in,
		client.MatchingFields{"metadata.name": v1alpha1.StopConfigMap})
	return f, nil
}

// around watches objects on which it depends how any node stands.
func around[T client.Object](f *fleet, what string, options ...client.ListOption) kind[T] {
	return kind[T]{
		mu: &f.mu, now: f.gauge.now, what: what, options: options, slim: func(o T) { o.SetManagedFields(nil) },
		changed: func(_, _ *T) { f.allChanged() }, turned: f.wake, objects: map[string]T{},
	}
}

// contextOf is the context of a command; empty without a kubeconfig.
func contextOf(flags *genericclioptions.ConfigFlags) string {
	if flags.Context != nil && *flags.Context != "" {
		return *flags.Context
	}
	raw, err := flags.ToRawKubeConfigLoader().RawConfig()
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
	go f.revisions.follow(f.ctx, f.client, &appsv1.ControllerRevision{}, &appsv1.ControllerRevisionList{})
	go f.stops.follow(f.ctx, f.client, &corev1.ConfigMap{}, &corev1.ConfigMapList{})
	go f.operators.follow(f.ctx, f.client, &appsv1.Deployment{}, &appsv1.DeploymentList{})
	go f.pulse()
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

// slimSkyhook leaves out what the status has of each node.
func slimSkyhook(s *v1alpha1.Skyhook) {
	s.ManagedFields = nil
	st := &s.Status
	st.NodeState, st.NodeStatus, st.NodeBootIDs, st.NodePriority = nil, nil, nil, nil
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
	if f.seen = nil; was == nil || now == nil || !asksTheSame(*was, *now) {
		f.edition++
	}
	f.wake()
}

// asksTheSame reports whether two versions of a Skyhook are the same to any node, but for permits.
func asksTheSame(a, b *v1alpha1.Skyhook) bool {
	return a.UID == b.UID && a.Generation == b.Generation && maps.Equal(a.Annotations, b.Annotations) &&
		a.Status.SealedSince.Equal(b.Status.SealedSince) && rollout.CompleteEverywhere(a) == rollout.CompleteEverywhere(b)
}

// allChanged is told of what may show on all nodes.
func (f *fleet) allChanged() {
	f.seen = nil
	f.edition++
	for p := range f.pages {
		p.rehome = true
		p.wake()
	}
}

// sight is how the operator sees what there is.
func (f *fleet) sight() *sight {
	if f.seen == nil {
		// If the settings are wrong, the pane says so.
		_, o, _ := operatorAmong(values(f.operators), f.read.namespace, f.read.version)
		f.seen = sightOf(o, &forecast.Snapshot{
			Skyhooks: values(f.skyhooks), Policies: values(f.policies), Revisions: values(f.revisions),
			ConfigMaps: values(f.stops),
		})
	}
	return f.seen
}

// values are the objects that are known, by name.
func values[O any, T interface {
	*O
	client.Object
}](k kind[T]) []O {
	list := make([]O, 0, len(k.objects))
	for _, name := range slices.Sorted(maps.Keys(k.objects)) {
		list = append(list, *k.objects[name])
	}
	return list
}

// told reports whether everything is known, or why it is not.
func (f *fleet) told() bool {
	return f.nodes.told() && f.skyhooks.told() && f.policies.told() && f.operators.told() && f.revisions.told() &&
		f.stops.told()
}

// failure is why the picture is old or lacks something; empty if it does not.
func (f *fleet) failure() string {
	if !f.unheard.IsZero() {
		return "the API server does not answer; the board keeps asking"
	}
	return troubles(f.skyhooks.trouble(), f.nodes.trouble())
}

// old is since when the picture may not be right; zero while it is, and where there is none.
func (f *fleet) old() time.Time {
	if !f.skyhooks.known {
		return time.Time{}
	}
	var since time.Time
	for _, old := range []time.Time{f.skyhooks.old(), f.nodes.old(), f.unheard} {
		if since.IsZero() || !old.IsZero() && old.Before(since) {
			since = old
		}
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
	operators := slices.DeleteFunc(values(f.operators), func(d appsv1.Deployment) bool { return !isOperator(&d) })
	switch {
	case allComplete(list) || !f.operators.known: // nobody is missed, or nobody knows
	case len(operators) == 0:
		all = append(all, fmt.Sprintf("there is no operator in namespace %s. If none runs in another one, which --namespace names, "+
			"nothing progresses, and this is as it was", f.read.namespace))
	default:
		if d := first(operators, func(d *appsv1.Deployment) bool { return (&view{deployment: d}).down(f.gauge.now()) }); d != nil {
			all = append(all, f.gauge.asItWas(&view{deployment: d}))
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
