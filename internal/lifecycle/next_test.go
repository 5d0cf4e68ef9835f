package lifecycle_test

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
)

// group is a table, or a part of one.
type group struct {
	name string
	rows []row
}

// TestNext: the tables of all stages. Each stands beside the file that it is about, and is named after it.
func TestNext(t *testing.T) {
	for _, stage := range []struct {
		file   string
		tables []group
	}{
		{"apply", applyTables},
		{"version", versionTables},
		{"config", configTables},
		{"run", runTables},
		{"end", endTables},
		{"limits", limitTables},
		{"gates", gateTables},
		{"serial", serialTables},
		{"interrupt", interruptTables},
		{"merge", mergeTables},
		{"breakoff", breakOffTables},
		{"postinterrupt", postInterruptTables},
		{"uninstall", uninstallTables},
		{"wanted", wantedTables},
		{"cordon", cordonTables},
		{"failed", failedTables},
		{"reapply", reapplyTables},
		{"complete", completeTables},
	} {
		t.Run(stage.file, func(t *testing.T) { checkRows(t, stage.tables) })
	}
}

func checkRows(t *testing.T, groups []group) {
	t.Helper()
	for _, g := range groups {
		t.Run(g.name, func(t *testing.T) {
			for _, r := range g.rows {
				t.Run(r.name, func(t *testing.T) { checkRow(t, r) })
			}
		})
	}
}

func checkRow(t *testing.T, r row) {
	t.Helper()
	o := observation(r)
	untouched := observation(r)
	d := lifecycle.Next(o)
	demandWords(t, r, describe(t, o, d), describeInterrupts(d))
	if !reflect.DeepEqual(o, untouched) {
		t.Errorf("Next changed what it was given:\n%s", cmp.Diff(untouched, o))
	}
	if again := lifecycle.Next(observation(r)); !reflect.DeepEqual(d, again) {
		t.Errorf("the same observation gave another decision:\n%s", cmp.Diff(d, again))
	}
}

// demandWords compares a decision with what a row wants.
func demandWords(t *testing.T, r row, got, interrupts []words) {
	t.Helper()
	if diff := cmp.Diff(r.want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if diff := cmp.Diff(r.also, interrupts); r.also != nil && diff != "" {
		t.Errorf("also, -want +got\n%s", diff)
	}
}

// TestErroringIsAboutPackages: the node condition Erroring is about packages alone; the status label tells of drains,
// too.
func TestErroringIsAboutPackages(t *testing.T) {
	for _, c := range []struct {
		name string
		row
		status   v1alpha1.Status
		erroring bool
	}{
		{
			"a package fails",
			see(spec(pkg(a)), node(apply.erroring(a).reason(stepFailed)), pods(apply.failing(a).reason(stepFailed))),
			erroring, true,
		},
		{
			"a drain takes too long",
			see(spec(pkg(a).interrupt(reboot)), node(config.complete(a)), ourCordon, drainLate(evictionRefused)),
			erroring, false,
		},
		{
			"a drain continues",
			see(spec(pkg(a).interrupt(reboot)), node(config.complete(a)), ourCordon, drainLeft(evictionRefused)),
			inProgress, false,
		},
	} {
		if d := lifecycle.Next(observation(c.row)); d.Record.Status != c.status || d.Erroring != c.erroring {
			t.Errorf("%s: status %s, erroring %t", c.name, d.Record.Status, d.Erroring)
		}
	}
}
