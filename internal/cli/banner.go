package cli

import (
	"bufio"
	"io"
	"strings"
)

// agents of this API begin a stage with what they are set to, between two lines of dashes, under headings such as
// bannerMark.
const (
	bannerRule  = "--------------------\n"
	bannerMark  = "CLI CONFIGURATION"
	bannerLines = 40
)

// withoutBanner leaves out what the agent says of its settings, which tells nothing of a package.
func withoutBanner(r io.Reader) io.Reader {
	b := bufio.NewReader(r)
	var head strings.Builder
	for range bannerLines {
		line, err := b.ReadString('\n')
		first := head.Len() == 0
		head.WriteString(line)
		switch {
		case err != nil, first && line != bannerRule:
			return io.MultiReader(strings.NewReader(head.String()), b)
		case !first && line == bannerRule && strings.Contains(head.String(), bannerMark):
			return b
		}
	}
	return io.MultiReader(strings.NewReader(head.String()), b)
}
