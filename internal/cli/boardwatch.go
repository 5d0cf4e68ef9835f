package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// kind keeps the objects of one kind up to date, by name. What a change means is up to others.
type kind[T client.Object] struct {
	// mu is the fleet's.
	mu *sync.Mutex
	// what people call the objects.
	what    string
	options []client.ListOption
	// slim leaves of an object what is read of it.
	slim func(T)
	// changed is told of each change, under the lock; now is nil for what is gone, and was for what is new.
	changed func(was, now *T)
	// turned is told that watching fails, or does so no more.
	turned func()

	objects map[string]T
	// known says that all objects are there.
	known bool
	// failure is why they are not watched; nil while they are. since is when that began.
	failure error
	since   time.Time
	now     func() time.Time
}

// follow watches until the context ends. Watches that break are taken up again.
func (k *kind[T]) follow(ctx context.Context, c client.WithWatch, object T, list client.ObjectList) {
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			all := list.DeepCopyObject().(client.ObjectList)
			err := c.List(ctx, all, k.as(&o)...)
			if err != nil {
				k.turn(err)
			}
			return all, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			w, err := c.Watch(ctx, list.DeepCopyObject().(client.ObjectList), k.as(&o)...)
			k.turn(err)
			return w, err
		},
	}
	// What fails is told on the page; on the terminal it would come with stacks.
	quiet := klog.NewContext(ctx, logr.Discard())
	cache.NewReflectorWithOptions(lw, object, k, cache.ReflectorOptions{Name: k.what}).RunWithContext(quiet)
}

func (k *kind[T]) as(o *metav1.ListOptions) []client.ListOption {
	return append([]client.ListOption{&client.ListOptions{Raw: o, Limit: o.Limit, Continue: o.Continue}}, k.options...)
}

// turn notes how the last attempt to watch ended.
func (k *kind[T]) turn(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	before := k.failure
	k.failure = err
	if before == nil {
		k.since = k.now()
	}
	if before != nil || err != nil {
		k.turned()
	}
}

// told reports whether the objects are known, or why they are not.
func (k *kind[T]) told() bool { return k.known || k.failure != nil }

// old is since when the objects may have changed unseen; zero while they are watched, and where there are none.
func (k *kind[T]) old() time.Time {
	if k.failure == nil || !k.known {
		return time.Time{}
	}
	return k.since
}

func (k *kind[T]) forbidden() bool { return apierrors.IsForbidden(k.failure) }

// trouble is why objects are not watched.
type trouble struct {
	// what they are, and why they are not watched; empty while they are.
	what, why        string
	forbidden, known bool
}

func (k *kind[T]) trouble() trouble {
	if k.failure == nil {
		return trouble{}
	}
	err := k.failure
	if asked := (*url.Error)(nil); errors.As(err, &asked) { // whose address is another one each time
		err = asked.Err
	}
	return trouble{what: k.what, why: err.Error(), forbidden: k.forbidden(), known: k.known}
}

// String says it to people.
func (t trouble) String() string {
	switch {
	case t.forbidden && t.known:
		return fmt.Sprintf("you may not watch %s, so this may be old; ask an administrator for this right", t.what)
	case t.forbidden:
		return fmt.Sprintf("you may not list and watch %s, so they are not shown; ask an administrator for this right", t.what)
	case t.known:
		return fmt.Sprintf("%s cannot be watched: %s; this is as it was, and the board tries again by itself", t.what, t.why)
	default:
		return fmt.Sprintf("%s cannot be read: %s; the board tries again by itself", t.what, t.why)
	}
}

// troubles say in one sentence what has the same cause: mostly that nothing answers.
func troubles(a, b trouble) string {
	switch {
	case a.why == "" && b.why == "":
		return ""
	case a.why == "":
		return b.String()
	case b.why == "":
		return a.String()
	case a.why == b.why && a.forbidden == b.forbidden && a.known == b.known:
		a.what += " and " + b.what
		return a.String()
	default:
		return a.String() + "; " + b.String()
	}
}

// Transformer slims objects before all of them are there.
func (k *kind[T]) Transformer() cache.TransformFunc {
	return func(o any) (any, error) {
		if object, ok := o.(T); ok {
			k.slim(object)
		}
		return o, nil
	}
}

// Add takes an object that is new.
func (k *kind[T]) Add(o any) error { return k.Update(o) }

// Update takes an object that may be known.
func (k *kind[T]) Update(o any) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if now, ok := o.(T); ok {
		k.put(now)
	}
	return nil
}

func (k *kind[T]) put(now T) {
	k.slim(now)
	name := now.GetName()
	was, known := k.objects[name]
	k.objects[name] = now
	if known {
		k.changed(&was, &now)
	} else {
		k.changed(nil, &now)
	}
}

// Delete forgets an object.
func (k *kind[T]) Delete(o any) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if object, ok := o.(T); ok {
		k.drop(object.GetName())
	}
	return nil
}

func (k *kind[T]) drop(name string) {
	if was, known := k.objects[name]; known {
		delete(k.objects, name)
		k.changed(&was, nil)
	}
}

// Replace takes all objects there are.
func (k *kind[T]) Replace(list []any, _ string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	there := make(map[string]bool, len(list))
	for _, o := range list {
		if now, ok := o.(T); ok {
			there[now.GetName()] = true
			k.put(now)
		}
	}
	for name := range k.objects {
		if !there[name] {
			k.drop(name)
		}
	}
	k.known = true
	k.turned()
	return nil
}

// Resync does nothing: nothing is computed again without a change.
func (k *kind[T]) Resync() error { return nil }
