package lifecycle_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

var wantedTables = []group{
	{"removed", removals},
	{"lowered", lowerings},
	{"several versions", severalVersions},
	{"deletion", deletions},
	{"abandoned", abandonments},
}

// removals: the package left the spec; what was said of it last counts.
var removals = []row{
	when("not enabled: its entry stays",
		kept(pkg(a).def("old")), node(config.complete(a).def("old")),
		want(is(complete), returned)),
	when("Refuse: its entry stays",
		kept(pkg(a).def("old").uninstall(on)), node(config.complete(a).def("old")),
		want(is(complete), returned)),
	when("Uninstall, but not enabled: its entry stays",
		kept(pkg(a).def("old").uninstall(auto)), node(config.complete(a).def("old")),
		want(is(complete), returned)),
	when("Uninstall: uninstalled as it was installed",
		kept(pkg(a).def("old").config("k=1").uninstall(on, auto),
			pkg(a).def("other").config("k=2").uninstall(on, auto)), node(config.complete(a).def("old")),
		want(uninstall.inProgress(a).anew().def("old"), uninstall.start(a).as("old"), is(inProgress))),
	when("Uninstall: its ConfigMap is not there yet",
		kept(pkg(a).def("old").config("k=1").uninstall(on, auto)), node(config.complete(a).def("old")),
		noRetainedConfigMap,
		want(wait(a, waitingForConfigMap), tell(waitingForConfigMap), is(inProgress))),
	when("Uninstall, with an interrupt",
		kept(pkg(a).def("old").uninstall(on, auto).interrupt(service("x"))), node(uninstall.inProgress(a).def("old")),
		pods(uninstall.done(a)), ourCordon, drained,
		want(uninstall.complete(a), uninstallInterrupt.inProgress(a).anew().by(service("x")).def("old"),
			uninstall.delete(a), uninstallInterrupt.start(a, service("x")).as("old"), is(inProgress))),
	when("Uninstall, with an interrupt: its pod is gone",
		kept(pkg(a).def("old").uninstall(on, auto).interrupt(service("x"))),
		node(uninstallInterrupt.inProgress(a).def("old").by(service("x"))), ourCordon, drained,
		want(uninstallInterrupt.start(a, service("x")).as("old"), is(inProgress))),
	when("Refuse, while it was being uninstalled: it continues, as it was begun",
		kept(pkg(a).def("old").uninstall(on)), node(uninstall.inProgress(a).def("old")), pods(uninstall.running(a)),
		want(is(inProgress))),
	when("Refuse, while its uninstall failed: it continues",
		kept(pkg(a).def("old").uninstall(on)), node(uninstall.erroring(a).restarts(1).reason("Evicted").def("old")),
		want(uninstall.inProgress(a).run("r1").restarts(1).def("old"), uninstall.start(a).as("old"), is(inProgress))),
	when("Refuse, while its interrupt was pending: that runs",
		kept(pkg(a).def("old").uninstall(on).interrupt(noop)), node(uninstall.complete(a).def("old")), ourCordon,
		drained,
		want(uninstallInterrupt.inProgress(a).anew().by(noop).def("old"), uninstallInterrupt.start(a, noop).as("old"),
			is(inProgress))),
	when("it comes back before it was uninstalled: it stays",
		spec(pkg(a).def("new").uninstall(on, auto)), kept(pkg(a).def("old").uninstall(on, auto)),
		node(config.complete(a).def("old")), acknowledged,
		want(is(complete))),
	when("nobody kept its definition, and it is being uninstalled by another operator: its entry stays",
		node(uninstall.inProgress(a)),
		want(is(complete), returned)),
	when("its own interrupt ran for its install: it is made again, as it was begun, and then uninstall",
		kept(pkg(a).def("old").uninstall(on, auto).interrupt(service("x"))),
		node(interrupt.inProgress(a).def("old").by(service("x"))), ourCordon, drained,
		want(interrupt.start(a, service("x")).as("old"), is(inProgress))),
}

