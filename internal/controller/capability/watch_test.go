//go:build integration

package capability_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	known "github.com/skyhook-operator/skyhook/internal/capability"
	"github.com/skyhook-operator/skyhook/test/apiserver"
)

const patience = 30 * time.Second

// run lets a manager run the controller until the test ends.
func (w *world) run() {
	w.t.Helper()
	mgr, err := ctrl.NewManager(apiserver.Start(w.t), ctrl.Options{
		Scheme: w.Client.Scheme(), Metrics: metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: ptr.To(true)},
	})
	must(w.t, err)
	w.Client, w.Live = mgr.GetClient(), mgr.GetAPIReader()
	must(w.t, w.SetupWithManager(mgr))
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.t.Context()))
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	w.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			w.t.Errorf("manager: %v", err)
		}
	})
}

// until waits until something is known of all images of the Skyhook.
func (w *world) until(s *v1alpha1.Skyhook) *v1alpha1.Skyhook {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	events, err := w.user.Watch(ctx, &v1alpha1.SkyhookList{}, client.MatchingFields{"metadata.name": s.Name})
	must(w.t, err)
	defer events.Stop()
	for e := range events.ResultChan() {
		if now, ok := e.Object.(*v1alpha1.Skyhook); ok && e.Type != watch.Deleted && len(missing(now)) == 0 {
			return now
		}
	}
	w.t.Fatalf("not within %s: the images of %s are known", patience, s.Name)
	return nil
}

// TestNoLoop runs the controller. Its one worker takes Skyhooks in the order of their events, so when a later one is
// done, so is whatever the failure of an earlier one set off.
func TestNoLoop(t *testing.T) {
	w := newWorld(t)
	w.images.push("true", "x/good:1.0.0")
	w.run()
	failing := w.create(map[string]string{"a": "x/none:1.0.0", "b": "x/none:2.0.0"})
	now := w.until(failing)
	if len(known.Doubts(now)) != 2 || now.Generation != failing.Generation {
		t.Errorf("generation %d, annotations %v", now.Generation, now.Annotations)
	}
	// Each is asked with HEAD, and with GET for the reason.
	if got := w.images.took(); got != 4 {
		t.Errorf("asked %d times", got)
	}
	good := w.create(map[string]string{"a": "x/good:1.0.0"})
	if now := w.until(good); enabled(now) != "a" {
		t.Errorf("annotations %v", now.Annotations)
	}
	if got := w.images.took(); got != 3 {
		t.Errorf("asked %d times for one image, or again for those that failed", got)
	}
	w.change(failing, func(s *v1alpha1.Skyhook) { s.Spec.Packages["b"] = w.pkg("x/good:1.0.0") })
	if now := w.until(failing); enabled(now) != "b" || len(known.Doubts(now)) != 1 {
		t.Errorf("annotations %v", now.Annotations)
	}
	if got := w.images.took(); got != 3 {
		t.Errorf("asked %d times for the one image that changed", got)
	}
	if got := w.happened(); len(got) != 1 {
		t.Errorf("events: %q", got)
	}
}

// TestWokenByTheLossOfTheAnnotation runs the controller: removing the annotation is how a user has an image asked again.
func TestWokenByTheLossOfTheAnnotation(t *testing.T) {
	w := newWorld(t)
	w.images.push("false", "x/a:1.0.0")
	w.run()
	s := w.create(map[string]string{"a": "x/a:1.0.0"})
	w.until(s)
	w.images.push("true", "x/a:1.0.0")
	w.change(s, func(s *v1alpha1.Skyhook) {
		delete(s.Annotations, v1alpha1.AnnotationUninstallCapability)
	})
	if now := w.until(s); enabled(now) != "a" {
		t.Errorf("the image was not asked again: %v", now.Annotations)
	}
}

// TestManyImages runs the controller: a pass looks at some of them, and the next one goes on.
func TestManyImages(t *testing.T) {
	w := newWorld(t)
	images, asked := map[string]string{}, map[string]int{}
	for i := range 20 {
		images[fmt.Sprintf("p%d", i)] = fmt.Sprintf("x/p%d:1.0.0", i)
	}
	var mu sync.Mutex
	w.Look = stub(func(_ context.Context, reference string) (known.Finding, error) {
		mu.Lock()
		defer mu.Unlock()
		asked[reference]++
		return known.Finding{Reference: reference, Digest: "sha256:" + reference, Answer: known.True}, nil
	})
	s := w.create(images)
	if first := w.reconcile(s); len(asked) != 8 || len(missing(first)) != 12 {
		t.Errorf("the first pass asked for %d images, %d are missing", len(asked), len(missing(first)))
	}
	w.run()
	now := w.until(s)
	mu.Lock()
	defer mu.Unlock()
	if names := strings.Fields(enabled(now)); len(names) != 20 || len(asked) != 20 {
		t.Errorf("enabled %v, asked for %d images", names, len(asked))
	}
	for reference, times := range asked {
		if times != 1 {
			t.Errorf("asked %d times for %s", times, reference)
		}
	}
}
