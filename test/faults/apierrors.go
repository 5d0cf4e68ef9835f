package faults

import (
	"errors"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Answers of an API server to a request that did not take effect, and to one that may have.
var (
	refusals = []int{
		http.StatusInternalServerError, http.StatusUnauthorized, http.StatusForbidden, http.StatusConflict,
		http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusGatewayTimeout,
	}
	losses = []int{http.StatusInternalServerError, http.StatusServiceUnavailable, http.StatusGatewayTimeout}
)

// answer is one of them, by the step, so that the choices of the scheduler stay what they are.
func (w *World) answer(codes []int, kind, name string) error {
	resource := schema.GroupResource{Resource: kind}
	switch code := codes[w.step%len(codes)]; code {
	case http.StatusUnauthorized:
		return apierrors.NewUnauthorized("injected")
	case http.StatusForbidden:
		return apierrors.NewForbidden(resource, name, errInjected)
	case http.StatusConflict:
		return apierrors.NewConflict(resource, name, errInjected)
	case http.StatusTooManyRequests:
		return apierrors.NewTooManyRequests("injected: too many requests", 1)
	case http.StatusServiceUnavailable:
		return apierrors.NewServiceUnavailable("injected")
	case http.StatusGatewayTimeout:
		return apierrors.NewTimeoutError("injected", 1)
	default:
		return apierrors.NewInternalError(errInjected)
	}
}

// refuse is the answer to a write that does not take effect. A pod that is forbidden counts as refused.
func (w *World) refuse(verb string, obj client.Object) error {
	err := w.answer(refusals, kindOf(obj), obj.GetName())
	if pod, ok := obj.(*corev1.Pod); ok && verb == "create" && isStatus(err, http.StatusForbidden) {
		w.watch.failed(pod)
	}
	return err
}

func isStatus(err error, code int) bool {
	var status *apierrors.StatusError
	return errors.As(err, &status) && status.Status().Code == int32(code)
}
