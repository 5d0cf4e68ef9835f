package taint_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/skyhook-operator/skyhook/internal/taint"
)

// TestMarkIsAnAnnotation: the API server takes the mark of any taint that it takes, and no two taints share one.
func TestMarkIsAnAnnotation(t *testing.T) {
	prefix := strings.Repeat("a", 60) + ".example." + strings.Repeat("b", 60)
	seen := map[string]string{}
	for _, key := range []string{
		"skyhook.nvidia.com", "team.example/k", prefix + "/k", prefix + "/l", prefix + "." + strings.Repeat("c", 60) + "/" + strings.Repeat("k", 63),
		strings.Repeat("a", 53), strings.Repeat("a", 54), strings.Repeat("a", 41) + "./" + strings.Repeat("k", 30),
	} {
		got := taint.Annotation(corev1.Taint{Key: key})
		if wrong := validation.IsQualifiedName(got); len(wrong) > 0 {
			t.Errorf("%s: %s: %v", key, got, wrong)
		}
		if other, taken := seen[got]; taken {
			t.Errorf("%s and %s share %s", key, other, got)
		}
		seen[got] = key
	}
	for key, want := range map[string]string{
		"skyhook.nvidia.com":    "skyhook.nvidia.com/autoTaint_skyhook.nvidia.com",
		"team.example/k":        "skyhook.nvidia.com/autoTaint_team.example.k",
		strings.Repeat("a", 53): "skyhook.nvidia.com/autoTaint_" + strings.Repeat("a", 53),
	} {
		if got := taint.Annotation(corev1.Taint{Key: key}); got != want {
			t.Errorf("%s: got %s, want %s", key, got, want)
		}
	}
}
