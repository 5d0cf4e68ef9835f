package lifecycle_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// row is one line of the state machine: what is seen, and what happens next.
type row struct {
	name string
	spec string
	// kept are the retained definitions.
	kept string
	// node is the record.
	node string
	pods string
	// gate is empty for a node that holds a permit and nothing in its way; else words of gates.
	gate string
	want string
	// also is what becomes of the interrupt in flight, and what interrupts are bound to, see describeInterrupts; empty
	// where a row is not about that.
	also string
}

func observation(t *testing.T, r row) lifecycle.Observation {
	t.Helper()
	w := lifecycle.Wanted{Packages: packages(t, r.spec), Retained: kept(t, r.kept)}
	o := lifecycle.Observation{
		Wanted: w, Pods: pods(t, r.pods), Permit: new(permit), ConfigReady: map[string]bool{},
		RetainedReady: map[string]bool{}, Now: now,
		Record:     record.Node{Packages: entries(t, r.node, w)},
		Generation: generation, Node: lifecycle.Node{Ready: true, BootID: "b1"},
	}
	for name := range w.Packages {
		o.ConfigReady[name] = true
	}
	for name := range w.Retained {
		o.RetainedReady[name] = true
	}
	o.InFlight = lifecycle.InFlightOf("", o.Record)
	for gate := range strings.FieldsSeq(r.gate) {
		passGate(t, &o, gate)
	}
	return o
}

// gates are what stands between a node and new work.
var gates = map[string]func(*lifecycle.Observation){
	"revoked":      func(o *lifecycle.Observation) { o.Permit.Revoked = true },
	"no-permit":    func(o *lifecycle.Observation) { o.Permit = nil },
	"acknowledged": func(o *lifecycle.Observation) { o.Record.FinishedPermit = permit.Token() },
	"returned-one-before": func(o *lifecycle.Observation) {
		before := permit
		before.Order--
		o.Record.FinishedPermit = before.Token()
	},
	"paused":   held(v1alpha1.StatusPaused, record.FreesAdministrator, "Paused", false),
	"disabled": held(v1alpha1.StatusDisabled, record.FreesAdministrator, "Disabled", true),
	"blocked":  held(v1alpha1.StatusBlocked, record.FreesAdministrator, "Taint", true),
	"invalid":  held(v1alpha1.StatusBlocked, record.FreesAuthor, "SpecInvalid", false),
	"ignored":  held(v1alpha1.StatusBlocked, record.FreesAdministrator, "NodeIgnored", true),
	// Another Skyhook's interrupt is in flight: see flight-of-another.
	"interrupted": held(v1alpha1.StatusWaiting, record.FreesOther, "WaitingForInterrupt", true),
	"turn":        held(v1alpha1.StatusWaiting, record.FreesOther, "WaitingForSkyhook", true),

	"no-config-of-a": func(o *lifecycle.Observation) { o.ConfigReady["a"] = false },
	// The definition named old is retained, but its ConfigMap is not there yet.
	"no-config-of-old": func(o *lifecycle.Observation) { o.RetainedReady["old"] = false },

	"deleting":   func(o *lifecycle.Observation) { o.Deleting = true },
	"failed":     func(o *lifecycle.Observation) { o.Failed = "forbidden" },
	"abandoned":  func(o *lifecycle.Observation) { o.Abandoned = true },
	"serial":     func(o *lifecycle.Observation) { o.Serial = true },
	"reapply":    func(o *lifecycle.Observation) { o.Reapply = true },
	"finished":   func(o *lifecycle.Observation) { o.Finished = true },
	"own-reboot": func(o *lifecycle.Observation) { o.Node.OwnReboot = true },
	"not-ready":  func(o *lifecycle.Observation) { o.Node.Ready = false },
	// The cordon: ours; ours, but somebody lifted it; somebody else's; another Skyhook's, with or without ours;
	// decided in the same pass.
	"ours":   func(o *lifecycle.Observation) { o.Record.Cordoned, o.Node.Unschedulable = true, true },
	"lifted": func(o *lifecycle.Observation) { o.Record.Cordoned = true },
	"admins": func(o *lifecycle.Observation) { o.Node.Unschedulable = true },
	"unread": func(o *lifecycle.Observation) { o.Node.CordonUnread = true },
	"others": func(o *lifecycle.Observation) { o.Node.Unschedulable, o.Node.CordonedByOther = true, true },
	// The drain: not looked at unless one of these, or left=Reason, late=Reason, says so.
	"clear": func(o *lifecycle.Observation) { o.Drain = &lifecycle.Drain{Clear: true} },
}

