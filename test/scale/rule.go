package main

import "math"

// point is one dot of a picture.
type point struct{ x, y float64 }

// rule is a line through points: y = base + slope * x, none of which is further from it than off, as a share of its y.
type rule struct{ base, slope, off float64 }

func (r rule) at(x float64) float64 { return r.base + r.slope*x }

// fit finds the rule with the least squares of relative deviations, so that small fleets count as much as large ones.
// It is false if the points say nothing of growth: there have to be three different x, over a factor of ten.
func fit(points []point) (rule, bool) {
	least, most, different := math.Inf(1), 0.0, map[float64]bool{}
	var uu, uv, vv, u, v float64
	for _, p := range points {
		least, most, different[p.x] = min(least, p.x), max(most, p.x), true
		a, b := 1/p.y, p.x/p.y
		uu, uv, vv, u, v = uu+a*a, uv+a*b, vv+b*b, u+a, v+b
	}
	if len(different) < 3 || most < 10*least {
		return rule{}, false
	}
	det := uu*vv - uv*uv
	r := rule{base: (u*vv - v*uv) / det, slope: (v*uu - u*uv) / det}
	for _, p := range points {
		r.off = max(r.off, math.Abs(r.at(p.x)/p.y-1))
	}
	return r, true
}
