package rollout_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/rollout"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

// undoingConditions are those that exist only while they are true.
var undoingConditions = []string{
	v1alpha1.ConditionUninstallInProgress, v1alpha1.ConditionUninstallFailed, v1alpha1.ConditionUninstallRequired,
	v1alpha1.ConditionBlocked, v1alpha1.ConditionNodeStateMalformed, v1alpha1.ConditionDeletionBlocked,
}

// shown writes those of the plan as "Type Reason: message", one a line.
func shown(in rollout.Input) string {
	var lines []string
	status := rollout.Plan(in)
	for _, kind := range undoingConditions {
		if c := meta.FindStatusCondition(status.Conditions, kind); c != nil {
			lines = append(lines, fmt.Sprintf("%s %s: %s", kind, c.Reason, c.Message))
		}
	}
	return strings.Join(lines, "\n")
}

// uninstalling makes nodes busy with uninstalling; failures are the last errors, by node, the first a minute ago, each
// further one a minute later.
func uninstalling(list []rollout.Node, failures ...string) []rollout.Node {
	for i := range list {
		list[i].Uninstalling = true
		if i < len(failures) && failures[i] != "" {
			list[i].UninstallFailure = &record.Wait{Message: failures[i], Since: metav1.NewTime(now.Add(time.Duration(i) * time.Minute))}
		}
	}
	return list
}

