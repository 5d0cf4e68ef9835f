// Package evict asks the API server what drain needs to know, and to do what drain decided: it lists the pods of a node
// and evicts pods. It decides nothing itself and keeps nothing between calls.
package evict

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/skyhook-operator/skyhook/internal/drain"
)

// patience is short, as a worker waits meanwhile and the next pass tries again. The API server itself repeats an
// eviction that meets concurrent changes for up to ten seconds.
const patience = 5 * time.Second

// Evictor evicts pods by the eviction API, which respects disruption budgets.
type Evictor struct {
	// core is the API group of pods. The clients made for general use wait and repeat the request when the API server
	// says "too many requests", which is its ordinary answer here: 100 s and more for one pod.
	core rest.Interface
	// Patience is how long one eviction may take.
	Patience time.Duration
}

// New returns an Evictor that sends its requests through the given HTTP client, paced by the QPS and Burst of config.
func New(config *rest.Config, httpClient *http.Client) (Evictor, error) {
	c := rest.CopyConfig(config)
	c.APIPath, c.GroupVersion = "/api", &corev1.SchemeGroupVersion
	c.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	core, err := rest.RESTClientForConfigAndClient(c, httpClient)
	if err != nil {
		return Evictor{}, fmt.Errorf("make a client for evictions: %w", err)
	}
	return Evictor{core: core, Patience: patience}, nil
}

// Evict requests one eviction for each pod, once. An accepted eviction only begins the pod's deletion.
//
// Refused holds a sentence, fit for users, for each pod whose eviction the API server did not allow now; these are
// waits, not errors. A pod that is gone, or replaced by another of the same name, is neither refused nor an error. Other
// errors are joined and do not keep the remaining pods from being evicted; only the end of ctx does.
func (e Evictor) Evict(ctx context.Context, pods []drain.Pod, o drain.Options) (refused map[types.UID]string, err error) {
	refused = map[types.UID]string{}
	var errs []error
	for _, pod := range pods {
		err := e.evict(ctx, pod, o.GracePeriodSeconds)
		if ctx.Err() != nil {
			errs = append(errs, fmt.Errorf("evict pod %s: %w", pod, ctx.Err()))
			break
		}
		if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			continue
		}
		if sentence, ok := refusal(err); ok {
			refused[pod.UID] = sentence
			continue
		}
		errs = append(errs, fmt.Errorf("evict pod %s: %w", pod, err))
	}
	return refused, errors.Join(errs...)
}

func (e Evictor) evict(ctx context.Context, pod drain.Pod, grace *int64) error {
	ctx, cancel := context.WithTimeout(ctx, e.Patience)
	defer cancel()
	eviction := &policyv1.Eviction{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
		DeleteOptions: &metav1.DeleteOptions{
			GracePeriodSeconds: grace,
			Preconditions:      &metav1.Preconditions{UID: &pod.UID},
		},
	}
	// Get also reads the answer's body: some refusals come with the HTTP status of a success.
	_, err := e.core.Post().MaxRetries(0).Namespace(pod.Namespace).Resource("pods").Name(pod.Name).SubResource("eviction").
		Body(eviction).Do(ctx).Get()
	return err
}

// refusal reports whether an error is the API server's "not now", and what it says. 429 is a budget that is used up or
// not yet computed; 403 is an invalid budget, a namespace that is being deleted, an admission webhook or a missing
// permission; a pod with two budgets gets a bare 500.
func refusal(err error) (string, bool) {
	if errors.Is(err, context.DeadlineExceeded) {
		return "the API server did not decide about the eviction in time", true
	}
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) {
		return "", false
	}
	s := status.Status()
	switch {
	case s.Code == http.StatusTooManyRequests, s.Code == http.StatusForbidden:
	case s.Code == http.StatusInternalServerError && strings.Contains(s.Message, "more than one PodDisruptionBudget"):
	default:
		return "", false
	}
	return sentence(s), true
}

// sentence prefers the cause, as only that names the disruption budget.
func sentence(s metav1.Status) string {
	if s.Details != nil {
		for _, cause := range s.Details.Causes {
			if cause.Type == policyv1.DisruptionBudgetCause && cause.Message != "" {
				return cause.Message
			}
		}
	}
	return s.Message
}
