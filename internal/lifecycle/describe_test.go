package lifecycle_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// describe writes a decision in the words of the tables:
//
//	a@1.0 apply:complete        a transition; its last one for an entry is followed by what the entry holds then
//	remove a@1.0                an entry is removed;  Uninstalled a@1.0: because it is uninstalled
//	rename a@1.0                an entry is spelled as in the spec, or notes its definition, without a transition
//	own cordon, disown cordon   what the record says of it;  cordon, uncordon: what the node's spec becomes
//	delete pod, start pkg stage [interrupt] [as old]: with the retained definition of that name
//	wait pkg Reason (or: wait Reason);  tell Reason since=-5s: the wait that the record shows
//	look-drain, evict, again after
//	is status; returned         the node's status; the permit is acknowledged
func describe(t rapid.TB, o lifecycle.Observation, d lifecycle.Decision) []string {
	t.Helper()
	lines := describeRecord(o.Record.Packages, d)
	lines = append(lines, describeNode(o, d)...)
	for _, p := range d.Delete {
		lines = append(lines, "delete "+p.Name)
	}
	for _, s := range d.Start {
		lines = append(lines, describeStart(t, o, d, s))
	}
	for _, w := range d.Waits {
		lines = append(lines, strings.Join(strings.Fields("wait "+w.Package+" "+w.Reason), " "))
		if w.Message == "" {
			t.Errorf("wait %+v has no message", w)
		}
	}
	if w := d.Record.Wait; w != nil {
		lines = append(lines, "tell "+w.Reason+ago(w.Since))
		if w.Message == "" {
			t.Errorf("the node waits for %s without a message", w.Reason)
		}
	}
	if d.LookDrain {
		lines = append(lines, "look-drain")
	}
	if d.Evict {
		lines = append(lines, "evict")
	}
	if d.After > 0 && d.After != longLook {
		lines = append(lines, "again "+d.After.String())
	}
	if d.Record.Status != "" {
		lines = append(lines, "is "+string(d.Record.Status))
	}
	if d.Record.FinishedPermit != o.Record.FinishedPermit {
		lines = append(lines, "returned")
	}
	return lines
}

// describeStart demands that a pod is one that the record asks for.
func describeStart(t rapid.TB, o lifecycle.Observation, d lifecycle.Decision, s lifecycle.Start) string {
	t.Helper()
	line := fmt.Sprintf("start %s %s", s.Package, s.Stage)
	e := d.Record.Packages[record.Key(s.Package, s.Version)]
	if e.Run != s.Run || e.Stage != s.Stage || s.Run == "" || s.Generation != e.Generation {
		t.Errorf("start %+v does not belong to the entry %+v", s, e)
	}
	if e.Interrupt != nil && (s.Stage == v1alpha1.StageInterrupt || s.Stage == v1alpha1.StageUninstallInterrupt) {
		line += " " + interruptText(s.Interrupt)
		if !reflect.DeepEqual(s.Interrupt, e.Interrupt) {
			t.Errorf("start %+v has another interrupt than the entry %+v", s, e)
		}
	}
	if s.Retained != "" {
		line += " as " + s.Retained
		if kept, ok := o.Retained[s.Retained]; !ok || kept.Name != s.Package || kept.Version != s.Version {
			t.Errorf("start %+v with the definition %+v, which is of something else", s, kept)
		}
	}
	return line
}

// describeInterrupts tells what a decision leaves in flight, and what the interrupts that it starts are bound to:
//
//	in flight reboot of a|1.0,b|1.0 boot=b1 run=now; nothing in flight; another's in flight
//	bound to boot=b1 run=now: the boot id and the run of an interrupt's pod
func describeInterrupts(d lifecycle.Decision) string {
	line := "nothing in flight"
	switch i := d.InFlight; {
	case i == nil:
	case i.Skyhook != "":
		line = i.Skyhook + "'s in flight"
	default:
		line = fmt.Sprintf("in flight %s of %s boot=%s run=%s", interruptText(i.Spec()), strings.Join(i.Packages, ","),
			i.BootID, i.Run)
	}
	parts := []string{line}
	for _, s := range d.Start {
		if s.Interrupt != nil {
			parts = append(parts, fmt.Sprintf("bound to boot=%s run=%s", s.BootID, s.InterruptRun))
		}
	}
	return strings.Join(parts, "; ")
}

func describeNode(o lifecycle.Observation, d lifecycle.Decision) []string {
	var lines []string
	if d.Record.Cordoned != o.Record.Cordoned {
		lines = append(lines, map[bool]string{true: "own cordon", false: "disown cordon"}[d.Record.Cordoned])
	}
	if d.Unschedulable != nil {
		lines = append(lines, map[bool]string{true: "cordon", false: "uncordon"}[*d.Unschedulable])
	}
	if d.Record.BootID != o.Record.BootID {
		lines = append(lines, "boot "+d.Record.BootID)
	}
	return lines
}

func describeRecord(before map[string]record.Entry, d lifecycle.Decision) []string {
	var lines []string
	changed := map[string]int{}
	for i, c := range d.Changes {
		changed[record.Key(c.Package, c.Version)] = i
	}
	for i, c := range d.Changes {
		if c.Reason != "" {
			text := c.Reason
			if c.Package != "" {
				text += " " + c.Package + "@" + c.Version
			}
			lines = append(lines, text)
			continue
		}
		line := fmt.Sprintf("%s@%s %s:%s", c.Package, c.Version, c.Stage, c.State)
		key := record.Key(c.Package, c.Version)
		if changed[key] == i {
			line += details(d.Record.Packages[key])
		}
		lines = append(lines, line)
	}
	for _, key := range slices.Sorted(maps.Keys(d.Record.Packages)) {
		if _, told := changed[key]; !told && details(before[key]) != details(d.Record.Packages[key]) {
			lines = append(lines, "rename "+strings.Replace(key, "|", "@", 1))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(before)) {
		if d.Record.Packages[key].Superseded && !before[key].Superseded {
			lines = append(lines, "supersede "+strings.Replace(key, "|", "@", 1))
		}
		if _, kept := d.Record.Packages[key]; !kept {
			lines = append(lines, "remove "+strings.Replace(key, "|", "@", 1))
		}
	}
	return lines
}

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
	if (e.Stage == v1alpha1.StageInterrupt ||
		e.Stage == v1alpha1.StageUninstallInterrupt) && e.State != v1alpha1.StateComplete {
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