// lowerings: the version in the spec is lower than what is installed.
var lowerings = []row{
	when("not enabled: applied over it, the old entry stays until then",
		spec(pkg(a)), kept(pkg("a@1.1").def("old")), node(config.complete("a@1.1").def("old")),
		want(apply.inProgress(a).anew(), apply.start(a), is(inProgress))),
	when("Refuse: nothing happens, and the node says what to do",
		spec(pkg(a).uninstall(on)), kept(pkg("a@1.1").def("old").uninstall(on)),
		node(config.complete("a@1.1").def("old")),
		want(wait(a, uninstallRequired), tell(uninstallRequired), is(blocked), returned)),
	when("Refuse: without a permit it says so, too",
		spec(pkg(a).uninstall(on)), kept(pkg("a@1.1").def("old").uninstall(on)),
		node(config.complete("a@1.1").def("old")), noPermit,
		want(wait(a, uninstallRequired), tell(uninstallRequired), is(blocked))),
	when("Refuse: the other packages continue",
		spec(pkg(a).uninstall(on), pkg(b)), kept(pkg("a@1.1").def("old").uninstall(on)),
		node(config.complete("a@1.1").def("old")),
		want(apply.inProgress(b).anew(), apply.start(b), wait(a, uninstallRequired), is(inProgress))),
	when("Refuse: what depends on the lower one waits",
		spec(pkg(a).uninstall(on), pkg(b).needs(a)), kept(pkg("a@1.1").def("old").uninstall(on)),
		node(config.complete("a@1.1").def("old")),
		want(wait(a, uninstallRequired), wait(b, waitingForDependency), tell(uninstallRequired), is(blocked), returned)),
	when("Refuse: enabled by the installed one alone is enough",
		spec(pkg(a)), kept(pkg("a@1.1").def("old").uninstall(on)), node(config.complete("a@1.1").def("old")),
		want(wait(a, uninstallRequired), tell(uninstallRequired), is(blocked), returned)),
	when("Refuse, and the user abandoned its uninstall: applied over it",
		spec(pkg(a).uninstall(on)), kept(pkg("a@1.1").def("old").uninstall(on)),
		node(config.complete("a@1.1").def("old")), abandoned,
		want(apply.inProgress(a).anew(), apply.start(a), is(inProgress))),
	when("Refuse, while the higher one was being uninstalled: that continues first",
		spec(pkg(a).uninstall(on)), kept(pkg("a@1.1").def("old").uninstall(on)),
		node(uninstall.inProgress("a@1.1").def("old")), pods(uninstall.running("a@1.1")),
		want(wait(a, waitingForUninstall), is(inProgress))),
	when("Refuse, and the higher one is uninstalled now: the lower one is applied",
		spec(pkg(a).uninstall(on)), kept(pkg("a@1.1").def("old").uninstall(on)),
		node(uninstall.inProgress("a@1.1").def("old")), pods(uninstall.done("a@1.1")),
		want(uninstall.complete("a@1.1"), uninstalled("a@1.1"), apply.inProgress(a).anew(), remove("a@1.1"),
			uninstall.delete("a@1.1"), apply.start(a), is(inProgress))),
	when("Uninstall: the installed one is uninstalled first, as it was installed",
		spec(pkg(a).uninstall(on, auto)), kept(pkg("a@1.1").def("old").uninstall(on, auto)),
		node(config.complete("a@1.1").def("old")),
		want(uninstall.inProgress("a@1.1").anew().def("old"), uninstall.start("a@1.1").as("old"),
			wait(a, waitingForUninstall), is(inProgress))),
	when("Uninstall: said by the lower one is enough",
		spec(pkg(a).uninstall(on, auto)), kept(pkg("a@1.1").def("old").uninstall(on)),
		node(config.complete("a@1.1").def("old")),
		want(uninstall.inProgress("a@1.1").anew().def("old"), uninstall.start("a@1.1").as("old"),
			wait(a, waitingForUninstall), is(inProgress))),
	when("Uninstall: said by the installed one is enough",
		spec(pkg(a).uninstall(on)), kept(pkg("a@1.1").def("old").uninstall(on, auto)),
		node(config.complete("a@1.1").def("old")),
		want(uninstall.inProgress("a@1.1").anew().def("old"), uninstall.start("a@1.1").as("old"),
			wait(a, waitingForUninstall), is(inProgress))),
	when("Uninstall: done, the lower one is applied in the same pass, and never upgraded to",
		spec(pkg(a).uninstall(on, auto)), kept(pkg("a@1.1").def("old").uninstall(on, auto)),
		node(uninstall.inProgress("a@1.1").def("old")), pods(uninstall.done("a@1.1")),
		want(uninstall.complete("a@1.1"), uninstalled("a@1.1"), apply.inProgress(a).anew(), remove("a@1.1"),
			uninstall.delete("a@1.1"), apply.start(a), is(inProgress))),
	when("Uninstall: it fails, the lower one waits",
		spec(pkg(a).uninstall(on, auto)), kept(pkg("a@1.1").def("old").uninstall(on, auto)),
		node(uninstall.inProgress("a@1.1").def("old")), pods(uninstall.failing("a@1.1").restarts(1).reason(stepFailed)),
		want(uninstall.erroring("a@1.1").run("r1").restarts(1).reason(stepFailed).def("old"),
			wait(a, waitingForUninstall), is(erroring))),
	when("Uninstall: its interrupt comes before the lower one",
		spec(pkg(a).uninstall(on, auto)), kept(pkg("a@1.1").def("old").uninstall(on, auto).interrupt(service("x"))),
		node(uninstallInterrupt.inProgress("a@1.1").def("old").by(service("x"))),
		pods(uninstallInterrupt.done("a@1.1")), ourCordon,
		want(uninstallInterrupt.complete("a@1.1"), uninstalled("a@1.1"), apply.inProgress(a).anew(), remove("a@1.1"),
			uninstallInterrupt.delete("a@1.1"), apply.start(a), is(inProgress))),
	when("Uninstall, and the definition is named, but lost: the node says so",
		spec(pkg(a).uninstall(on, auto)), node(config.complete("a@1.1").def("old")),
		want(wait(a, definitionMissing), wait(a, waitingForUninstall), tell(definitionMissing), is(blocked), returned)),
	when("a higher version is no lower one: upgrade, whatever is said",
		spec(pkg("a@1.1").uninstall(on, auto)), kept(pkg(a).def("old").uninstall(on, auto)),
		node(config.complete(a).def("old")),
		want(upgrade.inProgress("a@1.1").anew(), upgrade.start("a@1.1"), is(inProgress))),
	when("the same version, spelled otherwise, is no lower one",
		spec(pkg("a@v1.0").def("new").uninstall(on, auto)), kept(pkg("a@1.0.0").def("old").uninstall(on, auto)),
		node(config.complete("a@1.0.0").def("old")), acknowledged,
		want(rename("a@v1.0"), remove("a@1.0.0"), is(complete))),
	when("a lower one that was being applied over it: that is uninstalled, as it is on the host now",
		spec(pkg("a@0.9").uninstall(on, auto)),
		kept(pkg("a@1.1").def("old").uninstall(on, auto), pkg(a).def("new").uninstall(on, auto)),
		node(config.complete("a@1.1").def("old").since(-2*hour), config.complete(a).def("new").since(-minute)),
		want(uninstall.inProgress(a).anew().def("new"), uninstall.start(a).as("new"), wait(a, waitingForUninstall),
			is(inProgress))),
	when("serial: one that waits for the user has no turn, so that others get on",
		spec(pkg(a).uninstall(on), pkg(b)), kept(pkg("a@1.1").def("old").uninstall(on)),
		node(config.complete("a@1.1").def("old")), serial,
		want(apply.inProgress(b).anew(), apply.start(b), wait(a, uninstallRequired), is(inProgress))),
}

