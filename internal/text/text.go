// Package text bounds what goes into messages: there may be thousands of names, and texts of any length.
package text

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// MostNames is how many names Names lists.
	MostNames = 10
	// mostBytes bounds what these names take together, but for the first, which is there in any case.
	mostBytes = 320
)

// Names joins the first ten names, sorted, and counts the rest: "a, b and 3 more".
func Names(names []string) string { return First(names, MostNames) }

// First joins up to n names, sorted, fewer where they are long, and counts the rest. n is at least 1.
func First(names []string, n int) string {
	return first(slices.Sorted(slices.Values(names)), n, mostBytes)
}

// Nodes joins names in the same way, after the word node or nodes.
func Nodes(names []string) string {
	if len(names) == 1 {
		return "node " + names[0]
	}
	return "nodes " + Names(names)
}

// Fit joins the first ten names, in their order, or as many as take at most limit bytes, and always one; it counts the
// rest.
func Fit(names []string, limit int) string { return first(names, MostNames, limit) }

func first(names []string, n, limit int) string {
	n = min(n, len(names))
	for n > 1 && len(strings.Join(names[:n], ", ")) > limit {
		n--
	}
	return Some(names[:n], len(names))
}

// Some joins all of these names, of which there are total, and counts those that are left out.
func Some(names []string, total int) string {
	list := strings.Join(names, ", ")
	if more := total - len(names); more > 0 {
		return fmt.Sprintf("%s and %d more", list, more)
	}
	return list
}

// Count is a number of things: "1 node", "2 nodes".
func Count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// Cut makes a sentence valid UTF-8 of at most limit bytes, which are at least 3. An ellipsis stands for what it leaves
// out.
func Cut(sentence string, limit int) string {
	const ellipsis = "…"
	if len(sentence) <= limit {
		return strings.ToValidUTF8(sentence, "")
	}
	return Prefix(sentence, limit-len(ellipsis)) + ellipsis
}

// Prefix shortens a value, such as a boot id, to at most limit bytes, at the end of a character, and drops what is no
// UTF-8.
func Prefix(value string, limit int) string {
	if len(value) > limit {
		for limit > 0 && !utf8.RuneStart(value[limit]) {
			limit--
		}
		value = value[:limit]
	}
	return strings.ToValidUTF8(value, "")
}

// Shorten makes a message of at most limit bytes by leaving out of its middle, between two words: it begins with what
// is the matter and ends with what helps, such as a command, which is of no use in parts.
func Shorten(message string, limit int) string {
	const gap = " ..."
	if len(message) <= limit {
		return Cut(message, limit)
	}
	head := Prefix(message, limit/3)
	if i := strings.LastIndexByte(head, ' '); i > 0 {
		head = head[:i]
	}
	tail := message[len(message)-(limit-len(head)-len(gap)):]
	if i := strings.IndexByte(tail, ' '); i >= 0 {
		tail = tail[i:]
	}
	return head + gap + strings.ToValidUTF8(tail, "")
}
