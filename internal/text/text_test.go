package text

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func numbered(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("n%03d", n-i)
	}
	return names
}

func TestNames(t *testing.T) {
	const ten = "n001, n002, n003, n004, n005, n006, n007, n008, n009, n010"
	long := []string{strings.Repeat("a", 253), strings.Repeat("b", 253), "c"}
	for _, c := range []struct {
		names []string
		want  string
	}{
		{nil, ""},
		{numbered(1), "n001"},
		{numbered(2), "n001, n002"},
		{numbered(10), ten},
		{numbered(11), ten + " and 1 more"},
		{numbered(480), ten + " and 470 more"},
		{long, long[0] + " and 2 more"},
	} {
		if got := Names(c.names); got != c.want {
			t.Errorf("%d names: %q, want %q", len(c.names), got, c.want)
		}
	}
	if got := First(numbered(3), 2); got != "n001, n002 and 1 more" {
		t.Errorf("two of three: %q", got)
	}
	if one, two := Nodes(numbered(1)), Nodes(numbered(2)); one != "node n001" || two != "nodes n001, n002" {
		t.Errorf("nodes: %q, %q", one, two)
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 nodes", 1: "1 node", 2: "2 nodes"} {
		if got := Count(n, "node"); got != want {
			t.Errorf("%d: %q", n, got)
		}
	}
}

// TestPrefix: a value is never cut within a character, and what is no text goes.
func TestPrefix(t *testing.T) {
	for in, want := range map[string]string{"": "", "abc": "abc", "abcdef": "abcd", "abcä": "abc", "\xffabcde": "abc", "ab\xff": "ab"} {
		if got := Prefix(in, 4); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}

// TestCut: an ellipsis tells that something is missing.
func TestCut(t *testing.T) {
	for in, want := range map[string]string{
		"":         "",
		"abc":      "abc",
		"abcde":    "a…",
		"äbcd":     "…",
		"\xffabcd": "…",
		"ab\xff":   "ab",
	} {
		if got := Cut(in, 4); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}

// TestShorten: the begin and the end stay, by whole words, and the bound holds for every length.
func TestShorten(t *testing.T) {
	message := "it is refused: " + strings.Repeat("because of ä ", 100) + "; correct spec.packages.x"
	for limit := 40; limit < len(message)+2; limit++ {
		got := Shorten(message, limit)
		if len(got) > limit || !utf8.ValidString(got) || !strings.HasPrefix(got, "it ") || !strings.HasSuffix(got, " spec.packages.x") {
			t.Fatalf("%d bytes: %q", limit, got)
		}
	}
	if got := Shorten("short", 40); got != "short" {
		t.Errorf("a short one becomes %q", got)
	}
}
