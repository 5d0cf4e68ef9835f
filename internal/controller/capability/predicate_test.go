package capability

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

func TestChanged(t *testing.T) {
	before := &v1alpha1.Skyhook{ObjectMeta: metav1.ObjectMeta{
		Name: "demo", Generation: 3, ResourceVersion: "7", Annotations: map[string]string{v1alpha1.AnnotationUninstallCapability: "{}", "theirs": "x"},
	}}
	for _, c := range []struct {
		name   string
		change func(*v1alpha1.Skyhook)
		want   bool
	}{
		{"nothing", func(*v1alpha1.Skyhook) {}, false},
		{"the spec", func(s *v1alpha1.Skyhook) { s.Generation++ }, true},
		{"what is known", func(s *v1alpha1.Skyhook) { s.Annotations[v1alpha1.AnnotationUninstallCapability] = "" }, true},
		{"the annotation is gone", func(s *v1alpha1.Skyhook) { s.Annotations = nil }, true},
		{"the status", func(s *v1alpha1.Skyhook) { s.ResourceVersion, s.Status.Status = "8", v1alpha1.StatusComplete }, false},
		{"another annotation", func(s *v1alpha1.Skyhook) { s.Annotations["theirs"] = "y" }, false},
		{"labels and finalizers", func(s *v1alpha1.Skyhook) { s.Labels, s.Finalizers = map[string]string{"a": "b"}, []string{"x/y"} }, false},
	} {
		after := before.DeepCopy()
		c.change(after)
		if got := changed().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
	if !changed().Create(event.CreateEvent{Object: before}) || changed().Delete(event.DeleteEvent{Object: before}) {
		t.Error("a new Skyhook is looked at, one that is gone is not")
	}
}
