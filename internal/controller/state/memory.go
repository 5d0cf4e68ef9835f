package state

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Memory is what a controller remembers of its objects between passes; a restart loses it. Its zero value is ready for
// use. It goes by names: passes over one name never overlap, so that only one of them has what Of returns, and the one
// that finds the object gone is the last.
type Memory[T any] struct {
	mu      sync.Mutex
	objects map[string]*remembered[T]
}

type remembered[T any] struct {
	uid  types.UID
	what T
}

// Of returns what is remembered of an object: nothing of another one that had its name.
func (m *Memory[T]) Of(o client.Object) *T {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.objects[o.GetName()]
	if known == nil || known.uid != o.GetUID() {
		if m.objects == nil {
			m.objects = map[string]*remembered[T]{}
		}
		known = &remembered[T]{uid: o.GetUID()}
		m.objects[o.GetName()] = known
	}
	return &known.what
}

// Forget drops an object that is gone.
func (m *Memory[T]) Forget(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.objects, name)
}

// Len is how many objects something is remembered of.
func (m *Memory[T]) Len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.objects)
}

const (
	// People are told of what failed in toldTimes passes in a row, over toldAfter at least: an API server that is replaced
	// by another is no matter of theirs.
	toldTimes = 3
	toldAfter = 10 * time.Second
)

// behindAfter is how long the cache may be behind the API server before people are told. It is behind for a moment whenever
// two write the same object; after a minute its watch stalls, or somebody writes without end.
const behindAfter = time.Minute

// Conflicts tells since when passes meet conflicts; its zero value is for none. It is dropped after the first pass that
// succeeds.
type Conflicts struct{ since time.Time }

// Last notes one more, and reports whether people have to be told of them.
func (c *Conflicts) Last(now time.Time) bool {
	if c.since.IsZero() {
		c.since = now
	}
	return now.Sub(c.since) >= behindAfter
}

// Failures counts passes in a row that failed for the same object; its zero value is none.
type Failures struct {
	times int
	since time.Time
	// Last says that people are told of them.
	Last bool
}

// Add counts one more, and reports whether people have to be told from now on.
func (f *Failures) Add(now time.Time) (begins bool) {
	if f.times == 0 {
		f.since = now
	}
	f.times++
	begins = !f.Last && f.times >= toldTimes && now.Sub(f.since) >= toldAfter
	f.Last = f.Last || begins
	return begins
}
