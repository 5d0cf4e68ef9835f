package tutorial

import (
	"regexp"
	"strings"
)

// Block is one fenced block of a page.
type Block struct {
	// Language is the word behind the fence.
	Language string
	Text     string
	// Line of the page on which the text begins.
	Line int
	// Yours says that the reader's own machine or cluster is made here, which tests do not need.
	Yours bool
}

// yours stands on the line above a block of commands that tests leave out.
const yours = "<!-- your machine -->"

// Blocks returns the blocks of a page.
func Blocks(page string) []Block {
	var blocks []Block
	var open *Block
	above := ""
	for i, line := range strings.Split(page, "\n") {
		fence, isFence := strings.CutPrefix(line, "```")
		switch {
		case isFence && open == nil:
			open = &Block{Language: fence, Line: i + 2, Yours: above == yours}
		case isFence:
			blocks = append(blocks, *open)
			open = nil
		case open != nil:
			open.Text += line + "\n"
		}
		above = line
	}
	return blocks
}

// elision stands in a block for output that is not shown: alone on a line for any lines, at the end of one for its rest.
const elision = "…"

// shows says whether an output is what a block shows of it.
func shows(shown, output string) bool {
	var pattern strings.Builder
	pattern.WriteString("^")
	for line := range strings.Lines(shown) {
		line = strings.TrimSuffix(line, "\n")
		start, elided := strings.CutSuffix(line, elision)
		switch {
		case line == elision:
			pattern.WriteString(`(?:.*\n)*?`)
		case elided:
			pattern.WriteString(regexp.QuoteMeta(start) + `.*\n`)
		default:
			pattern.WriteString(regexp.QuoteMeta(line) + `\n`)
		}
	}
	pattern.WriteString("$")
	return regexp.MustCompile(pattern.String()).MatchString(output)
}
