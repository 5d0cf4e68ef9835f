package lifecycle_test

import (
	"fmt"
	"time"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

// settle lets everything succeed from now on, and demands the same end as on a new node.
func (s *simulated) settle() {
	s.finish(func() bool {
		return len(s.live()) == 0 && s.permit == nil && situation.Complete(s.wanted(), s.record())
	})
	s.demandFreshState()
}

// finish lets everything succeed from now on, until there is nothing more to do.
func (s *simulated) finish(over func() bool) {
	s.hold = nil
	// Per package: an old pod to get rid of, a backoff, six stages and their passes with a drain; and the permit's way
	// round.
	rounds := 25*(len(s.spec)+len(s.record().Packages)) + 25
	for range rounds {
		s.grant()
		s.takeAdvice()
		if idle := s.pass(len(s.lists)-1, 100); idle && over() {
			return
		}
		s.calm()
		for name, p := range s.live() {
			if p.Terminating || p.Outcome == lifecycle.Lost {
				s.change(func(pods map[string]livePod) { delete(pods, name) })
				continue
			}
			s.end(name, lifecycle.Done)
		}
		s.now = s.now.Add(6 * time.Minute)
	}
	s.t.Fatalf("not complete after %d passes: spec %+v, record %+v, pods %v, permit %v", rounds, s.spec, s.record(),
		s.live(), s.permit)
}

func (s *simulated) demandFreshState() {
	n := s.record()
	if n.Status != v1alpha1.StatusComplete {
		s.t.Fatalf("the node is %s", n.Status)
	}
	if n.Cordoned || s.host.unschedulable != s.host.foreignCordon {
		s.t.Fatalf("the node is complete, but is unschedulable: %t, by somebody else: %t, by us: %t", s.host.unschedulable,
			s.host.foreignCordon, n.Cordoned)
	}
	s.demandUninstalled(n)
	for name, pkg := range s.spec {
		if applies(pkg) {
			continue
		}
		key := record.Key(name, pkg.Version)
		if s.interruptPending[key] {
			s.t.Fatalf("%s is complete, but its interrupt never took place", key)
		}
		if s.installed[name] != pkg.Version {
			s.t.Fatalf("%s is complete, but installed is %q", key, s.installed[name])
		}
		if s.through[key] != fmt.Sprint(pkg.Config) {
			s.t.Fatalf("%s is complete, but its config is %s, not %v", key, s.through[key], pkg.Config)
		}
		for other, e := range n.Packages {
			if e.Name == name && e.Active() {
				s.t.Fatalf("the record still waits for %s", other)
			}
		}
	}
}
