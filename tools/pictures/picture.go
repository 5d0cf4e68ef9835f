package main

import (
	"errors"
	"fmt"
	"slices"
)

// picture is what a source says.
type picture struct {
	// Title is read to those who do not see the picture.
	Title string `json:"title"`
	Size  point  `json:"size"`
	// Grid is the size of one cell, and Origin the middle of the first.
	Grid   point `json:"grid"`
	Origin point `json:"origin"`
	// Box is the size of boxes that have none of their own.
	Box    point   `json:"box"`
	Boxes  []box   `json:"boxes"`
	Arrows []arrow `json:"arrows"`
	Lanes  []lane  `json:"lanes"`
	Marks  []mark  `json:"marks"`
	Texts  []label `json:"texts"`
}

// point is two numbers, in pixels or cells.
type point [2]float64

// box is a rectangle with lines of text around the middle At, in cells; a frame has its text at the top.
type box struct {
	ID   string `json:"id"`
	At   point  `json:"at"`
	Size point  `json:"size"`
	Text string `json:"text"`
	Look string `json:"look"`
}

// arrow leads from the edge of a box to that of another, through points in cells.
type arrow struct {
	From    string  `json:"from"`
	To      string  `json:"to"`
	Through []point `json:"through"`
	Text    string  `json:"text"`
	// Label is where the text is, in cells; without it, in the middle of the longest part.
	Label point  `json:"label"`
	Look  string `json:"look"`
}

// lane is a row of bars; Row is its place. Cells are bars of one cell without text: g is good, b is bad, w waits.
type lane struct {
	Row   float64 `json:"row"`
	Text  string  `json:"text"`
	Bars  []bar   `json:"bars"`
	Cells string  `json:"cells"`
}

type bar struct {
	From float64 `json:"from"`
	To   float64 `json:"to"`
	Text string  `json:"text"`
	Look string  `json:"look"`
}

// mark is a line through rows, with a text above.
type mark struct {
	At   float64 `json:"at"`
	Rows point   `json:"rows"`
	Text string  `json:"text"`
}

// label is text by itself, from At in cells to the right.
type label struct {
	At   point  `json:"at"`
	Text string `json:"text"`
	Look string `json:"look"`
}

// looks are the classes of the style below.
var looks = []string{"", "frame", "start", "good", "bad", "busy", "wait", "note", "dashed", "bold", "quiet", "middle"}

var cells = map[rune]string{'g': "good", 'b': "bad", 'w': "wait"}

// draw makes the SVG.
func (p picture) draw() ([]byte, error) {
	c := &canvas{grid: p.Grid, origin: p.Origin, size: p.Size}
	boxes := map[string]rectangle{}
	for _, b := range p.Boxes {
		if b.Size == (point{}) {
			b.Size = p.Box
		}
		r := c.around(b.At, b.Size)
		if b.ID != "" {
			boxes[b.ID] = r
		}
		c.box(r, b)
	}
	for _, a := range p.Arrows {
		from, ok := boxes[a.From]
		to, too := boxes[a.To]
		if !ok || !too {
			c.fail("an arrow from %q to %q: no such box", a.From, a.To)
			continue
		}
		c.arrow(from, to, a)
	}
	for _, m := range p.Marks {
		c.mark(m)
	}
	for _, l := range p.Lanes {
		c.lane(l)
	}
	for _, l := range p.Texts {
		c.label(l)
	}
	if p.Title == "" {
		c.fail("no title")
	}
	return c.svg(p.Title), errors.Join(c.problems...)
}

func (c *canvas) look(name string) string {
	if !slices.Contains(looks, name) {
		c.fail("no look %q", name)
	}
	return name
}

func (c *canvas) fail(format string, args ...any) {
	c.problems = append(c.problems, fmt.Errorf(format, args...))
}
