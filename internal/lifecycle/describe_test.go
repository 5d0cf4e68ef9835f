package lifecycle_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// words are a line of what a table wants: a step of a decision.
type words string

func (w words) String() string { return string(w) }

const (
	// own and disown are what the record says of the cordon, cordon and uncordon what becomes of the node's spec.
	own, disown      words = "own cordon", "disown cordon"
	cordon, uncordon words = "cordon", "uncordon"
	lookDrain, evict words = "look-drain", "evict"
	// returned: the permit is acknowledged.
	returned words = "returned"
)

func is(s v1alpha1.Status) words      { return words("is " + string(s)) }
func again(after time.Duration) words { return words("again " + after.String()) }
func acceptBoot(b string) words       { return words("boot " + b) }
func acceptHost(h record.Host) words  { return words("host " + h.MachineID + " " + h.BootID) }

// start names the interrupt that a stage carries out; as, the retained definition that it works with.
func (s stage) start(i id, by ...v1alpha1.Interrupt) words {
	w := words("start " + string(i) + " " + string(s))
	for _, i := range by {
		w += words(" " + interruptText(&i))
	}
	return w
}

func (w words) as(definition string) words { return w + words(" as "+definition) }

// delete is about the pod of a stage.
func (s stage) delete(i id) words { return words("delete " + string(i) + " " + string(s)) }

// wait is for a package of any version; nodeWait, for the node; tell is the one that the record shows.
func wait(i id, reason string) words        { return words("wait " + i.name() + " " + reason) }
func nodeWait(reason string) words          { return words("wait " + reason) }
func tell(reason string) words              { return words("tell " + reason) }
func (w words) since(d time.Duration) words { return w + words(ago(at(d))) }

// remove and supersede are of entries. rename spells one as in the spec, or notes its definition, without a transition.
func remove(i id) words    { return words("remove " + string(i)) }
func rename(i id) words    { return words("rename " + string(i)) }
func supersede(i id) words { return words("supersede " + string(i)) }

// event is told without a transition.
func event(reason string, of ...id) words {
	w := words(reason)
	for _, i := range of {
		w += words(" " + string(i))
	}
	return w
}

func uninstalled(i id) words { return event(v1alpha1.ReasonUninstalled, i) }

// String is a transition. The last one of an entry is followed by what the entry holds then.
func (e entry) String() string {
	r := record.Entry{Generation: generation}
	for _, set := range e.set {
		set(&r)
	}
	if r.Config != nil || r.Hash != "" || r.Superseded {
		panic(fmt.Sprintf("config, hash and superseded of %s are not told", e.id))
	}
	r.Stage, r.State = v1alpha1.Stage(e.stage), e.state
	return string(transition(e.id, e.stage, e.state)) + details(r)
}

func transition(i id, s stage, state v1alpha1.State) words {
	return words(fmt.Sprintf("%s %s:%s", i, s, state))
}

const nothingInFlight, anothersInFlight words = "nothing in flight", "another's in flight"

func inFlight(i v1alpha1.Interrupt, boot, run string, of ...id) words {
	keys := make([]string, len(of))
	for i, of := range of {
		keys[i] = record.Key(of.name(), of.version())
	}
	return inFlightOf(i, boot, run, keys)
}

func inFlightOf(i v1alpha1.Interrupt, boot, run string, keys []string) words {
	return words(fmt.Sprintf("in flight %s of %s boot=%s run=%s", interruptText(&i), strings.Join(keys, ","), boot, run))
}

// bound: the boot id and the run of an interrupt's pod.
func bound(boot, run string) words { return words("bound to boot=" + boot + " run=" + run) }

// describe writes a decision in the words of the tables.
func describe(t rapid.TB, o lifecycle.Observation, d lifecycle.Decision) []words {
	t.Helper()
	lines := describeRecord(o.Record.Packages, d)
	lines = append(lines, describeNode(o, d)...)
	for _, p := range d.Delete {
		lines = append(lines, stage(p.Stage).delete(idOf(p.Package, p.Version)))
	}
	for _, s := range d.Start {
		lines = append(lines, describeStart(t, o, d, s))
	}
	for _, w := range d.Waits {
		if w.Package == "" {
			lines = append(lines, nodeWait(w.Reason))
		} else {
			lines = append(lines, wait(id(w.Package), w.Reason))
		}
		if w.Message == "" {
			t.Errorf("wait %+v has no message", w)
		}
	}
	if w := d.Record.Wait; w != nil {
		lines = append(lines, tell(w.Reason)+words(ago(w.Since)))
		if w.Message == "" {
			t.Errorf("the node waits for %s without a message", w.Reason)
		}
	}
	if d.LookDrain {
		lines = append(lines, lookDrain)
	}
	if d.Evict {
		lines = append(lines, evict)
	}
	if d.After > 0 && d.After != longLook {
		lines = append(lines, again(d.After))
	}
	if d.Record.Status != "" {
		lines = append(lines, is(d.Record.Status))
	}
	if d.Record.FinishedPermit != o.Record.FinishedPermit {
		lines = append(lines, returned)
	}
	return lines
}

