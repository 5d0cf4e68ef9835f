package state

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/rollout"
)

// stop reads what stops all Skyhooks; nil for nothing. The cache of a process that has just begun may come from an API
// server that is behind, and nothing else would tell: no node changes when everything is stopped. So until the two
// agree for the first time, the API server is asked, and counts.
func (i *Index) stop(ctx context.Context, cache client.Reader, namespace string) (*rollout.Stop, error) {
	cached, err := stopIn(ctx, cache, namespace)
	if err != nil || !i.doubtsStop() {
		return rollout.StopOf(&cached), err
	}
	live, err := stopIn(ctx, i.Live, namespace)
	if err != nil {
		return nil, err
	}
	if cached.UID == live.UID {
		i.mu.Lock()
		i.agrees = true
		i.mu.Unlock()
	}
	return rollout.StopOf(&live), nil
}

func (i *Index) doubtsStop() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return !i.agrees && i.Live != nil
}

// stopIn reads the ConfigMap; one without a name is none.
func stopIn(ctx context.Context, reader client.Reader, namespace string) (corev1.ConfigMap, error) {
	var cm corev1.ConfigMap
	key := client.ObjectKey{Namespace: namespace, Name: v1alpha1.StopConfigMap}
	err := reader.Get(ctx, key, &cm, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) {
		return corev1.ConfigMap{}, nil
	}
	if err != nil {
		err = fmt.Errorf("get ConfigMap %s, which would stop all Skyhooks: %w", v1alpha1.StopConfigMap, err)
	}
	return cm, err
}

// LatestStop makes sure that nobody has stopped all Skyhooks if the snapshot says so, as Latest does for one.
func (sn Snapshot) LatestStop(ctx context.Context, live client.Reader, namespace string) error {
	cm, err := stopIn(ctx, live, namespace)
	if err == nil && sn.stop == nil && rollout.StopOf(&cm) != nil {
		return Behind(corev1.Resource("configmaps"), v1alpha1.StopConfigMap)
	}
	return err
}

// IsStop lets through only what stops all Skyhooks.
func IsStop() predicate.Predicate {
	return predicate.NewPredicateFuncs(func(o client.Object) bool { return o.GetName() == v1alpha1.StopConfigMap })
}
