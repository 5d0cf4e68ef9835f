package steplog

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

var (
	// Of bash and of dash: 'it'\''s', 'it'"'"'s'.
	inQuotes      = strings.NewReplacer(`'`, `'\''`)
	inOtherQuotes = strings.NewReplacer(`'`, `'"'"'`)
	// As export -p and declare -p print values.
	inDoubleQuotes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`, "`", "\\`")
)

// shellForms are a text as it is, and in the forms in which shells print it
// when they trace commands and list variables, without the quotes around it.
func shellForms(text string) []string {
	return []string{
		text, inQuotes.Replace(text), inOtherQuotes.Replace(text), inDoubleQuotes.Replace(text),
		inANSIQuotes(text, utf8.RuneSelf), inANSIQuotes(text, 0x100),
		backslashed(text, ""), backslashed(text, wordCharacters), backslashedBytes(text),
	}
}

// ansiNames are the control characters that have a letter in $'...' of bash.
var ansiNames = map[byte]string{
	'\a': `\a`, '\b': `\b`, 0x1b: `\E`, '\f': `\f`, '\r': `\r`, '\t': `\t`, '\v': `\v`, '\\': `\\`, '\'': `\'`,
}

// inANSIQuotes is the form of $'...'. Bytes from limit on are numbers there,
// which depends on the locale of the shell.
func inANSIQuotes(text string, limit int) string {
	var b strings.Builder
	for i := range len(text) {
		c := text[i]
		switch name := ansiNames[c]; {
		case name != "":
			b.WriteString(name)
		case c < ' ' || c == 0x7f || int(c) >= limit:
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// wordCharacters are those that printf %q of bash leaves as they are.
const wordCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:@%~#"

// backslashed has a backslash before each character but some: so bash traces
// what [[ compares with, and prints what printf %q quotes.
func backslashed(text, but string) string {
	var b strings.Builder
	for rest := text; rest != ""; {
		r, size := utf8.DecodeRuneInString(rest)
		if !strings.ContainsRune(but, r) && (but == "" || r < utf8.RuneSelf) {
			b.WriteByte('\\')
		}
		b.WriteString(rest[:size])
		rest = rest[size:]
	}
	return b.String()
}

// backslashedBytes is the same for a shell to which each byte is a character.
func backslashedBytes(text string) string {
	b := make([]byte, 0, 2*len(text))
	for i := range len(text) {
		b = append(b, '\\', text[i])
	}
	return string(b)
}