// describeStart demands that a pod is one that the record asks for.
func describeStart(t rapid.TB, o lifecycle.Observation, d lifecycle.Decision, s lifecycle.Start) words {
	t.Helper()
	line := stage(s.Stage).start(idOf(s.Package, s.Version))
	e := d.Record.Packages[record.Key(s.Package, s.Version)]
	if e.Run != s.Run || e.Stage != s.Stage || s.Run == "" || s.Generation != e.Generation {
		t.Errorf("start %+v does not belong to the entry %+v", s, e)
	}
	if e.Interrupt != nil && record.IsInterrupt(s.Stage) {
		line = stage(s.Stage).start(idOf(s.Package, s.Version), *s.Interrupt)
		if !reflect.DeepEqual(s.Interrupt, e.Interrupt) {
			t.Errorf("start %+v has another interrupt than the entry %+v", s, e)
		}
	}
	if s.Retained != "" {
		line = line.as(s.Retained)
		if kept, ok := o.Retained[s.Retained]; !ok || kept.Name != s.Package || kept.Version != s.Version {
			t.Errorf("start %+v with the definition %+v, which is of something else", s, kept)
		}
	}
	return line
}

// describeInterrupts tells what a decision leaves in flight, and what the interrupts that it starts are bound to.
func describeInterrupts(d lifecycle.Decision) []words {
	lines := []words{nothingInFlight}
	switch i := d.InFlight; {
	case i == nil:
	case i.Skyhook != "":
		lines[0] = words(i.Skyhook + "'s in flight")
	default:
		lines[0] = inFlightOf(*i.Spec(), i.BootID, i.Run, i.Packages)
	}
	for _, s := range d.Start {
		if s.Interrupt != nil {
			lines = append(lines, bound(s.BootID, s.InterruptRun))
		}
	}
	return lines
}

func describeNode(o lifecycle.Observation, d lifecycle.Decision) []words {
	var lines []words
	if d.Record.Cordoned != o.Record.Cordoned {
		lines = append(lines, map[bool]words{true: own, false: disown}[d.Record.Cordoned])
	}
	if d.Unschedulable != nil {
		lines = append(lines, map[bool]words{true: cordon, false: uncordon}[*d.Unschedulable])
	}
	if d.Record.BootID != o.Record.BootID {
		lines = append(lines, acceptBoot(d.Record.BootID))
	}
	if d.Record.Host != o.Record.Host {
		lines = append(lines, acceptHost(d.Record.Host))
	}
	return lines
}

func describeRecord(before map[string]record.Entry, d lifecycle.Decision) []words {
	var lines []words
	changed := map[string]int{}
	for i, c := range d.Changes {
		changed[record.Key(c.Package, c.Version)] = i
	}
	for i, c := range d.Changes {
		switch key := record.Key(c.Package, c.Version); {
		case c.Reason != "" && c.Package == "":
			lines = append(lines, event(c.Reason))
		case c.Reason != "":
			lines = append(lines, event(c.Reason, idOf(c.Package, c.Version)))
		default:
			line := transition(idOf(c.Package, c.Version), stage(c.Stage), c.State)
			if changed[key] == i {
				line += words(details(d.Record.Packages[key]))
			}
			lines = append(lines, line)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(d.Record.Packages)) {
		if _, told := changed[key]; !told && details(before[key]) != details(d.Record.Packages[key]) {
			lines = append(lines, rename(keyed(key)))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(before)) {
		if now, was := d.Record.Packages[key], before[key]; now.Untouched && was.RejectedAt.IsZero() && !now.RejectedAt.IsZero() {
			lines = append(lines, noted(keyed(key)))
		}
		if d.Record.Packages[key].Superseded && !before[key].Superseded {
			lines = append(lines, supersede(keyed(key)))
		}
		if _, kept := d.Record.Packages[key]; !kept {
			lines = append(lines, remove(keyed(key)))
		}
	}
	return lines
}

func keyed(key string) id { return id(strings.Replace(key, "|", "@", 1)) }

func details(e record.Entry) string {
	var b strings.Builder
	if e.Run != "" {
		b.WriteString(" run=" + e.Run)
	}
	if e.Restarts > 0 {
		fmt.Fprintf(&b, " restarts=%d", e.Restarts)
	}
	b.WriteString(ago(e.Since))
	if e.Reason != "" {
		b.WriteString(" reason=" + e.Reason)
	}
	switch {
	case len(e.Changed) > 0:
		b.WriteString(" changed=" + strings.Join(e.Changed, ","))
	case e.Changed != nil:
		b.WriteString(" changed=none")
	}
	if record.IsInterrupt(e.Stage) && e.State != v1alpha1.StateComplete && e.Interrupt != nil {
		b.WriteString(" by " + interruptText(e.Interrupt) + " boot=" + e.BootID)
	}
	if e.Generation != generation {
		fmt.Fprintf(&b, " gen=%d", e.Generation)
	}
	if e.Definition != "" {
		b.WriteString(" def=" + e.Definition)
	}
	return b.String()
}

func ago(t metav1.Time) string {
	if d := now.Sub(t.Time); d != 0 && !t.IsZero() {
		return " since=-" + d.String()
	}
	return ""
}

func interruptText(i *v1alpha1.Interrupt) string {
	switch {
	case i == nil:
		return "nothing"
	case len(i.Services) == 0:
		return string(i.Type)
	}
	return string(i.Type) + "(" + strings.Join(i.Services, ",") + ")"
}
