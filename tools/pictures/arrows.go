package main

import (
	"fmt"
	"math"
	"strings"
)

// arrow draws a line from the edge of a box, through points, to the edge of another; the text stands beside it, on the
// picture's background.
func (c *canvas) arrow(from, to rectangle, a arrow) {
	var through []point
	for _, p := range a.Through {
		through = append(through, point{c.x(p[0]), c.y(p[1])})
	}
	first, last := to.middle(), from.middle()
	if len(through) > 0 {
		first, last = through[0], through[len(through)-1]
	}
	path := append([]point{from.edge(first)}, through...)
	path = append(path, to.edge(last))
	var d strings.Builder
	for i, p := range path {
		fmt.Fprintf(&d, "%c%s,%s", "ML"[min(i, 1)], px(p[0]), px(p[1]))
	}
	fmt.Fprintf(&c.shapes, `<path class="%s" d="%s" marker-end="url(#tip)"/>`+"\n", c.look(a.Look), d.String())
	if a.Text == "" {
		return
	}
	at := longest(path)
	if a.Label != (point{}) {
		at = point{c.x(a.Label[0]), c.y(a.Label[1])}
	}
	lines := strings.Split(a.Text, "\n")
	wide := 0.0
	for _, line := range lines {
		wide = max(wide, width(line, false))
	}
	top := at[1] - float64(len(lines)*lineHeight)/2
	fmt.Fprintf(&c.shapes, `<rect class="page" x="%s" y="%s" width="%s" height="%s"/>`+"\n",
		px(at[0]-wide/2-3), px(top), px(wide+6), px(float64(len(lines)*lineHeight)))
	c.text(lines, at[0], top+textSize, "middle", c.whole())
}

func (r rectangle) middle() point { return point{(r.left + r.right) / 2, (r.top + r.bottom) / 2} }

// edge is where a line towards p leaves the rectangle: straight, if p is beside or above one of its sides.
func (r rectangle) edge(p point) point {
	m := r.middle()
	x, y := min(max(p[0], r.left), r.right), min(max(p[1], r.top), r.bottom)
	switch {
	case p[0] > r.left && p[0] < r.right && p[1] < r.top:
		return point{p[0], r.top}
	case p[0] > r.left && p[0] < r.right && p[1] > r.bottom:
		return point{p[0], r.bottom}
	case p[1] > r.top && p[1] < r.bottom:
		return point{x, p[1]}
	case math.Abs(p[0]-m[0])*(r.bottom-r.top) > math.Abs(p[1]-m[1])*(r.right-r.left):
		return point{x, m[1]}
	}
	return point{m[0], y}
}

// longest is the middle of the longest part of a path.
func longest(path []point) point {
	var at point
	far := -1.0
	for i := range len(path) - 1 {
		a, b := path[i], path[i+1]
		if length := math.Hypot(b[0]-a[0], b[1]-a[1]); length > far {
			far, at = length, point{(a[0] + b[0]) / 2, (a[1] + b[1]) / 2}
		}
	}
	return at
}
