package state

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Behind is the conflict of a decision that waits until the cache shows an object as the API server has it.
func Behind(resource schema.GroupResource, name string) error {
	return apierrors.NewConflict(resource, name, errors.New("the cache is behind"))
}
