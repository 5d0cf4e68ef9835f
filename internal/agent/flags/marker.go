// Package flags remembers on a host which steps have succeeded.
//
// Names and content are those that hosts in the field already have, so that a
// new agent does not run their steps again. It must not know how steps run.
package flags

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"unicode"
)

// Marker is the part of a flag's name that stands for a step's arguments and
// exit codes: standard base64 of "<arguments>_<codes>", where both are written
// as Python would print the lists.
func Marker(arguments []string, codes []json.Number) string {
	return base64.StdEncoding.EncodeToString([]byte(ReprStrings(arguments) + "_" + ReprNumbers(codes)))
}

// ReprStrings writes a list of strings as Python does: ['a', "it's"].
func ReprStrings(list []string) string {
	items := make([]string, len(list))
	for i, s := range list {
		items[i] = reprString(s)
	}
	return "[" + strings.Join(items, ", ") + "]"
}

// ReprNumbers writes a list of JSON numbers as Python prints what it read
// them into: [0, 1], or [0.0] for a literal with a fraction or an exponent.
func ReprNumbers(list []json.Number) string {
	items := make([]string, len(list))
	for i, n := range list {
		items[i] = reprNumber(n.String())
	}
	return "[" + strings.Join(items, ", ") + "]"
}

func reprString(s string) string {
	quote := '\''
	if strings.ContainsRune(s, '\'') && !strings.ContainsRune(s, '"') {
		quote = '"'
	}
	var b strings.Builder
	b.WriteRune(quote)
	for _, r := range s {
		b.WriteString(reprRune(r, quote))
	}
	b.WriteRune(quote)
	return b.String()
}

func reprRune(r, quote rune) string {
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

func reprNumber(literal string) string {
	if strings.ContainsAny(literal, ".eE") {
		return reprFloat(literal)
	}
	if n, ok := new(big.Int).SetString(literal, 10); ok {
		return n.String()
	}
	return literal
}

// reprFloat switches to an exponent from 1e16 on, where Go's shortest format
// would do so from 1e21 on.
func reprFloat(literal string) string {
	f, err := strconv.ParseFloat(literal, 64)
	if err != nil {
		return literal
	}
	if size := max(f, -f); size >= 1e16 || size != 0 && size < 1e-4 {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	fixed := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(fixed, ".") {
		fixed += ".0"
	}
	return fixed
}
