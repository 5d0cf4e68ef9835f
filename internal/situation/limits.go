package situation

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// Limits are those of the operator for packages that set none.
type Limits struct {
	// StageTimeout is zero for none.
	StageTimeout time.Duration
	// MaxRetries is nil for none.
	MaxRetries *int32
}

// Of is a package with the limits that are in force: a stageTimeout of zero is none, whatever the operator's is.
func (l Limits) Of(pkg v1alpha1.Package) v1alpha1.Package {
	switch {
	case pkg.StageTimeout == nil && l.StageTimeout > 0:
		pkg.StageTimeout = &metav1.Duration{Duration: l.StageTimeout}
	case pkg.StageTimeout != nil && pkg.StageTimeout.Duration == 0:
		pkg.StageTimeout = nil
	}
	if pkg.MaxRetries == nil {
		pkg.MaxRetries = l.MaxRetries
	}
	return pkg
}
