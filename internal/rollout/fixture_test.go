package rollout_test

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/rollout"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const generation = 4

// skyhook has a budget of count nodes; 0 for none.
func skyhook(count int, permits ...v1alpha1.Permit) *v1alpha1.Skyhook {
	s := &v1alpha1.Skyhook{ObjectMeta: metav1.ObjectMeta{Name: "demo", Generation: generation}}
	if count > 0 {
		s.Spec.InterruptionBudget.Count = &count
	}
	s.Status.Permits = permits
	for _, p := range permits {
		s.Status.NextOrder = max(s.Status.NextOrder, p.Order+1)
	}
	return s
}

func permit(node string, order int32) v1alpha1.Permit {
	return v1alpha1.Permit{Node: node, Order: order, Generation: generation}
}

// nodes reads a fleet: "n1; n2 complete; n3 erroring". The words after the name:
//
//	complete       the record fulfils the spec
//	erroring       a run failed
//	in_progress    a stage runs
//	blocked=Reason only another spec helps, for the reason that its record tells
//	done=4/0       the permit that the node finished with last
//	age=3          created that many hours ago; without it, all nodes are of one age
//	not-ready      the kubelet is away
//	held=Reason    blocked for that reason; held by an earlier Skyhook with held=WaitingForSkyhook, and of unknown status with
//	               held=NodeStateMalformed
//	trouble=Reason the first error
//	wait=Reason    what the node waits for as its record tells, which somebody else can end
//	overdue=Reason the same, for longer than the spec allows
//	spent=Reason   a run failed, and is not tried again with this spec
//	begun          the record has packages
//	cordoned       we hold it cordoned
//	tier=gpu       a label
func nodes(text string) []rollout.Node {
	var all []rollout.Node
	for item := range strings.SplitSeq(text, ";") {
		words := strings.Fields(item)
		if len(words) == 0 {
			continue
		}
		n := rollout.Node{Name: words[0], Created: now.Add(-time.Hour), BootID: "boot-" + words[0]}
		for _, word := range words[1:] {
			describe(&n, word)
		}
		all = append(all, n)
	}
	return all
}

func describe(n *rollout.Node, word string) {
	k, v, _ := strings.Cut(word, "=")
	since := metav1.NewTime(now.Add(-time.Minute))
	switch k {
	case "complete":
		n.Facts.Complete = true
	case "erroring":
		n.Facts.FailedRun, n.Facts.Failed, n.Facts.Begun = true, true, true
	case "retrying":
		n.Facts.FailedRun, n.Facts.Begun = true, true
	case "in_progress":
		n.Facts.InProgress, n.Facts.Begun = true, true
	case "blocked":
		n.Facts.NeedsAuthor = true
		n.Wait = &record.Wait{Reason: v, Message: "blocked: " + v, Since: since, Frees: record.FreesAuthor}
	case "done":
		n.FinishedPermit = v
	case "age":
		var hours int
		if _, err := fmt.Sscan(v, &hours); err != nil {
			panic(err)
		}
		n.Created = now.Add(-time.Duration(hours) * time.Hour)
	case "not-ready":
		n.Facts.Unavailable, n.NotReadySince = true, now.Add(-time.Hour)
	case "held":
		n.Hold = &situation.Hold{Status: v1alpha1.StatusBlocked, ReturnsPermit: true, Wait: record.Wait{Reason: v, Message: "held: " + v, Frees: record.FreesAdministrator}}
		switch v {
		case v1alpha1.ReasonWaitingForSkyhook:
			n.Hold.Status, n.Hold.Frees = v1alpha1.StatusWaiting, record.FreesOther
		case v1alpha1.ReasonNodeStateMalformed:
			n.Hold.Status, n.Hold.Unusable = v1alpha1.StatusUnknown, true
		case v1alpha1.ReasonNodeIgnored:
			n.Hold.TakesOut = true
		}
	case "restarts":
		n.Facts.Unavailable, n.NotReadySince = true, now.Add(-30*time.Second)
	case "tainted":
		stood, err := time.ParseDuration(v)
		if err != nil {
			panic(err)
		}
		w := record.Wait{Reason: v1alpha1.ReasonTaintNotTolerable, Since: metav1.NewTime(now.Add(-stood)), Frees: record.FreesAdministrator}
		n.Wait, n.Hold = &w, &situation.Hold{Status: v1alpha1.StatusBlocked, ReturnsPermit: true, Barred: true, Wait: w}
	case "reboots":
		n.Facts.Disturbed, n.Facts.Begun, n.Facts.Interrupting = true, true, true
		n.Interrupt = &record.Interrupt{Skyhook: "demo", Type: v1alpha1.InterruptReboot, Since: since}
	case "begun":
		n.Facts.Begun = true
	case "cordoned":
		n.Facts.Disturbed, n.Facts.Begun = true, true
	case "wait":
		n.Facts.AwaitsTurn = true
		n.Wait = &record.Wait{Reason: v, Message: "wait: " + v, Since: since, Frees: record.FreesOther}
	case "retried":
		n.Facts.AwaitsTurn = true
	case "overdue":
		n.Facts.FailedRun, n.Facts.Failed, n.Facts.Begun = true, true, true
		n.Wait = &record.Wait{Reason: v, Message: "wait: " + v, Since: since, Frees: record.FreesOther, Overdue: true}
	case "spent":
		n.Facts.FailedRun, n.Facts.Failed, n.Facts.Begun = true, true, true
		n.Failure = &record.Wait{Package: "a", Reason: v, Message: "package a stage uninstall: " + v, Since: since}
		n.Wait = &record.Wait{Package: "a", Reason: v, Message: v + "; edit the spec to retry", Since: since, Frees: record.FreesAuthor}
	case "tier", "zone":
		if n.Labels == nil {
			n.Labels = map[string]string{}
		}
		n.Labels[k] = v
	case "trouble":
		n.Failure = &record.Wait{Reason: v, Message: "trouble: " + v, Since: since}
		n.Facts.Attempted = v == v1alpha1.ReasonStepFailed
	default:
		panic("no such word: " + word)
	}
}

// failer is what *testing.T and *rapid.T have in common here.
type failer interface {
	Helper()
	Fatal(args ...any)
}

// policy reads the spec of a DeploymentPolicy.
func policy(t failer, spec string) *rollout.Policy {
	t.Helper()
	var p v1alpha1.DeploymentPolicy
	if err := yaml.UnmarshalStrict([]byte(spec), &p.Spec); err != nil {
		t.Fatal(err)
	}
	prepared, err := rollout.PreparePolicy(&p)
	if err != nil {
		t.Fatal(err)
	}
	return prepared
}

// text writes permits as "node:order", of another generation as "node:order@generation", of a later round as
// "node:order#round", and "!" after one that is revoked.
func text(permits []v1alpha1.Permit) string {
	list := make([]string, 0, len(permits))
	for _, p := range permits {
		item := fmt.Sprintf("%s:%d", p.Node, p.Order)
		if p.Generation != generation {
			item += fmt.Sprintf("@%d", p.Generation)
		}
		if p.Round != 0 {
			item += fmt.Sprintf("#%d", p.Round)
		}
		if p.Revoked {
			item += "!"
		}
		list = append(list, item)
	}
	return strings.Join(list, " ")
}

// planAll plans for one fleet after the other, each with the status that the one before left.
func planAll(in *rollout.Input, fleets ...string) {
	for _, fleet := range fleets {
		in.Nodes = nodes(fleet)
		in.Skyhook.Status = rollout.Plan(*in)
	}
}
