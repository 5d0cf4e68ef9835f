package state

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

// marker is the part of a flag's name that stands for a step's arguments and
// exit codes: standard base64 of "<arguments>_<codes>", where both are written
// as Python prints lists.
func marker(step packagefile.Step) string {
	text := PythonStrings(step.Arguments) + "_" + PythonNumbers(step.ReturnCodes)
	return base64.StdEncoding.EncodeToString([]byte(text))
}

// PythonStrings writes a list of strings as Python does: ['a', "it's"].
func PythonStrings(list []string) string {
	items := make([]string, len(list))
	for i, s := range list {
		items[i] = pythonString(s)
	}
	return "[" + strings.Join(items, ", ") + "]"
}

// PythonNumbers writes a list of numbers as Python does: [0, 1]. Each stays as
// it is in the package's JSON.
func PythonNumbers(list []json.Number) string {
	items := make([]string, len(list))
	for i, n := range list {
		items[i] = n.String()
	}
	return "[" + strings.Join(items, ", ") + "]"
}

// PythonBool writes True or False.
func PythonBool(b bool) string {
	if b {
		return "True"
	}
	return "False"
}

func pythonString(s string) string {
	quote := '\''
	if strings.ContainsRune(s, '\'') && !strings.ContainsRune(s, '"') {
		quote = '"'
	}
	var b strings.Builder
	b.WriteRune(quote)
	for _, r := range s {
		b.WriteString(pythonRune(r, quote))
	}
	b.WriteRune(quote)
	return b.String()
}

func pythonRune(r, quote rune) string {
	switch {
	case r == '\\' || r == quote:
		return `\` + string(r)
	case r == '\n':
		return `\n`
	case r == '\r':
		return `\r`
	case r == '\t':
		return `\t`
	case unicode.IsPrint(r):
		return string(r)
	case r < 0x100:
		return fmt.Sprintf(`\x%02x`, r)
	case r < 0x10000:
		return fmt.Sprintf(`\u%04x`, r)
	default:
		return fmt.Sprintf(`\U%08x`, r)
	}
}
