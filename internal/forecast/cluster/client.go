package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// conn is one process's way to the server.
type conn struct {
	client.Client // nil: whoever calls what is not below panics

	cluster *Cluster
	read    func(Kind) reader
}

var errUnsupported = errors.New("this cluster does not support it")

// send carries out a write, whose result is shared, of an object of the caller, who gets the answer in it.
func (c *conn) send(o client.Object, write func(t *table) (client.Object, error)) error {
	k, err := kindOf(o)
	if err != nil {
		return err
	}
	t := c.cluster.tables[k]
	stored, err := write(t)
	if err == nil {
		t.copyTo(stored, o)
	}
	return err
}

// existing is a write of an object that has to be there.
func existing(o client.Object, write func(t *table, old client.Object) (client.Object, error)) func(*table) (client.Object, error) {
	return func(t *table) (client.Object, error) {
		old := t.get(client.ObjectKeyFromObject(o))
		if old == nil {
			return nil, apierrors.NewNotFound(t.resource, o.GetName())
		}
		return write(t, old)
	}
}

// Get implements client.Client.
func (c *conn) Get(_ context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	k, err := kindOf(o)
	if err != nil {
		return err
	}
	return c.read(k).get(key, o, (&client.GetOptions{}).ApplyOptions(opts))
}

// List implements client.Client.
func (c *conn) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	k, err := kindOf(list)
	if err != nil {
		return err
	}
	return c.read(k).list(list, (&client.ListOptions{}).ApplyOptions(opts))
}

// Create implements client.Client.
func (c *conn) Create(_ context.Context, o client.Object, _ ...client.CreateOption) error {
	return c.send(o, func(t *table) (client.Object, error) { return c.cluster.create(t, o) })
}

// Update implements client.Client.
func (c *conn) Update(_ context.Context, o client.Object, _ ...client.UpdateOption) error {
	return c.update(o, partMain)
}

func (c *conn) update(o client.Object, part string) error {
	return c.send(o, existing(o, func(t *table, old client.Object) (client.Object, error) {
		next := t.fresh()
		if part == partMain {
			t.copyTo(o, next)
			return c.cluster.update(t, "update", old, next, part)
		}
		t.shareTo(old, next)
		t.copyStatus(next, o)
		next.SetLabels(maps.Clone(o.GetLabels()))
		next.SetAnnotations(maps.Clone(o.GetAnnotations()))
		next.SetUID(o.GetUID())
		next.SetResourceVersion(o.GetResourceVersion())
		return c.cluster.update(t, "update", old, next, part)
	}))
}

// Patch implements client.Client.
func (c *conn) Patch(_ context.Context, o client.Object, p client.Patch, _ ...client.PatchOption) error {
	return c.patch(o, p, partMain)
}

func (c *conn) patch(o client.Object, p client.Patch, part string) error {
	body, err := p.Data(o)
	if err != nil {
		return err
	}
	switch p.Type() {
	case types.MergePatchType:
		return c.send(o, existing(o, func(t *table, old client.Object) (client.Object, error) {
			next, err := patched(t.kind, old, body, part)
			if err != nil {
				return nil, apierrors.NewBadRequest(err.Error())
			}
			return c.cluster.update(t, "patch", old, next, part)
		}))
	case types.StrategicMergePatchType:
		if part != partStatus {
			break
		}
		return c.send(o, existing(o, func(t *table, old client.Object) (client.Object, error) {
			if t.custom {
				return nil, errUnsupported // nor does a real server
			}
			next, err := patchedStatus(t.kind, old, body, mergeStrategically)
			if err != nil {
				return nil, apierrors.NewBadRequest(err.Error())
			}
			return c.cluster.update(t, "patch", old, next, part)
		}))
	default:
	}
	return fmt.Errorf("patch of type %s: %w", p.Type(), errUnsupported)
}

// Apply implements client.Client. The real client does not give back the answer, either.
func (c *conn) Apply(_ context.Context, ac runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	options := (&client.ApplyOptions{}).ApplyOptions(opts)
	cm, ok := ac.(*corev1ac.ConfigMapApplyConfiguration)
	if !ok || options.Force == nil || !*options.Force {
		return fmt.Errorf("apply %T: %w", ac, errUnsupported)
	}
	_, err := c.cluster.applyConfigMap(cm, options.FieldManager)
	return err
}

// Delete implements client.Client.
func (c *conn) Delete(_ context.Context, o client.Object, opts ...client.DeleteOption) error {
	options := (&client.DeleteOptions{}).ApplyOptions(opts)
	k, err := kindOf(o)
	if err != nil {
		return err
	}
	_, err = existing(o, func(t *table, old client.Object) (client.Object, error) {
		return old, c.cluster.delete(t, "delete", old, options)
	})(c.cluster.tables[k])
	return err
}

// Status implements client.Client.
func (c *conn) Status() client.SubResourceWriter { return c.SubResource(partStatus) }

// SubResource implements client.Client.
func (c *conn) SubResource(name string) client.SubResourceClient {
	return &subresource{conn: c, part: name}
}

// Scheme implements client.Client.
func (c *conn) Scheme() *runtime.Scheme { return c.cluster.scheme }

// subresource is status, or eviction of pods.
type subresource struct {
	client.SubResourceClient // nil, as in conn

	conn *conn
	part string
}

func (s *subresource) supported(o client.Object) error {
	k, err := kindOf(o)
	if err != nil {
		return err
	}
	if s.part != partStatus || allKinds[k].setStatus == nil {
		return apierrors.NewNotFound(allKinds[k].resource, o.GetName())
	}
	return nil
}

// Create implements client.SubResourceClient, for evictions.
func (s *subresource) Create(_ context.Context, o, body client.Object, _ ...client.SubResourceCreateOption) error {
	eviction, ok := body.(*policyv1.Eviction)
	if !ok || s.part != "eviction" {
		return errUnsupported
	}
	options := &client.DeleteOptions{}
	if d := eviction.DeleteOptions; d != nil {
		options = &client.DeleteOptions{GracePeriodSeconds: d.GracePeriodSeconds, Preconditions: d.Preconditions}
	}
	return s.conn.cluster.evict(client.ObjectKeyFromObject(o), options)
}

// Update implements client.SubResourceClient.
func (s *subresource) Update(_ context.Context, o client.Object, _ ...client.SubResourceUpdateOption) error {
	if err := s.supported(o); err != nil {
		return err
	}
	return s.conn.update(o, s.part)
}

// Patch implements client.SubResourceClient.
func (s *subresource) Patch(_ context.Context, o client.Object, p client.Patch, _ ...client.SubResourcePatchOption) error {
	if err := s.supported(o); err != nil {
		return err
	}
	return s.conn.patch(o, p, s.part)
}
