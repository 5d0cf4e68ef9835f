//go:build integration

package capability_test

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/admission"
	known "github.com/skyhook-operator/skyhook/internal/capability"
	"github.com/skyhook-operator/skyhook/internal/controller/capability"
)

// enabled lists the packages of which that is known.
func enabled(s *v1alpha1.Skyhook) string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(s.Spec.Packages)) {
		if known.Enabled(s, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, " ")
}

func TestImagesAreAskedOnce(t *testing.T) {
	w := newWorld(t)
	yes := w.images.push("true", "x/yes:1.0.0", "y/same:2.0.0")
	pinned := w.images.push("true", "x/pinned:1.0.0")
	w.images.push("false", "x/no:1.0.0")
	s := w.create(map[string]string{
		"no": "x/no:1.0.0", "pinned": "x/pinned@" + pinned, "pinned-same": "z/gone@" + yes, "same": "y/same:2.0.0", "yes": "x/yes:1.0.0",
	})
	now := w.reconcile(s)
	if got := enabled(now); got != "pinned pinned-same same yes" {
		t.Errorf("enabled are %q: %v", got, now.Annotations)
	}
	// Three digests take a manifest and a configuration each, three tags their digest; what is pinned needs none.
	if got := w.images.took(); got != 3*2+3 {
		t.Errorf("asked %d times", got)
	}
	k := known.Read(now)
	if got := k.References[w.images.host+"/y/same:2.0.0"].Digest; got != yes || k.Digests[yes] != known.True || len(k.References) != 5 || len(k.Digests) != 3 {
		t.Errorf("the annotation says %s", k)
	}
	if now.Generation != s.Generation || !reflect.DeepEqual(now.Spec, s.Spec) {
		t.Errorf("the spec changed: generation %d", now.Generation)
	}
	again := w.reconcile(s)
	if got := w.images.took(); got != 0 || again.ResourceVersion != now.ResourceVersion {
		t.Errorf("the second pass asked %d times; resource version %s, then %s", got, now.ResourceVersion, again.ResourceVersion)
	}
	if got := w.happened(); len(got) != 0 {
		t.Errorf("events: %v", got)
	}
}

func TestFailureIsStoredOnce(t *testing.T) {
	w := newWorld(t)
	s := w.create(map[string]string{"a": "x/none:1.0.0", "b": "x/none:1.0.0"})
	now := w.reconcile(s)
	if w.images.took() == 0 {
		t.Error("nobody asked")
	}
	doubts := known.Doubts(now)
	if len(doubts) != 2 || doubts[0].Reason != v1alpha1.ReasonImageNotFound || !strings.Contains(doubts[0].Message, "NAME_UNKNOWN") || enabled(now) != "" {
		t.Errorf("doubts: %+v", doubts)
	}
	image := w.images.host + "/x/none:1.0.0"
	if got := w.happened(); len(got) != 1 || !strings.Contains(got[0], "Warning UninstallCapabilityUnknown") ||
		!strings.Contains(got[0], "package a (image "+image+"): GET") || !strings.Contains(got[0], "package b (image "+image) {
		t.Errorf("events: %q", got)
	}
	w.change(s, func(s *v1alpha1.Skyhook) { s.Spec.Priority = 7 })
	again := w.reconcile(s)
	if got := w.images.took(); got != 0 || len(w.happened()) != 0 || again.Annotations[v1alpha1.AnnotationUninstallCapability] != now.Annotations[v1alpha1.AnnotationUninstallCapability] {
		t.Errorf("the second pass asked %d times", got)
	}

	w.images.push("true", "x/none:1.0.0", "x/none:1.1.0")
	w.change(s, func(s *v1alpha1.Skyhook) { s.Spec.Packages["b"] = w.pkg("x/none:1.1.0") })
	if now = w.reconcile(s); enabled(now) != "b" {
		t.Errorf("after b's reference changed, enabled are %q", enabled(now))
	}
	w.change(s, func(s *v1alpha1.Skyhook) { delete(s.Annotations, v1alpha1.AnnotationUninstallCapability) })
	if now = w.reconcile(s); enabled(now) != "a b" {
		t.Errorf("after the annotation was removed, enabled are %q", enabled(now))
	}
	if got := w.happened(); len(got) != 0 {
		t.Errorf("events: %q", got)
	}
}