// severalVersions: one of them is on the host; all entries go together.
var severalVersions = []row{
	when("the one that came last is uninstalled",
		spec(pkg("a@1.1").def("new").uninstall(on, asked)), kept(pkg(a).def("old").uninstall(on)),
		node(config.complete(a).def("old").since(-2*hour), config.complete("a@1.1").def("new")),
		want(uninstall.inProgress("a@1.1").anew().def("new"), uninstall.start("a@1.1"), is(inProgress))),
	when("all entries go together",
		spec(pkg("a@1.1").def("new").uninstall(on, asked)), kept(pkg(a).def("old").uninstall(on)),
		node(config.complete(a).def("old").since(-2*hour), uninstall.inProgress("a@1.1").def("new")),
		pods(uninstall.done("a@1.1")),
		want(uninstall.complete("a@1.1"), uninstalled("a@1.1"), remove(a), remove("a@1.1"), uninstall.delete("a@1.1"),
			is(complete), returned)),
	when("an upgrade that failed: it is uninstalled, and what was before goes with it",
		spec(pkg("a@1.1").uninstall(on, asked)), kept(pkg(a).def("old").uninstall(on)),
		node(config.complete(a).def("old").since(-2*hour),
			upgrade.erroring("a@1.1").restarts(1).reason(stepFailed).since(-minute)),
		want(uninstall.inProgress("a@1.1").anew(), uninstall.start("a@1.1"), is(inProgress))),
	when("other packages keep their entries",
		spec(pkg("a@1.1").uninstall(on, asked), pkg(b)),
		node(config.complete(a).since(-2*hour), uninstall.complete("a@1.1"), config.complete(b)),
		want(uninstalled("a@1.1"), remove(a), remove("a@1.1"), is(complete), returned)),
	when("another operator left two, and nobody knows which came last: the spec's is uninstalled, never two at once",
		spec(pkg(a).uninstall(on, asked)), kept(pkg("a@1.1").def("old").uninstall(on)),
		node(config.complete(a).sinceNever().configUnknown().run(""),
			config.complete("a@1.1").sinceNever().def("old").configUnknown().run("")),
		want(uninstall.inProgress(a).anew(), uninstall.start(a), is(inProgress))),
	when("another operator left two, and the spec has none: the one whose definition is known",
		spec(pkg(b)), kept(pkg(a).def("old").uninstall(on, auto)),
		node(config.complete(a).sinceNever().def("old").configUnknown().run(""),
			config.complete("a@1.1").sinceNever().configUnknown().run("")), deleting,
		want(uninstall.inProgress(a).anew().def("old"), uninstall.start(a).as("old"), is(inProgress))),
	when("another operator left two: the one that was begun continues",
		spec(pkg(a).uninstall(on, asked)), kept(pkg("a@1.1").def("old").uninstall(on)),
		node(config.complete(a).sinceNever(), uninstall.inProgress("a@1.1").sinceNever().def("old")),
		want(uninstall.start("a@1.1").as("old"), is(inProgress))),
	when("another operator left one version twice, spelled otherwise: once",
		spec(pkg(a).uninstall(on)), node(config.complete(a).sinceNever(), config.complete("a@1.0.0").sinceNever()),
		deleting,
		want(uninstall.inProgress(a).anew(), uninstall.start(a), is(inProgress))),
	when("another operator kept no definition: the spec's is noted while it is the one that was installed",
		spec(pkg(a).config("k=1").def("new").uninstall(on)), node(config.complete(a).configUnknown().run("")),
		was(complete), acknowledged,
		want(rename(a), is(complete))),
	when("another operator kept no definition, and the config changed: noted when it is applied",
		spec(pkg(a).config("k=2").def("new").uninstall(on)), node(config.complete(a).config("k=1")),
		want(config.inProgress(a).anew().changed("k").def("new"), config.start(a), is(inProgress))),
	when("another operator left two: of equals, the higher",
		spec(pkg(b)),
		kept(pkg("a@1.9").def("lower").uninstall(on, auto), pkg("a@1.10").def("higher").uninstall(on, auto)),
		node(config.complete("a@1.10").sinceNever().def("higher"), config.complete("a@1.9").sinceNever().def("lower")),
		deleting,
		want(uninstall.inProgress("a@1.10").anew().def("higher"), uninstall.start("a@1.10").as("higher"),
			is(inProgress))),
}

