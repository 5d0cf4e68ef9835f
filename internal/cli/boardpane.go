package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/board"
	"github.com/skyhook-operator/skyhook/internal/workload"
	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

// Node implements board.Source: what why node and node status say of a node, as far as it is about one Skyhook.
func (f *fleet) Node(ctx context.Context, skyhook, node string) (*board.Details, error) {
	select { // one at a time: each reads the cluster, and whoever goes from node to node waits only for the last
	case f.reading <- struct{}{}:
		defer func() { <-f.reading }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	nodes, err := f.around(ctx, node)
	if err != nil {
		return nil, err
	}
	v, err := f.read.around(ctx, nodes, node)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(v.Nodes, func(n corev1.Node) bool { return n.Name == node })
	if gone(v.Skyhooks, skyhook) {
		return nil, missing("Skyhook", skyhook)
	}
	if i < 0 {
		return nil, missing("node", node)
	}
	now, err := v.decided(f.gauge.now(), node)
	if err != nil {
		return nil, err
	}
	n := &v.Nodes[i]
	pods := stagesOn(v.Pods, f.read.namespace, skyhook, node)
	see, here := sightOf(v.options, &v.Snapshot), *v
	here.Pods = pods
	st := f.explain.detail(n, f.read.statusesOn(see, n, skyhook), &here, see, skyhook, true)
	d := f.explain.details(n, skyhook, st, f.gauge.now(), f.wide)
	d.Status = see.status(skyhook, n)
	causes := f.explain.causes(v, now, skyhook, node)
	for i := range causes {
		f.explain.conclude(v, now, &causes[i])
		d.Causes = append(d.Causes, causes[i].drawn())
	}
	for _, r := range f.explain.atWork(v, causes, skyhook, node) {
		d.Running = append(d.Running, r.drawn(f.read.target, node))
	}
	d.Logs = packagesOf(pods)
	for _, what := range v.unread {
		d.Details = append(d.Details, "you may not read "+what)
	}
	return d, nil
}

// around are all nodes, sorted by name: the one that is asked for as it is, and the others as they were seen last.
func (f *fleet) around(ctx context.Context, node string) ([]corev1.Node, error) {
	others, known := f.others(node)
	if !known {
		return f.read.nodes(ctx)
	}
	var here corev1.NodeList
	if err := f.read.client.List(ctx, &here, client.MatchingFields{"metadata.name": node}); err != nil {
		return nil, fmt.Errorf("listing nodes: %w", err)
	}
	all := slices.Concat(here.Items, others)
	slices.SortFunc(all, func(a, b corev1.Node) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}

// others are all nodes but one, unless they are not known, or not as they are.
func (f *fleet) others(node string) (all []corev1.Node, known bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for name, n := range f.nodes.objects {
		if name != node {
			all = append(all, *n)
		}
	}
	return all, f.nodes.known && f.nodes.failure == nil
}

// absent is an error about what is not there.
type absent string

func (a absent) Error() string { return string(a) }

// Is makes it board.ErrNotFound, whose text is not for people.
func (absent) Is(target error) bool { return target == board.ErrNotFound }

func missing(what, name string) error {
	return absent(fmt.Sprintf("there is no %s %q any more", what, name))
}

// stagesOn are the pods of a Skyhook on a node, in the operator's namespace.
func stagesOn(all []corev1.Pod, namespace, skyhook, node string) []corev1.Pod {
	return slices.DeleteFunc(slices.Clone(all), func(p corev1.Pod) bool {
		return p.Namespace != namespace || p.Labels[v1alpha1.LabelName] != skyhook || p.Spec.NodeName != node
	})
}

// details are what node status tells, beside what waits or fails.
func (e explainer) details(n *corev1.Node, skyhook string, list []nodeStatus, now time.Time, wide bool) *board.Details {
	d := &board.Details{
		Name: n.Name, Skyhook: skyhook, Unschedulable: n.Spec.Unschedulable, Packages: []board.Package{}, Details: []string{},
		Causes: []board.Cause{}, Running: []board.Run{},
		Commands: []board.Command{
			{Label: "Why it does not progress", Command: e.toCluster("kubectl skyhook why node " + n.Name)},
			{Label: "What the stages print", Command: e.toCluster(fmt.Sprintf("kubectl skyhook logs %s --node %s", skyhook, n.Name))},
			{Label: "What Skyhooks have done there", Command: e.toCluster("kubectl skyhook node status " + n.Name + " -o wide")},
		},
	}
	for i := range list {
		st := &list[i]
		st.Waits = nil // the causes tell them
		if st.SkyhookName != skyhook {
			continue
		}
		d.PackagesComplete, d.PackagesTotal, d.Cordoned = st.PackagesComplete, st.PackagesTotal, st.Cordoned
		d.Packages = append(d.Packages, st.Packages...)
	}
	for _, line := range detailLines(list, now, wide) {
		d.Details = append(d.Details, legible(line))
	}
	return d
}

// drawn is a cause as the page shows it.
func (c *cause) drawn() board.Cause {
	out := c.Cause
	out.Message, out.Do, out.Reason, out.Package = legible(c.told()), legible(c.Do), legible(c.Reason), legible(c.Package)
	return out
}

func (r *running) drawn(to target, node string) board.Run {
	logs := fmt.Sprintf("kubectl skyhook logs %s --package %s --stage %s --node %s", r.skyhook, r.pkg, r.stage, node)
	return board.Run{
		Package: r.pkg, Version: r.version, Stage: r.stage, Since: metav1.NewTime(r.since), Command: to.toCluster(logs),
	}
}

// legible is a text of scripts or annotations, in which nothing is hidden, or shown in another order than it is in.
func legible(text string) string {
	return packagefile.PrintableLines(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(ansi.Strip(text)))
}

// packagesOf are those that have a pod, those that run first.
func packagesOf(pods []corev1.Pod) []string {
	names := []string{}
	for _, running := range []bool{true, false} {
		for i := range pods {
			seen, err := workload.Observe(&pods[i])
			if err == nil && workload.Ended(&pods[i]) != running && !slices.Contains(names, seen.Package) {
				names = append(names, seen.Package)
			}
		}
	}
	return names
}

const (
	// tail is how many lines of a log are shown, and mostOfLog how many bytes.
	tail      = 200
	mostOfLog = 1 << 20
)

// Logs implements board.Source. It creates no pod, unlike the command.
func (f *fleet) Logs(ctx context.Context, skyhook, node, pkg string) (*board.Logs, error) {
	pods, err := f.read.podsLabelled(ctx, client.MatchingLabels{v1alpha1.LabelName: skyhook})
	if err != nil {
		return nil, err
	}
	o := logs{skyhook: skyhook, pkg: pkg, tail: tail}
	wanted, err := o.pods(stagesOn(pods, f.read.namespace, skyhook, node))
	if err != nil {
		return nil, err
	}
	if len(wanted) == 0 {
		command := fmt.Sprintf("kubectl skyhook logs %s --package %s --node %s --from-node", skyhook, pkg, node)
		return &board.Logs{Message: fmt.Sprintf("No pod of package %s is on node %s. Log files there have what ended stages printed: "+
			"`%s` prints them.", pkg, node, f.read.toCluster(command))}, nil
	}
	return f.logs.tailOf(ctx, wanted[0], o)
}

// tailOf is the end of what the last container of a pod printed that did something.
func (l podLogs) tailOf(ctx context.Context, last logged, o logs) (*board.Logs, error) {
	c := last.containers[len(last.containers)-1]
	from := last.pod.Name + "/" + c.Name
	printed := end{most: mostOfLog}
	err := l.copyLog(ctx, last.pod, c, o, func(r io.Reader) error {
		_, err := io.Copy(&printed, r)
		return err
	})
	switch w := c.State.Waiting; {
	case err != nil && w != nil && c.LastTerminationState.Terminated == nil:
		why := strings.TrimSuffix(fmt.Sprintf("%s: %s", cmp.Or(w.Reason, "Waiting"), w.Message), ": ")
		return &board.Logs{From: from, Message: fmt.Sprintf("Container %s has not started yet. %s", from, why)}, nil
	case err != nil:
		return nil, fmt.Errorf("getting the logs of %s: %w", from, err)
	case len(printed.kept) == 0:
		return &board.Logs{From: from, Message: "It has printed nothing yet."}, nil
	}
	return &board.Logs{From: from, Text: legible(strings.ToValidUTF8(printed.String(), "\uFFFD"))}, nil
}

// end keeps the last bytes of what is written to it.
type end struct {
	most int
	kept []byte
	cut  bool
}

// Write implements io.Writer.
func (e *end) Write(p []byte) (int, error) {
	e.kept = append(e.kept, p...)
	if len(e.kept) > 2*e.most { // seldom, as it copies
		e.kept, e.cut = append(e.kept[:0], e.kept[len(e.kept)-e.most:]...), true
	}
	return len(p), nil
}

// String is the end, behind a sign for what is left out.
func (e *end) String() string {
	from := max(0, len(e.kept)-e.most)
	if from == 0 && !e.cut {
		return string(e.kept)
	}
	return "…" + strings.TrimLeftFunc(string(e.kept[from:]), func(r rune) bool { return r == utf8.RuneError })
}
