package situation_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

// TestLimits: a package's own limits go before the operator's, and zero is no time limit.
func TestLimits(t *testing.T) {
	minutes := func(n int) *metav1.Duration { return &metav1.Duration{Duration: time.Duration(n) * time.Minute} }
	operator := situation.Limits{StageTimeout: time.Hour, MaxRetries: new(int32(3))}
	for _, c := range []struct {
		name      string
		limits    situation.Limits
		pkg, want v1alpha1.Package
	}{
		{"neither", situation.Limits{}, v1alpha1.Package{}, v1alpha1.Package{}},
		{"zero is none", situation.Limits{}, v1alpha1.Package{StageTimeout: minutes(0)}, v1alpha1.Package{}},
		{"the operator's", operator, v1alpha1.Package{}, v1alpha1.Package{StageTimeout: minutes(60), MaxRetries: new(int32(3))}},
		{
			"its own", operator,
			v1alpha1.Package{StageTimeout: minutes(5), MaxRetries: new(int32(0))},
			v1alpha1.Package{StageTimeout: minutes(5), MaxRetries: new(int32(0))},
		},
		{"none of its own", operator, v1alpha1.Package{StageTimeout: minutes(0)}, v1alpha1.Package{MaxRetries: new(int32(3))}},
	} {
		if diff := cmp.Diff(c.want, c.limits.Of(c.pkg)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}
