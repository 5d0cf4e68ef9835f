package cluster

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// merge applies a JSON merge patch (RFC 7386) to a typed value. Fields that the type does not have are dropped, as a
// server does.
func merge(target any, body []byte) error {
	var patch map[string]any
	if err := json.Unmarshal(body, &patch); err != nil {
		return fmt.Errorf("decode a patch: %w", err)
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(target)
	if err != nil {
		return fmt.Errorf("encode %T: %w", target, err)
	}
	mergeMaps(content, patch)
	reflect.ValueOf(target).Elem().SetZero()
	return runtime.DefaultUnstructuredConverter.FromUnstructured(content, target)
}

// mergeStrategically applies a strategic merge patch to a typed value.
func mergeStrategically(target any, patch []byte) error {
	original, err := json.Marshal(target)
	if err != nil {
		return fmt.Errorf("encode %T: %w", target, err)
	}
	merged, err := strategicpatch.StrategicMergePatch(original, patch, target)
	if err != nil {
		return fmt.Errorf("patch %T: %w", target, err)
	}
	reflect.ValueOf(target).Elem().SetZero()
	return json.Unmarshal(merged, target)
}

func mergeMaps(to, patch map[string]any) {
	for key, value := range patch {
		part, nested := value.(map[string]any)
		switch {
		case value == nil:
			delete(to, key)
		case nested:
			have, ok := to[key].(map[string]any)
			if !ok {
				have = map[string]any{}
				to[key] = have
			}
			mergeMaps(have, part)
		default:
			to[key] = value
		}
	}
}
