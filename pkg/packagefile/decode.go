package packagefile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// decode takes what has the right type and leaves the rest at zero. It walks
// the generic document, because encoding/json matches struct fields in any
// case, so that "Path" could replace a "path" that was checked before.
func decode(object map[string]any) *Package {
	return &Package{
		Name:                stringOf(object["package_name"]),
		Version:             stringOf(object["package_version"]),
		ExpectedConfigFiles: stringsOf(object["expected_config_files"]),
		Modes:               decodeModes(object["modes"]),
	}
}

func decodeModes(value any) map[Mode][]Step {
	object, _ := value.(map[string]any)
	result := make(map[Mode][]Step, len(object))
	for name, value := range object {
		mode := Mode(name)
		list, ok := value.([]any)
		if !ok || !mode.Known() {
			continue
		}
		steps := make([]Step, len(list))
		for i, value := range list {
			steps[i] = decodeStep(value)
		}
		result[mode] = steps
	}
	return result
}

func decodeStep(value any) Step {
	object, _ := value.(map[string]any)
	step := Step{
		Name:      stringOf(object["name"]),
		Path:      stringOf(object["path"]),
		Arguments: stringsOf(object["arguments"]),
		Env:       stringMap(object["env"]),
	}
	// A step without on_host is refused by the schema, not by the rule on it.
	onHost, given := object["on_host"].(bool)
	step.OnHost = onHost || !given
	step.AlwaysRun, _ = object["idempotence"].(bool)
	step.UpgradeStep, _ = object["upgrade_step"].(bool)
	codes, _ := object["returncodes"].([]any)
	for _, code := range codes {
		if number, ok := code.(json.Number); ok {
			step.ReturnCodes = append(step.ReturnCodes, number)
		}
	}
	return step
}

func stringOf(value any) string {
	s, _ := value.(string)
	return s
}

func stringsOf(value any) []string {
	list, _ := value.([]any)
	result := make([]string, len(list))
	for i, value := range list {
		result[i] = stringOf(value)
	}
	return result
}

func stringMap(value any) map[string]string {
	object, _ := value.(map[string]any)
	result := make(map[string]string, len(object))
	for key, value := range object {
		result[key] = stringOf(value)
	}
	return result
}

// positionOf renders where a JSON syntax error is, as " at line L, column C".
func positionOf(raw []byte, err error) string {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) || syntax.Offset < 1 || syntax.Offset > int64(len(raw)) {
		return ""
	}
	before := raw[:syntax.Offset-1]
	line := 1 + bytes.Count(before, []byte("\n"))
	column := len(before) - bytes.LastIndexByte(before, '\n')
	return fmt.Sprintf(" at line %d, column %d", line, column)
}

// maxNumber is the longest number in characters; 1e9999999 would be short, so
// exponents count as well.
const (
	maxNumber   = 32
	maxExponent = 32
)

// oversized finds numbers that would take exact arithmetic all the memory
// there is.
func oversized(value any) bool {
	switch v := value.(type) {
	case json.Number:
		return !sensible(v.String())
	case []any:
		return slices.ContainsFunc(v, oversized)
	case map[string]any:
		return slices.ContainsFunc(slices.Collect(maps.Values(v)), oversized)
	}
	return false
}

func sensible(literal string) bool {
	if len(literal) > maxNumber {
		return false
	}
	at := strings.IndexAny(literal, "eE")
	if at < 0 {
		return true
	}
	exponent, err := strconv.Atoi(literal[at+1:])
	return err == nil && max(exponent, -exponent) <= maxExponent
}
