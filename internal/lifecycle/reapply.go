package lifecycle

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

// acceptBoot starts every package over after a reboot that no Skyhook asked for, where the operator is set to do so.
func (p *pass) acceptBoot() {
	current, other := p.Node.BootID, p.otherBoot()
	awaits := p.interrupting() && !p.out.InFlight.IsReboot() // which says by itself whether it has to run again
	if !p.Reapply.Reboots || current == "" || !p.Node.Ready || awaits {
		return
	}
	p.out.Record.BootID = current
	ours := p.Node.OwnReboot || p.out.InFlight.IsReboot() && p.out.InFlight.BootID != current
	if !other || ours || p.Deleting {
		return
	}
	for key, e := range situation.Sorted(p.out.Record.Packages) {
		if !p.onHost(key, e) {
			p.out.take(Step{RemoveEntry: key})
		}
	}
	p.out.take(Step{Tell: &Change{
		Reason:  v1alpha1.ReasonReapplyAfterReboot,
		Message: "the node rebooted by itself; its packages are applied again, because REAPPLY_ON_REBOOT is true",
	}})
}

// otherBoot reports whether the record is of an earlier boot than the present one.
func (v view) otherBoot() bool {
	last, current := v.out.Record.BootID, v.Node.BootID
	return last != "" && current != "" && last != current
}

// acceptHost starts every package over on a host that is not the one of the record: nothing of it is there.
func (p *pass) acceptHost() {
	if !p.Reapply.Hosts {
		p.out.Record.Host = record.Host{} // whatever host it is when somebody switches this on
		return
	}
	if !p.Node.Ready {
		return
	}
	replaced := p.otherHost()
	p.out.Record.Host = p.out.Record.Host.Seen(p.Node.MachineID, p.Node.BootID)
	if !replaced || len(p.out.Record.Packages) == 0 {
		return
	}
	for key := range situation.Sorted(p.out.Record.Packages) {
		p.out.take(Step{RemoveEntry: key})
	}
	p.removals = p.Removals(p.out.Record)
	if p.Reapply.Reboots {
		p.out.Record.BootID = p.Node.BootID
	}
	p.out.take(Step{Tell: &Change{
		Reason: v1alpha1.ReasonHostReplaced,
		Message: "the node has another machine id than before, so its host was replaced or installed again; " +
			"its packages are applied again",
	}})
}

// otherHost reports whether the record is of another host than the present one.
func (v view) otherHost() bool {
	return v.Reapply.Hosts && v.out.Record.Host.Replaced(v.Node.MachineID)
}

// StartsOver reports whether the next decision applies every package of the node again, as it has another host, or after a
// reboot.
func StartsOver(o Observation) bool {
	p := newPass(o)
	p.acceptHost()
	p.acceptBoot()
	return len(p.out.Changes) > 0
}

// onHost reports whether an entry outlives a reboot after which packages are applied again: what is to be uninstalled,
// or only left alone, is still on the host.
func (v view) onHost(key string, e record.Entry) bool {
	_, removed := v.removals[key]
	pkg, inSpec := v.Packages[e.Name]
	_, held := v.NeedsUninstall(v.Record, e.Name)
	return removed || !inSpec || pkg.UninstallAsked() || held || e.Superseded
}

// clockSlack is how far the clocks of two operators may differ without notice.
const clockSlack = time.Minute

// presentTimes returns the record, and the time to write into it, which never goes back: the order of times says which
// version of a package is on the host. A record from a clock that was far ahead is moved back as a whole, which keeps
// that order: else every pause would last until the clock has caught up.
func presentTimes(n record.Node, now time.Time) (record.Node, time.Time) {
	newest := newestTime(n)
	if newest.Sub(now) > clockSlack {
		n = shifted(n, now.Sub(newest))
		newest = now
	}
	if !now.After(newest) {
		now = newest.Add(time.Second)
	}
	return n, now
}

// ahead reports whether only a clock that was far ahead can have told a time.
func (v view) ahead(at time.Time) bool { return at.Sub(v.Now) > clockSlack }

func newestTime(n record.Node) time.Time {
	var newest time.Time
	for _, e := range n.Packages {
		for _, at := range []metav1.Time{e.Since, e.RejectedAt} {
			if at.After(newest) {
				newest = at.Time
			}
		}
	}
	return newest
}

func shifted(n record.Node, by time.Duration) record.Node {
	entries := make(map[string]record.Entry, len(n.Packages))
	for key, e := range n.Packages {
		for _, at := range []*metav1.Time{&e.Since, &e.RejectedAt} {
			if !at.IsZero() {
				*at = metav1.NewTime(at.Add(by).Truncate(time.Second))
			}
		}
		entries[key] = e
	}
	n.Packages = entries
	return n
}
