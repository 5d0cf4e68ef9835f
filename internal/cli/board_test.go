//go:build integration

package cli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/board"
)

// manyRollouts are Skyhooks of all kinds, each with its status.
func manyRollouts() []*v1alpha1.Skyhook {
	with := func(name string, st v1alpha1.SkyhookStatus) *v1alpha1.Skyhook {
		return heldUp(name, func(s *v1alpha1.Skyhook) { s.Status = st })
	}
	held := with("held", v1alpha1.SkyhookStatus{
		Status: v1alpha1.StatusPaused, CompleteNodes: "0/3000", Nodes: v1alpha1.NodeCounts{Total: 3000, Paused: 3000},
		Waiting: []v1alpha1.WaitingNodes{{Reason: "Paused", Nodes: 2, Message: "compartment __default__; continue with kubectl skyhook resume held"}},
		CompartmentStatuses: map[string]v1alpha1.CompartmentStatus{
			"__default__": {Matched: 2, Completed: 1, Ceiling: 1, BatchState: &v1alpha1.BatchState{CurrentBatch: 2}},
			"canary":      {Matched: 1, Completed: 0, Ceiling: 1, BatchState: &v1alpha1.BatchState{CurrentBatch: 1}},
			"nobody":      {},
		},
	})
	held.Annotations = map[string]string{v1alpha1.AnnotationPause: "true"}
	blocked := v1alpha1.NodeAttention{
		Node: "b-1", Status: v1alpha1.StatusBlocked, Reason: "NodeIgnored", Since: metav1.NewTime(today), Message: "it is; kubectl skyhook node include b-1",
	}
	many := rolling() // too many for an estimate, which takes a while
	many.Status.Nodes.Total = 3000
	return []*v1alpha1.Skyhook{
		many, held, with("fresh", v1alpha1.SkyhookStatus{}),
		with("done", v1alpha1.SkyhookStatus{
			Status: v1alpha1.StatusComplete, CompleteNodes: "2000/2000", Nodes: v1alpha1.NodeCounts{Total: 2000, Complete: 2000},
			CompartmentStatuses: map[string]v1alpha1.CompartmentStatus{"__default__": {Matched: 2000, Completed: 2000, Ceiling: 100}},
		}),
		with("going", v1alpha1.SkyhookStatus{
			Status: v1alpha1.StatusInProgress, CompleteNodes: "0/1", Nodes: v1alpha1.NodeCounts{Total: 1, InProgress: 1},
			CompartmentStatuses: map[string]v1alpha1.CompartmentStatus{"__default__": {Matched: 1, InProgress: 1, Ceiling: 1}},
		}),
		with("stopped", v1alpha1.SkyhookStatus{
			Status: v1alpha1.StatusBlocked, CompleteNodes: "0/3000", Nodes: v1alpha1.NodeCounts{Total: 3000, Blocked: 1, Waiting: 2998, Unknown: 1},
			Attention: []v1alpha1.NodeAttention{blocked},
		}),
	}
}

// TestBoardAsStatus: the page and the command say the same.
func TestBoardAsStatus(t *testing.T) {
	c := newCluster(t)
	for _, s := range manyRollouts() {
		c.put(s)
	}
	c.put(inPool("going", "going-1", nil))
	b := c.board("--namespace", "default")
	numbers := c.numbers()
	bars := regexp.MustCompile("[█▓▒░ ]+")
	for _, s := range manyRollouts() {
		out, _, err := c.run("", "status", s.Name, "--namespace", "default", "--context", "test")
		if err != nil {
			t.Fatal(err)
		}
		want := bars.ReplaceAllString(out, " ")
		p := b.page(s.Name)
		p.until("what status shows, with the time left", func() bool {
			return p.board.Skyhook != nil && strings.Contains(want, "time left") == (p.board.Skyhook.TimeLeft != nil)
		})
		if diff := cmp.Diff(want, bars.ReplaceAllString(drawn(p.board.Skyhook), " ")); diff != "" {
			t.Errorf("%s: status (-) and the board (+):\n%s", s.Name, diff)
		}
		i := slices.IndexFunc(p.board.Skyhooks, func(o board.Overview) bool { return o.Name == s.Name })
		if len(p.board.Skyhooks) != len(manyRollouts()) || i < 0 || !strings.HasPrefix(out, s.Name+"  "+p.board.Skyhook.StatusWords+"  "+p.board.Skyhooks[i].Far+"\n") {
			t.Errorf("%s: the list of all is %v", s.Name, p.board.Skyhooks)
		}
		got := p.board.Skyhook.Rollout
		got.Waiting, got.Attention, got.TimeLeft = nil, nil, nil
		if diff := cmp.Diff(numbers[s.Name], got); diff != "" {
			t.Errorf("status -o json (-) and the board (+):\n%s", diff)
		}
	}
}

