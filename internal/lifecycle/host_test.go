package lifecycle_test

import (
	"fmt"
	"maps"
	"slices"

	"pgregory.net/rapid"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

// host is the node of the model beside its record and our pods: its boots, its cordon and what else runs on it.
type host struct {
	boot    int
	up      bool // its kubelet runs
	ready   bool
	reboots int // that our interrupts asked for
	// rebooting says that somebody on the host asked for a reboot.
	rebooting bool
	// flags is what the agent notes on the host: for a resource id, the boot in which it asked for the reboot.
	flags map[string]int

	unschedulable bool
	// foreignCordon says that somebody else cordoned the node when it was not cordoned.
	foreignCordon bool

	// running, leaving and protected count the workload's pods; others, the package pods of other Skyhooks.
	running, leaving, protected, others int
	refuse                              bool
}

func newHost() host { return host{boot: 1, up: true, ready: true, flags: map[string]int{}} }

func (h *host) facts() lifecycle.Node {
	return lifecycle.Node{
		Ready: h.ready, BootID: fmt.Sprintf("boot-%d", h.boot), Unschedulable: h.unschedulable, OtherPods: h.others,
	}
}

// drained is what a look at the workload finds.
func (h *host) drained() *lifecycle.Drain {
	switch {
	case h.protected > 0:
		return &lifecycle.Drain{Reason: "ProtectedPod", Message: "-"}
	case h.running > 0:
		return &lifecycle.Drain{Reason: "Evicting", Message: "-"}
	case h.leaving > 0:
		return &lifecycle.Drain{Reason: "PodTerminating", Message: "-"}
	}
	return &lifecycle.Drain{Clear: true}
}

func (h *host) evict() {
	if h.protected == 0 && !h.refuse {
		h.leaving, h.running = h.leaving+h.running, 0
	}
}

// goDown ends everything on the host, whoever asked for it.
func (h *host) goDown() {
	if h.up {
		h.up, h.ready, h.rebooting = false, false, false
	}
}

// check: a cordon that somebody else made is never taken or lifted.
func (h *host) check(t *rapid.T, n record.Node) {
	if h.foreignCordon && (n.Cordoned || !h.unschedulable) {
		t.Fatalf("a foreign cordon is taken (%t) or lifted (%t)", n.Cordoned, !h.unschedulable)
	}
}

// next decides as the controller does: it looks at the workload and evicts when it is asked to.
func (s *simulated) next(o lifecycle.Observation) lifecycle.Decision {
	d := lifecycle.Next(o)
	if !d.LookDrain {
		return d
	}
	o.Drain = s.host.drained()
	d = lifecycle.Next(o)
	if d.Evict {
		if !s.host.unschedulable {
			s.t.Fatalf("pods are evicted from a node that is not cordoned")
		}
		s.host.evict()
	}
	return d
}

// needsInterrupt reports whether an interrupt has to follow the stage.
func (s *simulated) needsInterrupt(start lifecycle.Start, pkg situation.Package) bool {
	switch start.Stage {
	case v1alpha1.StageApply, v1alpha1.StageUpgrade:
		return pkg.Interrupt != nil
	case v1alpha1.StageConfig:
		changed := s.record().Packages[record.Key(start.Package, pkg.Version)].Changed
		return slices.Contains(changed, "k") && len(pkg.ConfigInterrupts) > 0
	default:
		return false
	}
}

// interrupted notes that the interrupt that runs took place, for all that it was merged of.
func (s *simulated) interrupted() {
	for key, e := range s.record().Packages {
		if record.IsInterrupt(e.Stage) && e.State != v1alpha1.StateComplete {
			s.took(key, e)
		}
	}
}

// mayDisturb checks what must be true on the node when a pod is created beside or as an interrupt.
func (s *simulated) mayDisturb(start lifecycle.Start, key string) {
	n := s.record()
	if record.IsInterrupt(start.Stage) {
		switch {
		case !s.host.unschedulable:
			s.t.Fatalf("interrupt of %s starts on a node that is not cordoned", key)
		case !s.host.drained().Clear:
			s.t.Fatalf("interrupt of %s starts on a node that is not drained: %+v", key, s.host)
		case len(s.live()) > 0 || s.host.others > 0:
			s.t.Fatalf("interrupt of %s starts beside %d package pods of others and %v", key, s.host.others, s.live())
		case !s.inFlight.OwnedBy(skyhookName):
			s.t.Fatalf("interrupt of %s starts, but is not in flight", key)
		case !interrupting(n):
			s.t.Fatalf("interrupt of %s starts, but the record does not say so: %+v", key, n)
		}
		return
	}
	if interrupting(n) {
		s.t.Fatalf("stage %s of %s starts while an interrupt is under way", start.Stage, key)
	}
	for name, p := range s.live() {
		if record.IsInterrupt(p.Stage) {
			s.t.Fatalf("stage %s of %s starts beside %s", start.Stage, key, name)
		}
	}
	if start.Stage == v1alpha1.StagePostInterrupt && s.interruptPending[key] {
		s.t.Fatalf("post-interrupt of %s starts before its interrupt took place", key)
	}
}

// agents lets the agent in a reboot interrupt's pod do its work, once for each resource id and boot.
func (s *simulated) agents() {
	for _, name := range slices.Sorted(maps.Keys(s.live())) {
		p := s.live()[name]
		if !s.host.up || p.Terminating || p.interrupt == nil || p.interrupt.Type != v1alpha1.InterruptReboot ||
			p.Outcome == lifecycle.Lost {
			continue
		}
		if p.bootID != s.host.facts().BootID {
			continue // it is done: the host runs on another boot than the one that was to end
		}
		if boot, flagged := s.host.flags[p.resource]; flagged && boot != s.host.boot {
			continue // it was done
		}
		if !s.host.rebooting {
			s.host.reboots++
		}
		s.host.flags[p.resource], s.host.rebooting = s.host.boot, true
	}
}

// comeUp ends a reboot. Pods survive, are killed, or are lost.
func (s *simulated) comeUp(t *rapid.T) {
	h := &s.host
	if h.up {
		t.Skip("it is up")
	}
	h.up, h.boot = true, h.boot+1
	s.rebooted()
	for _, name := range slices.Sorted(maps.Keys(s.live())) {
		switch rapid.IntRange(0, 3).Draw(t, "fate of "+name) {
		case 1:
			s.end(name, lifecycle.Failing)
			s.change(func(pods map[string]livePod) { p := pods[name]; p.ExitCode = 143; pods[name] = p })
		case 2:
			s.end(name, lifecycle.Lost)
		case 3:
			s.change(func(pods map[string]livePod) { delete(pods, name) })
		}
	}
}

// rebooted notes the packages for which a reboot was under way.
func (s *simulated) rebooted() {
	for key, e := range s.record().Packages {
		if record.IsInterrupt(e.Stage) && e.State != v1alpha1.StateComplete && e.Interrupt.Type == v1alpha1.InterruptReboot {
			s.took(key, e)
		}
	}
}

// hostActions are what may happen on and to the host.
func (s *simulated) hostActions() map[string]func(*rapid.T) {
	h := &s.host
	return map[string]func(*rapid.T){
		"agents work": func(*rapid.T) { s.agents() },
		"the host goes down": func(t *rapid.T) {
			if !h.rebooting {
				t.Skip("nobody asked for it")
			}
			h.goDown()
		},
		"the host comes up":   s.comeUp,
		"the node gets ready": func(*rapid.T) { h.ready = h.up },
		"a workload comes": func(t *rapid.T) {
			if h.unschedulable {
				t.Skip("cordoned")
			}
			h.running++
			h.protected += rapid.IntRange(0, 1).Draw(t, "protected")
		},
		"evictions": func(t *rapid.T) { h.refuse = rapid.Bool().Draw(t, "refused") },
		"a workload leaves": func(t *rapid.T) {
			h.leaving = 0
			h.protected = max(0, h.protected-rapid.IntRange(0, 1).Draw(t, "protected"))
		},
		"another Skyhook": func(t *rapid.T) {
			if interrupting(s.record()) {
				t.Skip("it is held")
			}
			h.others = rapid.IntRange(0, 1).Draw(t, "pods")
		},
		"somebody cordons": func(*rapid.T) {
			h.foreignCordon = h.foreignCordon || !h.unschedulable && !s.record().Cordoned
			h.unschedulable = true
		},
		"somebody uncordons": func(*rapid.T) { h.unschedulable, h.foreignCordon = false, false },
	}
}

// calm lets the host do what was asked of it.
func (s *simulated) calm() {
	h := &s.host
	h.leaving, h.protected, h.others, h.refuse = 0, 0, 0, false
	s.agents()
	if h.rebooting {
		h.goDown()
	}
	if !h.up {
		h.up, h.boot = true, h.boot+1
		s.rebooted()
	}
	h.ready = true
}
