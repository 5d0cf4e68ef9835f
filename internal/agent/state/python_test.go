package state

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

func numbers(literals ...string) []json.Number {
	list := make([]json.Number, len(literals))
	for i, literal := range literals {
		list[i] = json.Number(literal)
	}
	return list
}

// TestMarker_GoldenVectors are names found on hosts in the field. A change
// here makes every host run its steps again.
func TestMarker_GoldenVectors(t *testing.T) {
	tests := []struct {
		arguments []string
		codes     []json.Number
		want      string
	}{
		{nil, numbers("0"), "W11fWzBd"},
		{[]string{"apply"}, numbers("0"), "WydhcHBseSddX1swXQ=="},
		{[]string{"apply_check"}, numbers("0"), "WydhcHBseV9jaGVjayddX1swXQ=="},
		{[]string{"env:FOO"}, numbers("0"), "WydlbnY6Rk9PJ11fWzBd"},
		{[]string{"x", "env:FOO"}, numbers("0"), "Wyd4JywgJ2VudjpGT08nXV9bMF0="},
		{nil, numbers("0", "1"), "W11fWzAsIDFd"},
		{[]string{"it's"}, numbers("0"), "WyJpdCdzIl1fWzBd"},
		{[]string{`a"b`}, numbers("0"), "WydhImInXV9bMF0="},
		{[]string{`both'"`}, numbers("0"), "Wydib3RoXCciJ11fWzBd"},
		{[]string{`back\slash`}, numbers("0"), "WydiYWNrXFxzbGFzaCddX1swXQ=="},
		{[]string{"new\nline"}, numbers("0"), "WyduZXdcbmxpbmUnXV9bMF0="},
		{[]string{"é"}, numbers("0"), "WyfDqSddX1swXQ=="},
		{[]string{"\u200b"}, numbers("0"), "WydcdTIwMGInXV9bMF0="},
		{[]string{"\x7f"}, numbers("0"), "WydceDdmJ11fWzBd"},
		{[]string{"a b", "c"}, numbers("0"), "WydhIGInLCAnYyddX1swXQ=="},
		{[]string{"?>?>?>"}, numbers("0"), "Wyc/Pj8+Pz4nXV9bMF0="},
	}
	for _, test := range tests {
		t.Run(fmt.Sprintf("%q %v", test.arguments, test.codes), func(t *testing.T) {
			if got := marker(packagefile.Step{Arguments: test.arguments, ReturnCodes: test.codes}); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestPythonStrings(t *testing.T) {
	tests := map[string]string{
		"":                `['']`,
		"a\tb\rc":         `['a\tb\rc']`,
		"\x00\x1b":        `['\x00\x1b']`,
		"\u00a0\u00ad":    `['\xa0\xad']`,
		"日本":              `['日本']`,
		"\U0001F600":      `['😀']`,
		"\U000E0001":      `['\U000e0001']`,
		"\ue000":          `['\ue000']`,
		"\u2028":          `['\u2028']`,
		"'":               `["'"]`,
		`'\`:              `["'\\"]`,
		"'\"\n":           `['\'"\n']`,
		"cafe\u0301 okay": "['cafe\u0301 okay']",
	}
	for text, want := range tests {
		if got := PythonStrings([]string{text}); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}

func TestPythonNumbers(t *testing.T) {
	for _, literal := range []string{"0", "255", "-1", "0.0", "123456789012345678901"} {
		if got := PythonNumbers(numbers(literal)); got != "["+literal+"]" {
			t.Errorf("%s: got %s", literal, got)
		}
	}
	if got := PythonNumbers(nil); got != "[]" {
		t.Errorf("no numbers: %s", got)
	}
}

// FuzzPythonStrings reads the list back: a representation that lost anything
// would let two different steps share one flag.
func FuzzPythonStrings(f *testing.F) {
	f.Add("apply", "it's")
	f.Add(`both'"`, "\u200b\x7f\\")
	f.Add("\U000e0001", "', '")
	f.Fuzz(func(t *testing.T, first, second string) {
		if !utf8.ValidString(first) || !utf8.ValidString(second) {
			return // JSON strings are always valid UTF-8.
		}
		repr := PythonStrings([]string{first, second})
		for _, r := range repr {
			if !strconv.IsPrint(r) {
				t.Fatalf("%q has a character that is not printable", repr)
			}
		}
		got, err := readList(repr)
		if err != nil || len(got) != 2 || got[0] != first || got[1] != second {
			t.Errorf("%q became %s, which reads as %q, %v", []string{first, second}, repr, got, err)
		}
	})
}

// readList reads a list of Python string literals.
func readList(text string) ([]string, error) {
	text = strings.TrimSuffix(strings.TrimPrefix(text, "["), "]")
	var list []string
	for text != "" {
		quote, rest := text[0], text[1:]
		var value strings.Builder
		for {
			if rest == "" {
				return nil, fmt.Errorf("unterminated %s", text)
			}
			if rest[0] == quote {
				break
			}
			char, _, tail, err := strconv.UnquoteChar(rest, quote)
			if err != nil {
				return nil, err
			}
			value.WriteRune(char)
			rest = tail
		}
		list = append(list, value.String())
		text = strings.TrimPrefix(rest[1:], ", ")
	}
	return list, nil
}
