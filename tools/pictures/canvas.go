package main

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/font/liberation"
)

// canvas is the drawing as it grows.
type canvas struct {
	grid, origin, size point
	shapes, words      strings.Builder
	problems           []error
	// taken are the places of texts, of which none may cover another.
	taken []rectangle
}

// rectangle is in pixels.
type rectangle struct{ left, top, right, bottom float64 }

const (
	textSize   = 13
	lineHeight = 17
)

// style follows the reader's theme. The colours of both have a contrast of 4.5 and more against their background.
const style = `text{font:13px 'Liberation Sans',Arial,Helvetica,sans-serif;fill:var(--t)}
.bold{font-weight:700}.quiet{fill:var(--q)}.middle,.c{text-anchor:middle}
rect,path{stroke-width:1.4}
rect{fill:var(--p);stroke:var(--l)}.page{stroke:none}
path{fill:none;stroke:var(--q)}path.bad{stroke:var(--be)}path.dashed,rect.dashed{stroke-dasharray:5 4}.tip{fill:var(--q);stroke:none}
rect.frame{fill:var(--f)}rect.note{stroke:none;fill:var(--f)}rect.start{fill:var(--f);stroke:var(--q)}
rect.good{fill:var(--g);stroke:var(--ge)}rect.bad{fill:var(--b);stroke:var(--be)}
rect.busy{fill:var(--i);stroke:var(--ie)}rect.wait{fill:var(--w);stroke:var(--we)}
svg{--p:#fff;--t:#1f2328;--q:#59636e;--l:#8c959f;--f:#f3f5f7;--g:#dafbe1;--ge:#1a7f37;--b:#ffebe9;--be:#cf222e;--i:#ddf4ff;--ie:#0969da;--w:#fff8c5;--we:#9a6700}
@media(prefers-color-scheme:dark){svg{--p:#0d1117;--t:#e6edf3;--q:#9198a1;--l:#656c76;--f:#1a212a;--g:#12361f;--ge:#3fb950;--b:#4a1618;--be:#ff7b72;--i:#0c2d5b;--ie:#58a6ff;--w:#3d2e00;--we:#d29922}}
`

func (c *canvas) x(cell float64) float64 { return c.origin[0] + cell*c.grid[0] }

func (c *canvas) y(cell float64) float64 { return c.origin[1] + cell*c.grid[1] }

// around is a rectangle around a middle in cells; its size is in pixels.
func (c *canvas) around(at, size point) rectangle {
	x, y := c.x(at[0]), c.y(at[1])
	return rectangle{x - size[0]/2, y - size[1]/2, x + size[0]/2, y + size[1]/2}
}

func (c *canvas) rect(r rectangle, look string) {
	if r.left < 0 || r.top < 0 || r.right > c.size[0] || r.bottom > c.size[1] {
		c.fail("%v is outside of the picture", r)
	}
	fmt.Fprintf(&c.shapes, `<rect class="%s" x="%s" y="%s" width="%s" height="%s" rx="5"/>`+"\n",
		c.look(look), px(r.left), px(r.top), px(r.right-r.left), px(r.bottom-r.top))
}

func (c *canvas) box(r rectangle, b box) {
	c.rect(r, b.Look)
	lines := strings.Split(b.Text, "\n")
	if b.Look == "frame" { // others are inside
		c.text(lines, r.left+10, r.top+lineHeight+2, "bold", r)
		return
	}
	middle := (r.top + r.bottom - float64(len(lines)*lineHeight)) / 2
	c.text(lines, (r.left+r.right)/2, middle+textSize, "c", r)
}

