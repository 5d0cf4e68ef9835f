package rollout_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/rollout"
)

func TestSetCapabilityUnknown(t *testing.T) {
	unknown := func(reason, message string) []metav1.Condition {
		return []metav1.Condition{
			{Type: "Ready", Status: metav1.ConditionTrue, Reason: "NodesConverged"},
			{
				Type: "UninstallCapabilityUnknown", Status: metav1.ConditionTrue, ObservedGeneration: generation,
				Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(now),
			},
		}
	}
	ready := unknown("", "")[:1]
	const (
		timedOut  = `{"references":{"x/a:1":{"reason":"RegistryUnreachable","message":"no answer within 10s"}}}`
		unlabeled = `{"references":{"x/a:1":{"digest":"sha256:1"}},"digests":{"sha256:1":"unknown"}}`
		labeled   = `{"references":{"x/a:1":{"digest":"sha256:1"}},"digests":{"sha256:1":"true"}}`
		noLabel   = "package a (image x/a:1): the image has no label com.nvidia.skyhook.uninstall with the value true or false"
	)
	was := unknown("RegistryUnreachable", "package a (image x/a:1): too slow")
	was[1].LastTransitionTime = metav1.NewTime(now.Add(-time.Hour))
	since := unknown("ImageUnlabeled", noLabel)
	since[1].LastTransitionTime = was[1].LastTransitionTime
	for _, c := range []struct {
		name, annotation string
		enabled          *bool
		before, want     []metav1.Condition
	}{
		{"nothing known", "", nil, ready, ready},
		{"a failure", timedOut, nil, ready, unknown("RegistryUnreachable", "package a (image x/a:1): no answer within 10s")},
		{"no label", unlabeled, nil, ready, unknown("ImageUnlabeled", noLabel)},
		{"still, with another reason", unlabeled, nil, was, since},
		{"a clear answer", labeled, nil, was, ready},
		{"the annotation was removed", "", nil, was, ready},
		{"the annotation is broken", "{", nil, was, ready},
		{"a reason that no condition may have", `{"references":{"x/a:1":{"reason":"not a reason"}}}`, nil, was, ready},
		{"the spec says yes now", timedOut, ptr.To(true), was, ready},
		{"the spec says no now", timedOut, ptr.To(false), was, ready},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := skyhook(0)
			s.Annotations = map[string]string{v1alpha1.AnnotationUninstallCapability: c.annotation}
			s.Spec.Packages = map[string]v1alpha1.Package{"a": {Image: "x/a", Version: "1", Uninstall: &v1alpha1.Uninstall{Enabled: c.enabled}}}
			status := v1alpha1.SkyhookStatus{Conditions: append([]metav1.Condition(nil), c.before...)}
			rollout.SetCapabilityUnknown(&status, s, now)
			if diff := cmp.Diff(c.want, status.Conditions); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// The message is bounded, whatever stands in the annotation.
func TestCapabilityMessageIsBounded(t *testing.T) {
	s := skyhook(0)
	long := strings.Repeat("x", 20_000)
	s.Annotations = map[string]string{v1alpha1.AnnotationUninstallCapability: `{"references":{"x/a:1":{"reason":"RegistryUnreachable","message":"` + long + `"}}}`}
	s.Spec.Packages = map[string]v1alpha1.Package{"a": {Image: "x/a", Version: "1"}}
	var status v1alpha1.SkyhookStatus
	rollout.SetCapabilityUnknown(&status, s, now)
	if got := len(status.Conditions[0].Message); got > 300 {
		t.Errorf("the message has %d bytes", got)
	}
}
