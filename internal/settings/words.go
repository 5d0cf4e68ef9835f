package settings

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	mu      sync.Mutex
	known   map[string]string
	singles map[entry]map[string]string
	owned   map[types.UID][]metav1.OwnerReference
}

type entry struct{ key, value string }

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

// shareMeta does so with what the metadata ConfigMaps of a Skyhook have in common: there is one for each node.
func (w *words) shareMeta(cm *corev1.ConfigMap) {
	cm.Namespace, cm.Labels = w.of(cm.Namespace), w.single(cm.Labels)
	cm.OwnerReferences = w.owners(cm.OwnerReferences)
}

// single returns the one map that everybody has of a single entry, which must not be changed.
func (w *words) single(m map[string]string) map[string]string {
	if len(m) != 1 {
		return w.share(m)
	}
	var of entry
	for k, v := range m {
		of = entry{k, v}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if one, ok := w.singles[of]; ok {
		return one
	}
	if w.singles == nil || len(w.singles) >= maxWords {
		w.singles = map[entry]map[string]string{}
	}
	w.singles[of] = map[string]string{of.key: of.value}
	return w.singles[of]
}

// owners returns the one list that everybody has of the same owner, which must not be changed.
func (w *words) owners(list []metav1.OwnerReference) []metav1.OwnerReference {
	if len(list) != 1 {
		return list
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if one := w.owned[list[0].UID]; equality.Semantic.DeepEqual(one, list) {
		return one
	}
	if w.owned == nil || len(w.owned) >= maxWords {
		w.owned = map[types.UID][]metav1.OwnerReference{}
	}
	w.owned[list[0].UID] = list
	return list
}
