package main

import (
	"fmt"
	"html"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/cellbuf"
)

// Sizes in pixels.
const (
	cellWidth, lineHeight = 8.4, 20
	padding, bar          = 18, 38
	screenWidth           = columns*cellWidth + 2*padding
	screenHeight          = rows*lineHeight + bar + padding
	// baseline is that of a text in its line; blocks are lower than the line, so that there is room between bars.
	baseline, blockTop, blockHeight = 15, 4, 13
)

// blocks are drawn, and not left to fonts, which have gaps between them; with the class of each.
var blocks = map[rune]string{'█': "k", '▓': "k", '▒': "k m", '░': "k l"}

// style is all that has to do with looks: it needs no font from elsewhere, is readable on light and on dark pages, and
// has the terminal's colours by their numbers.
const style = `text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#e6edf3;white-space:pre}
.b{font-weight:700}.f{opacity:.6}.k{fill:#e6edf3}.m{opacity:.6}.l{opacity:.18}
.c1{fill:#ff7b72}.c2{fill:#3fb950}.c3{fill:#d29922}.c6{fill:#4cc2ff}
`

// picture is an SVG that shows the frames one after the other, again and again: side by side on a strip that jumps.
func picture(frames []frame) string {
	frames = merged(frames)
	var b, strip strings.Builder
	lines := map[string]int{}
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]s %[2]s" width="%[1]s" height="%[2]s" role="img">`+"\n",
		px(screenWidth), px(screenHeight))
	fmt.Fprintf(&b, "<title>%s</title>\n<style>\n%s%s</style>\n", html.EscapeString(command), style, animation(frames))
	b.WriteString("<defs>\n")
	for i, f := range frames {
		fmt.Fprintf(&strip, `<g transform="translate(%s)">`, px(float64(i)*screenWidth))
		for y, line := range render(f.text) {
			if line == "" {
				continue
			}
			id, known := lines[line]
			if !known {
				id = len(lines)
				lines[line] = id
				fmt.Fprintf(&b, `<g id="l%d">%s</g>`+"\n", id, line)
			}
			fmt.Fprintf(&strip, `<use href="#l%d" y="%d"/>`, id, y*lineHeight)
		}
		strip.WriteString("</g>\n")
	}
	fmt.Fprintf(&b, "</defs>\n%s<svg x=\"%d\" y=\"%d\" width=\"%s\" height=\"%d\">\n<g class=\"s\">\n%s</g>\n</svg>\n</svg>\n",
		window(), padding, bar, px(columns*cellWidth), rows*lineHeight, strip.String())
	return b.String()
}

// merged makes one of frames that follow each other and look the same.
func merged(frames []frame) []frame {
	var out []frame
	for _, f := range frames {
		if last := len(out) - 1; last >= 0 && out[last].text == f.text {
			out[last].time += f.time
			continue
		}
		out = append(out, f)
	}
	return out
}

// animation jumps from frame to frame. Without it the strip shows the last one.
func animation(frames []frame) string {
	var total, at time.Duration
	for _, f := range frames {
		total += f.time
	}
	var b strings.Builder
	fmt.Fprintf(&b, ".s{transform:translateX(%spx);animation:s %ss steps(1,end) infinite}\n@keyframes s{\n",
		px(float64(1-len(frames))*screenWidth), px(total.Seconds()))
	for i, f := range frames {
		fmt.Fprintf(&b, "%s%%{transform:translateX(%spx)}\n", px(100*at.Seconds()/total.Seconds()), px(float64(-i)*screenWidth))
		at += f.time
	}
	b.WriteString("}\n@media(prefers-reduced-motion:reduce){.s{animation:none}}\n")
	return b.String()
}

// window is what is around the screen.
func window() string {
	var b strings.Builder
	fmt.Fprintf(&b, `<rect x=".5" y=".5" width="%s" height="%s" rx="10" fill="#0d1117" stroke="#3d444d"/>`+"\n",
		px(screenWidth-1), px(screenHeight-1))
	for i, colour := range []string{"#ff5f57", "#febc2e", "#28c840"} {
		fmt.Fprintf(&b, `<circle cx="%d" cy="18" r="6" fill="%s"/>`, 22+20*i, colour)
	}
	fmt.Fprintf(&b, "\n"+`<text x="%s" y="22" text-anchor="middle" class="f">%s</text>`+"\n", px(screenWidth/2), "kubectl skyhook")
	return b.String()
}

// render makes SVG of each line of a screen.
func render(screen string) []string {
	cells := cellbuf.NewBuffer(columns, rows)
	cellbuf.SetContent(cells, screen)
	out := make([]string, rows)
	for y := range rows {
		var b strings.Builder
		for from := 0; from < columns; {
			to := run(cells, y, from)
			draw(&b, cells, y, from, to)
			from = to
		}
		out[y] = b.String()
	}
	return out
}

// run is where cells end that are drawn as one: texts of one style, or one block.
func run(cells *cellbuf.Buffer, y, from int) int {
	first := cells.Cell(from, y)
	_, block := blocks[first.Rune]
	for x := from + 1; x < columns; x++ {
		c := cells.Cell(x, y)
		_, other := blocks[c.Rune]
		if !c.Style.Equal(&first.Style) || block != other || block && c.Rune != first.Rune {
			return x
		}
	}
	return columns
}

func draw(b *strings.Builder, cells *cellbuf.Buffer, y, from, to int) {
	first := cells.Cell(from, y)
	look := ""
	if colour, ok := first.Style.Fg.(ansi.BasicColor); ok {
		look = fmt.Sprintf(" c%d", colour)
	}
	if block, ok := blocks[first.Rune]; ok {
		fmt.Fprintf(b, `<rect class="%s" x="%s" y="%d" width="%s" height="%d"/>`,
			block+look, px(float64(from)*cellWidth), blockTop, px(float64(to-from)*cellWidth), blockHeight)
		return
	}
	if first.Style.Attrs&cellbuf.BoldAttr != 0 {
		look += " b"
	}
	if first.Style.Attrs&cellbuf.FaintAttr != 0 {
		look += " f"
	}
	if look != "" {
		look = ` class="` + look[1:] + `"`
	}
	var text strings.Builder
	for x := from; x < to; x++ {
		text.WriteString(cells.Cell(x, y).String())
	}
	for _, at := range words.FindAllStringIndex(text.String(), -1) {
		word := text.String()[at[0]:at[1]]
		x := from + ansi.StringWidth(text.String()[:at[0]])
		fmt.Fprintf(b, `<text%s x="%s" y="%d" textLength="%s">%s</text>`, look,
			px(float64(x)*cellWidth), baseline, px(float64(ansi.StringWidth(word))*cellWidth), html.EscapeString(word))
	}
}

// words are texts without gaps between them: what is aligned stays so in any font.
var words = regexp.MustCompile(`\S+( \S+)*`)

// px is a number as SVG has it, short.
func px(n float64) string { return strconv.FormatFloat(math.Round(n*100)/100, 'f', -1, 64) }
