package state

import (
	"strings"
	"testing"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func keyOf(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKey{Name: name}}
}

// TestUrgentKeysGoFirst has keys in capitals that are urgent.
func TestUrgentKeysGoFirst(t *testing.T) {
	for _, c := range []struct{ name, added, want string }{
		{"as they came", "a b c", "a b c"},
		{"urgent ones as they came", "A B C", "A B C"},
		{"urgent ones first", "a B c D", "B D a c"},
		{"added again", "a b A a b", "A a b"},
		{"one of others after eight", "x y z A B C D E F G H I J K L M N O P Q", "A B C D E F G H x I J K L M N O P y Q z"},
	} {
		urgent := func(k reconcile.Request) bool { return strings.ToUpper(k.Name) == k.Name }
		q := newQueue(urgent)("test", workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
		for name := range strings.FieldsSeq(c.added) {
			q.Add(keyOf(name))
		}
		var got []string
		for q.Len() > 0 {
			key, _ := q.Get()
			q.Done(key)
			got = append(got, key.Name)
		}
		q.ShutDown()
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: got %v, want %s", c.name, got, c.want)
		}
	}
}

// TestUrgencyIsAskedWhenAKeyComesBack: a key that is added while it is worked on waits by what is true after that.
func TestUrgencyIsAskedWhenAKeyComesBack(t *testing.T) {
	begun := map[string]bool{}
	q := newQueue(func(k reconcile.Request) bool { return begun[k.Name] })("test",
		workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer q.ShutDown()
	for _, name := range []string{"a", "b", "c"} {
		q.Add(keyOf(name))
	}
	a, _ := q.Get()
	q.Add(a)
	begun["a"] = true
	q.Done(a)
	if next, _ := q.Get(); next != a {
		t.Errorf("%s is next, not what has begun", next.Name)
	}
}

// TestUrgencyIsAskedWhenAKeyIsAddedAgain: the event that makes a key urgent comes while it waits, and it may leave and
// come back as what it was.
func TestUrgencyIsAskedWhenAKeyIsAddedAgain(t *testing.T) {
	begun := map[string]bool{}
	q := newUrgentFirst(func(k reconcile.Request) bool { return begun[k.Name] })
	for _, name := range []string{"a", "b", "c", "d"} {
		q.Push(keyOf(name))
	}
	for _, name := range []string{"c", "b"} {
		begun[name] = true
		q.Touch(keyOf(name))
		q.Touch(keyOf(name))
	}
	q.Touch(keyOf("a"))
	take := func(want string) {
		t.Helper()
		before := q.Len()
		if got := q.Pop(); got.Name != want || q.Len() != before-1 {
			t.Errorf("%s is next of %d, not %s; %d wait after it", got.Name, before, want, q.Len())
		}
	}
	take("c")
	clear(begun)
	q.Push(keyOf("c"))
	take("b")
	take("a")
	take("c")
	take("d")
	if q.Len() != 0 {
		t.Errorf("%d are left", q.Len())
	}
}

// TestKeysThatMovedLeaveNothing: what became urgent while it waited must not pile up behind.
func TestKeysThatMovedLeaveNothing(t *testing.T) {
	urgent := false
	q := newUrgentFirst(func(reconcile.Request) bool { return urgent })
	for range 1000 {
		urgent = false
		q.Push(keyOf("a"))
		urgent = true
		q.Touch(keyOf("a"))
		q.Pop()
	}
	if n := q.second.Len(); n != 0 || q.Len() != 0 {
		t.Errorf("%d keys are kept, %d wait", n, q.Len())
	}
}
