// Package evict asks the API server what drain needs to know, and to do what drain decided: it lists the pods of a node
// and evicts pods. It decides nothing itself and keeps nothing between calls.
package evict

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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

// patience is short, as the next pass tries again. The API server itself repeats an
// eviction that meets concurrent changes for up to ten seconds.
const patience = 5 * time.Second

const (
	// parallel requests wait for the API server at a time; it may have to ask webhooks about each.
	parallel = 10
	// perPass bounds how long a pass can take: five times patience.
	perPass = 50
)

// errNotAsked is the answer to a request that was not sent, as there was no time left.
var errNotAsked = errors.New("not asked")

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

// Evict requests one eviction for each pod, once, several at a time. An accepted eviction only begins the pod's
// deletion.
//
// Refused holds a sentence, fit for users, for each pod whose eviction the API server did not allow now; these are
// waits, not errors. A pod that is gone, or replaced by another of the same name, is neither accepted nor refused nor
// an error. Other errors are joined and do not keep the remaining pods from being evicted; only the end of ctx does. Of
// more than 50 pods, 50 are chosen by chance, so that those that are refused every time keep none from its turn.
func (e Evictor) Evict(
	ctx context.Context, pods []drain.Pod, o drain.Options,
) (accepted []drain.Pod, refused map[types.UID]string, err error) {
	if len(pods) > perPass {
		pods = slices.Clone(pods)
		//nolint:gosec // G404: whose turn it is need not be a secret
		rand.Shuffle(len(pods), func(i, j int) { pods[i], pods[j] = pods[j], pods[i] })
		pods = pods[:perPass]
	}
	answers := e.ask(ctx, pods, o.GracePeriodSeconds)
	refused = map[types.UID]string{}
	var errs []error
	cut := false
	for i, pod := range pods {
		err := answers[i]
		switch {
		case err == nil:
			accepted = append(accepted, pod)
			continue
		case apierrors.IsNotFound(err), apierrors.IsConflict(err):
			continue
		case errors.Is(err, errNotAsked), ctx.Err() != nil && errors.Is(err, ctx.Err()):
			cut = true
			continue
		}
		if sentence, ok := refusal(err); ok {
			refused[pod.UID] = sentence
			continue
		}
		errs = append(errs, fmt.Errorf("evict pod %s: %w", pod, err))
	}
	if cut {
		errs = append(errs, fmt.Errorf("evict pods: %w", ctx.Err()))
	}
	return accepted, refused, errors.Join(errs...)
}

// ask sends the requests and returns the answer to each.
func (e Evictor) ask(ctx context.Context, pods []drain.Pod, grace *int64) []error {
	answers := make([]error, len(pods))
	for i := range answers {
		answers[i] = errNotAsked
	}
	var last atomic.Int64
	var workers sync.WaitGroup
	for range min(parallel, len(pods)) {
		workers.Go(func() {
			for i := int(last.Add(1)) - 1; i < len(pods) && ctx.Err() == nil; i = int(last.Add(1)) - 1 {
				answers[i] = e.evict(ctx, pods[i], grace)
			}
		})
	}
	workers.Wait()
	return answers
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
// not yet computed; 403 is an invalid budget, a namespace that is being deleted, an admission webhook, which may answer
// any other 4xx, too, or a missing permission; a pod with two budgets gets a bare 500.
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
	case s.Code >= http.StatusBadRequest && s.Code < http.StatusInternalServerError && s.Code != http.StatusUnauthorized:
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
