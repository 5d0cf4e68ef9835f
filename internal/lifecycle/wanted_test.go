package lifecycle_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
)

var wantedTables = []group{
	{"removed", removals},
	{"lowered", lowerings},
	{"several versions", severalVersions},
	{"deletion", deletions},
	{"abandoned", abandoned},
}

// removals: the package left the spec; what was said of it last counts.
var removals = []row{
	{
		name: "not enabled: its entry stays",
		kept: "old=a@1.0", node: "a@1.0 config:complete def=old",
		want: "is complete; returned",
	},
	{
		name: "Refuse: its entry stays",
		kept: "old=a@1.0 uninstall=on", node: "a@1.0 config:complete def=old",
		want: "is complete; returned",
	},
	{
		name: "Uninstall, but not enabled: its entry stays",
		kept: "old=a@1.0 uninstall=auto", node: "a@1.0 config:complete def=old",
		want: "is complete; returned",
	},
	{
		name: "Uninstall: uninstalled as it was installed",
		kept: "old=a@1.0 config{k=1} uninstall=on,auto; other=a@1.0 config{k=2} uninstall=on,auto",
		node: "a@1.0 config:complete def=old",
		want: "a@1.0 uninstall:in_progress run=now def=old; start a uninstall as old; is in_progress",
	},
	{
		name: "Uninstall: its ConfigMap is not there yet",
		kept: "old=a@1.0 config{k=1} uninstall=on,auto", node: "a@1.0 config:complete def=old", gate: "no-config-of-old",
		want: "wait a WaitingForConfigMap; tell WaitingForConfigMap; is in_progress",
	},
	{
		name: "Uninstall, with an interrupt",
		kept: "old=a@1.0 uninstall=on,auto interrupt=service(x)", node: "a@1.0 uninstall:in_progress def=old",
		pods: "a@1.0 uninstall done", gate: "ours clear",
		want: "a@1.0 uninstall:complete; a@1.0 uninstall-interrupt:in_progress run=now by service(x) boot=b1 def=old; " +
			"delete a-uninstall; start a uninstall-interrupt service(x) as old; is in_progress",
	},
	{
		name: "Uninstall, with an interrupt: its pod is gone",
		kept: "old=a@1.0 uninstall=on,auto interrupt=service(x)",
		node: "a@1.0 uninstall-interrupt:in_progress def=old interrupt=service(x) boot=b1", gate: "ours clear",
		want: "start a uninstall-interrupt service(x) as old; is in_progress",
	},
	{
		name: "Refuse, while it was being uninstalled: it continues, as it was begun",
		kept: "old=a@1.0 uninstall=on", node: "a@1.0 uninstall:in_progress def=old", pods: "a@1.0 uninstall running",
		want: "is in_progress",
	},
	{
		name: "Refuse, while its uninstall failed: it continues",
		kept: "old=a@1.0 uninstall=on", node: "a@1.0 uninstall:erroring restarts=1 reason=Evicted def=old",
		want: "a@1.0 uninstall:in_progress run=r1 restarts=1 def=old; start a uninstall as old; is in_progress",
	},
	{
		name: "Refuse, while its interrupt was pending: that runs",
		kept: "old=a@1.0 uninstall=on interrupt=noop", node: "a@1.0 uninstall:complete def=old", gate: "ours clear",
		want: "a@1.0 uninstall-interrupt:in_progress run=now by noop boot=b1 def=old; " +
			"start a uninstall-interrupt noop as old; is in_progress",
	},
	{
		name: "it comes back before it was uninstalled: it stays",
		spec: "a@1.0 def=new uninstall=on,auto", kept: "old=a@1.0 uninstall=on,auto", node: "a@1.0 config:complete def=old",
		gate: "acknowledged",
		want: "is complete",
	},
	{
		name: "nobody kept its definition, and it is being uninstalled by another operator: its entry stays",
		node: "a@1.0 uninstall:in_progress",
		want: "is complete; returned",
	},
	{
		name: "its own interrupt ran for its install: it is made again, as it was begun, and then uninstall",
		kept: "old=a@1.0 uninstall=on,auto interrupt=service(x)",
		node: "a@1.0 interrupt:in_progress def=old interrupt=service(x) boot=b1", gate: "ours clear",
		want: "start a interrupt service(x) as old; is in_progress",
	},
}

