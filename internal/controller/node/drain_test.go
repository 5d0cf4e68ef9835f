package node

import (
	"reflect"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/drain"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
)

func TestDrainOptions(t *testing.T) {
	spec := func(d v1alpha1.Drain) func(*v1alpha1.Skyhook) {
		return func(s *v1alpha1.Skyhook) { s.Spec.Drain = &d }
	}
	for _, c := range []struct {
		name   string
		change func(*v1alpha1.Skyhook)
		want   func(*drain.Options)
	}{
		{"defaults", func(*v1alpha1.Skyhook) {}, func(*drain.Options) {}},
		{"an empty drain", spec(v1alpha1.Drain{}), func(*drain.Options) {}},
		{"gracePeriodSeconds", spec(v1alpha1.Drain{GracePeriodSeconds: new(int64(0))}), func(o *drain.Options) { o.GracePeriodSeconds = new(int64(0)) }},
		{"timeoutSeconds", spec(v1alpha1.Drain{TimeoutSeconds: new(int64(90))}), func(o *drain.Options) { o.Timeout = 90 * time.Second }},
		{"deleteEmptyDirData true", spec(v1alpha1.Drain{DeleteEmptyDirData: new(true)}), func(*drain.Options) {}},
		{"deleteEmptyDirData false", spec(v1alpha1.Drain{DeleteEmptyDirData: new(false)}), func(o *drain.Options) { o.DeleteEmptyDirData = false }},
		{"force", spec(v1alpha1.Drain{Force: true}), func(o *drain.Options) { o.Force = true }},
		{"podNonInterruptLabels", func(s *v1alpha1.Skyhook) {
			s.Spec.PodNonInterruptLabels.MatchLabels = map[string]string{"keep": "yes"}
		}, func(o *drain.Options) { o.NonInterrupt = labels.SelectorFromSet(labels.Set{"keep": "yes"}) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSkyhook("demo")
			c.change(s)
			since := metav1.Time{Time: start.Add(-time.Minute)}
			want := drain.Options{OperatorNamespace: namespace, Self: "operator-0", Started: since.Time, DeleteEmptyDirData: true}
			c.want(&want)
			r := Reconciler{Workload: options, PodName: "operator-0"}
			got, err := r.drainOptions(s, lifecycle.Observation{Record: record.Node{Wait: &record.Wait{Reason: "Evicting", Since: since}}})
			if err != nil {
				t.Fatal(err)
			}
			if (got.NonInterrupt == nil) != (want.NonInterrupt == nil) || got.NonInterrupt != nil && got.NonInterrupt.String() != want.NonInterrupt.String() {
				t.Errorf("protects %v, want %v", got.NonInterrupt, want.NonInterrupt)
			}
			got.NonInterrupt, want.NonInterrupt = nil, nil
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v\nwant %+v", got, want)
			}
		})
	}
}

func TestDrainOptionsBeforeAWaitAndWithABrokenSelector(t *testing.T) {
	s, r := newSkyhook("demo"), Reconciler{Workload: options}
	got, err := r.drainOptions(s, lifecycle.Observation{})
	if err != nil || !got.Started.IsZero() {
		t.Errorf("a drain that has not begun started at %s, error %v", got.Started, err)
	}
	s.Spec.PodNonInterruptLabels.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}
	if _, err := r.drainOptions(s, lifecycle.Observation{}); err == nil || !strings.Contains(err.Error(), "spec.podNonInterruptLabels") {
		t.Errorf("got %v", err)
	}
}
