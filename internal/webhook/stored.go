package webhook

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// checkStored returns an error unless a review's old object is what is stored: uid and resourceVersion, which who made
// up a review does not know. It comes before everything that is dear to read or names what is in the cluster. A cache
// may be late, so the API server is asked for this one object then.
//
// The API server itself asks about an object that somebody changed meanwhile only if it could not store the change
// anyway: a conflict is what it would answer next.
func checkStored[T any, P interface {
	*T
	client.Object
}](ctx context.Context, old P, resource string, cached, live client.Reader) error {
	for _, reader := range []client.Reader{cached, live} {
		now := P(new(T))
		err := reader.Get(ctx, client.ObjectKeyFromObject(old), now)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return apierrors.NewInternalError(fmt.Errorf("get %s %s: %w", resource, old.GetName(), err))
		}
		if now.GetUID() == old.GetUID() && now.GetResourceVersion() == old.GetResourceVersion() {
			return nil
		}
	}
	return apierrors.NewConflict(v1alpha1.GroupVersion.WithResource(resource).GroupResource(), old.GetName(),
		errors.New("the stored object is another one, or has changed since; read it again and repeat the change"))
}