// lowerings: the version in the spec is lower than what is installed.
var lowerings = []row{
	{
		name: "not enabled: applied over it, the old entry stays until then",
		spec: "a@1.0", kept: "old=a@1.1", node: "a@1.1 config:complete def=old",
		want: "a@1.0 apply:in_progress run=now; start a apply; is in_progress",
	},
	{
		name: "Refuse: nothing happens, and the node says what to do",
		spec: "a@1.0 uninstall=on", kept: "old=a@1.1 uninstall=on", node: "a@1.1 config:complete def=old",
		want: "wait a UninstallRequired; tell UninstallRequired; is blocked; returned",
	},
	{
		name: "Refuse: without a permit it says so, too",
		spec: "a@1.0 uninstall=on", kept: "old=a@1.1 uninstall=on", node: "a@1.1 config:complete def=old", gate: "no-permit",
		want: "wait a UninstallRequired; tell UninstallRequired; is blocked",
	},
	{
		name: "Refuse: the other packages continue",
		spec: "a@1.0 uninstall=on; b@1.0", kept: "old=a@1.1 uninstall=on", node: "a@1.1 config:complete def=old",
		want: "b@1.0 apply:in_progress run=now; start b apply; wait a UninstallRequired; is in_progress",
	},
	{
		name: "Refuse: what depends on the lower one waits",
		spec: "a@1.0 uninstall=on; b@1.0 needs=a@1.0", kept: "old=a@1.1 uninstall=on", node: "a@1.1 config:complete def=old",
		want: "wait a UninstallRequired; wait b WaitingForDependency; tell UninstallRequired; is blocked; returned",
	},
	{
		name: "Refuse: enabled by the installed one alone is enough",
		spec: "a@1.0", kept: "old=a@1.1 uninstall=on", node: "a@1.1 config:complete def=old",
		want: "wait a UninstallRequired; tell UninstallRequired; is blocked; returned",
	},
	{
		name: "Refuse, and the user abandoned its uninstall: applied over it",
		spec: "a@1.0 uninstall=on", kept: "old=a@1.1 uninstall=on", node: "a@1.1 config:complete def=old", gate: "abandoned",
		want: "a@1.0 apply:in_progress run=now; start a apply; is in_progress",
	},
	{
		name: "Refuse, while the higher one was being uninstalled: that continues first",
		spec: "a@1.0 uninstall=on", kept: "old=a@1.1 uninstall=on", node: "a@1.1 uninstall:in_progress def=old",
		pods: "a@1.1 uninstall running",
		want: "wait a WaitingForUninstall; is in_progress",
	},
	{
		name: "Refuse, and the higher one is uninstalled now: the lower one is applied",
		spec: "a@1.0 uninstall=on", kept: "old=a@1.1 uninstall=on", node: "a@1.1 uninstall:in_progress def=old",
		pods: "a@1.1 uninstall done",
		want: "a@1.1 uninstall:complete; Uninstalled a@1.1; a@1.0 apply:in_progress run=now; remove a@1.1; " +
			"delete a-uninstall; start a apply; is in_progress",
	},
	{
		name: "Uninstall: the installed one is uninstalled first, as it was installed",
		spec: "a@1.0 uninstall=on,auto", kept: "old=a@1.1 uninstall=on,auto", node: "a@1.1 config:complete def=old",
		want: "a@1.1 uninstall:in_progress run=now def=old; start a uninstall as old; wait a WaitingForUninstall; " +
			"is in_progress",
	},
	{
		name: "Uninstall: said by the lower one is enough",
		spec: "a@1.0 uninstall=on,auto", kept: "old=a@1.1 uninstall=on", node: "a@1.1 config:complete def=old",
		want: "a@1.1 uninstall:in_progress run=now def=old; start a uninstall as old; wait a WaitingForUninstall; " +
			"is in_progress",
	},
	{
		name: "Uninstall: said by the installed one is enough",
		spec: "a@1.0 uninstall=on", kept: "old=a@1.1 uninstall=on,auto", node: "a@1.1 config:complete def=old",
		want: "a@1.1 uninstall:in_progress run=now def=old; start a uninstall as old; wait a WaitingForUninstall; " +
			"is in_progress",
	},
	{
		name: "Uninstall: done, the lower one is applied in the same pass, and never upgraded to",
		spec: "a@1.0 uninstall=on,auto", kept: "old=a@1.1 uninstall=on,auto", node: "a@1.1 uninstall:in_progress def=old",
		pods: "a@1.1 uninstall done",
		want: "a@1.1 uninstall:complete; Uninstalled a@1.1; a@1.0 apply:in_progress run=now; remove a@1.1; " +
			"delete a-uninstall; start a apply; is in_progress",
	},
	{
		name: "Uninstall: it fails, the lower one waits",
		spec: "a@1.0 uninstall=on,auto", kept: "old=a@1.1 uninstall=on,auto", node: "a@1.1 uninstall:in_progress def=old",
		pods: "a@1.1 uninstall failing restarts=1 reason=StepFailed",
		want: "a@1.1 uninstall:erroring run=r1 restarts=1 reason=StepFailed def=old; wait a WaitingForUninstall; is erroring",
	},
	{
		name: "Uninstall: its interrupt comes before the lower one",
		spec: "a@1.0 uninstall=on,auto", kept: "old=a@1.1 uninstall=on,auto interrupt=service(x)",
		node: "a@1.1 uninstall-interrupt:in_progress def=old interrupt=service(x) boot=b1",
		pods: "a@1.1 uninstall-interrupt done", gate: "ours",
		want: "a@1.1 uninstall-interrupt:complete; Uninstalled a@1.1; a@1.0 apply:in_progress run=now; remove a@1.1; " +
			"delete a-uninstall-interrupt; start a apply; is in_progress",
	},
	{
		name: "Uninstall, and the definition is named, but lost: the node says so",
		spec: "a@1.0 uninstall=on,auto", node: "a@1.1 config:complete def=old",
		want: "wait a DefinitionMissing; wait a WaitingForUninstall; tell DefinitionMissing; is blocked; returned",
	},
	{
		name: "a higher version is no lower one: upgrade, whatever is said",
		spec: "a@1.1 uninstall=on,auto", kept: "old=a@1.0 uninstall=on,auto", node: "a@1.0 config:complete def=old",
		want: "a@1.1 upgrade:in_progress run=now; start a upgrade; is in_progress",
	},
	{
		name: "the same version, spelled otherwise, is no lower one",
		spec: "a@v1.0 def=new uninstall=on,auto", kept: "old=a@1.0.0 uninstall=on,auto",
		node: "a@1.0.0 config:complete def=old", gate: "acknowledged",
		want: "rename a@v1.0; remove a@1.0.0; is complete",
	},
	{
		name: "a lower one that was being applied over it: that is uninstalled, as it is on the host now",
		spec: "a@0.9 uninstall=on,auto", kept: "old=a@1.1 uninstall=on,auto; new=a@1.0 uninstall=on,auto",
		node: "a@1.1 config:complete def=old since=-2h; a@1.0 config:complete def=new since=-1m",
		want: "a@1.0 uninstall:in_progress run=now def=new; start a uninstall as new; wait a WaitingForUninstall; " +
			"is in_progress",
	},
	{
		name: "serial: one that waits for the user has no turn, so that others get on",
		spec: "a@1.0 uninstall=on; b@1.0", kept: "old=a@1.1 uninstall=on", node: "a@1.1 config:complete def=old",
		gate: "serial",
		want: "b@1.0 apply:in_progress run=now; start b apply; wait a UninstallRequired; is in_progress",
	},
}

