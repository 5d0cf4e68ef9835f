package faults

import (
	"maps"
	"slices"
)

// maxShrinkRuns bounds the work of Shrink, and schedules is how many orders of events it tries each smaller world with.
const (
	maxShrinkRuns = 600
	schedules     = 4
)

// Shrink makes a Plan smaller as long as the finding stays the same.
func Shrink(p Plan, signature string) Plan {
	s := &shrinker{best: p, signature: signature}
	for again := true; again && s.runs < maxShrinkRuns; {
		again = false
		for _, cut := range []func(*shrinker) bool{
			(*shrinker).happenings, (*shrinker).skyhooks, (*shrinker).packages, (*shrinker).pods, (*shrinker).scripts,
			(*shrinker).nodes, (*shrinker).knobs,
		} {
			again = cut(s) || again
		}
	}
	return s.best
}

type shrinker struct {
	best      Plan
	signature string
	runs      int
}

// try takes a smaller Plan over when it still has the finding, maybe in another order of events.
func (s *shrinker) try(p Plan) bool {
	p.Pods = slices.DeleteFunc(slices.Clone(p.Pods), func(pod PodPlan) bool {
		return !slices.ContainsFunc(p.Nodes, func(n NodePlan) bool { return n.Name == pod.Node })
	})
	for i := range uint64(schedules) {
		s.runs++
		if s.runs > maxShrinkRuns {
			return false
		}
		q := p
		q.Schedule += i * 7919
		found := Run(q, false).Findings
		if slices.ContainsFunc(found, func(f Finding) bool { return f.Signature() == s.signature }) {
			s.best = q
			return true
		}
	}
	return false
}

// drop leaves out what it can of one list of the Plan, n elements at a time.
func drop[T any](s *shrinker, n, atLeast int, list func(*Plan) *[]T) (shrunk bool) {
	for at := 0; ; {
		p := s.best
		all := *list(&p)
		if at >= len(all) || len(all) <= atLeast {
			return shrunk
		}
		if *list(&p) = slices.Delete(slices.Clone(all), at, min(at+n, len(all))); s.try(p) {
			shrunk = true
		} else {
			at += n
		}
	}
}

func (s *shrinker) happenings() (shrunk bool) {
	for n := max(1, len(s.best.Happenings)/2); n > 0; n /= 2 {
		shrunk = drop(s, n, 0, func(p *Plan) *[]Happening { return &p.Happenings }) || shrunk
	}
	return shrunk
}

func (s *shrinker) skyhooks() bool {
	return drop(s, 1, 1, func(p *Plan) *[]SkyhookPlan { return &p.Skyhooks })
}

func (s *shrinker) pods() bool { return drop(s, 1, 0, func(p *Plan) *[]PodPlan { return &p.Pods }) }

func (s *shrinker) scripts() bool {
	return drop(s, 1, 0, func(p *Plan) *[]Script { return &p.Scripts })
}

func (s *shrinker) packages() (shrunk bool) {
	for i := range s.best.Skyhooks {
		for _, name := range sortedKeys(s.best.Skyhooks[i].Spec.Packages) {
			p := s.best
			p.Skyhooks = append([]SkyhookPlan(nil), p.Skyhooks...)
			p.Skyhooks[i].Spec.Packages = maps.Clone(p.Skyhooks[i].Spec.Packages)
			delete(p.Skyhooks[i].Spec.Packages, name)
			repairDependencies(p.Skyhooks[i].Spec.Packages)
			if len(p.Skyhooks[i].Spec.Packages) > 0 && s.try(p) {
				shrunk = true
			}
		}
	}
	return shrunk
}

// nodes leaves out nodes and the pods that are there.
func (s *shrinker) nodes() bool {
	return drop(s, 1, 1, func(p *Plan) *[]NodePlan { return &p.Nodes })
}

// knobs turns off what a world may do without.
func (s *shrinker) knobs() (shrunk bool) {
	for _, change := range []func(*Plan) bool{
		func(p *Plan) bool { was := p.Lag; p.Lag = 0; return was != 0 },
		func(p *Plan) bool { was := p.Offset; p.Offset = 0; return was != 0 },
		func(p *Plan) bool { was := p.Reapply; p.Reapply = false; return was },
		func(p *Plan) bool { was := p.Steps; p.Steps = max(20, p.Steps/2); return was != p.Steps },
	} {
		p := s.best
		if change(&p) && s.try(p) {
			shrunk = true
		}
	}
	return shrunk
}
