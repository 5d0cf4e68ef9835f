package situation_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

var now = time.Date(2026, 6, 1, 8, 0, 0, 0, time.UTC)

func at(before time.Duration) time.Time { return now.Add(-before) }

func wait(reason string, frees record.Frees) *record.Wait {
	return &record.Wait{Reason: reason, Frees: frees, Since: metav1.NewTime(at(10 * time.Minute))}
}

func hold(status v1alpha1.Status, reason string, frees record.Frees) *situation.Hold {
	return &situation.Hold{Status: status, Wait: *wait(reason, frees)}
}

var (
	paused   = hold(v1alpha1.StatusPaused, "Paused", record.FreesAdministrator)
	disabled = hold(v1alpha1.StatusDisabled, "Disabled", record.FreesAdministrator)
	invalid  = hold(v1alpha1.StatusBlocked, "SpecInvalid", record.FreesAuthor)
	later    = hold(v1alpha1.StatusWaiting, "WaitingForSkyhook", record.FreesOther)
	tainted  = &situation.Hold{Status: v1alpha1.StatusBlocked, Barred: true, Wait: *wait("TaintNotTolerable", record.FreesAdministrator)}
	ignored  = &situation.Hold{Status: v1alpha1.StatusBlocked, TakesOut: true, Wait: *wait("NodeIgnored", record.FreesAdministrator)}
	unusable = &situation.Hold{Status: v1alpha1.StatusUnknown, Unusable: true, Wait: *wait("NodeStateMalformed", record.FreesAdministrator)}

	complete       = situation.Facts{Complete: true}
	working        = situation.Facts{InProgress: true, Begun: true}
	failing        = situation.Facts{FailedRun: true, Begun: true}
	failed         = situation.Facts{FailedRun: true, Failed: true, Begun: true}
	needsAuthor    = situation.Facts{NeedsAuthor: true}
	away           = situation.Facts{Unavailable: true}
	lost           = situation.Facts{Unavailable: true, InProgress: true, Begun: true}
	deadAndFailing = situation.Facts{Unavailable: true, FailedRun: true, Begun: true}
	drained        = situation.Facts{Unavailable: true, InProgress: true, Begun: true, Disturbed: true}
	rebooting      = situation.Facts{Unavailable: true, Disturbed: true, Interrupting: true, Begun: true}
)

var reboot = &record.Interrupt{Type: v1alpha1.InterruptReboot, Since: metav1.NewTime(at(40 * time.Minute))}

// TestStatusAndReason is the one table of what people are shown of a node, wherever they look.
func TestStatusAndReason(t *testing.T) {
	failure := wait("StepFailed", record.FreesTime)
	for _, c := range []struct {
		name   string
		of     situation.Situation
		status v1alpha1.Status
		reason string
	}{
		{"complete", situation.Situation{Facts: complete}, "complete", ""},
		{"complete, and something is left", situation.Situation{Facts: complete, Wait: wait("WaitingForPodToEnd", record.FreesNode)}, "complete", "WaitingForPodToEnd"},
		{"complete beside what holds it", situation.Situation{Facts: complete, Hold: tainted, All: disabled}, "complete", ""},
		{"it waits for its turn", situation.Situation{}, "waiting", "WaitingForPermit"},
		{"it has its turn", situation.Situation{Permit: true}, "in_progress", ""},
		{"it works", situation.Situation{Facts: working}, "in_progress", ""},
		{"it works and tells what it waits for", situation.Situation{Facts: working, Wait: wait("Evicting", record.FreesNode)}, "in_progress", "Evicting"},
		{"it fails", situation.Situation{Facts: failing, Failure: failure}, "erroring", "StepFailed"},
		{"it fails, and is not tried again", situation.Situation{Facts: failed, Failure: failure, Wait: wait("RetriesExhausted", record.FreesAuthor)}, "erroring", "RetriesExhausted"},
		{"only another spec helps", situation.Situation{Facts: needsAuthor, Wait: wait("DependencyMissing", record.FreesAuthor)}, "blocked", "DependencyMissing"},
		{"paused", situation.Situation{All: paused}, "paused", "Paused"},
		{"paused, and it fails", situation.Situation{All: paused, Facts: failing, Failure: failure}, "paused", "Paused"},
		{"paused, and it was complete", situation.Situation{All: paused, Facts: complete}, "paused", ""},
		{"disabled, and it fails", situation.Situation{All: disabled, Facts: failing, Failure: failure}, "disabled", "Disabled"},
		{"an invalid spec comes before what holds one node", situation.Situation{All: invalid, Hold: ignored}, "blocked", "SpecInvalid"},
		{"an invalid spec, and it fails", situation.Situation{All: invalid, Facts: failing, Failure: failure}, "blocked", "SpecInvalid"},
		{"a taint", situation.Situation{Hold: tainted}, "blocked", "TaintNotTolerable"},
		{"a taint in the middle of work", situation.Situation{Hold: tainted, Facts: failing, Failure: failure, Permit: true}, "blocked", "TaintNotTolerable"},
		{"an earlier Skyhook", situation.Situation{Hold: later}, "waiting", "WaitingForSkyhook"},
		{"an earlier Skyhook, and it fails", situation.Situation{Hold: later, Facts: failing, Failure: failure}, "erroring", "StepFailed"},
		{"a record that nobody can go by", situation.Situation{Hold: unusable}, "unknown", "NodeStateMalformed"},
		{"a record that nobody can go by comes before a pause", situation.Situation{Hold: unusable, All: paused}, "unknown", "NodeStateMalformed"},
		{"not Ready before anything began", situation.Situation{Facts: away}, "waiting", "NodeNotReady"},
		{"not Ready in the middle of work", situation.Situation{Facts: lost}, "in_progress", "NodeNotReady"},
		{"not Ready, and nothing that it should do happens", situation.Situation{Facts: lost, Wait: wait("PodCannotStart", record.FreesNode)}, "in_progress", "NodeNotReady"},
		{"not Ready under our cordon", situation.Situation{Facts: drained, Wait: wait("Evicting", record.FreesNode)}, "in_progress", "NodeNotReady"},
		{"not Ready in the middle of a drain", situation.Situation{Facts: drained, Wait: wait("ProtectedPod", record.FreesOther)}, "in_progress", "NodeNotReady"},
		{"not Ready, and it fails", situation.Situation{Facts: deadAndFailing, Failure: failure}, "erroring", "NodeNotReady"},
		{"not Ready, and tainted in the middle of work", situation.Situation{Facts: lost, Hold: tainted}, "blocked", "TaintNotTolerable"},
		{"it did not come back from its reboot", situation.Situation{Facts: deadAndFailing, Failure: wait("RebootTimeout", record.FreesAdministrator)}, "erroring", "RebootTimeout"},
		{"not Ready for its reboot, and its pod does not start", situation.Situation{Facts: rebooting, Permit: true, Interrupt: reboot, Wait: wait("PodCannotStart", record.FreesNode)}, "in_progress", "PodCannotStart"},
		{"not Ready for its reboot", situation.Situation{Facts: rebooting, Permit: true, Interrupt: reboot}, "in_progress", "NodeNotReady"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, told := c.of.Reason("n1")
			if status := c.of.Status(); status != c.status || w.Reason != c.reason || told != (c.reason != "") {
				t.Errorf("%s because of %q, want %s because of %q", status, w.Reason, c.status, c.reason)
			}
		})
	}
}