// severalVersions: one of them is on the host; all entries go together.
var severalVersions = []row{
	{
		name: "the one that came last is uninstalled",
		spec: "a@1.1 def=new uninstall=on,apply", kept: "old=a@1.0 uninstall=on",
		node: "a@1.0 config:complete def=old since=-2h; a@1.1 config:complete def=new",
		want: "a@1.1 uninstall:in_progress run=now def=new; start a uninstall; is in_progress",
	},
	{
		name: "all entries go together",
		spec: "a@1.1 def=new uninstall=on,apply", kept: "old=a@1.0 uninstall=on",
		node: "a@1.0 config:complete def=old since=-2h; a@1.1 uninstall:in_progress def=new", pods: "a@1.1 uninstall done",
		want: "a@1.1 uninstall:complete; Uninstalled a@1.1; remove a@1.0; remove a@1.1; delete a-uninstall; is complete; " +
			"returned",
	},
	{
		name: "an upgrade that failed: it is uninstalled, and what was before goes with it",
		spec: "a@1.1 uninstall=on,apply", kept: "old=a@1.0 uninstall=on",
		node: "a@1.0 config:complete def=old since=-2h; a@1.1 upgrade:erroring restarts=1 reason=StepFailed since=-1m",
		want: "a@1.1 uninstall:in_progress run=now; start a uninstall; is in_progress",
	},
	{
		name: "other packages keep their entries",
		spec: "a@1.1 uninstall=on,apply; b@1.0",
		node: "a@1.0 config:complete since=-2h; a@1.1 uninstall:complete; b@1.0 config:complete",
		want: "Uninstalled a@1.1; remove a@1.0; remove a@1.1; is complete; returned",
	},
	{
		name: "another operator left two, and nobody knows which came last: the spec's is uninstalled, never two at once",
		spec: "a@1.0 uninstall=on,apply", kept: "old=a@1.1 uninstall=on",
		node: "a@1.0 config:complete since=never config=unknown run=; " +
			"a@1.1 config:complete since=never def=old config=unknown run=",
		want: "a@1.0 uninstall:in_progress run=now; start a uninstall; is in_progress",
	},
	{
		name: "another operator left two, and the spec has none: the one whose definition is known",
		kept: "old=a@1.0 uninstall=on,auto",
		node: "a@1.0 config:complete since=never def=old config=unknown run=; " +
			"a@1.1 config:complete since=never config=unknown run=",
		spec: "b@1.0", gate: "deleting",
		want: "a@1.0 uninstall:in_progress run=now def=old; start a uninstall as old; is in_progress",
	},
	{
		name: "another operator left two: the one that was begun continues",
		spec: "a@1.0 uninstall=on,apply", kept: "old=a@1.1 uninstall=on",
		node: "a@1.0 config:complete since=never; a@1.1 uninstall:in_progress since=never def=old",
		want: "start a uninstall as old; is in_progress",
	},
	{
		name: "another operator left one version twice, spelled otherwise: once",
		spec: "a@1.0 uninstall=on", gate: "deleting",
		node: "a@1.0 config:complete since=never; a@1.0.0 config:complete since=never",
		want: "a@1.0 uninstall:in_progress run=now; start a uninstall; is in_progress",
	},
	{
		name: "another operator kept no definition: the spec's is noted while it is the one that was installed",
		spec: "a@1.0 config{k=1} def=new uninstall=on", node: "a@1.0 config:complete config=unknown run=",
		gate: "status=complete acknowledged",
		want: "rename a@1.0; is complete",
	},
	{
		name: "another operator kept no definition, and the config changed: noted when it is applied",
		spec: "a@1.0 config{k=2} def=new uninstall=on", node: "a@1.0 config:complete config{k=1}",
		want: "a@1.0 config:in_progress run=now changed=k def=new; start a config; is in_progress",
	},
	{
		name: "another operator left two: of equals, the higher",
		spec: "b@1.0", kept: "lower=a@1.9 uninstall=on,auto; higher=a@1.10 uninstall=on,auto", gate: "deleting",
		node: "a@1.10 config:complete since=never def=higher; a@1.9 config:complete since=never def=lower",
		want: "a@1.10 uninstall:in_progress run=now def=higher; start a uninstall as higher; is in_progress",
	},
}

