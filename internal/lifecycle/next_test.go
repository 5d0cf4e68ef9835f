package lifecycle_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
	o := observation(t, r)
	untouched := observation(t, r)
	d := lifecycle.Next(o)
	if got := strings.Join(describe(t, o, d), "; "); got != r.want {
		t.Errorf("\nspec %s\nkept %s\nnode %s\npods %s\ngate %s\nwant %s\ngot  %s", r.spec, r.kept, r.node, r.pods, r.gate,
			r.want, got)
	}
	if got := describeInterrupts(d); r.also != "" && got != r.also {
		t.Errorf("\nspec %s\nnode %s\npods %s\ngate %s\nalso %s\ngot  %s", r.spec, r.node, r.pods, r.gate, r.also, got)
	}
	if !reflect.DeepEqual(o, untouched) {
		t.Errorf("Next changed what it was given:\n%s", cmp.Diff(untouched, o))
	}
	if again := lifecycle.Next(observation(t, r)); !reflect.DeepEqual(d, again) {
		t.Errorf("the same observation gave another decision:\n%s", cmp.Diff(d, again))
	}
}

// TestErroringIsAboutPackages: the node condition Erroring is about packages alone; the status label tells of drains,
// too.
func TestErroringIsAboutPackages(t *testing.T) {
	for _, c := range []struct {
		name string
		row
		status   string
		erroring bool
	}{
		{
			"a package fails",
			row{spec: "a@1.0", node: "a@1.0 apply:erroring reason=StepFailed", pods: "a@1.0 apply failing reason=StepFailed"},
			"erroring", true,
		},
		{
			"a drain takes too long",
			row{spec: "a@1.0 interrupt=reboot", node: "a@1.0 config:complete", gate: "ours late=EvictionRefused"},
			"erroring",
			false,
		},
		{
			"a drain continues",
			row{spec: "a@1.0 interrupt=reboot", node: "a@1.0 config:complete", gate: "ours left=EvictionRefused"},
			"in_progress",
			false,
		},
	} {
		if d := lifecycle.Next(observation(t, c.row)); string(d.Record.Status) != c.status || d.Erroring != c.erroring {
			t.Errorf("%s: status %s, erroring %t", c.name, d.Record.Status, d.Erroring)
		}
	}
}