// TestFailureIsNotForever: an image that could not be asked is asked again, and no event says the same twice.
func TestFailureIsNotForever(t *testing.T) {
	w := newWorld(t)
	now := clocktesting.NewFakeClock(time.Unix(0, 0))
	w.Clock = now
	s := w.create(map[string]string{"a": "x/late:1.0.0"})
	w.reconcile(s)
	w.images.took()
	if got := w.happened(); len(got) != 1 {
		t.Errorf("events: %q", got)
	}
	for range 2 {
		now.Step(capability.RetryAfter - time.Second)
		w.reconcile(s)
		if w.images.took() != 0 {
			t.Error("asked before its time")
		}
		now.Step(time.Second)
		w.reconcile(s)
		if w.images.took() == 0 || len(w.happened()) != 0 {
			t.Error("not asked again, or told again")
		}
	}
	w.images.push("true", "x/late:1.0.0")
	now.Step(capability.RetryAfter)
	if got := enabled(w.reconcile(s)); got != "a" {
		t.Errorf("once it is there, enabled are %q", got)
	}
	w.images.took()
	now.Step(capability.RetryAfter)
	w.reconcile(s)
	if w.images.took() != 0 {
		t.Error("an image that has answered was asked again")
	}
	// Another operator takes over: the while begins anew.
	other := w.create(map[string]string{"a": "x/none:1.0.0"})
	w.reconcile(other)
	w.images.took()
	w.Reconciler = &capability.Reconciler{Client: w.Client, Live: w.Live, Events: w.Events, Look: w.Look, Clock: w.Clock}
	w.reconcile(other)
	if w.images.took() != 0 {
		t.Error("asked at once after a restart")
	}
	now.Step(capability.RetryAfter)
	w.reconcile(other)
	if w.images.took() == 0 {
		t.Error("not asked after a restart")
	}
}

func TestUnlabeledImageIsReportedOnce(t *testing.T) {
	w := newWorld(t)
	w.images.push("maybe", "x/odd:1.0.0")
	s := w.create(map[string]string{"odd": "x/odd:1.0.0"})
	w.reconcile(s)
	w.reconcile(s)
	if got := w.happened(); len(got) != 1 || !strings.Contains(got[0], "has no label com.nvidia.skyhook.uninstall") {
		t.Errorf("events: %q", got)
	}
}

func TestWhatTheSpecDecidesIsNotAsked(t *testing.T) {
	w := newWorld(t)
	s := w.create(map[string]string{"a": "x/none:1.0.0", "b": "x/none:2.0.0"})
	w.change(s, func(s *v1alpha1.Skyhook) {
		for name, value := range map[string]bool{"a": true, "b": false} {
			p := s.Spec.Packages[name]
			p.Uninstall = &v1alpha1.Uninstall{Enabled: ptr.To(value)}
			s.Spec.Packages[name] = p
		}
	})
	now := w.reconcile(s)
	if got := w.images.took(); got != 0 || len(now.Annotations) != 0 || enabled(now) != "a" {
		t.Errorf("asked %d times, annotations %v, enabled %q", got, now.Annotations, enabled(now))
	}
}

// TestOnlyAllowedRegistriesAreAsked: also where no webhook refuses the Skyhook.
func TestOnlyAllowedRegistriesAreAsked(t *testing.T) {
	for _, c := range []struct {
		registry string
		asked    bool
	}{{"registry.example", false}, {"", true}} {
		w := newWorld(t)
		w.Images.Registries, _ = admission.ParseRegistries(c.registry)
		s := w.create(map[string]string{"a": "x/none:1.0.0"})
		w.reconcile(s)
		if got := w.images.took(); (got > 0) != c.asked {
			t.Errorf("with ALLOWED_REGISTRIES=%s: asked %d times", c.registry, got)
		}
	}
}

