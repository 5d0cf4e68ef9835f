package state_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/controller/state"
)

// stop is the ConfigMap that stops all Skyhooks.
func stop(namespace string, uid types.UID) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: v1alpha1.StopConfigMap, UID: uid},
		Data:       map[string]string{v1alpha1.StopBy: "jo", v1alpha1.StopReason: "INC-7"},
	}
}

// reads counts the single objects that are read.
type reads struct {
	client.Reader
	gets int
	err  error
}

func (r *reads) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	r.gets++
	if r.err != nil {
		return r.err
	}
	return r.Reader.Get(ctx, key, o, opts...)
}

func showing(objects ...client.Object) *reads {
	return &reads{Reader: fake.NewClientBuilder().WithObjects(objects...).Build()}
}

// TestStopOfAProcessThatBegins: its cache may be behind in either way; the API server counts until they agree, and is
// not asked again.
func TestStopOfAProcessThatBegins(t *testing.T) {
	none := []client.Object{}
	here, before := []client.Object{stop("skyhook", "1")}, []client.Object{stop("skyhook", "0")}
	for _, c := range []struct {
		name         string
		cached, live []client.Object
		stopped      bool
		asks         int
	}{
		{"nobody stopped anything", none, none, false, 1},
		{"stopped before it began", here, here, true, 1},
		{"the cache does not show it yet", none, here, true, 3},
		{"the cache does not show yet that it is over", here, none, false, 3},
		{"the cache shows an earlier one", before, here, true, 3},
		{"in another namespace", none, []client.Object{stop("default", "1")}, false, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			live := showing(c.live...)
			index := &state.Index{Live: live}
			for range 3 {
				if got := held(t, index, showing(c.cached...)); (got == v1alpha1.ReasonAllStopped) != c.stopped {
					t.Errorf("held by %q", got)
				}
			}
			if live.gets != c.asks {
				t.Errorf("the API server was asked %d times, want %d", live.gets, c.asks)
			}
			if got := held(t, index, showing(c.live...)); (got == v1alpha1.ReasonAllStopped) != c.stopped {
				t.Errorf("when the cache is there, held by %q", got)
			}
			asked := live.gets
			if got := held(t, index, showing(stop("skyhook", "2"))); got != v1alpha1.ReasonAllStopped {
				t.Errorf("stopped later, held by %q", got)
			}
			if got := held(t, index, showing()); got != "" || live.gets != asked {
				t.Errorf("continued later, held by %q, and the API server was asked %d times more", got, live.gets-asked)
			}
		})
	}
}

func held(t *testing.T, index *state.Index, cache client.Reader) string {
	t.Helper()
	s := skyhook("demo", 1, nil)
	snapshot, err := index.Snapshot(t.Context(), cache, options, []*v1alpha1.Skyhook{s})
	if err != nil {
		t.Fatal(err)
	}
	h := snapshot.HoldAll(s, state.Pace{})
	if h != nil && !strings.Contains(h.Message, " by jo (INC-7);") {
		t.Errorf("the message is %q", h.Message)
	}
	return reasonOf(h)
}

// TestStopThatCannotBeRead: whoever does not know starts nothing.
func TestStopThatCannotBeRead(t *testing.T) {
	for name, c := range map[string]struct{ cache, live *reads }{
		"the cache":      {&reads{Reader: showing(), err: errDeaf}, showing()},
		"the API server": {showing(), &reads{Reader: showing(), err: errDeaf}},
	} {
		if _, err := (&state.Index{Live: c.live}).Snapshot(t.Context(), c.cache, options, nil); !errors.Is(err, errDeaf) || !strings.Contains(err.Error(), "skyhook-stop") {
			t.Errorf("%s does not answer: %v", name, err)
		}
	}
}

func TestIsStop(t *testing.T) {
	other := stop("skyhook", "1")
	other.Name = "demo-a-1.0.0"
	if p := state.IsStop(); !p.Create(event.CreateEvent{Object: stop("skyhook", "1")}) || !p.Delete(event.DeleteEvent{Object: stop("skyhook", "1")}) ||
		p.Create(event.CreateEvent{Object: other}) {
		t.Error("another ConfigMap wakes all Skyhooks, or this one does not")
	}
}