// TestUndefined: what the record goes by and nobody has.
func TestUndefined(t *testing.T) {
	for _, c := range []struct {
		row
		want map[string]bool
	}{
		{row: when("kept", kept(pkg(a).def("old")), node(config.complete(a).def("old")))},
		{
			row:  when("not kept", kept(pkg("a@1.1").def("new")), node(config.complete(a).def("old"))),
			want: map[string]bool{"old": true},
		},
		{
			row:  when("another version is in the spec", spec(pkg("a@1.1")), node(config.complete(a).def("old"))),
			want: map[string]bool{"old": true},
		},
		{row: when("in the spec, which counts", spec(pkg(a)), node(config.complete(a).def("old")))},
		{row: when("none is named", node(config.complete(a)))},
		{row: when("abandoned", node(config.complete(a).def("old")), abandoned)},
		{
			row: when("one that is not on the host",
				node(config.complete(a).def("old").since(-2*hour), config.complete("a@1.1").def("new"))),
			want: map[string]bool{"new": true},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := observation(c.row)
			if diff := cmp.Diff(c.want, o.Undefined(o.Record)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestStays: what the spec forgot too early is told to people.
func TestStays(t *testing.T) {
	for _, c := range []struct {
		row
		want []string
	}{
		{
			row:  when("removed, Refuse", kept(pkg(a).def("old").uninstall(on)), node(config.complete(a).def("old"))),
			want: []string{"a|1.0 old"},
		},
		{row: when("removed, Uninstall",
			kept(pkg(a).def("old").uninstall(on, auto)), node(config.complete(a).def("old")))},
		{row: when("removed, not enabled", kept(pkg(a).def("old")), node(config.complete(a).def("old")))},
		{row: when("removed, not known", node(config.complete(a)))},
		{row: when("removed, while it is uninstalled",
			kept(pkg(a).def("old").uninstall(on)), node(uninstall.inProgress(a).def("old")))},
		{row: when("lowered, Refuse",
			spec(pkg(a).uninstall(on)), kept(pkg("a@1.1").def("old").uninstall(on)),
			node(config.complete("a@1.1").def("old"))), want: []string{"a|1.1 old"}},
		{row: when("lowered, Uninstall",
			spec(pkg(a).uninstall(on)), kept(pkg("a@1.1").def("old").uninstall(on, auto)),
			node(config.complete("a@1.1").def("old")))},
		{row: when("in the spec",
			spec(pkg(a).uninstall(on)), kept(pkg(a).def("old").uninstall(on)),
			node(config.complete(a).def("old")))},
		{row: when("abandoned",
			kept(pkg(a).def("old").uninstall(on)), node(config.complete(a).def("old")), abandoned)},
		{row: when("several, sorted; superseded ones are not on the host",
			kept(pkg(a).def("old").uninstall(on), pkg("a@1.1").def("new").uninstall(on),
				pkg(b).def("b").uninstall(on)),
			node(config.complete(b).def("b"), config.complete(a).def("old").since(-2*hour),
				config.complete("a@1.1").def("new"))), want: []string{"a|1.1 new", "b|1.0 b"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := observation(c.row)
			es, pkgs := o.Stays(o.Record)
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
