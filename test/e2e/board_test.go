//go:build e2e && nightly

package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/board"
)

// boardPage is what a browser has of kubectl skyhook board.
type boardPage struct {
	t       *testing.T
	skyhook string
	browser *http.Client
	address string
	events  *bufio.Scanner
	board   board.Board
	nodes   map[string]board.Node
	// sent are all statuses that each node was shown with.
	sent map[string][]v1alpha1.Status
}

// openBoard starts the plugin as a user would, and opens what it prints.
func openBoard(t *testing.T, skyhook string) *boardPage {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(pluginPath(t), asPlugin), "board", skyhook)
	cmd.Env = append(cmd.Environ(), "KUBECONFIG="+here(t).Kubeconfig())
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	opened, ok := strings.CutPrefix(strings.TrimSpace(line), "The board is at ")
	if err != nil || !ok {
		t.Fatalf("%v, printed %q", err, line)
	}
	p := &boardPage{t: t, skyhook: skyhook, sent: map[string][]v1alpha1.Status{}}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	p.browser = &http.Client{Jar: jar}
	door := p.get(opened)
	_ = door.Body.Close()
	p.address = strings.TrimSuffix(door.Request.URL.String(), "/")
	r := p.get("/api/events?skyhook=" + skyhook)
	late := time.AfterFunc(patience, func() { _ = r.Body.Close() })
	t.Cleanup(func() {
		late.Stop()
		_ = r.Body.Close()
	})
	p.events = bufio.NewScanner(r.Body)
	const longest = 4 << 20
	p.events.Buffer(nil, longest)
	return p
}

func (p *boardPage) get(path string) *http.Response {
	p.t.Helper()
	request, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, p.address+path, http.NoBody)
	if err != nil {
		p.t.Fatal(err)
	}
	r, err := p.browser.Do(request)
	if err != nil {
		p.t.Fatal(err)
	}
	if r.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(r.Body)
		p.t.Fatalf("%s: %s\n%s", path, r.Status, body)
	}
	return r
}

// read decodes what a path answers.
func (p *boardPage) read(path string, into any) {
	p.t.Helper()
	r := p.get(path)
	defer r.Body.Close()
	if err := json.NewDecoder(r.Body).Decode(into); err != nil {
		p.t.Fatal(err)
	}
}

// until takes events until the page is as expected.
func (p *boardPage) until(what string, is func() bool) {
	p.t.Helper()
	name := ""
	for p.board.At.IsZero() || !is() {
		if !p.events.Scan() {
			p.t.Fatalf("never: %s; %+v\n%s", what, p.board.Skyhook, describe(p.t, p.skyhook))
		}
		if n, ok := strings.CutPrefix(p.events.Text(), "event: "); ok {
			name = n
		}
		if data, ok := strings.CutPrefix(p.events.Text(), "data: "); ok {
			p.take(name, []byte(data))
		}
	}
}

func (p *boardPage) take(name string, data []byte) {
	p.t.Helper()
	var c board.Change
	var err error
	switch name {
	case board.EventBoard:
		p.board, p.nodes = board.Board{}, map[string]board.Node{}
		err = json.Unmarshal(data, &p.board)
		c = board.Change{Skyhook: p.board.Skyhook, Nodes: p.board.Nodes}
	case board.EventChange:
		err = json.Unmarshal(data, &c)
	case board.EventBeat:
	default:
		p.t.Fatalf("%s: %s", name, data)
	}
	if err != nil {
		p.t.Fatalf("%v in %s", err, data)
	}
	if c.Skyhook != nil {
		p.board.Skyhook = c.Skyhook
	}
	for _, n := range c.Nodes {
		p.nodes[n.Name] = n
		p.sent[n.Name] = append(p.sent[n.Name], n.Status)
	}
	for _, n := range c.Gone {
		delete(p.nodes, n)
	}
}

// awaitLog refreshes the log until it has a text: a kubelet tells late that a container has started.
func (p *boardPage) awaitLog(node, want string) {
	p.t.Helper()
	var l board.Logs
	err := wait.PollUntilContextTimeout(p.t.Context(), time.Second, patience, true, func(context.Context) (bool, error) {
		l = board.Logs{}
		p.read("/api/logs?skyhook="+p.skyhook+"&node="+node+"&package=scripts", &l)
		return strings.Contains(l.Text, want) && l.From != "", nil
	})
	if err != nil {
		p.t.Errorf("%v: %+v", err, l)
	}
}

// TestBoard follows a rollout on the page until it is complete. In its midst and at its end, the page says what the
// commands say.
func TestBoard(t *testing.T) {
	const file = "/skyhook-boarded"
	w := &wish{
		name: "boarded", nodes: ownNodes(t, nodeCount), spec: map[string]any{"interruptionBudget": map[string]any{"count": 1}},
		packages: map[string]v1alpha1.Package{"scripts": scripted(map[string]string{"apply.sh": "echo looking around\n" + gated(file, "apply")})},
	}
	ready(t, w.name, w.nodes, []string{file, gate(file, "apply")})
	w.apply(t)
	p := openBoard(t, w.name)
	var first string
	p.until("a node in progress that printed something", func() bool {
		for name, n := range p.nodes {
			if n.Status != v1alpha1.StatusInProgress || n.Group != board.GroupBatch {
				continue
			}
			first = name
			return true
		}
		return false
	})
	awaitHost(t, first, "[ -e "+file+" ]")
	var d board.Details
	p.read("/api/node?skyhook="+w.name+"&node="+first, &d)
	if d.Status != v1alpha1.StatusInProgress || len(d.Packages) != 1 || d.Packages[0].Stage != v1alpha1.StageApply || len(d.Logs) != 1 {
		t.Errorf("%+v", d)
	}
	p.awaitLog(first, "looking around")
	for _, node := range w.nodes {
		onHost(t, node, "touch", gate(file, "apply"))
	}
	p.until("the end", func() bool { return p.board.Skyhook.Status == v1alpha1.StatusComplete })
	p.until("the end of each node", func() bool {
		for _, n := range p.nodes {
			if n.Status != v1alpha1.StatusComplete || n.Group != board.GroupComplete || n.Packages != "1/1" {
				return false
			}
		}
		return len(p.nodes) == len(w.nodes)
	})
	p.until("the numbers of status", func() bool { return cmp.Equal(p.board.Skyhook.Rollout, p.status(), cmpopts.EquateEmpty()) })
	for _, node := range w.nodes {
		if len(p.sent[node]) < 2 {
			t.Errorf("node %s was shown as %v", node, p.sent[node])
		}
	}
}

// status is what kubectl skyhook status tells programs.
func (p *boardPage) status() board.Rollout {
	p.t.Helper()
	var list []board.Rollout
	if err := json.Unmarshal([]byte(mustPlugin(p.t, "status", p.skyhook, "-o", "json")), &list); err != nil || len(list) != 1 {
		p.t.Fatalf("%v: %d", err, len(list))
	}
	return list[0]
}
