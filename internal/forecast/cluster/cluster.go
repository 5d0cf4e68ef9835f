// Package cluster is an API server in memory with lagging caches before it: the semantics that the operator relies on
// (resource versions, preconditions, subresources, graceful deletion, field ownership), none of the transport, and no
// goroutine. It knows nothing of worlds, actors, failures or checks.
//
// Stored objects are never changed: a write stores another one. So what the accessors and events give away stays as it
// was, and must not be changed by anybody. Nothing here is safe for use by several goroutines.
//
// Of what a real server refuses it knows: preconditions and stale versions, names and labels, the schemas of the CRDs
// without their CEL rules, and limits of size. Times are stored as they are given: give whole seconds.
package cluster

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// Cluster is the API server.
type Cluster struct {
	// Namespace of the operator: its caches hold the pods and ConfigMaps of no other. "skyhook" unless it is set before
	// the first replica.
	Namespace string
	// OnWrite is called after each write that took effect, with a verb (create, update, patch, apply, delete, evict, and
	// with "/status" behind it for the subresource) and the object as it is now, or was last.
	OnWrite func(verb string, o client.Object)
	// Disrupt refuses evictions with the sentence that it returns, as disruption budgets do; "" allows them.
	Disrupt func(pod *corev1.Pod) string

	scheme   *runtime.Scheme
	now      func() time.Time
	tables   map[Kind]*table
	version  int64
	created  int64
	writes   int
	replicas []*Replica
	// applied are the fields that were applied to an object, by who applied them.
	applied map[types.UID]owners
	rules   map[Kind]rule
}

// firstVersion makes resource versions get one digit more early on: they must not be compared as texts.
const firstVersion = 990

// New returns an empty API server. Its times are those of now, cut to seconds.
func New(scheme *runtime.Scheme, now func() time.Time) *Cluster {
	c := &Cluster{
		Namespace: "skyhook", scheme: scheme, now: now, version: firstVersion,
		tables: make(map[Kind]*table, len(Kinds)), applied: map[types.UID]owners{},
	}
	for name, k := range allKinds {
		c.tables[name] = &table{kind: k}
	}
	return c
}

var allKinds = kinds()

// Client reads and writes the server directly.
func (c *Cluster) Client() client.Client { return &conn{cluster: c, read: c.read} }

// Writes is the number of writes that took effect.
func (c *Cluster) Writes() int { return c.writes }

// Objects returns all objects of a kind by namespace and name. Neither the slice nor its objects, nor those of the
// accessors below, may be changed; a write makes others.
func (c *Cluster) Objects(k Kind) []client.Object { return c.tables[k].items }

// Nodes returns all nodes by name.
func (c *Cluster) Nodes() []*corev1.Node { return as[*corev1.Node](c.tables[Nodes].items) }

// Pods returns all pods by namespace and name.
func (c *Cluster) Pods() []*corev1.Pod { return as[*corev1.Pod](c.tables[Pods].items) }

// ConfigMaps returns all ConfigMaps by namespace and name.
func (c *Cluster) ConfigMaps() []*corev1.ConfigMap {
	return as[*corev1.ConfigMap](c.tables[ConfigMaps].items)
}

// Revisions returns all ControllerRevisions by namespace and name.
func (c *Cluster) Revisions() []*appsv1.ControllerRevision {
	return as[*appsv1.ControllerRevision](c.tables[Revisions].items)
}

// Skyhooks returns all Skyhooks by name.
func (c *Cluster) Skyhooks() []*v1alpha1.Skyhook {
	return as[*v1alpha1.Skyhook](c.tables[Skyhooks].items)
}

// Policies returns all DeploymentPolicies by name.
func (c *Cluster) Policies() []*v1alpha1.DeploymentPolicy {
	return as[*v1alpha1.DeploymentPolicy](c.tables[Policies].items)
}

// commit stores a version of an object that is nobody else's yet; old is nil for a new one.
func (c *Cluster) commit(t *table, verb string, old, o client.Object) client.Object {
	c.version++
	o.SetResourceVersion(strconv.FormatInt(c.version, 10))
	t.put(o)
	c.announce(t.kind, verb, old, o)
	return o
}

// drop removes an object; last is its last version.
func (c *Cluster) drop(t *table, verb string, last client.Object) client.Object {
	gone := t.fresh()
	t.shareTo(last, gone)
	c.version++
	gone.SetResourceVersion(strconv.FormatInt(c.version, 10))
	t.remove(client.ObjectKeyFromObject(gone))
	delete(c.applied, gone.GetUID())
	c.announce(t.kind, verb, gone, nil)
	return gone
}

// announce tells replicas and the driver about a write. A nil version is none.
func (c *Cluster) announce(k *kind, verb string, old, o client.Object) {
	c.writes++
	for _, r := range c.replicas {
		r.notice(k, old, o)
	}
	if c.OnWrite == nil {
		return
	}
	if o == nil {
		o = old
	}
	c.OnWrite(verb, o)
}

func (c *Cluster) time() metav1.Time { return metav1.NewTime(c.now().Truncate(time.Second)) }

// nextUID counts objects: the same world gives the same UIDs.
func (c *Cluster) nextUID() types.UID {
	c.created++
	return types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", c.created))
}

// Load stores objects as they are: with their UIDs, times and statuses. Their resource versions become this server's.
func (c *Cluster) Load(objects ...client.Object) error {
	for _, o := range objects {
		k, err := kindOf(o)
		if err != nil {
			return err
		}
		t := c.tables[k]
		stored := t.fresh()
		t.copyTo(o, stored)
		stored.GetObjectKind().SetGroupVersionKind(none)
		stored.SetManagedFields(nil)
		c.version++
		stored.SetResourceVersion(strconv.FormatInt(c.version, 10))
		t.items = append(t.items, stored)
	}
	for _, t := range c.tables {
		t.nodes = nil
		slices.SortFunc(t.items, func(a, b client.Object) int {
			return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
		})
	}
	return nil
}
