package cli

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/board"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

// nodeDetails are what node status tells of one Skyhook on one node beyond its packages. Cordons and Interrupt are the
// node's, whoever's they are.
type nodeDetails struct {
	// Gone says that the Skyhook exists no more: nothing progresses there, and nothing waits.
	Gone      bool              `json:"gone,omitempty"`
	Cordons   []cordon          `json:"cordons,omitempty"`
	Interrupt *record.Interrupt `json:"interrupt,omitempty"`
	// Permit says that the Skyhook may start work there at any time.
	Permit *permitHere `json:"permit,omitempty"`
	// Pods of the Skyhook that have not ended there.
	Pods []podHere `json:"pods,omitempty"`
	// Waits are what the Skyhook waits for there, and what fails, with who can end it and what helps.
	Waits []cause `json:"waits,omitempty"`
}

// cordon is one owner of a node's cordon: no new workloads come there until the last of them lets go.
type cordon struct {
	// Skyhook that cordoned it; empty for anybody else, whom only Manager tells, by the name of the program.
	Skyhook string `json:"skyhook,omitempty"`
	Manager string `json:"manager,omitempty"`
	// Since is zero where nobody knows.
	Since metav1.Time `json:"since,omitzero"`
	Why   string      `json:"why"`
}

type permitHere struct {
	Generation int64 `json:"generation"`
	Order      int32 `json:"order"`
	Revoked    bool  `json:"revoked,omitempty"`
}

type podHere struct {
	Namespace string         `json:"namespace"`
	Name      string         `json:"name"`
	Package   string         `json:"package,omitempty"`
	Version   string         `json:"version,omitempty"`
	Stage     v1alpha1.Stage `json:"stage,omitempty"`
}

// detail adds to the Skyhooks with a record on a node those that have only a permit or pods there, and to all of them
// what else there is. A node that somebody asks for by name is told of if no Skyhook has anything there, but it is
// cordoned.
func (e explainer) detail(n *corev1.Node, list []nodeStatus, v *view, see *sight, skyhook string, named bool) []nodeStatus {
	cordons, interrupt := e.cordonsOf(n), record.ReadInterrupt(n.Annotations)
	for i := range v.Skyhooks {
		name := v.Skyhooks[i].Name
		if skyhook != "" && name != skyhook ||
			slices.ContainsFunc(list, func(have nodeStatus) bool { return have.SkyhookName == name }) {
			continue
		}
		if v.permit(n.Name, name) != nil || len(v.podsOf(n.Name, name)) > 0 {
			list = append(list, bare(see, n, name))
		}
	}
	if len(list) == 0 && named && (len(cordons) > 0 || interrupt != nil) {
		list = append(list, bare(see, n, ""))
	}
	for i := range list {
		st := &list[i]
		st.nodeDetails = nodeDetails{
			Cordons: cordons, Interrupt: interrupt, Permit: v.permit(n.Name, st.SkyhookName), Pods: v.podsOf(n.Name, st.SkyhookName),
		}
		if st.Gone = !v.blind && st.SkyhookName != "" && gone(v.Skyhooks, st.SkyhookName); !st.Gone {
			st.Waits = e.waitsOf(see, n, st.SkyhookName)
		}
	}
	return list
}

// waitsOf are what the record of a Skyhook on a node says that it waits for, what failed there, and why it does not
// progress, where neither tells.
func (e explainer) waitsOf(see *sight, n *corev1.Node, skyhook string) []cause {
	r, err := record.Read(skyhook, n.Annotations)
	if err != nil {
		return nil
	}
	var all []cause
	if r.Wait != nil {
		w := *r.Wait
		if w.Reason == v1alpha1.ReasonWaitingForPermit {
			w.Message = cmp.Or(permitMessage(see.of[skyhook].skyhook), w.Message)
		}
		c := e.cause(skyhook, w, n.Name)
		if strings.Contains(c.Do, "-n NAMESPACE") { // the record does not say which pod it is
			c.Do = e.addressed(fmt.Sprintf("`kubectl skyhook why node %s` says what, and with which command.", n.Name))
		}
		all = append(all, c)
	}
	return e.because(see, skyhook, n, r.Wait, append(all, e.failures(see, skyhook, n, r)...))
}

// failures are the stages that failed on a node, and that matter.
func (e explainer) failures(see *sight, skyhook string, n *corev1.Node, r record.Node) []cause {
	var all []cause
	for _, entry := range see.failed(skyhook, n, r) {
		all = append(all, e.failing(skyhook, n.Name, entry))
	}
	return all
}

// bare is a Skyhook without a record on a node; it has no row in a table.
func bare(see *sight, n *corev1.Node, skyhook string) nodeStatus {
	return nodeStatus{
		NodeName: n.Name, SkyhookName: skyhook, Status: see.status(skyhook, n), Packages: []board.Package{}, bare: true,
	}
}