// held is a gate that holds the node; returns says that the node gives its permit back.
func held(status v1alpha1.Status, frees record.Frees, reason string, returns bool) func(*lifecycle.Observation) {
	return func(o *lifecycle.Observation) {
		o.Hold = &lifecycle.Hold{
			Status: status, ReturnsPermit: returns, Wait: lifecycle.Wait{Frees: frees, Reason: reason, Message: "-"},
		}
	}
}

// settings are gates with a value, written name=value.
var settings = map[string]func(t *testing.T, o *lifecycle.Observation, v string){
	"boot":      func(_ *testing.T, o *lifecycle.Observation, v string) { o.Node.BootID = v },
	"last-boot": func(_ *testing.T, o *lifecycle.Observation, v string) { o.Record.BootID = v },
	"status":    func(_ *testing.T, o *lifecycle.Observation, v string) { o.Record.Status = v1alpha1.Status(v) },
	"gen":       func(t *testing.T, o *lifecycle.Observation, v string) { o.Generation = int64(number(t, v)) },
	// configured=k/1 is what another operator configured package a with.
	"configured": func(_ *testing.T, o *lifecycle.Observation, v string) {
		key, value, _ := strings.Cut(v, "/")
		o.Configured = map[string]map[string]string{"a": record.HashConfig(map[string]string{key: value})}
	},
	"other-pods": func(t *testing.T, o *lifecycle.Observation, v string) { o.Node.OtherPods = number(t, v) },
	"left": func(_ *testing.T, o *lifecycle.Observation, v string) {
		o.Drain = &lifecycle.Drain{Reason: v, Message: message(v)}
	},
	"late": func(_ *testing.T, o *lifecycle.Observation, v string) {
		o.Drain = &lifecycle.Drain{Reason: v, Message: message(v), TimedOut: true}
	},
	// The interrupt in flight is the one that the record tells of, unless: flight=reboot/b1/r0 is ours for package a, with
	// its boot id and run; flight-of-another=reboot/b1.
	"flight": func(_ *testing.T, o *lifecycle.Observation, v string) {
		o.InFlight = flight("", v)
		o.InFlight.Packages = []string{"a|1.0"}
	},
	"flight-of-another": func(_ *testing.T, o *lifecycle.Observation, v string) { o.InFlight = flight("another", v) },
	// told=Reason/-5m/-9m is what the record says that the node waits for, since when, and since when the drain lasts.
	"told": func(t *testing.T, o *lifecycle.Observation, v string) {
		reason, since, _ := strings.Cut(v, "/")
		since, drain, drained := strings.Cut(since, "/")
		defer func() {
			if drained {
				o.Record.Wait.DrainSince = metav1.NewTime(now.Add(duration(t, drain)))
			}
		}()
		o.Record.Wait = &record.Wait{
			Reason: reason, Message: message(reason), Since: metav1.NewTime(now.Add(duration(t, since))),
			Overdue: reason == v1alpha1.ReasonDrainTimeout,
		}
	},
}

func flight(skyhook, text string) *record.Interrupt {
	kind, boot, _ := strings.Cut(text, "/")
	boot, run, _ := strings.Cut(boot, "/")
	i := interrupt(kind)
	return &record.Interrupt{Skyhook: skyhook, Type: i.Type, Services: i.Services, BootID: boot, Run: run}
}

// passGate applies one word of a row's gate.
func passGate(t *testing.T, o *lifecycle.Observation, word string) {
	t.Helper()
	k, v, given := strings.Cut(word, "=")
	switch {
	case given && settings[k] != nil:
		settings[k](t, o, v)
	case gates[word] != nil:
		gates[word](o)
	default:
		t.Fatalf("no gate %q", word)
	}
}
