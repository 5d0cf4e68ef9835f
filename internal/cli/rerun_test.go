package cli

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// TestRerunForgetsNoUninstall: a package that is being uninstalled is on the host until that succeeds, and only its entry
// tells.
func TestRerunForgetsNoUninstall(t *testing.T) {
	for stage, refused := range map[v1alpha1.Stage]bool{
		v1alpha1.StageApply: false, v1alpha1.StageUninstall: true, v1alpha1.StageUninstallInterrupt: true,
	} {
		s := &v1alpha1.Skyhook{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}}
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
			v1alpha1.AnnotationNodeStatePrefix + "gpu": `{"driver|1.0.0":{"name":"driver","version":"1.0.0","stage":"` + string(stage) + `","state":"erroring"}}`,
		}}}
		p, err := rerunChange(s, n, "driver|1.0.0", "")
		if (err != nil) != refused || p.Empty() != refused {
			t.Errorf("%s: error %v, nothing changes %t", stage, err, p.Empty())
		}
	}
}
