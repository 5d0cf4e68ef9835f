package packagefile

import (
	"encoding/json"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The patterns of the schema.
var (
	semanticVersion = regexp.MustCompile(`^(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)` +
		`(-(0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)(\.(0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*))*)?` +
		`(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?$`)
	stepName = regexp.MustCompile(`^[a-zA-Z0-9_\-.]+$`)
)

// checkSchema finds what the schema in schema/v1 forbids. It is written out, because a validator of JSON schemas would
// be a third of the agent; a test compares the two.
func checkSchema(document any, report *Report) {
	var c schemaCheck
	c.document(document)
	// The keys of an object come in any order.
	slices.SortStableFunc(c.problems, func(a, b Problem) int { return strings.Compare(a.Pointer, b.Pointer) })
	report.Errors = append(report.Errors, c.problems...)
}

type schemaCheck struct{ problems []Problem }

func (c *schemaCheck) document(value any) {
	c.object(nil, value, topLevelKeys, func(at []string, value any) {
		switch at[0] {
		case "schema_version":
			if value != "v1" {
				c.wrong(at, fmt.Sprintf("is %q", fmt.Sprint(value)))
			}
		case "package_name":
			c.nonEmpty(at, value)
		case "package_version":
			c.matching(at, value, semanticVersion)
		case "expected_config_files":
			c.list(at, value, c.nonEmpty)
		case "modes":
			c.object(at, value, nil, c.mode)
		}
	})
}

func (c *schemaCheck) mode(at []string, value any) {
	if mode := Mode(at[1]); !mode.Known() && mode != modeInterrupt {
		c.unknown(at)
		return
	}
	c.list(at, value, c.step)
}

func (c *schemaCheck) step(at []string, value any) {
	required := []string{"name", "path", "arguments", "returncodes", "on_host", "idempotence", "upgrade_step"}
	c.object(at, value, required, func(at []string, value any) {
		switch at[len(at)-1] {
		case "name":
			c.matching(at, value, stepName)
		case "path":
			c.nonEmpty(at, value)
		case "arguments":
			c.list(at, value, c.text)
		case "returncodes":
			if list := c.list(at, value, c.integer); list != nil && len(list) == 0 {
				c.wrong(at, "is empty")
			}
		case "on_host", "idempotence", "upgrade_step":
			_, ok := value.(bool)
			c.typed(at, value, ok, "boolean")
		case "env":
			c.object(at, value, nil, c.text)
		case "requires_interrupt":
			// Of older packages; whatever it says, interrupts are declared in the Skyhook.
		default:
			c.unknown(at)
		}
	})
}

// object visits the values of an object.
func (c *schemaCheck) object(at []string, value any, required []string, visit func(at []string, value any)) {
	object, ok := value.(map[string]any)
	if !c.typed(at, value, ok, "object") {
		return
	}
	for _, key := range required {
		if _, there := object[key]; !there {
			here := inside(at, key)
			c.add(here, "is missing", "add it: "+meaning(here))
		}
	}
	for key, value := range object {
		visit(inside(at, key), value)
	}
}

// list visits the values of a list and returns it; nil if it is none.
func (c *schemaCheck) list(at []string, value any, visit func(at []string, value any)) []any {
	list, ok := value.([]any)
	c.typed(at, value, ok, "array")
	for i, value := range list {
		visit(inside(at, strconv.Itoa(i)), value)
	}
	return list
}

func (c *schemaCheck) text(at []string, value any) {
	_, ok := value.(string)
	c.typed(at, value, ok, "string")
}

func (c *schemaCheck) nonEmpty(at []string, value any) {
	c.text(at, value)
	if value == "" {
		c.wrong(at, "is empty")
	}
}

func (c *schemaCheck) matching(at []string, value any, pattern *regexp.Regexp) {
	c.text(at, value)
	if text, ok := value.(string); ok && !pattern.MatchString(text) {
		c.wrong(at, fmt.Sprintf("is %q", text))
	}
}

// integer takes 1.0 as well, which is the same number.
func (c *schemaCheck) integer(at []string, value any) {
	number, _ := value.(json.Number)
	exact, ok := new(big.Rat).SetString(number.String())
	c.typed(at, value, ok && exact.IsInt(), "integer")
}

func (c *schemaCheck) typed(at []string, value any, ok bool, want string) bool {
	if !ok {
		c.wrong(at, fmt.Sprintf("is a JSON %s, not %s", typeOf(value), want))
	}
	return ok
}

func (c *schemaCheck) unknown(at []string) {
	c.add(at, "is not a known key", knownKeys(at[:len(at)-1]))
}

func (c *schemaCheck) wrong(at []string, message string) { c.add(at, message, "make it "+meaning(at)) }

func (c *schemaCheck) add(at []string, message, fix string) {
	c.problems = append(c.problems, Problem{File: ConfigFile, Pointer: pointerTo(at...), Message: message, Fix: fix})
}

// inside is the place of a key or an index in what is at another place.
func inside(at []string, token string) []string { return append(slices.Clone(at), token) }

// typeOf is what JSON calls the type of a value.
func typeOf(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case json.Number:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	}
	return "object"
}