// TestVerdict is what a node means for its batch, by design.md section 10.
func TestVerdict(t *testing.T) {
	const pending, good, bad, left = situation.Pending, situation.Good, situation.Bad, situation.Left
	restart := &record.Interrupt{Type: v1alpha1.InterruptService, Since: metav1.NewTime(at(10 * time.Minute))}
	begun := situation.Facts{Begun: true}
	attempted := failing
	attempted.Attempted = true
	awaits := failed
	awaits.AwaitsTurn = true
	for _, c := range []struct {
		name  string
		of    situation.Situation
		want  situation.Verdict
		after time.Duration
	}{
		{"complete", situation.Situation{Facts: complete}, good, 0},
		{"it works", situation.Situation{Facts: working}, pending, 0},
		{"it has not begun", situation.Situation{Permit: true}, pending, 0},
		{"a person took it out in the middle of work", situation.Situation{Facts: begun, Hold: ignored}, left, 0},
		{"a taint before anything began", situation.Situation{Hold: tainted}, left, 0},
		{"away before anything began", situation.Situation{Facts: away}, left, 0},
		{"all its attempts failed", situation.Situation{Facts: failed}, bad, 0},
		{"they failed, and it has yet to look at a new turn", situation.Situation{Facts: awaits}, pending, 0},
		{"an attempt failed just now", situation.Situation{Facts: failing, Failure: &record.Wait{Since: metav1.NewTime(at(time.Minute))}}, pending, 4 * time.Minute},
		{"an attempt failed, and the next one takes long", situation.Situation{Facts: attempted, Failure: &record.Wait{Since: metav1.NewTime(at(time.Hour))}}, pending, 0},
		{"it failed, and an earlier Skyhook keeps it from being tried again", situation.Situation{Hold: later, Facts: failing, Failure: &record.Wait{Since: metav1.NewTime(at(time.Hour))}}, pending, 0},
		{"it fails for long, whatever it is", situation.Situation{Facts: failing, Failure: &record.Wait{Since: metav1.NewTime(at(6 * time.Minute))}}, bad, 0},
		{"only another spec helps in the middle of work", situation.Situation{Facts: situation.Facts{Begun: true, NeedsAuthor: true}}, bad, 0},
		{"its kubelet restarts", situation.Situation{Facts: lost, NotReadySince: at(20 * time.Second)}, pending, 40 * time.Second},
		{"it is away", situation.Situation{Facts: lost, NotReadySince: at(2 * time.Minute)}, bad, 0},
		{"it reboots", situation.Situation{Facts: rebooting, NotReadySince: at(30 * time.Minute), Interrupt: reboot, RebootLimit: 20 * time.Minute}, pending, 10 * time.Minute},
		{"it reboots for too long", situation.Situation{Facts: rebooting, NotReadySince: at(30 * time.Minute), Interrupt: reboot}, bad, 0},
		{"another Skyhook's reboot takes it away for long", situation.Situation{Facts: situation.Facts{Unavailable: true, Begun: true}, NotReadySince: at(30 * time.Minute), Interrupt: reboot}, bad, 0},
		{"it is away for a restart of services", situation.Situation{Facts: rebooting, NotReadySince: at(9 * time.Minute), Interrupt: restart}, pending, 20 * time.Minute},
		{
			"a taint at boot",
			situation.Situation{Facts: begun, Hold: tainted, Wait: &tainted.Wait, ReadySince: at(2 * time.Minute)},
			pending, 3 * time.Minute,
		},
		{"a taint that stays", situation.Situation{Facts: begun, Hold: tainted, Wait: &tainted.Wait, ReadySince: at(time.Hour)}, bad, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, after := c.of.Judge(now); got != c.want || after != c.after {
				t.Errorf("%d, again in %s; want %d in %s", got, after, c.want, c.after)
			}
		})
	}
}
