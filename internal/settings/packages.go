package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/skyhook-operator/skyhook/internal/registry"
)

func (e *environment) mirror(name string) registry.Mirror {
	v := e.optional(name)
	m, err := registry.ParseMirror(v)
	if err != nil {
		e.bad(name, v, err.Error()+"; name a registry, with or without the beginning of a path, like "+
			"registry.example.com:5000/copies")
	}
	return m
}

// limit reads a time limit of at least a second; empty and zero are none.
func (e *environment) limit(name string) time.Duration {
	v := e.optional(name)
	if v == "" {
		return 0
	}
	d, err := time.ParseDuration(v)
	if err != nil || d != 0 && d < time.Second {
		e.bad(name, v, "write a duration of at least one second, like 90s, 30m or 1h, or nothing for no limit")
	}
	return d
}

// count reads a number from 0 on; nil when it is empty.
func (e *environment) count(name string) *int32 {
	v := e.optional(name)
	if v == "" {
		return nil
	}
	const bits = 31
	n, err := strconv.ParseUint(v, 10, bits)
	if err != nil {
		e.bad(name, v, "write a number such as 0 or 3, or nothing for no limit")
	}
	return new(int32(n))
}

// memory reads an amount of memory as Kubernetes writes it.
func (e *environment) memory(name, def string) resource.Quantity {
	const least = 16 << 20 // below, no container of the agent starts
	v := e.text(name, def)
	q, err := resource.ParseQuantity(v)
	if err != nil || q.Value() < least {
		e.bad(name, v, "write an amount of memory of at least 16Mi, like 256Mi")
	}
	return q
}

// tolerations reads a list in JSON, as in spec.additionalTolerations of a Skyhook.
func (e *environment) tolerations(name string) []corev1.Toleration {
	v := e.optional(name)
	list, err := parseTolerations(v)
	if err != nil {
		e.bad(name, v, err.Error()+`; write a list like [{"key": "nvidia.com/gpu", "operator": "Exists"}]`)
	}
	return list
}

func parseTolerations(text string) ([]corev1.Toleration, error) {
	if text == "" {
		return nil, nil
	}
	decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
	decoder.DisallowUnknownFields()
	var list []corev1.Toleration
	if err := decoder.Decode(&list); err != nil {
		return nil, fmt.Errorf("it is no list of tolerations: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the list")
	}
	for i := range list {
		if err := checkToleration(&list[i]); err != nil {
			return nil, fmt.Errorf("toleration %d %w", i+1, err)
		}
	}
	if len(list) == 0 {
		return nil, nil
	}
	return list, nil
}

// checkToleration refuses what the API server would refuse in every pod.
func checkToleration(t *corev1.Toleration) error {
	switch t.Operator {
	case corev1.TolerationOpExists:
		if t.Value != "" {
			return errors.New("has a value, which operator Exists does not compare")
		}
	case "", corev1.TolerationOpEqual:
		if t.Key == "" {
			return errors.New("has no key, which only operator Exists allows")
		}
	default:
		return fmt.Errorf("has operator %q; it must be Exists or Equal", t.Operator)
	}
	switch t.Effect {
	case "", corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute:
	default:
		return fmt.Errorf("has effect %q; it must be NoSchedule, PreferNoSchedule or NoExecute", t.Effect)
	}
	if t.TolerationSeconds != nil && t.Effect != corev1.TaintEffectNoExecute {
		return errors.New("has tolerationSeconds, which need effect NoExecute")
	}
	return nil
}
