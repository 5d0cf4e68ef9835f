package main

import (
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

//go:embed ranges.yaml
var rangesFile []byte

// Ranges are what figures have to be within.
type Ranges struct {
	// Results by name, world/phase/size, and figure. Sizes that were not run are not checked.
	Results map[string]map[string]Range `json:"results"`
	// Ratios hold on every machine.
	Ratios []Ratio `json:"ratios"`
}

// Range is closed; an end that is missing is open.
type Range struct {
	Min *float64 `json:"min,omitempty"`
	Max *float64 `json:"max,omitempty"`
}

// Ratio is how many times more a figure of one size may be than that of another.
type Ratio struct {
	World  string `json:"world"`
	Phase  Phase  `json:"phase"`
	Figure string `json:"figure"`
	// Of is divided by To; both are sizes.
	Of string `json:"of"`
	To string `json:"to"`
	Range
}

func readRanges(text []byte) (Ranges, error) {
	var r Ranges
	if err := yaml.UnmarshalStrict(text, &r); err != nil {
		return r, fmt.Errorf("read ranges.yaml: %w", err)
	}
	for name, ranges := range r.Results {
		world, rest, _ := strings.Cut(name, "/")
		phase, size, _ := strings.Cut(rest, "/")
		if err := isResult(world, phase, size); err != nil {
			return r, fmt.Errorf("ranges.yaml: %s: %w", name, err)
		}
		for figure := range ranges {
			if !isFigure(figure) {
				return r, fmt.Errorf("ranges.yaml: %s: there is no figure %s", name, figure)
			}
		}
	}
	for _, ratio := range r.Ratios {
		if !isFigure(ratio.Figure) {
			return r, fmt.Errorf("ranges.yaml: there is no figure %s", ratio.Figure)
		}
		if err := errors.Join(isResult(ratio.World, string(ratio.Phase), ratio.Of), isResult(ratio.World, string(ratio.Phase), ratio.To)); err != nil {
			return r, fmt.Errorf("ranges.yaml: ratio of %s: %w", ratio.Figure, err)
		}
	}
	return r, nil
}

// isResult refuses what no run can have, and what would therefore never be checked.
func isResult(world, phase, size string) error {
	_, errPhase := choosePhases(phase)
	_, s, errSize := parseRun(world + ":" + size)
	if errSize == nil && s.String() != size {
		errSize = fmt.Errorf("size %q must be written %s", size, s)
	}
	return errors.Join(errPhase, errSize)
}

func isFigure(name string) bool {
	return slices.ContainsFunc(figures, func(f figure) bool { return f.Name == name })
}

// untimed are the ranges and ratios that hold whatever else the machine has to do.
func (r Ranges) untimed() Ranges {
	timed := map[string]bool{}
	for _, f := range figures {
		timed[f.Name] = f.timed()
	}
	kept := Ranges{Results: map[string]map[string]Range{}}
	for name, ranges := range r.Results {
		kept.Results[name] = maps.Clone(ranges)
		maps.DeleteFunc(kept.Results[name], func(figure string, _ Range) bool { return timed[figure] })
	}
	for _, ratio := range r.Ratios {
		if !timed[ratio.Figure] {
			kept.Ratios = append(kept.Ratios, ratio)
		}
	}
	return kept
}

func (r Range) has(v float64) bool {
	return !math.IsNaN(v) && (r.Min == nil || v >= *r.Min) && (r.Max == nil || v <= *r.Max)
}

func (r Range) String() string {
	switch {
	case r.Min == nil && r.Max == nil:
		return "anything"
	case r.Min == nil:
		return fmt.Sprintf("at most %.4g", *r.Max)
	case r.Max == nil:
		return fmt.Sprintf("at least %.4g", *r.Min)
	}
	return fmt.Sprintf("%.4g to %.4g", *r.Min, *r.Max)
}

// missed is a figure outside of its range.
type missed struct {
	// Result that it belongs to, for its profiles.
	Result Result
	Text   string
}

// check returns what is outside of the ranges. A figure that has a range and was not measured is, too. Ratios are those
// of means.
func (r Ranges) check(results []Result) []missed {
	var all []missed
	for _, result := range results {
		for _, f := range figures {
			allowed, ok := r.Results[result.name()][f.Name]
			if !ok {
				continue
			}
			v, measured := result.Figures[f.Name]
			if measured && allowed.has(v) {
				continue
			}
			is := "was not measured"
			if measured {
				is = fmt.Sprintf("is %.4g %s", v, f.Unit)
			}
			all = append(all, missed{result, fmt.Sprintf("%s: %s %s, allowed is %s (%s)",
				result.name(), f.Name, is, allowed, f.Meaning)})
		}
	}
	byName := means(results)
	for _, ratio := range r.Ratios {
		v, of, to, ok := ratio.value(byName)
		if ok && !ratio.has(v) { // nor has a range what is not a number, as one of the two was not measured
			all = append(all, missed{of, fmt.Sprintf("%s: %s is %.3g times that of %s (%.4g to %.4g), allowed is %s",
				of.name(), ratio.Figure, v, ratio.To, ratio.figure(of), ratio.figure(to), ratio.Range)})
		}
	}
	return all
}

// value of a ratio, and the results that it is of, if both were measured.
func (r Ratio) value(byName map[string]Result) (v float64, of, to Result, ok bool) {
	of, okOf := byName[r.World+"/"+string(r.Phase)+"/"+r.Of]
	to, okTo := byName[r.World+"/"+string(r.Phase)+"/"+r.To]
	return r.figure(of) / r.figure(to), of, to, okOf && okTo
}

// figure of one result; not a number if it was not measured.
func (r Ratio) figure(of Result) float64 {
	if v, measured := of.Figures[r.Figure]; measured {
		return v
	}
	return math.NaN()
}