func (v *view) permit(node, skyhook string) *permitHere {
	sk := named(v.Skyhooks, skyhook)
	if sk == nil {
		return nil
	}
	for _, p := range sk.Status.Permits {
		if p.Node == node {
			return &permitHere{Generation: p.Generation, Order: p.Order, Revoked: p.Revoked}
		}
	}
	return nil
}

func (v *view) podsOf(node, skyhook string) []podHere {
	var out []podHere
	for i := range v.Pods {
		p := &v.Pods[i]
		if p.Spec.NodeName != node || p.Labels[v1alpha1.LabelName] != skyhook || metav1.GetControllerOf(p) == nil || workload.Ended(p) {
			continue
		}
		seen, err := workload.Observe(p)
		if err != nil {
			seen = lifecycle.Pod{}
		}
		out = append(out, podHere{p.Namespace, p.Name, seen.Package, seen.Version, seen.Stage})
	}
	return out
}

// cordonsOf are all owners of a node's cordon; none when it has no cordon.
func (e explainer) cordonsOf(n *corev1.Node) []cordon {
	if !n.Spec.Unschedulable {
		return nil
	}
	var all []cordon
	since := cordonedSince(n)
	for _, skyhook := range record.Skyhooks(n.Annotations, nil) {
		r, _ := record.Read(skyhook, n.Annotations) // a cordon stands beside what cannot be read
		if !r.Cordoned {
			continue
		}
		why := "a package that disturbs the node is at work there"
		if f := record.ReadInterrupt(n.Annotations); f.OwnedBy(skyhook) {
			why = fmt.Sprintf("its %s is in flight", f.Type)
		} else if r.Wait != nil {
			why = r.Wait.Reason + ": " + r.Wait.Message
		}
		all = append(all, cordon{Skyhook: skyhook, Since: since, Why: why + "; it uncordons the node when its work there is done"})
	}
	if len(all) > 0 {
		return all
	}
	other := cordon{Since: since, Why: "no Skyhook cordoned it, so no Skyhook uncordons it; " +
		e.toCluster("kubectl uncordon "+n.Name) + " does"}
	for _, f := range n.ManagedFields {
		if f.FieldsV1 != nil && bytes.Contains(f.FieldsV1.Raw, []byte(`"f:unschedulable"`)) {
			other.Manager = f.Manager
		}
	}
	return []cordon{other}
}

// cordonedSince is when the control plane tainted the node for its cordon; zero if it did not yet.
func cordonedSince(n *corev1.Node) metav1.Time {
	for _, t := range n.Spec.Taints {
		if t.Key == corev1.TaintNodeUnschedulable && t.TimeAdded != nil {
			return *t.TimeAdded
		}
	}
	return metav1.Time{}
}

// detailLines tell what list has of one node: the node's first, then each Skyhook's.
func detailLines(list []nodeStatus, now time.Time, wide bool) []string {
	var lines []string
	if len(list) == 0 {
		return nil
	}
	for _, c := range list[0].Cordons {
		owner := "somebody other than a Skyhook"
		switch {
		case c.Skyhook != "":
			owner = "Skyhook " + c.Skyhook
		case c.Manager != "":
			owner += " (" + c.Manager + ")"
		}
		lines = append(lines, "cordoned by "+owner+sinceWhen(c.Since)+": "+c.Why)
	}
	if f := list[0].Interrupt; f != nil {
		lines = append(lines, fmt.Sprintf("%s of Skyhook %s in flight for %s%s", f.Type, f.Skyhook,
			strings.Join(f.Packages, ", "), sinceWhen(f.Since)))
	}
	for i := range list {
		st := &list[i]
		if p := st.Permit; p != nil && p.Revoked {
			lines = append(lines, fmt.Sprintf("Skyhook %s takes its permit back: nothing new starts", st.SkyhookName))
		} else if p != nil {
			lines = append(lines, fmt.Sprintf("Skyhook %s has given it a permit, so work may start at any time", st.SkyhookName))
		}
		for _, p := range st.Pods {
			lines = append(lines, fmt.Sprintf("pod %s/%s of Skyhook %s runs: %s of %s %s", p.Namespace, p.Name, st.SkyhookName,
				p.Stage, p.Package, p.Version))
		}
		if st.Gone {
			lines = append(lines, fmt.Sprintf("Skyhook %s is gone, so nothing of it progresses; kubectl skyhook node reset %s --skyhook %s "+
				"forgets what the node remembers of it", st.SkyhookName, st.NodeName, st.SkyhookName))
		}
	}
	for i := range list {
		for j := range list[i].Waits {
			lines = append(lines, strings.TrimSuffix(list[i].Waits[j].lines(now, wide), "\n"))
		}
	}
	return lines
}

func sinceWhen(t metav1.Time) string {
	if t.IsZero() {
		return ""
	}
	return " since " + t.UTC().Format(time.RFC3339)
}