// text writes lines below each other, the first with its baseline at y. It must fit into a rectangle.
func (c *canvas) text(lines []string, x, y float64, look string, into rectangle) {
	if len(lines) == 1 && lines[0] == "" {
		return
	}
	for i, line := range lines {
		wide, at := width(line, look == "bold"), y+float64(i*lineHeight)
		place := rectangle{x, at - textSize + 2, x + wide, at + 3}
		if look == "c" || look == "middle" {
			place.left, place.right = x-wide/2, x+wide/2
		}
		if place.left < into.left+2 || place.right > into.right-2 || place.top < into.top || place.bottom > into.bottom {
			c.fail("%q does not fit: it needs %.0f to %.0f of %.0f to %.0f, %.0f to %.0f of %.0f to %.0f", line, place.left, place.right,
				into.left, into.right, place.top, place.bottom, into.top, into.bottom)
		}
		if i := slices.IndexFunc(c.taken, place.covers); i >= 0 {
			c.fail("%q covers another text, at %.0f, %.0f", line, place.left, place.top)
		}
		c.taken = append(c.taken, place)
		fmt.Fprintf(&c.words, `<text class="%s" x="%s" y="%s">%s</text>`+"\n", look, px(x), px(at), html.EscapeString(line))
	}
}

func (r rectangle) covers(other rectangle) bool {
	return r.left < other.right && other.left < r.right && r.top < other.bottom && other.top < r.bottom
}

// whole is the picture.
func (c *canvas) whole() rectangle { return rectangle{0, 0, c.size[0], c.size[1]} }

func (c *canvas) label(l label) {
	look := c.look(l.Look)
	c.text(strings.Split(l.Text, "\n"), c.x(l.At[0]), c.y(l.At[1])+4, look, c.whole())
}

func (c *canvas) lane(l lane) {
	lines := strings.Split(l.Text, "\n")
	top := c.y(l.Row) - float64((len(lines)-1)*lineHeight)/2
	c.text(lines, 12, top+4, "quiet", rectangle{0, 0, c.x(0), c.size[1]})
	bars := slices.Clone(l.Bars)
	for i, letter := range l.Cells {
		if cells[letter] == "" {
			c.fail("no cell %q", letter)
		}
		bars = append(bars, bar{From: float64(i), To: float64(i + 1), Look: cells[letter]})
	}
	for _, b := range bars {
		r := rectangle{c.x(b.From) + 1, c.y(l.Row) - 14, c.x(b.To) - 1, c.y(l.Row) + 14}
		c.box(r, box{Text: b.Text, Look: b.Look})
	}
}

func (c *canvas) mark(m mark) {
	x := c.x(m.At)
	fmt.Fprintf(&c.shapes, `<path class="dashed" d="M%s,%sV%s"/>`+"\n", px(x), px(c.y(m.Rows[0])), px(c.y(m.Rows[1])))
	lines := strings.Split(m.Text, "\n")
	c.text(lines, x, c.y(m.Rows[0])-6-float64((len(lines)-1)*lineHeight), "middle", c.whole())
}

func (c *canvas) svg(title string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]s %[2]s" width="%[1]s" height="%[2]s" role="img">`+"\n",
		px(c.size[0]), px(c.size[1]))
	fmt.Fprintf(&b, "<title>%s</title>\n<style>\n%s</style>\n", html.EscapeString(title), style)
	fmt.Fprintf(&b, `<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">`+
		`<path class="tip" d="M0,0L8,4L0,8z"/></marker></defs>`+"\n")
	fmt.Fprintf(&b, `<rect class="page" width="%s" height="%s"/>`+"\n", px(c.size[0]), px(c.size[1]))
	b.WriteString(c.shapes.String() + c.words.String() + "</svg>\n")
	return []byte(b.String())
}

var fonts = font.NewCache(liberation.Collection())

// width of a text, in pixels.
func width(text string, bold bool) float64 {
	f := font.Font{Typeface: "Liberation", Variant: "Sans"}
	if bold {
		f.Weight = 2 // of golang.org/x/image/font
	}
	face := fonts.Lookup(f, textSize)
	return float64(face.Width(text))
}

// px is a number as SVG has it, short.
func px(n float64) string { return strconv.FormatFloat(math.Round(n*10)/10, 'f', -1, 64) }