func TestForgetsImagesThatLeft(t *testing.T) {
	w := newWorld(t)
	w.images.push("true", "x/a:1.0.0", "x/a:1.1.0")
	w.images.push("true", "x/b:1.0.0")
	s := w.create(map[string]string{"a": "x/a:1.0.0", "b": "x/b:1.0.0", "c": "x/none:1.0.0"})
	w.reconcile(s)
	w.images.took()
	w.change(s, func(s *v1alpha1.Skyhook) {
		s.Spec.Packages = map[string]v1alpha1.Package{"a": w.pkg("x/a:1.1.0")}
	})
	now := w.reconcile(s)
	// The new tag has the digest of the old one: it is resolved, and no more.
	if got := w.images.took(); got != 1 || enabled(now) != "a" {
		t.Errorf("asked %d times, enabled %q", got, enabled(now))
	}
	if k := known.Read(now); len(k.References) != 1 || len(k.Digests) != 1 {
		t.Errorf("the annotation says %s", k)
	}
	w.change(s, func(s *v1alpha1.Skyhook) { s.Spec.Packages = nil })
	now = w.reconcile(s)
	if _, ok := now.Annotations[v1alpha1.AnnotationUninstallCapability]; ok || w.images.took() != 0 {
		t.Errorf("annotations are %v", now.Annotations)
	}
}

func TestMalformedAnnotationIsReplaced(t *testing.T) {
	w := newWorld(t)
	w.images.push("true", "x/a:1.0.0")
	s := w.create(map[string]string{"a": "x/a:1.0.0"})
	w.change(s, func(s *v1alpha1.Skyhook) {
		s.Annotations = map[string]string{v1alpha1.AnnotationUninstallCapability: "{broken", "theirs": "x"}
	})
	now := w.reconcile(s)
	if enabled(now) != "a" || now.Annotations["theirs"] != "x" {
		t.Errorf("annotations are %v", now.Annotations)
	}
}

// TestWrittenMeanwhile: a registry is slow, and others write the Skyhook while it is asked.
func TestWrittenMeanwhile(t *testing.T) {
	w := newWorld(t)
	s := w.create(map[string]string{"a": "x/a:1.0.0", "b": "x/b:1.0.0"})
	looks := 0
	w.Look = stub(func(_ context.Context, reference string) (known.Finding, error) {
		looks++
		w.change(s, func(s *v1alpha1.Skyhook) {
			delete(s.Spec.Packages, "b")
			s.Labels = map[string]string{"step": reference[len(reference)-1:]}
		})
		return known.Finding{Reference: reference, Digest: "sha256:" + reference, Answer: known.True}, nil
	})
	now := w.reconcile(s)
	if k := known.Read(now); looks != 2 || enabled(now) != "a" || len(k.References) != 1 || len(now.Spec.Packages) != 1 {
		t.Errorf("%d looks, %s, packages %v", looks, k, now.Spec.Packages)
	}
}

