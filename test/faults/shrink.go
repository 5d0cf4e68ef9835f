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

// without leaves out the elements from at on, n of them.
func without[T any](list []T, at, n int) []T {
	kept := append([]T(nil), list[:at]...)
	return append(kept, list[min(len(list), at+n):]...)
}

func (s *shrinker) happenings() (shrunk bool) {
	for n := max(1, len(s.best.Happenings)/2); n > 0; n /= 2 {
		for at := 0; at < len(s.best.Happenings); {
			p := s.best
			if p.Happenings = without(p.Happenings, at, n); s.try(p) {
				shrunk = true
				continue
			}
			at += n
		}
	}
	return shrunk
}

func (s *shrinker) skyhooks() (shrunk bool) {
	for at := 0; at < len(s.best.Skyhooks) && len(s.best.Skyhooks) > 1; {
		p := s.best
		if p.Skyhooks = without(p.Skyhooks, at, 1); s.try(p) {
			shrunk = true
			continue
		}
		at++
	}
	return shrunk
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

func (s *shrinker) pods() (shrunk bool) {
	for at := 0; at < len(s.best.Pods); {
		p := s.best
		if p.Pods = without(p.Pods, at, 1); s.try(p) {
			shrunk = true
			continue
		}
		at++
	}
	return shrunk
}

func (s *shrinker) scripts() (shrunk bool) {
	for at := 0; at < len(s.best.Scripts); {
		p := s.best
		if p.Scripts = without(p.Scripts, at, 1); s.try(p) {
			shrunk = true
			continue
		}
		at++
	}
	return shrunk
}

func (s *shrinker) nodes() (shrunk bool) {
	for at := 0; at < len(s.best.Nodes) && len(s.best.Nodes) > 1; {
		p := s.best
		name := p.Nodes[at].Name
		p.Nodes, p.Pods = without(p.Nodes, at, 1), nil
		for _, pod := range s.best.Pods {
			if pod.Node != name {
				p.Pods = append(p.Pods, pod)
			}
		}
		if s.try(p) {
			shrunk = true
			continue
		}
		at++
	}
	return shrunk
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
