package faults

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/skyhook-operator/skyhook/internal/controller/node"
	"github.com/skyhook-operator/skyhook/internal/controller/state"
	"github.com/skyhook-operator/skyhook/internal/drain"
	"github.com/skyhook-operator/skyhook/internal/forecast/cluster"
)

// faultState is what is wrong with the operators' requests.
type faultState struct {
	// failBefore, failAfter and crashAfter count down writes.
	failBefore, failAfter, crashAfter int
	failLists                         int
	// quota refuses pods whose names contain it; "*" refuses all.
	quota string
	// bindings counts down writes of nodes before which the scheduler puts a pod on that node.
	bindings int
	// strict budgets refuse every eviction, loose ones none.
	strict, loose bool
}

// runsOut counts down, and reports whether that was the last.
func runsOut(n *int) bool {
	if *n == 0 {
		return false
	}
	*n--
	return *n == 0
}

// crashed ends a process in the middle of a pass.
type crashed struct{}

var errInjected = errors.New("injected: the connection broke")

// requests returns the controller of nodes whose requests, and those of all that shares them, may fail or end the
// process.
func (o *operator) requests(shared state.Shared) *node.Reconciler {
	writes := interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			return o.write("create", obj, func(obj client.Object) error {
				if err := o.w.admit(obj); err != nil {
					return err
				}
				return c.Create(ctx, obj, opts...)
			})
		},
		Update: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.UpdateOption) error {
			return o.write("update", obj, func(obj client.Object) error { return c.Update(ctx, obj, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, p client.Patch, opts ...client.PatchOption) error {
			return o.write("patch", obj, func(obj client.Object) error { return c.Patch(ctx, obj, p, opts...) })
		},
		SubResourcePatch: func(
			ctx context.Context, c client.Client, part string, obj client.Object, p client.Patch, opts ...client.SubResourcePatchOption,
		) error {
			return o.write("patch/"+part, obj, func(obj client.Object) error { return c.SubResource(part).Patch(ctx, obj, p, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
			return o.write("delete", obj, func(obj client.Object) error { return c.Delete(ctx, obj, opts...) })
		},
		Apply: func(ctx context.Context, c client.WithWatch, ac runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			named := &corev1.ConfigMap{}
			if n, ok := ac.(interface{ GetName() *string }); ok && n.GetName() != nil {
				named.Name = *n.GetName()
			}
			return o.write("apply", named, func(client.Object) error { return c.Apply(ctx, ac, opts...) })
		},
	}
	writes.List = o.listCached
	shared.Client = interceptor.NewClient(unwatched{shared.Client}, writes)
	shared.Live = interceptor.NewClient(unwatched{o.replica.Live()}, interceptor.Funcs{List: o.listLive, Get: o.getLive})
	shared.Targets.Live = shared.Live
	nodes, pods := shared.CachedNodes, shared.CachedPods
	shared.CachedNodes = func() []*corev1.Node { return shuffled(o.w, nodes()) }
	shared.CachedPods = func(on string) ([]*corev1.Pod, error) {
		all, err := pods(on)
		return shuffled(o.w, all), err
	}
	return &node.Reconciler{Shared: shared, Evictor: evictor{o, o.replica.Evictor()}}
}

// unwatched is a client that nobody watches with.
type unwatched struct{ client.Client }

func (unwatched) Watch(context.Context, client.ObjectList, ...client.ListOption) (watch.Interface, error) {
	return nil, errors.New("operators here are told of changes by their caches")
}

// write carries out a write, with what may happen to the request before and to its answer after.
func (o *operator) write(verb string, obj client.Object, send func(client.Object) error) error {
	if err := o.beforeWrite(verb, obj); err != nil {
		return err
	}
	sent := obj.DeepCopyObject().(client.Object)
	if err := send(sent); err != nil {
		return err
	}
	if err := o.afterWrite(verb, sent); err != nil {
		return err
	}
	reflect.ValueOf(obj).Elem().Set(reflect.ValueOf(sent).Elem()) // a lost answer is not read
	return nil
}

func (o *operator) beforeWrite(verb string, obj client.Object) error {
	f := &o.w.faults
	if n, ok := obj.(*corev1.Node); ok && f.bindings > 0 {
		f.bindings--
		o.w.bindLate(n.Name)
	}
	if runsOut(&f.failBefore) {
		o.w.trace.add(o.w, "  %s %s %s fails before it took effect", verb, kindOf(obj), obj.GetName())
		return o.w.refuse(verb, obj)
	}
	return nil
}

func (o *operator) afterWrite(verb string, obj client.Object) error {
	f := &o.w.faults
	if runsOut(&f.crashAfter) {
		o.w.trace.add(o.w, "  crash after %s %s %s", verb, kindOf(obj), obj.GetName())
		panic(crashed{})
	}
	if runsOut(&f.failAfter) {
		o.w.trace.add(o.w, "  the answer to %s %s %s is lost", verb, kindOf(obj), obj.GetName())
		return o.w.answer(losses, kindOf(obj), obj.GetName())
	}
	return nil
}

func kindOf(o client.Object) string {
	t := reflect.TypeOf(o).String()
	return t[strings.LastIndex(t, ".")+1:]
}

// listCached lists in any order, for caches have none.
func (o *operator) listCached(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
	if err := c.List(ctx, list, opts...); err != nil {
		return err
	}
	if items := itemsOf(list); items.Len() > 1 {
		o.w.rng.Shuffle(items.Len(), reflect.Swapper(items.Interface()))
	}
	return nil
}

func itemsOf(list client.ObjectList) reflect.Value {
	return reflect.ValueOf(list).Elem().FieldByName("Items")
}

func shuffled[T any](w *World, all []T) []T {
	if len(all) > 1 {
		w.rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	}
	return all
}

func (o *operator) getLive(
	ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption,
) error {
	if err := o.beforeLive(obj); err != nil {
		return err
	}
	return c.Get(ctx, key, obj, opts...)
}

// listLive answers a list with resourceVersion 0 as a real server does, from a cache that may be behind.
func (o *operator) listLive(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
	if err := o.beforeLive(list); err != nil {
		return err
	}
	pods, ok := list.(*corev1.PodList)
	options := (&client.ListOptions{}).ApplyOptions(opts)
	if !ok || options.Raw == nil || options.Raw.ResourceVersion != "0" {
		return c.List(ctx, list, opts...)
	}
	pods.Items = nil
	for _, p := range o.w.past.behind(cluster.Pods, o.w.stale(cluster.Pods)) {
		if pod := p.(*corev1.Pod); options.FieldSelector.Matches(fields.Set{"spec.nodeName": pod.Spec.NodeName}) {
			pods.Items = append(pods.Items, *pod.DeepCopy())
		}
	}
	return nil
}

// beforeLive lets a read of pods at the API server fail.
func (o *operator) beforeLive(of runtime.Object) error {
	f := &o.w.faults
	gvk, err := apiutil.GVKForObject(of, scheme)
	if err != nil {
		return err
	}
	if strings.TrimSuffix(gvk.Kind, "List") != string(cluster.Pods) || f.failLists == 0 {
		return nil
	}
	f.failLists--
	o.w.trace.add(o.w, "  reading %s at the API server fails", cluster.Pods)
	return o.w.answer(refusals, string(cluster.Pods), "")
}

// evictor sends one eviction after the other, each of which may fail.
type evictor struct {
	o    *operator
	next node.Evictor
}

func (e evictor) Evict(
	ctx context.Context, pods []drain.Pod, options drain.Options,
) (accepted []drain.Pod, refused map[types.UID]string, err error) {
	refused = map[types.UID]string{}
	var errs []error
	for _, pod := range pods {
		named := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
		errs = append(errs, e.o.write("evict", named, func(client.Object) error {
			ok, no, err := e.next.Evict(ctx, []drain.Pod{pod}, options)
			accepted = append(accepted, ok...)
			maps.Copy(refused, no)
			return err
		}))
	}
	return accepted, refused, errors.Join(errs...)
}