// conflicting refuses the first patches.
func conflicting(c client.WithWatch, times int) client.Client {
	return interceptor.NewClient(c, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			times--
			if times >= 0 {
				// Somebody else was faster.
				other := &v1alpha1.Skyhook{ObjectMeta: metav1.ObjectMeta{Name: o.GetName()}}
				if err := c.Patch(ctx, other, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"n":"`+strings.Repeat("x", times+1)+`"}}}`))); err != nil {
					return err
				}
			}
			return c.Patch(ctx, o, p, opts...)
		},
	})
}

func TestConflictDoesNotAskAgain(t *testing.T) {
	w := newWorld(t)
	w.images.push("true", "x/a:1.0.0")
	s := w.create(map[string]string{"a": "x/a:1.0.0"})
	w.Client = conflicting(w.user, 2)
	now := w.reconcile(s)
	if got := w.images.took(); got != 3 || enabled(now) != "a" || now.Labels["n"] != "x" {
		t.Errorf("asked %d times, enabled %q, labels %v", got, enabled(now), now.Labels)
	}
}

// TestStaleCacheDoesNotAskAgain: right after a pass the cache may still show the Skyhook as it was before.
func TestStaleCacheDoesNotAskAgain(t *testing.T) {
	w := newWorld(t)
	s := w.create(map[string]string{"a": "x/none:1.0.0"})
	stale := w.get(s)
	w.reconcile(s)
	w.images.took()
	w.Client = interceptor.NewClient(w.user, interceptor.Funcs{
		Get: func(_ context.Context, _ client.WithWatch, _ client.ObjectKey, o client.Object, _ ...client.GetOption) error {
			if into, ok := o.(*v1alpha1.Skyhook); ok {
				stale.DeepCopyInto(into)
			}
			return nil
		},
	})
	if _, err := w.Reconcile(t.Context(), request(s)); err != nil || w.images.took() != 0 {
		t.Errorf("it asked again, or failed: %v", err)
	}
}

// TestStoppedPassStoresNothing: what an operator that stops could not find out is not unknown.
func TestStoppedPassStoresNothing(t *testing.T) {
	w := newWorld(t)
	s := w.create(map[string]string{"a": "x/a:1.0.0", "b": "x/b:1.0.0"})
	w.Look = stub(func(_ context.Context, reference string) (known.Finding, error) {
		if strings.Contains(reference, "/x/b") {
			return known.Finding{}, context.Canceled
		}
		return known.Finding{Reference: reference, Digest: "sha256:a", Answer: known.True}, nil
	})
	_, err := w.Reconcile(t.Context(), request(s))
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), s.Name) {
		t.Errorf("error %v", err)
	}
	if now := w.get(s); len(now.Annotations) != 0 || len(w.happened()) != 0 {
		t.Errorf("annotations %v", now.Annotations)
	}
}

func TestSkyhookThatGoesIsLeftAlone(t *testing.T) {
	w := newWorld(t)
	s := w.create(map[string]string{"a": "x/none:1.0.0"})
	hold := func(finalizers ...string) {
		w.change(s, func(s *v1alpha1.Skyhook) { s.Finalizers = finalizers })
	}
	hold("test.example/hold")
	must(t, w.user.Delete(t.Context(), s))
	now := w.reconcile(s)
	if got := w.images.took(); got != 0 || len(now.Annotations) != 0 {
		t.Errorf("asked %d times about a Skyhook that is being deleted, annotations %v", got, now.Annotations)
	}
	hold()
	if result, err := w.Reconcile(t.Context(), request(s)); err != nil || result != (ctrl.Result{}) {
		t.Errorf("the Skyhook is gone, and it returns %+v, %v", result, err)
	}
}

// TestDeletedMeanwhile: the Skyhook goes, or is about to, while a registry is asked.
func TestDeletedMeanwhile(t *testing.T) {
	for name, finalizers := range map[string][]string{"gone": nil, "held": {"test.example/hold"}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			s := w.create(map[string]string{"a": "x/a:1.0.0"})
			w.change(s, func(s *v1alpha1.Skyhook) { s.Finalizers = finalizers })
			w.Look = stub(func(_ context.Context, reference string) (known.Finding, error) {
				must(t, w.user.Delete(t.Context(), s))
				return known.Finding{Reference: reference, Answer: known.Unknown, Reason: v1alpha1.ReasonRegistryUnreachable}, nil
			})
			if _, err := w.Reconcile(t.Context(), request(s)); err != nil || len(w.happened()) != 0 {
				t.Errorf("error %v", err)
			}
			if finalizers != nil {
				if now := w.get(s); len(now.Annotations) != 0 {
					t.Errorf("annotations %v", now.Annotations)
				}
				w.change(s, func(s *v1alpha1.Skyhook) { s.Finalizers = nil })
			}
		})
	}
}
