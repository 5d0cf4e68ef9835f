//go:build e2e && nightly

package e2e

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// TestHeldWhileFailing: what is paused, or on an ignored node, does not run again, also when it keeps failing. One
// Skyhook of each kind, so that both are watched in the same minute.
func TestHeldWhileFailing(t *testing.T) {
	const label = "skyhook.nvidia.com/ignore"
	nodes := ownNodes(t, 2)
	paused, ignored := newFailing(t, "held-paused", nodes[0]), newFailing(t, "held-ignored", nodes[1])
	t.Cleanup(func() { mustKubectl(t, "", "label", "node", ignored.node, label+"-") })

	// The kubelet tries again ten seconds after the second try, and twenty after that.
	awaitHost(t, paused.node, paused.ranAgain(1))
	annotate(t, paused.name, "pause", "true")
	awaitHost(t, ignored.node, ignored.ranAgain(1))
	mustKubectl(t, "", "label", "node", ignored.node, label+"=true")
	before := notAgain(t, paused, ignored)
	untilStatus(t, paused.name, v1alpha1.StatusPaused, "Paused")
	paused.tells(t, v1alpha1.StatusPaused, "skyhook.nvidia.com/pause")
	ignored.tells(t, v1alpha1.StatusBlocked, label)

	for _, f := range []*failing{paused, ignored} {
		f.change(t, "scripts", func(p *v1alpha1.Package) { p.ConfigMap["apply.sh"] = journal(f.file, "corrected") })
	}
	annotate(t, paused.name, "pause", "")
	mustKubectl(t, "", "label", "node", ignored.node, label+"-")
	for _, f := range []*failing{paused, ignored} {
		untilFree(t, f.name, f.node)
		marks(t, f.node, f.file, append(before[f], "corrected")...)
	}
}

// failing is a Skyhook on one node whose script leaves a mark and fails.
type failing struct {
	*wish
	node, file string
}

func newFailing(t *testing.T, name, node string) *failing {
	t.Helper()
	f := &failing{node: node, file: "/skyhook-" + name}
	p := scripted(map[string]string{"apply.sh": journal(f.file, "tried") + "\nexit 1"})
	p.Uninstall = nil
	f.wish = &wish{name: name, nodes: []string{node}, packages: map[string]v1alpha1.Package{"scripts": p}}
	ready(t, name, f.nodes, []string{f.file})
	f.apply(t)
	return f
}

// tries are the marks of the script so far.
func (f *failing) tries(t *testing.T) []string {
	t.Helper()
	return strings.Fields(onHost(t, f.node, "cat", f.file))
}

// ranAgain is a shell condition: the script ran more often than that.
func (f *failing) ranAgain(times int) string {
	return "[ $(cat " + f.file + " 2>/dev/null | wc -l) -gt " + strconv.Itoa(times) + " ]"
}

// notAgain watches a minute for a further run of scripts that are held, and checks that nothing is left that could run
// them. It returns what they left so far.
func notAgain(t *testing.T, all ...*failing) map[*failing][]string {
	t.Helper()
	before := map[*failing][]string{}
	for _, f := range all {
		before[f] = f.tries(t)
	}
	err := wait.PollUntilContextTimeout(t.Context(), time.Second, time.Minute, true, func(ctx context.Context) (bool, error) {
		for _, f := range all {
			if _, err := here(t).Exec(ctx, f.node, "sh", "-c", f.ranAgain(len(before[f]))); err != nil {
				return false, nil //nolint:nilerr // it has not run again yet
			}
		}
		return true, nil // all of them ran, so that there is nothing more to learn
	})
	if !wait.Interrupted(err) {
		t.Errorf("the scripts were watched with the result %v, want a minute without a run", err)
	}
	for _, f := range all {
		marks(t, f.node, f.file, before[f]...)
		if lacks := occupied(t, f.node); len(lacks) > 0 {
			t.Errorf("Skyhook %s is held, but %s", f.name, strings.Join(lacks, ", "))
		}
	}
	return before
}

// tells checks that the node has a status, and that the Skyhook's says what holds it.
func (f *failing) tells(t *testing.T, want v1alpha1.Status, part string) {
	t.Helper()
	if got := getNode(t, f.node).Labels["skyhook.nvidia.com/status_"+f.name]; got != string(want) {
		t.Errorf("node %s is %s for Skyhook %s, want %s", f.node, got, f.name, want)
	}
	status := getSkyhook(t, f.name).Status
	var texts []string
	for _, a := range status.Attention {
		texts = append(texts, a.Node+": "+a.Reason+": "+a.Message)
	}
	for _, c := range status.Conditions {
		texts = append(texts, c.Type+": "+c.Message)
	}
	contains(t, "the status of Skyhook "+f.name, strings.Join(texts, "\n"), part)
}
