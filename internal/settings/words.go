package settings

import (
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// maxWord is the length of the longest text that is shared, in bytes, and maxWords how many are known.
	maxWord  = 128
	maxWords = 4096
)

// words keeps one copy of each text that many objects have, such as the keys of labels: each object that is decoded has
// its own, which for 10,000 nodes makes half of what the cache takes. Its zero value is ready for use.
type words struct {
	mu    sync.Mutex
	known map[string]string
}

// of returns a text as it was first seen.
func (w *words) of(text string) string {
	if text == "" || len(text) > maxWord {
		return text
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if one, ok := w.known[text]; ok {
		return one
	}
	if w.known == nil || len(w.known) >= maxWords {
		w.known = map[string]string{} // texts that are shared soon come again; names of single objects do not
	}
	w.known[text] = text
	return text
}

// share returns a map of the shared copies; others may have the one that it gets.
func (w *words) share(m map[string]string) map[string]string {
	if m == nil {
		return nil
	}
	shared := make(map[string]string, len(m))
	for k, v := range m {
		shared[w.of(k)] = w.of(v)
	}
	return shared
}

// shareOwners does so with what the metadata ConfigMaps of all nodes have in common.
func (w *words) shareOwners(cm *corev1.ConfigMap) {
	cm.Namespace, cm.Labels, cm.Annotations = w.of(cm.Namespace), w.share(cm.Labels), w.share(cm.Annotations)
	cm.OwnerReferences = slices.Clone(cm.OwnerReferences)
	for i := range cm.OwnerReferences {
		o := &cm.OwnerReferences[i]
		o.APIVersion, o.Kind, o.Name, o.UID = w.of(o.APIVersion), w.of(o.Kind), w.of(o.Name), types.UID(w.of(string(o.UID)))
	}
}