// numbers are what status tells programs of all Skyhooks, without messages, which are others for people.
func (c *cluster) numbers() map[string]board.Rollout {
	c.t.Helper()
	out, _, err := c.run("", "status", "-o", "json")
	if err != nil {
		c.t.Fatal(err)
	}
	var list []board.Rollout
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		c.t.Fatal(err)
	}
	all := map[string]board.Rollout{}
	for _, r := range list {
		r.Waiting, r.Attention = nil, nil
		all[r.Name] = r
	}
	return all
}

// drawn is what the page is told, as status draws it, without bars.
func drawn(s *board.Skyhook) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s  %s  %s\n", s.Name, s.StatusWords, s.Far)
	if len(s.Bars) > 0 {
		title := " COMPARTMENT COMPLETE IN PROGRESS BUDGET"
		if slices.ContainsFunc(s.Bars, func(b board.Bar) bool { return b.Batch != "" }) {
			title += " BATCH"
		}
		text.WriteString("\n" + title + "\n")
		for _, b := range s.Bars {
			row := fmt.Sprintf(" %s %d/%d %d %d %s", b.Name, b.Completed, b.Matched, b.InProgress, b.Ceiling, b.Batch)
			text.WriteString(strings.TrimRight(row, " ") + "\n")
		}
		text.WriteString("\n")
	}
	var counts []string
	n := s.Nodes
	for _, c := range []struct {
		n    int
		what string
	}{
		{n.Complete, "complete"},
		{n.InProgress, "in progress"},
		{n.Erroring, "erroring"},
		{n.Waiting, "waiting"},
		{n.Blocked, "blocked"},
		{n.Paused, "paused"},
		{n.Disabled, "disabled"},
		{n.Unknown, "unknown"},
	} {
		if c.n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", c.n, c.what))
		}
	}
	if len(counts) > 0 {
		text.WriteString(" nodes " + strings.Join(counts, ", ") + "\n")
	}
	if s.Pace != "" {
		text.WriteString(" " + s.PaceLabel + " " + s.Pace + "\n")
	}
	for i, w := range s.Waiting {
		text.WriteString([]string{" waiting ", " "}[min(i, 1)] + said(fmt.Sprintf("%d %s", w.Nodes, w.Reason), w.Message))
	}
	for i, a := range s.Attention {
		text.WriteString([]string{"\n", ""}[min(i, 1)] + " " + a.Node + " " + said(a.Reason+" for 0s", a.Message))
	}
	return text.String()
}

func said(about, message string) string { return strings.TrimSuffix(about+": "+message, ": ") + "\n" }

