package history

import (
	"encoding/json"
	"errors"
	"fmt"
)

// The keys of the ConfigMap that holds a history.
const (
	keyRollouts = "rollouts"
	keyStages   = "stages"
)

// MaxBytes is more than what is stored can have.
const MaxBytes = 128 << 10

// Data is what a ConfigMap holds of a history.
func Data(r Rollouts, s Stages) map[string]string {
	return map[string]string{keyRollouts: encode(append(Rollouts{}, r...)), keyStages: encode(append(Stages{}, s...))}
}

func encode(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // only plain values are encoded; json cannot refuse them
	}
	return string(raw)
}

// ReadRollouts returns the rollouts that a ConfigMap holds, none if there are none. With an error there are none
// either: what a person made of them cannot be read.
func ReadRollouts(data map[string]string) (Rollouts, error) { return read[Rollouts](data, keyRollouts) }

// ReadStages does the same for stages.
func ReadStages(data map[string]string) (Stages, error) {
	s, err := read[Stages](data, keyStages)
	return Stages(nil).Merge(s), err // bounded, and summed up anew
}

func read[T interface{ check() error }](data map[string]string, key string) (T, error) {
	var value, none T
	raw := data[key]
	if raw == "" {
		return none, nil
	}
	err := errors.New("it is too long")
	if len(raw) <= MaxBytes {
		err = json.Unmarshal([]byte(raw), &value)
	}
	if err == nil {
		err = value.check()
	}
	if err != nil {
		return none, fmt.Errorf("%s cannot be read: %w", key, err)
	}
	return value, nil
}
