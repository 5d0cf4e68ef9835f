package main

import "slices"

// object is one of JSON.
type object map[string]any

// source is whatever Prometheus is chosen at the top.
var source = object{"type": "prometheus", "uid": "${datasource}"}

// row is a heading with panels below it.
type row struct {
	title  string
	panels []panel
}

// panel is one picture. Its width is in 24ths of the page.
type panel struct {
	title, about  string
	kind          string
	width, height int
	queries       []query
	unit          string
	options       object
	custom        object
	mappings      []object
	steps         []object
	max           any
	overrides     []object
	transform     []object
}

// query in PromQL, and what its series are called. An instant one is of the end of the time alone.
type query struct {
	expr, legend string
	instant      bool
	table        bool
}

// layOut gives each panel its place: from left to right, and rows one below another.
func layOut(rows []row) []object {
	const whole = 24
	var all []object
	id, y := 1, 0
	for _, r := range rows {
		all = append(all, object{
			"id": id, "type": "row", "title": r.title, "collapsed": false, "panels": []object{},
			"gridPos": object{"h": 1, "w": whole, "x": 0, "y": y},
		})
		id++
		y++
		x, highest := 0, 0
		for _, p := range r.panels {
			if x+p.width > whole {
				x, y, highest = 0, y+highest, 0
			}
			o := p.object()
			o["id"], o["gridPos"] = id, object{"h": p.height, "w": p.width, "x": x, "y": y}
			all = append(all, o)
			id++
			x += p.width
			highest = max(highest, p.height)
		}
		y += highest
	}
	return all
}

func (p *panel) object() object {
	targets := make([]object, 0, len(p.queries))
	for i, q := range p.queries {
		t := object{"refId": string(rune('A' + i)), "datasource": source, "expr": q.expr, "range": !q.instant, "instant": q.instant}
		if q.legend != "" {
			t["legendFormat"] = q.legend
		}
		if q.table {
			t["format"] = "table"
		}
		targets = append(targets, t)
	}
	defaults := object{"unit": p.unit, "custom": p.custom, "mappings": p.mappings}
	if p.unit == "" {
		defaults["unit"] = "short"
	}
	if p.steps != nil {
		defaults["thresholds"] = object{"mode": "absolute", "steps": p.steps}
		defaults["color"] = object{"mode": "thresholds"}
	}
	if p.max != nil {
		defaults["min"], defaults["max"] = 0, p.max
	}
	o := object{
		"type": p.kind, "title": p.title, "description": p.about, "datasource": source, "targets": targets,
		"fieldConfig": object{"defaults": defaults, "overrides": p.overrides}, "options": p.options,
	}
	if p.transform != nil {
		o["transformations"] = p.transform
	}
	return o
}

// stat is one number.
func stat(title, about, expr, color string) panel {
	return panel{
		title: title, about: about, kind: "stat", width: 4, height: 4, queries: []query{{expr: expr, instant: true}},
		options: object{
			"colorMode": "value", "graphMode": "none", "reduceOptions": object{"calcs": []string{"lastNotNull"}},
		},
		steps: []object{{"value": nil, "color": "text"}, {"value": 1, "color": color}},
	}
}

// lines are values over time.
func lines(title, about, unit string, width int, queries ...query) panel {
	return panel{
		title: title, about: about, kind: "timeseries", width: width, height: 8, unit: unit, queries: queries,
		custom:  object{"lineWidth": 1, "fillOpacity": 5, "showPoints": "never"},
		options: object{"legend": object{"displayMode": "list", "placement": "bottom"}, "tooltip": object{"mode": "multi"}},
	}
}

// stacked are values over time, each upon the one before.
func stacked(title, about string, width int, colors []object, queries ...query) panel {
	p := lines(title, about, "", width, queries...)
	p.custom = object{"lineWidth": 0, "fillOpacity": 70, "showPoints": "never", "stacking": object{"mode": "normal"}}
	p.overrides = colors
	return p
}

// colors gives series of these names their colors.
func colors(pairs ...string) []object {
	var all []object
	for pair := range slices.Chunk(pairs, 2) {
		all = append(all, object{
			"matcher": object{"id": "byName", "options": pair[0]},
			"properties": []object{
				{"id": "color", "value": object{"mode": "fixed", "fixedColor": pair[1]}},
			},
		})
	}
	return all
}