// TestBoardChanges tells pages what changes, and nothing else.
func TestBoardChanges(t *testing.T) {
	c := newCluster(t)
	c.put(rolling())
	c.put(newNode("worker-1", states("{"+driverDone+","+tuningBad+"}")))
	c.put(newNode("worker-2", nil))
	c.put(newNode("other-1", nil))
	other := c.node("other-1")
	other.Labels["pool"] = "other"
	if err := c.Update(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	b := c.board("gpu")
	p, closed, none := b.page(""), b.page("gpu"), b.page("none")
	_ = closed.closed()
	none.until("no Skyhook", func() bool { return none.board.Skyhook == nil && len(none.board.Skyhooks) == 1 })
	p.until("both nodes", func() bool { return len(p.nodes) == 2 })
	if want := (board.Node{Name: "worker-1", Status: "erroring", Reason: "StepFailed", Stage: "tuning apply", Group: board.GroupFailing, Packages: "1/2"}); p.nodes["worker-1"] != want {
		t.Errorf("got %+v\nwant %+v", p.nodes["worker-1"], want)
	}
	if want := (board.Node{Name: "worker-2", Status: "waiting", Reason: "WaitingForPermit", Group: board.GroupWaiting, Packages: "0/2"}); p.nodes["worker-2"] != want {
		t.Errorf("got %+v\nwant %+v", p.nodes["worker-2"], want)
	}
	s := c.stored("gpu")
	s.Status.Permits = append(s.Status.Permits, v1alpha1.Permit{Node: "worker-2", Generation: 1, Order: 2})
	if err := c.Status().Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	p.until("a permit", func() bool { return p.nodes["worker-2"].Group == board.GroupBatch && p.board.Skyhook.Permits == 3 })
	n := c.node("worker-2")
	n.Annotations = states("{" + driverDone + "," + strings.ReplaceAll(strings.ReplaceAll(driverDone, "driver", "tuning"), "1.0.0", "2.1.0") + "}")
	n.Spec.Unschedulable = true
	if err := c.Update(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	p.until("a complete node", func() bool {
		want := board.Node{Name: "worker-2", Status: "complete", Group: board.GroupComplete, Packages: "2/2", Cordoned: true}
		return p.nodes["worker-2"] == want
	})
	n.Labels["pool"] = "other"
	if err := c.Update(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	if err := c.Delete(t.Context(), c.node("worker-1")); err != nil {
		t.Fatal(err)
	}
	p.until("no nodes", func() bool { return len(p.nodes) == 0 })
	if p.boards != 1 || p.changes < 3 {
		t.Errorf("%d whole pictures, %d changes", p.boards, p.changes)
	}
	if err := c.Delete(t.Context(), c.stored("gpu")); err != nil {
		t.Fatal(err)
	}
	p.until("no Skyhook", func() bool { return p.board.Skyhook == nil && len(p.board.Skyhooks) == 0 })
	none.until("no Skyhook in the list", func() bool { return len(none.board.Skyhooks) == 0 })
}

// TestBoardCompartments: each node is in the bar of its compartment.
func TestBoardCompartments(t *testing.T) {
	c := newCluster(t)
	budget := v1alpha1.Budget{Count: new(1)}
	rack := func(n string) metav1.LabelSelector {
		return metav1.LabelSelector{MatchLabels: map[string]string{"rack": n}}
	}
	c.put(&v1alpha1.DeploymentPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "racks"},
		Spec: v1alpha1.DeploymentPolicySpec{
			Default:      v1alpha1.PolicyDefault{Budget: budget, Strategy: v1alpha1.Strategy{Fixed: &v1alpha1.FixedStrategy{}}},
			Compartments: []v1alpha1.Compartment{{Name: "rack-7", Selector: rack("7"), Budget: budget}, {Name: "rack-8", Selector: rack("8"), Budget: budget}},
		},
	})
	s := rolling()
	s.Spec.DeploymentPolicy = "racks"
	c.put(s)
	for name, in := range map[string]string{"a": "7", "b": "8", "c": "9"} {
		n := newNode(name, nil)
		n.Labels["rack"] = in
		c.put(n)
	}
	p := c.board().page("gpu")
	bars := func(a, b, c int) func() bool {
		return func() bool {
			return len(p.nodes) == 3 && p.nodes["a"].Bar == a && p.nodes["b"].Bar == b && p.nodes["c"].Bar == c
		}
	}
	p.until("the bars of the status, which does not have rack-8 yet", bars(1, -1, 0))
	n := c.node("c")
	n.Labels["rack"] = "7"
	if err := c.Update(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	p.until("a node that moved", bars(1, -1, 1))
	s = c.stored("gpu")
	s.Status.CompartmentStatuses["rack-8"] = v1alpha1.CompartmentStatus{Matched: 1, Ceiling: 1}
	s.Status.CompartmentStatuses["canary"] = v1alpha1.CompartmentStatus{Matched: 1, Ceiling: 1}
	if err := c.Status().Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	p.until("new bars", bars(2, 3, 2))
	c.mayOnlyRead("reader") // and watch nothing
	_ = p.closed()
	p = c.board("--as", "reader").page("gpu")
	const want = "you may not watch Skyhooks, so this may be old; ask an administrator for this right; " +
		"you may not watch nodes, so this may be old; ask an administrator for this right"
	p.until("what may be old", func() bool { return p.fails.Message == want && len(p.nodes) == 3 })
}

// mayWatch lets a user read and watch some resources, and nothing else.
func (c *cluster) mayWatch(user string, resources ...string) {
	c.t.Helper()
	c.may(user, rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: resources, Verbs: []string{"get", "list", "watch"}})
}

// TestBoardWithoutPods: the pane says what it lacks, as why does.
func TestBoardWithoutPods(t *testing.T) {
	c := newCluster(t)
	c.put(gpu())
	c.put(newNode("worker-1", states("{"+driverDone+","+tuningBad+"}")))
	c.mayWatch("podless", "skyhooks", "nodes")
	var d board.Details
	if err := json.Unmarshal(c.board("--as", "podless").get("/api/node?skyhook=gpu&node=worker-1"), &d); err != nil {
		t.Fatal(err)
	}
	if want := "you may not read pods in namespace skyhook; what runs is not known"; !slices.Contains(d.Details, want) || len(d.Causes) == 0 {
		t.Errorf("%q, causes %v", d.Details, d.Causes)
	}
}

// TestBoardWithoutNodes shows the rest to whoever may not watch nodes, and says what is missing.
func TestBoardWithoutNodes(t *testing.T) {
	c := newCluster(t)
	c.put(rolling())
	c.mayWatch("viewer", "skyhooks")
	p := c.board("--as", "viewer").page("")
	p.until("the failure", func() bool { return p.fails.Message != "" })
	const want = "you may not list and watch nodes, so they are not shown; ask an administrator for this right"
	if p.fails.Message != want || !p.fails.Since.IsZero() || p.board.Skyhook == nil || len(p.nodes) > 0 || !strings.HasPrefix(p.board.Warning, "you may not list and watch DeploymentPolicies") {
		t.Errorf("%q, warning %q, nodes %v", p.fails.Message, p.board.Warning, p.nodes)
	}
	s := c.stored("gpu")
	s.Status.CompleteNodes = "41/100"
	if err := c.Status().Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	p.until("the failure still holds", func() bool { return p.fails.Message == want && p.board.Skyhook.Far == "41 of 100 nodes complete" })
	if err := c.Delete(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	p.until("the failure holds without a Skyhook", func() bool { return p.fails.Message == want && p.board.Skyhook == nil })
	if p.board.Name != "gpu" {
		t.Errorf("the page is of %q", p.board.Name)
	}
}

// TestBoardReconnects: watches that break are taken up again, and meanwhile the page says so.
func TestBoardReconnects(t *testing.T) {
	c := newCluster(t)
	c.put(rolling())
	c.put(newNode("worker-1", nil))
	var down, broken atomic.Bool
	cut := make(chan struct{})
	c.through(func(w http.ResponseWriter, r *http.Request) bool {
		if down.Load() {
			fails(w, http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, "it restarts")
			return true
		}
		if r.URL.Query().Get("watch") == "true" && !broken.Load() {
			ctx, stop := context.WithCancel(r.Context())
			go func() {
				select {
				case <-cut:
				case <-ctx.Done():
				}
				stop()
			}()
			*r = *r.WithContext(ctx)
		}
		return false
	})
	b := c.board()
	p := b.page("")
	p.until("the node", func() bool { return len(p.nodes) == 1 })
	down.Store(true)
	broken.Store(true)
	close(cut)
	p.until("a failure", func() bool { return strings.HasPrefix(p.fails.Message, "Skyhooks and nodes cannot be watched: ") })
	if !strings.Contains(p.fails.Message, "it restarts") || !p.fails.Since.Time.Equal(today) || len(p.nodes) != 1 {
		t.Errorf("%+v, nodes %v", p.fails, p.nodes)
	}
	late := b.page("")
	late.until("the old picture and the failure", func() bool { return late.fails.Message != "" && len(late.nodes) == 1 })
	c.put(newNode("worker-2", nil))
	down.Store(false)
	p.until("both nodes, and no failure", func() bool { return p.fails.Message == "" && len(p.nodes) == 2 })
	if p.boards != 1 {
		t.Errorf("%d whole pictures", p.boards)
	}
}

// TestBoardEnds: Ctrl-C ends the command at once, also with pages that nobody reads.
func TestBoardEnds(t *testing.T) {
	c := newCluster(t)
	c.put(gpu())
	b := c.board()
	for range 3 {
		b.page("").until("the Skyhook", func() bool { return true })
	}
	began := time.Now()
	b.stop()
	if err := <-b.ended; err != nil || time.Since(began) > time.Second {
		t.Errorf("%v after %s", err, time.Since(began))
	}
}

// TestBoardRefuses says what to do instead.
func TestBoardRefuses(t *testing.T) {
	c := newCluster(t)
	c.put(gpu())
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := fmt.Sprint(taken.Addr().(*net.TCPAddr).Port)
	for args, want := range map[string]string{
		"-o json":        "board is a page for people; leave out --output json",
		"none":           `getting skyhook "none": skyhooks.skyhook.nvidia.com "none" not found; kubectl get skyhooks lists those that exist`,
		"--port " + port: "port " + port + " is taken by another program; choose another one with --port, or leave --port out",
		"--port 70000":   "listening: listen tcp: address 70000: invalid port; choose another port with --port, or leave --port out",
	} {
		out, _, err := c.run("", append([]string{"board"}, strings.Fields(args)...)...)
		if err == nil || err.Error() != want || out != "" {
			t.Errorf("board %s: %v\n%s", args, err, out)
		}
	}
}

// TestBoardNode: the pane of a node has what the commands say, and reading changes nothing.
func TestBoardNode(t *testing.T) {
	c := newCluster(t)
	c.put(gpu())
	c.put(newNode("worker-1", states("{"+driverDone+","+tuningBad+"}")))
	waits := newNode("worker-2", nil)
	waits.Labels[v1alpha1.LabelIgnore] = "true"
	waits.Spec.Unschedulable = true
	c.put(waits)
	pod := c.runStage(c.stored("gpu"), "worker-1")
	var writes, whole atomic.Int32
	estimated := make(chan struct{})
	once := sync.OnceFunc(func() { close(estimated) })
	c.through(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodGet {
			writes.Add(1)
		}
		if (r.URL.Path == "/api/v1/nodes" || r.URL.Path == "/api/v1/pods") && r.URL.Query().Get("fieldSelector") == "" {
			whole.Add(1)
			if strings.HasSuffix(r.URL.Path, "/pods") {
				once()
			}
		}
		return false
	})
	b := c.board("--namespace", "default")
	p := b.page("gpu")
	p.until("both nodes", func() bool { return len(p.nodes) == 2 })
	<-estimated // how long the rollout takes is computed from the whole cluster, once
	for _, node := range []string{"worker-1", "worker-2"} {
		var d board.Details
		before := whole.Load()
		if err := json.Unmarshal(b.get("/api/node?skyhook=gpu&node="+node), &d); err != nil {
			t.Fatal(err)
		}
		if n := whole.Load() - before; n > 0 {
			t.Errorf("%s: all nodes, or the pods of all, are read %d times", node, n)
		}
		out, _, err := c.run("", "why", "node", node, "-o", "json", "--namespace", "default", "--context", "test")
		if err != nil {
			t.Fatal(err)
		}
		var want []board.Cause
		if err := json.Unmarshal([]byte(out), &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, d.Causes); diff != "" || len(want) == 0 {
			t.Errorf("%s: why node (-) and the board (+):\n%s", node, diff)
		}
		text, err := json.MarshalIndent(d, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		golden(t, "board-"+node, strings.ReplaceAll(string(text), pod.Name, "POD")+"\n")
	}
	for path, want := range map[string]string{
		"node=none&skyhook=gpu":      `{"message":"there is no node \"none\" any more"}`,
		"node=worker-1&skyhook=none": `{"message":"there is no Skyhook \"none\" any more"}`,
	} {
		if status, body := b.ask("/api/node?" + path); status != http.StatusNotFound || strings.TrimSpace(string(body)) != want {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	if n := writes.Load(); n > 0 {
		t.Errorf("%d writes", n)
	}
}

// TestBoardLogs shows what a pod printed; where none is, it creates none.
func TestBoardLogs(t *testing.T) {
	c := newCluster(t)
	c.put(gpu())
	c.put(newNode("worker-1", nil))
	made := c.runStage(c.stored("gpu"), "worker-1")
	pod := &corev1.Pod{}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(made), pod); err != nil {
		t.Fatal(err)
	}
	last := pod.Spec.InitContainers[len(pod.Spec.InitContainers)-1].Name
	pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{
		Name: last, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
	}}
	if err := c.Status().Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	asked := make(chan string, 1)
	var writes atomic.Int32
	c.through(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodGet {
			writes.Add(1)
		}
		if !strings.HasSuffix(r.URL.Path, "/log") {
			return false
		}
		asked <- r.URL.Path + "?" + r.URL.RawQuery
		_, _ = io.WriteString(w, "\x1b[31mred\x1b[0m\nlast\n")
		return true
	})
	b := c.board("--namespace", "default")
	for path, want := range map[string]string{
		"package=tuning": fmt.Sprintf(`{"text":"red\nlast\n","from":"%s/%s"}`, pod.Name, last),
		"package=driver": `{"message":"No pod of package driver is on node worker-1. Log files there have what ended stages printed: ` +
			"`kubectl skyhook logs gpu --package driver --node worker-1 --from-node -n default --context test` prints them.\"}",
	} {
		if body := b.get("/api/logs?skyhook=gpu&node=worker-1&" + path); strings.TrimSpace(string(body)) != want {
			t.Errorf("%s:\n%s\nwant\n%s", path, body, want)
		}
	}
	if got, want := <-asked, "/pods/"+pod.Name+"/log?container="+last+"&tailLines=200"; !strings.HasSuffix(got, want) {
		t.Errorf("asked for %s", got)
	}
	var readers corev1.PodList
	if err := c.List(t.Context(), &readers, client.InNamespace("default")); err != nil || len(readers.Items) != 1 || writes.Load() > 0 {
		t.Errorf("%v: %d pods, %d writes", err, len(readers.Items), writes.Load())
	}
}