func TestUninstallConditions(t *testing.T) {
	for _, c := range []struct {
		name     string
		nodes    []rollout.Node
		removal  string
		hold     *situation.Hold
		deleting bool
		want     string
	}{
		{name: "nothing goes", nodes: nodes("n1 complete; n2")},
		{name: "one node", nodes: uninstalling(nodes("n1")), want: "UninstallInProgress UninstallInProgress: packages are being uninstalled on node n1"},
		{
			name: "five nodes, in any order", nodes: uninstalling(nodes("n5; n4; n3; n2; n1")),
			want: "UninstallInProgress UninstallInProgress: packages are being uninstalled on nodes n1, n2, n3, n4, n5",
		},
		{
			name: "more than anybody reads", nodes: uninstalling(nodes("n7; n6; n5; n4; n3; n2; n1")),
			want: "UninstallInProgress UninstallInProgress: packages are being uninstalled on nodes n1, n2, n3, n4, n5, n6, n7",
		},
		{
			name: "the last error is shown", nodes: uninstalling(nodes("n1; n2; n3"), "first", "last"),
			want: "UninstallInProgress UninstallInProgress: packages are being uninstalled on nodes n1, n2, n3\n" +
				"UninstallFailed UninstallPodFailing: the uninstall fails on nodes n1, n2 and is retried; last error: last",
		},
		{
			name: "it is not tried again", nodes: uninstalling(nodes("n1 spent=RetriesExhausted"), "last"),
			want: "UninstallInProgress UninstallInProgress: packages are being uninstalled on node n1\n" +
				"UninstallFailed UninstallPodFailing: the uninstall fails on node n1; last error: last",
		},
		{
			name: "it is tried again on some", nodes: uninstalling(nodes("n1 spent=StageTimeout; n2 erroring; n3 erroring held=WaitingForSkyhook; n4 erroring not-ready"), "1", "2", "3", "4"),
			want: "UninstallInProgress UninstallInProgress: packages are being uninstalled on nodes n1, n2, n3, n4\n" +
				"UninstallFailed UninstallPodFailing: the uninstall fails on nodes n1, n2, n3, n4, and is retried on nodes n2, n3; last error: 4",
		},
		{
			name: "it is retried without end in a deletion", nodes: uninstalling(nodes("n1 erroring; n2 complete"), "last"), deleting: true,
			want: "UninstallInProgress UninstallInProgress: packages are being uninstalled on nodes n1, n2\n" +
				"UninstallFailed UninstallPodFailing: the uninstall fails on node n1 and is retried; last error: last; or leave the packages on node n1 with " +
				"`kubectl annotate skyhook demo --overwrite skyhook.nvidia.com/abandon-uninstall=n1`",
		},
		{
			name: "paused", nodes: uninstalling(nodes("n1 erroring"), "last"), hold: holdPaused,
			want: "UninstallInProgress UninstallInProgress: packages are being uninstalled on node n1\n" +
				"UninstallFailed UninstallPodFailing: the uninstall fails on node n1; last error: last",
		},
		{
			name: "ignored", nodes: uninstalling(nodes("n1 erroring held=NodeIgnored"), "last"),
			want: "UninstallInProgress UninstallInProgress: packages are being uninstalled on node n1\n" +
				"UninstallFailed UninstallPodFailing: the uninstall fails on node n1; last error: last",
		},
		{
			name: "left the spec too early", nodes: nodes("n1 complete"), removal: "put it back",
			want: "UninstallRequired UninstallRequired: put it back",
		},
		{
			name: "unreadable", nodes: nodes("n1 held=NodeStateMalformed; n2 held=NodeIgnored; n3 held=NodeStateMalformed"),
			want: "NodeStateMalformed ParseError: nodeState annotation cannot be parsed on 2 node(s): n1, n3; correct the annotation, or apply the packages again with " +
				"`kubectl annotate node NODE skyhook.nvidia.com/nodeState_demo-`",
		},
		{
			name: "unreadable in a deletion", nodes: nodes("n1 held=NodeStateMalformed; n2"), deleting: true,
			want: "NodeStateMalformed ParseError: nodeState annotation cannot be parsed on 1 node(s): n1; correct the annotation",
		},
		{
			name: "unreadable on more than anybody reads", nodes: nodes(strings.Repeat("n9 held=NodeStateMalformed;", 12) + "n1 held=NodeStateMalformed"),
			want: "NodeStateMalformed ParseError: nodeState annotation cannot be parsed on 13 node(s): n1" + strings.Repeat(", n9", 9) +
				" and 3 more; correct the annotation, or apply the packages again with " +
				"`kubectl annotate node NODE skyhook.nvidia.com/nodeState_demo-`",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := rollout.Input{Skyhook: skyhook(0), Nodes: c.nodes, Removal: c.removal, Hold: c.hold, Now: now, Deleting: c.deleting}
			if got := shown(in); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// TestUninstallConditionsGo: each goes when it is true no more, and keeps its time as long as it is.
func TestUninstallConditionsGo(t *testing.T) {
	s := skyhook(0)
	all := append(uninstalling(nodes("n1"), "x"), nodes("n2 held=NodeStateMalformed")...)
	s.Status = rollout.Plan(rollout.Input{Skyhook: s, Nodes: all, Removal: "put it back", Now: now})
	again := rollout.Plan(rollout.Input{Skyhook: s, Nodes: all, Removal: "still", Now: now.Add(time.Hour)})
	for _, kind := range undoingConditions {
		if c := meta.FindStatusCondition(again.Conditions, kind); c != nil && !c.LastTransitionTime.Time.Equal(now) {
			t.Errorf("%s did not change, but its time did", kind)
		}
	}
	if c := meta.FindStatusCondition(again.Conditions, v1alpha1.ConditionUninstallRequired); c == nil || c.Message != "still" || c.ObservedGeneration != generation {
		t.Errorf("UninstallRequired is %+v", c)
	}
	if got := shown(rollout.Input{Skyhook: s, Nodes: nodes("n1 complete; n2 complete"), Now: now}); got != "" {
		t.Errorf("stays: %s", got)
	}
}

func TestBlockedDependents(t *testing.T) {
	apply := &v1alpha1.Uninstall{Apply: true}
	on := func(names ...string) map[string]string {
		deps := map[string]string{}
		for _, n := range names {
			deps[n] = "1"
		}
		return deps
	}
	const help = "; set uninstall.apply of the dependency to false, or remove it from dependsOn"
	for _, c := range []struct {
		name                  string
		packages              map[string]v1alpha1.Package
		installed, everywhere map[string]bool
		deleting, complete    bool
		want                  string
	}{
		{name: "nobody depends on it", packages: map[string]v1alpha1.Package{"a": {Uninstall: apply}, "b": {}}},
		{name: "nothing goes", packages: map[string]v1alpha1.Package{"a": {}, "b": {DependsOn: on("a")}}},
		{
			name: "it goes", packages: map[string]v1alpha1.Package{"a": {Uninstall: apply}, "b": {DependsOn: on("a")}}, installed: map[string]bool{"a": true},
			want: "package b depends on a, which is being uninstalled" + help,
		},
		{
			name: "it is gone", packages: map[string]v1alpha1.Package{"a": {Uninstall: apply}, "b": {DependsOn: on("a")}},
			want: "package b depends on a, which has been uninstalled" + help,
		},
		{name: "both go", packages: map[string]v1alpha1.Package{"a": {Uninstall: apply}, "b": {DependsOn: on("a"), Uninstall: apply}}},
		{
			name: "the dependent was complete before", packages: map[string]v1alpha1.Package{"a": {Uninstall: apply}, "b": {DependsOn: on("a")}},
			everywhere: map[string]bool{"b": true},
		},
		{name: "deleting", packages: map[string]v1alpha1.Package{"a": {Uninstall: apply}, "b": {DependsOn: on("a")}}, deleting: true},
		{name: "everything is complete", packages: map[string]v1alpha1.Package{"a": {Uninstall: apply}, "b": {DependsOn: on("a")}}, complete: true},
		{
			name: "several, sorted",
			packages: map[string]v1alpha1.Package{
				"a": {Uninstall: apply}, "b": {Uninstall: apply}, "d": {DependsOn: on("b", "a")}, "c": {DependsOn: on("a", "d")},
			},
			installed: map[string]bool{"b": true},
			want: "package c depends on a, which has been uninstalled; package d depends on a, which has been uninstalled; " +
				"package d depends on b, which is being uninstalled" + help,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := skyhook(0)
			s.Spec.Packages = c.packages
			list := nodes("n1 complete; n2")
			list[1].Facts.Complete = c.complete
			in := rollout.Input{Skyhook: s, Nodes: list, Now: now, Deleting: c.deleting, Installed: c.installed, CompleteEverywhere: c.everywhere}
			want := ""
			if c.want != "" {
				want = "Blocked DependencyUninstalled: " + c.want
			}
			if got := shown(in); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestDeletionBlocked(t *testing.T) {
	paused, disabled := skyhook(0), skyhook(0)
	paused.Annotations = map[string]string{v1alpha1.AnnotationPause: "true"}
	disabled.Annotations = map[string]string{v1alpha1.AnnotationDisable: "true"}
	one, two, left := skyhook(1, permit("n1", 0)), skyhook(2, permit("n1", 0), permit("n2", 1)), skyhook(2, permit("n1", 0), permit("left", 1))
	const leave = "; or leave the packages on %s with `kubectl annotate skyhook demo --overwrite skyhook.nvidia.com/abandon-uninstall=%s`"
	for _, c := range []struct {
		name     string
		skyhook  *v1alpha1.Skyhook
		nodes    string
		departed map[string]rollout.Departed
		existing bool
		stop     *rollout.Stop
		want     string
	}{
		{name: "not deleted", nodes: "n1 held=NodeIgnored", existing: true},
		{name: "nothing is to be done", nodes: "n1 complete; n2 complete not-ready held=NodeIgnored"},
		{name: "no nodes", nodes: ""},
		{name: "it continues", nodes: "n1; n2 complete"},
		{name: "it continues elsewhere", nodes: "n1; n2 not-ready; n3 held=NodeIgnored"},
		{name: "another interrupts the node", nodes: "n1 held=WaitingForSkyhook"},
		{name: "another interrupts the node, which reboots", nodes: "n1 not-ready held=WaitingForSkyhook"},
		{name: "the node reboots for the uninstall's own interrupt", nodes: "n1 cordoned in_progress not-ready wait=WaitingForReboot"},
		{
			name: "the last node is away", nodes: "n1 complete; n2 not-ready",
			want: "NodeNotReady: node n2: the node is not Ready; bring it back" + fmt.Sprintf(leave, "node n2", "n2"),
		},
		{
			name: "the first by name, whichever is listed first", nodes: "n2 held=NodeIgnored; n3 not-ready; n1 not-ready",
			want: "NodeNotReady: node n1: the node is not Ready; bring it back" + fmt.Sprintf(leave, "nodes n1, n3", "n1,n3"),
		},
		{
			name: "ignored counts before away", nodes: "n1 not-ready held=NodeIgnored",
			want: "NodeIgnored: node n1: held: NodeIgnored" + fmt.Sprintf(leave, "node n1", "n1"),
		},
		{
			name: "unreadable", nodes: "n1 held=NodeStateMalformed",
			want: "MalformedNodeState: node n1: held: NodeStateMalformed" + fmt.Sprintf(leave, "node n1", "n1"),
		},
		{
			name: "a taint, and one that is away", nodes: "n1 held=TaintNotTolerable; n2 not-ready",
			want: "TaintNotTolerable: node n1: held: TaintNotTolerable" + fmt.Sprintf(leave, "node n1", "n1"),
		},
		{
			name: "more than anybody reads", nodes: "n1 not-ready; n2 not-ready; n3 not-ready; n4 not-ready; n5 not-ready; n6 not-ready; n7 not-ready",
			want: "NodeNotReady: node n1: the node is not Ready; bring it back" + fmt.Sprintf(leave, "nodes n1, n2, n3, n4, n5, n6, n7", "n1,n2,n3,n4,n5,n6,n7"),
		},
		{
			name: "one died in progress, for which others wait", skyhook: one, nodes: "n2; n1 in_progress not-ready; n3",
			want: "NodeNotReady: node n1: the node is not Ready; bring it back" + fmt.Sprintf(leave, "node n1", "n1"),
		},
		{name: "one died in progress, another works", skyhook: two, nodes: "n1 in_progress not-ready; n2 in_progress; n3"},
		{
			name: "one died, and one that left gives its permit back", skyhook: left, nodes: "n1 in_progress not-ready; n2",
			departed: map[string]rollout.Departed{"left": {}},
		},
		{name: "it fails and is tried again", skyhook: one, nodes: "n1 erroring; n2 not-ready"},
		{
			name: "it is not tried again", skyhook: one, nodes: "n1 spent=RetriesExhausted; n2",
			want: "RetriesExhausted: node n1: RetriesExhausted; edit the spec to retry" + fmt.Sprintf(leave, "node n1", "n1"),
		},
		{name: "it is not tried again on one, and continues elsewhere", skyhook: two, nodes: "n1 spent=RetriesExhausted; n2"},
		{
			name: "paused", skyhook: paused, nodes: "n1; n2 complete; n3",
			want: "PausedWithPendingUninstall: the Skyhook is paused, and packages have to be uninstalled on nodes n1, n3; " +
				"continue with `kubectl annotate skyhook demo skyhook.nvidia.com/pause-`",
		},
		{name: "paused, with nothing to do", skyhook: paused, nodes: "n1 complete"},
		{
			name: "all are stopped", nodes: "n1; n2 complete; n3", stop: &rollout.Stop{Since: now, By: "jo"},
			want: "AllStopped: nothing new starts because all Skyhooks have been stopped since " + now.UTC().Format(time.RFC3339) +
				" by jo; continue with `kubectl skyhook resume --all`" + fmt.Sprintf(leave, "nodes n1, n3", "n1,n3"),
		},
		{name: "all are stopped, with nothing to do", nodes: "n1 complete", stop: &rollout.Stop{}},
		{
			name: "disabled", skyhook: disabled, nodes: "n1",
			want: "DisabledWithPendingUninstall: the Skyhook is disabled, and packages have to be uninstalled on node n1; " +
				"continue with `kubectl annotate skyhook demo skyhook.nvidia.com/disable-`",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := c.skyhook
			if s == nil {
				s = skyhook(0)
			}
			status := rollout.Plan(rollout.Input{
				Skyhook: s, Nodes: nodes(c.nodes), Hold: rollout.HoldAll(s, "", c.stop), Deleting: !c.existing, Departed: c.departed, Now: now,
			})
			got := ""
			if b := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionDeletionBlocked); b != nil {
				got = b.Reason + ": " + b.Message
			}
			if got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// TestWayOutKeepsWhatWasAbandoned: to do what it says uninstalls on no node where that was abandoned before.
func TestWayOutKeepsWhatWasAbandoned(t *testing.T) {
	const set = "; or leave the packages on %s with `kubectl annotate skyhook demo --overwrite skyhook.nvidia.com/abandon-uninstall=%s`"
	long := strings.Repeat("x", 200)
	for _, c := range []struct{ name, given, nodes, want string }{
		{"another", "n1", "n1 complete not-ready; n2 not-ready", fmt.Sprintf(set, "node n2", "n1,n2")},
		{"as people write it", " n3 , n1,", "n2 not-ready", fmt.Sprintf(set, "node n2", "n3,n1,n2")},
		{"beside five others", "n1,n2,n3,n4,n5", "n6 not-ready; n7 not-ready", fmt.Sprintf(set, "nodes n6, n7", "n1,n2,n3,n4,n5,n6,n7")},
		{"it is on its way", "n1", "n1 not-ready", ""},
		{
			"too many to name", strings.Repeat("given-up,", 40) + "n5", "n6 not-ready; n7 not-ready",
			"; to leave the packages on nodes n6, n7, append ,n6,n7 to the annotation skyhook.nvidia.com/abandon-uninstall",
		},
		{
			"too long to name", long, long + "y not-ready; n7 not-ready",
			"; to leave the packages on nodes n7 and 1 more, append ,n7 to the annotation skyhook.nvidia.com/abandon-uninstall",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := skyhook(1)
			s.Annotations = map[string]string{v1alpha1.AnnotationAbandonUninstall: c.given}
			status := rollout.Plan(rollout.Input{Skyhook: s, Nodes: nodes(c.nodes), Deleting: true, Now: now})
			b := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionDeletionBlocked)
			if b == nil || !strings.HasSuffix(b.Message, ": the node is not Ready; bring it back"+c.want) {
				t.Errorf("got %+v\nwant it to end with %s", b, c.want)
			}
		})
	}
}

// TestDeletionThatCannotBePrepared: what is in the way is told, and the way around it.
func TestDeletionThatCannotBePrepared(t *testing.T) {
	status := rollout.Plan(rollout.Input{Skyhook: skyhook(0), Nodes: nodes("n1; n2 complete"), Hold: holdUnprepared, Deleting: true, Now: now})
	c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionDeletionBlocked)
	const want = "taken; or leave the packages on node n1 with " +
		"`kubectl annotate skyhook demo --overwrite skyhook.nvidia.com/abandon-uninstall=n1`"
	if c == nil || c.Reason != "ConfigMapConflict" || c.Message != want {
		t.Errorf("the condition is %+v", c)
	}
	status = rollout.Plan(rollout.Input{Skyhook: skyhook(0), Nodes: nodes("n1"), Hold: holdLeftover, Deleting: true, Now: now})
	if c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionDeletionBlocked); c != nil {
		t.Errorf("what goes by itself blocks: %+v", c)
	}
}

// TestDeletionOfWhatIsComplete: packages are gone, or stay, and something else of the Skyhook does not leave the nodes. It
// is told once nothing progresses any more, also while the Skyhook is paused.
func TestDeletionOfWhatIsComplete(t *testing.T) {
	pod := &record.Wait{Reason: v1alpha1.ReasonWaitingForPodToEnd, Message: "a pod did not end"}
	for _, c := range []struct {
		name     string
		waits    []string
		departed map[string]rollout.Departed
		freeing  []string
		want     string
	}{
		{name: "nothing is left"},
		{name: "it goes", freeing: []string{"n1"}},
		{name: "one stays, one goes", waits: []string{"n1"}, freeing: []string{"n1", "n2"}},
		{name: "one stays", waits: []string{"n2"}, freeing: []string{"n2"}, want: "node n2: a pod did not end"},
		{name: "the first of two", waits: []string{"n2", "n1"}, freeing: []string{"n1", "n2"}, want: "node n1: a pod did not end"},
		{name: "what it waited for before", waits: []string{"n1"}},
		{
			name: "a node is gone", freeing: []string{"x"}, departed: map[string]rollout.Departed{"x": {Gone: true, Wait: pod}},
			want: "node x: the node is gone; a pod did not end",
		},
		{name: "a node is gone, for a moment", freeing: []string{"x"}, departed: map[string]rollout.Departed{"x": {Gone: true}}},
		{
			name: "one is gone, from one it goes", freeing: []string{"n1", "x"},
			departed: map[string]rollout.Departed{"x": {Gone: true, Wait: pod}},
		},
	} {
		for _, hold := range []*situation.Hold{nil, holdPaused} {
			list := nodes("n1 complete; n2 complete")
			for i := range list {
				if slices.Contains(c.waits, list[i].Name) {
					list[i].Wait = pod
				}
			}
			status := rollout.Plan(rollout.Input{
				Skyhook: skyhook(1), Nodes: list, Hold: hold, Departed: c.departed, Deleting: true, Freeing: c.freeing, Now: now,
			})
			got := ""
			if b := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionDeletionBlocked); b != nil {
				got = b.Message
			}
			stalled := meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionStalled)
			if got != c.want || stalled != (c.want != "" && hold == nil) || len(status.Attention) < min(1, len(c.want)) {
				t.Errorf("%s, held %t: blocked by %q, stalled %t, attention %+v", c.name, hold != nil, got, stalled, status.Attention)
			}
		}
	}
}

// TestDeletionIsNotHeldByTheSpec: a spec that nobody can work with, in the meantime, does not keep what is installed.
func TestDeletionIsNotHeldByTheSpec(t *testing.T) {
	s := skyhook(1)
	if h := rollout.HoldAll(s, "spec.x: wrong", nil); h == nil || h.Reason != v1alpha1.ReasonSpecInvalid {
		t.Errorf("a wrong spec holds with %+v", h)
	}
	s.DeletionTimestamp = &metav1.Time{Time: now}
	if h := rollout.HoldAll(s, "spec.x: wrong", nil); h != nil {
		t.Errorf("a deletion is held: %s", h.Message)
	}
	status := rollout.Plan(rollout.Input{Skyhook: s, Nodes: nodes("n1; n2; n3 complete"), Deleting: true, Now: now})
	if len(status.Permits) != 1 || status.Permits[0].Node != "n1" {
		t.Errorf("within a budget of 1 a deletion has permits %s", text(status.Permits))
	}
	held := nodes("n1; n2")
	held[0].Hold = &situation.Hold{Status: v1alpha1.StatusBlocked, ReturnsPermit: true, Wait: record.Wait{Reason: v1alpha1.ReasonNodeIgnored}}
	if got := text(rollout.Plan(rollout.Input{Skyhook: s, Nodes: held, Deleting: true, Now: now}).Permits); got != "n2:0" {
		t.Errorf("permits %s", got)
	}
}
