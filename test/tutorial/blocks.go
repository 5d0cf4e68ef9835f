package tutorial

import (
	"fmt"
	"regexp"
	"strings"
)

// block is one fenced block of a page.
type block struct {
	// language is the word behind the fence.
	language string
	text     string
	// line of the page on which the text begins.
	line int
}

// section returns the blocks of a page below the heading, up to the next of
// the same level.
func section(page, heading string) ([]block, error) {
	var blocks []block
	var open *block
	inside := false
	for i, line := range strings.Split(page, "\n") {
		fence, isFence := strings.CutPrefix(line, "```")
		switch {
		case isFence && open == nil:
			open = &block{language: fence, line: i + 2}
		case isFence:
			if inside {
				blocks = append(blocks, *open)
			}
			open = nil
		case open != nil:
			open.text += line + "\n"
		case strings.HasPrefix(line, "## "):
			inside = line == "## "+heading
		}
	}
	if len(blocks) == 0 {
		return nil, fmt.Errorf("the page has no blocks below %q", heading)
	}
	return blocks, nil
}

// elision stands in a block for output that is not shown: alone on a line for
// any lines, at the end of one for its rest.
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
