package text

import (
	"bytes"
	"path"
	"strings"
)

// FixLineEnds says what to do about a [CarriageReturn].
const FixLineEnds = `end lines with LF alone (dos2unix; in .gitattributes: *.sh text eol=lf); ` +
	`where a text needs a CR, write it as in printf 'text\r\n'`

// CarriageReturn is the number of the first line of a script, by its name and
// content, that ends with a carriage return; 0 for none. A kernel takes it for
// part of the interpreter's name, and a shell for part of the last word, so that
// a step "succeeds" with files whose names end with it. Other interpreters read
// such lines well, except for their #! line.
func CarriageReturn(name string, content []byte) int {
	first, _, _ := bytes.Cut(content, []byte("\n"))
	if !isScript(name, content) {
		return 0
	}
	if bytes.HasPrefix(first, []byte("#!")) && bytes.ContainsRune(first, '\r') {
		return 1
	}
	if !isShell(first) {
		return 0
	}
	number := 0
	for line := range bytes.SplitSeq(content, []byte("\n")) {
		number++
		if bytes.HasSuffix(line, []byte("\r")) {
			return number
		}
	}
	return 0
}

// isScript says whether a file is one, by its #! line or its name.
func isScript(name string, content []byte) bool {
	return bytes.HasPrefix(content, []byte("#!")) || path.Ext(name) == ".sh" && !bytes.HasPrefix(content, []byte("\x7fELF"))
}

// isShell says whether a script with this first line is a shell's; also one
// without a #! line, which shells source.
func isShell(first []byte) bool {
	words, found := bytes.CutPrefix(first, []byte("#!"))
	if !found {
		return true
	}
	for word := range bytes.FieldsSeq(words) {
		if strings.HasSuffix(path.Base(string(word)), "sh") {
			return true
		}
	}
	return false
}
