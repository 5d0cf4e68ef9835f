package skyhook

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/controller/refusal"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

// obstacleRetry is how soon a pass is repeated that met an obstacle: no event may tell that it is gone.
const obstacleRetry = 30 * time.Second

// obstacleError is an error that stays until somebody changes something, so that people have to hear of it.
type obstacleError struct {
	reason  string
	frees   record.Frees
	message string
	err     error
	// lasting says that it would be none if it had not been met again and again.
	lasting bool
}

func (o *obstacleError) Error() string { return o.message }

func (o *obstacleError) Unwrap() error { return o.err }

// hold keeps all nodes of the Skyhook from new permits.
func (o *obstacleError) hold() *situation.Hold {
	return &situation.Hold{
		Status: v1alpha1.StatusBlocked,
		Wait:   record.Wait{Reason: o.reason, Frees: o.frees, Message: o.message},
	}
}

// obstacleOf finds the first obstacle in an error; nil when it has none.
func obstacleOf(err error) *obstacleError {
	var o *obstacleError
	errors.As(err, &o)
	return o
}

// refused makes an obstacle of what the API server will refuse again, or refused again and again, and returns any other
// error as it is. field is what the object is made of.
func (p *pass) refused(err error, reason, field string) error {
	o := &obstacleError{reason: reason, err: err}
	switch {
	case obstacleOf(err) != nil:
		return err
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsRequestEntityTooLargeError(err):
		o.frees, o.message = record.FreesAuthor, fmt.Sprintf("%v; correct %s", err, field)
	case refusal.Final(err):
		o.frees = record.FreesAdministrator
		o.message = err.Error() + "; change what refuses it, such as a quota, an admission policy or the operator's roles"
	default:
		return p.known.failures.lasting(err, reason)
	}
	return o
}

// nameTaken looks at what has the name of an object to be created. One of ours is in the cache soon.
func (p *pass) nameTaken(ctx context.Context, kind string, want, live client.Object, reason string) error {
	if err := p.Live.Get(ctx, client.ObjectKeyFromObject(want), live); err != nil {
		return fmt.Errorf("get %s %s, whose name is taken: %w", kind, want.GetName(), err)
	}
	if metav1.IsControlledBy(live, p.skyhook) {
		return nil
	}
	return taken(kind, live, p.skyhook, reason)
}

// taken tells that the name of an object that a Skyhook needs is another's, whose owner may be nil. What a deleted
// Skyhook of the same name left goes by itself.
func taken(kind string, object client.Object, s *v1alpha1.Skyhook, reason string) error {
	o := &obstacleError{reason: reason, frees: record.FreesAdministrator}
	name, owner := fmt.Sprintf("%s %s/%s", kind, object.GetNamespace(), object.GetName()), metav1.GetControllerOf(object)
	remove := fmt.Sprintf("`kubectl delete %s -n %s %s`", strings.ToLower(kind), object.GetNamespace(), object.GetName())
	switch {
	case owner == nil:
		o.message = fmt.Sprintf("%s exists but does not belong to Skyhook %s; delete it with %s", name, s.Name, remove)
	case owner.Kind == "Skyhook" && owner.Name == s.Name:
		o.frees = record.FreesTime
		o.message = fmt.Sprintf("%s is left of an earlier Skyhook %s; Kubernetes deletes it soon", name, s.Name)
	default:
		o.message = fmt.Sprintf("%s exists but belongs to %s %s, not to Skyhook %s; rename the Skyhook or the package, or "+
			"delete it with %s", name, owner.Kind, owner.Name, s.Name, remove)
	}
	return o
}