// TestUndefined: what the record goes by and nobody has.
func TestUndefined(t *testing.T) {
	for _, c := range []struct {
		name       string
		spec, kept string
		node       string
		abandoned  bool
		want       map[string]bool
	}{
		{name: "kept", kept: "old=a@1.0", node: "a@1.0 config:complete def=old"},
		{name: "not kept", kept: "new=a@1.1", node: "a@1.0 config:complete def=old", want: map[string]bool{"old": true}},
		{name: "another version is in the spec", spec: "a@1.1", node: "a@1.0 config:complete def=old", want: map[string]bool{"old": true}},
		{name: "in the spec, which counts", spec: "a@1.0", node: "a@1.0 config:complete def=old"},
		{name: "none is named", node: "a@1.0 config:complete"},
		{name: "abandoned", node: "a@1.0 config:complete def=old", abandoned: true},
		{
			name: "one that is not on the host", node: "a@1.0 config:complete def=old since=-2h; a@1.1 config:complete def=new",
			want: map[string]bool{"new": true},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := lifecycle.Wanted{Packages: packages(t, c.spec), Retained: kept(t, c.kept), Abandoned: c.abandoned}
			if diff := cmp.Diff(c.want, w.Undefined(record.Node{Packages: entries(t, c.node, w)})); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestStays: what the spec forgot too early is told to people.
func TestStays(t *testing.T) {
	for _, c := range []struct {
		name       string
		spec, kept string
		node       string
		abandoned  bool
		want       []string
	}{
		{
			name: "removed, Refuse", kept: "old=a@1.0 uninstall=on", node: "a@1.0 config:complete def=old",
			want: []string{"a|1.0 old"},
		},
		{name: "removed, Uninstall", kept: "old=a@1.0 uninstall=on,auto", node: "a@1.0 config:complete def=old"},
		{name: "removed, not enabled", kept: "old=a@1.0", node: "a@1.0 config:complete def=old"},
		{name: "removed, not known", node: "a@1.0 config:complete"},
		{
			name: "removed, while it is uninstalled", kept: "old=a@1.0 uninstall=on",
			node: "a@1.0 uninstall:in_progress def=old",
		},
		{
			name: "lowered, Refuse", spec: "a@1.0 uninstall=on", kept: "old=a@1.1 uninstall=on",
			node: "a@1.1 config:complete def=old", want: []string{"a|1.1 old"},
		},
		{
			name: "lowered, Uninstall", spec: "a@1.0 uninstall=on", kept: "old=a@1.1 uninstall=on,auto",
			node: "a@1.1 config:complete def=old",
		},
		{
			name: "in the spec", spec: "a@1.0 uninstall=on", kept: "old=a@1.0 uninstall=on",
			node: "a@1.0 config:complete def=old",
		},
		{name: "abandoned", kept: "old=a@1.0 uninstall=on", node: "a@1.0 config:complete def=old", abandoned: true},
		{
			name: "several, sorted; superseded ones are not on the host",
			kept: "old=a@1.0 uninstall=on; new=a@1.1 uninstall=on; b=b@1.0 uninstall=on",
			node: "b@1.0 config:complete def=b; a@1.0 config:complete def=old since=-2h; a@1.1 config:complete def=new",
			want: []string{"a|1.1 new", "b|1.0 b"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := lifecycle.Wanted{Packages: packages(t, c.spec), Retained: kept(t, c.kept), Abandoned: c.abandoned}
			es, pkgs := w.Stays(record.Node{Packages: entries(t, c.node, w)})
			var got []string
			for i, e := range es {
				got = append(got, e.Key()+" "+pkgs[i].Definition)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}
