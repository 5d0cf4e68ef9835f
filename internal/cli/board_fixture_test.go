//go:build integration

package cli_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"strings"
	"testing"
	"time"

	"github.com/skyhook-operator/skyhook/internal/board"
	"github.com/skyhook-operator/skyhook/internal/cli"
)

// seenBoard is a board that runs, and a browser that has opened it.
type seenBoard struct {
	t       *testing.T
	address string
	browser *http.Client
	// stop is Ctrl-C, and ended how the command ended.
	stop  context.CancelFunc
	ended chan error
}

// board starts the command, as a user would, and opens what it prints.
func (c *cluster) board(args ...string) *seenBoard {
	c.t.Helper()
	ctx, stop := context.WithCancel(c.t.Context())
	b := &seenBoard{t: c.t, stop: stop, ended: make(chan error, 1)}
	out, in := io.Pipe()
	root := cli.Root("1.2.3", func() time.Time { return today })
	root.SetOut(in)
	root.SetErr(io.Discard)
	root.SetArgs(append([]string{"board"}, args...))
	go func() {
		err := root.ExecuteContext(ctx)
		b.ended <- err
		in.CloseWithError(io.EOF)
	}()
	c.t.Cleanup(stop)
	said := bufio.NewReader(out)
	line, err := said.ReadString('\n')
	if err != nil {
		c.t.Fatalf("the board has not started: %v", <-b.ended)
	}
	go func() { _, _ = io.Copy(io.Discard, said) }()
	opened, ok := strings.CutPrefix(strings.TrimSpace(line), "The board is at ")
	if !ok {
		c.t.Fatalf("printed %q", line)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		c.t.Fatal(err)
	}
	b.browser = &http.Client{Jar: jar}
	r := b.open(opened)
	defer r.Body.Close()
	if page, err := io.ReadAll(r.Body); err != nil || !bytes.Contains(page, []byte("<!doctype html>")) {
		c.t.Fatalf("%s shows\n%s: %v", opened, page, err)
	}
	b.address = strings.TrimSuffix(r.Request.URL.String(), "/")
	return b
}

// get reads a path of the board.
func (b *seenBoard) get(path string) []byte {
	b.t.Helper()
	status, body := b.ask(path)
	if status != http.StatusOK {
		b.t.Fatalf("%s: %d\n%s", path, status, body)
	}
	return body
}

func (b *seenBoard) ask(path string) (status int, body []byte) {
	b.t.Helper()
	r := b.open(path)
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return r.StatusCode, body
}

func (b *seenBoard) open(path string) *http.Response {
	b.t.Helper()
	request, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, b.address+path, http.NoBody)
	if err != nil {
		b.t.Fatal(err)
	}
	r, err := b.browser.Do(request)
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

// shownPage is what one page shows.
type shownPage struct {
	t      *testing.T
	lines  *bufio.Scanner
	closed func() error
	board  board.Board
	nodes  map[string]board.Node
	// fails is the failure that holds.
	fails board.Failure
	// boards and changes count messages.
	boards, changes int
}

// page opens the events of a Skyhook.
func (b *seenBoard) page(skyhook string) *shownPage {
	b.t.Helper()
	r := b.open("/api/events?skyhook=" + skyhook)
	b.t.Cleanup(func() { _ = r.Body.Close() })
	if r.StatusCode != http.StatusOK || r.Header.Get("Content-Type") != "text/event-stream" {
		b.t.Fatalf("status %d, type %s", r.StatusCode, r.Header.Get("Content-Type"))
	}
	const longest = 4 << 20
	p := &shownPage{t: b.t, lines: bufio.NewScanner(r.Body), closed: r.Body.Close}
	p.lines.Buffer(nil, longest)
	return p
}

// next takes one message as the page does; false at the end.
func (p *shownPage) next() bool {
	p.t.Helper()
	name := ""
	for p.lines.Scan() {
		line := p.lines.Text()
		if is, ok := strings.CutPrefix(line, "event: "); ok {
			name = is
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			p.take(name, []byte(data))
			return true
		}
	}
	return false
}

func (p *shownPage) take(name string, data []byte) {
	p.t.Helper()
	switch name {
	case board.EventBoard:
		p.board, p.nodes = board.Board{}, map[string]board.Node{}
		p.boards++
		p.decode(data, &p.board)
		for _, n := range p.board.Nodes {
			p.nodes[n.Name] = n
		}
	case board.EventChange:
		var c board.Change
		p.decode(data, &c)
		p.changes++
		p.change(&c)
	case board.EventFail:
		p.fails = board.Failure{}
		p.decode(data, &p.fails)
	case board.EventBeat:
	default:
		p.t.Fatalf("event %q: %s", name, data)
	}
}

func (p *shownPage) decode(data []byte, into any) {
	p.t.Helper()
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		p.t.Fatalf("%v in %s", err, data)
	}
}

func (p *shownPage) change(c *board.Change) {
	p.board.At = c.At
	if c.Warning != nil {
		p.board.Warning = *c.Warning
	}
	if c.Skyhooks != nil {
		p.board.Skyhooks = c.Skyhooks
	}
	if c.Skyhook != nil {
		p.board.Skyhook = c.Skyhook
	}
	for _, n := range c.Nodes {
		p.nodes[n.Name] = n
	}
	for _, name := range c.Gone {
		delete(p.nodes, name)
	}
}

// until takes messages until the page is as expected.
func (p *shownPage) until(what string, is func() bool) {
	p.t.Helper()
	late := time.AfterFunc(30*time.Second, func() { _ = p.closed() })
	defer late.Stop()
	for p.boards == 0 || !is() {
		if !p.next() {
			text, _ := json.MarshalIndent(p.board, "", " ")
			p.t.Fatalf("never: %s; fails: %q, nodes %v\n%s", what, p.fails.Message, p.nodes, text)
		}
	}
}
