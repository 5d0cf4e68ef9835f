package main

import (
	"bytes"
	"fmt"
	"html"
	"image/color"
	"math"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// picture is a diagram with nodes below and both axes logarithmic, so that what grows with the fleet is a line of the
// same slope everywhere.
type picture struct {
	title, unit string
	lines       []line
}

// line is what one world needed at its sizes.
type line struct {
	name, world string
	// dashes tell lines of one world apart.
	dashes int
	points []point
}

// Sizes of a picture.
const (
	pictureWidth  = vg.Length(720)
	pictureHeight = vg.Length(400)
	legendWidth   = vg.Length(150)
	margin        = vg.Length(12)
)

// The font by which texts are measured, and those that have the same widths, as no page has it for sure.
const (
	measuredFont = "font-family:Liberation Sans"
	shownFonts   = "font-family:'Liberation Sans',Arial,Helvetica,sans-serif"
)

// colours of the worlds, in their order: those of Okabe and Ito, which most people can tell apart.
var colours = []color.RGBA{
	{0x00, 0x72, 0xb2, 0xff},
	{0xd5, 0x5e, 0x00, 0xff},
	{0x00, 0x9e, 0x73, 0xff},
	{0xcc, 0x79, 0xa7, 0xff},
	{0xe6, 0x9f, 0x00, 0xff},
	{0x56, 0xb4, 0xe9, 0xff},
	{0x40, 0x40, 0x40, 0xff},
}

// dashes in the order of the phases.
var dashes = [][]vg.Length{nil, {6, 3}, {2, 3}, {4, 2}, {8, 3, 2, 3}}

// draw makes an SVG. It has a background of its own, and so is the same on light and on dark pages.
func (p picture) draw() ([]byte, error) {
	if len(p.lines) == 0 { // axes without an end would get ticks without end
		return nil, fmt.Errorf("draw %q: the reports have no result with %d packages", p.title, pictured)
	}
	diagram := plot.New()
	legend := plot.NewLegend()
	legend.Top, legend.Left, legend.YPosition = true, true, 0
	legend.Padding, legend.ThumbnailWidth = vg.Length(4), vg.Length(30)
	sans := font.Font{Typeface: "Liberation", Variant: "Sans"}
	for _, style := range []*draw.TextStyle{
		&diagram.X.Label.TextStyle, &diagram.Y.Label.TextStyle, &diagram.X.Tick.Label, &diagram.Y.Tick.Label,
		&legend.TextStyle,
	} {
		style.Font = font.From(sans, 11)
	}
	diagram.X.Label.Text, diagram.Y.Label.Text = "nodes", p.unit
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = color.Gray{0xcc}, color.Gray{0xcc}
	diagram.Add(grid)
	for _, l := range p.lines {
		if err := l.add(diagram, &legend); err != nil {
			return nil, fmt.Errorf("draw %s of %q: %w", l.name, p.title, err)
		}
	}
	for _, axis := range []*plot.Axis{&diagram.X, &diagram.Y} {
		axis.Min, axis.Max = axis.Min/1.15, axis.Max*1.15
		axis.Scale, axis.Tick.Marker = plot.LogScale{}, plot.TickerFunc(ticks125)
	}
	canvas := vgsvg.New(pictureWidth, pictureHeight)
	all := draw.New(canvas)
	all.FillPolygon(color.White, []vg.Point{
		all.Min, {X: all.Max.X, Y: all.Min.Y}, all.Max, {X: all.Min.X, Y: all.Max.Y},
	})
	diagram.Draw(draw.Crop(all, margin, -legendWidth-margin, margin, -margin))
	legend.Draw(draw.Crop(all, pictureWidth-legendWidth, 0, margin, -margin))
	var out bytes.Buffer
	if _, err := canvas.WriteTo(&out); err != nil {
		return nil, fmt.Errorf("draw %q: %w", p.title, err)
	}
	text := strings.ReplaceAll(out.String(), measuredFont, shownFonts)
	head, body, found := strings.Cut(text, "<g ")
	if !found {
		return nil, fmt.Errorf("draw %q: the drawing is empty", p.title)
	}
	return []byte(head + "<title>" + html.EscapeString(p.title) + "</title>\n<g " + body), nil
}

func (l line) add(diagram *plot.Plot, legend *plot.Legend) error {
	var points plotter.XYs
	for _, at := range l.points {
		points = append(points, plotter.XY{X: at.x, Y: at.y})
	}
	drawn, dots, err := plotter.NewLinePoints(points)
	if err != nil {
		return err
	}
	colour := colourOf(l.world)
	drawn.Color, drawn.Width, drawn.Dashes = colour, vg.Length(1.5), dashes[l.dashes]
	dots.Color, dots.Shape, dots.Radius = colour, draw.CircleGlyph{}, vg.Length(2.5)
	diagram.Add(drawn, dots)
	legend.Add(l.name, drawn, dots)
	return nil
}

func colourOf(world string) color.RGBA {
	for i, name := range worldOrder {
		if name == world {
			return colours[i]
		}
	}
	return color.RGBA{A: 0xff}
}

// ticks125 are 1, 2 and 5 times each power of ten within the ends of an axis.
func ticks125(least, most float64) []plot.Tick {
	var all []plot.Tick
	for power := math.Pow10(int(math.Floor(math.Log10(least)))); power <= most; power *= 10 {
		for _, digit := range []float64{1, 2, 5} {
			if at := digit * power; at >= least && at <= most {
				all = append(all, plot.Tick{Value: at, Label: short(at)})
			}
		}
	}
	return all
}

// described says what a picture shows, for those who do not see it.
func (p picture) described() string {
	var all []string
	for _, l := range p.lines {
		first, last := l.points[0], l.points[len(l.points)-1]
		text := fmt.Sprintf("%s %s at %s nodes", l.name, short(first.y), short(first.x))
		if len(l.points) > 1 {
			text += fmt.Sprintf(" to %s at %s", short(last.y), short(last.x))
		}
		all = append(all, text)
	}
	return fmt.Sprintf("%s, %s: %s.", p.title, p.unit, strings.Join(all, "; "))
}
