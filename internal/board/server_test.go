package board

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// fakeSource tells what the tests want to be told.
type fakeSource struct {
	page   *fakePage
	opened atomic.Int32
}

func (f *fakeSource) Open(string) Page {
	f.opened.Add(1)
	return f.page
}

func (*fakeSource) Node(_ context.Context, skyhook, node string) (*Details, error) {
	switch node {
	case "gone":
		return nil, fmt.Errorf("there is no node: %w", ErrNotFound)
	case "unreadable":
		return nil, errors.New("listing nodes: no answer")
	}
	return &Details{Name: node, Skyhook: skyhook}, nil
}

func (*fakeSource) Logs(_ context.Context, _, _, pkg string) (*Logs, error) {
	return &Logs{Text: "what " + pkg + " printed"}, nil
}

type fakePage struct {
	changed chan struct{}
	news    func() []Event
	closed  atomic.Int32
}

func (p *fakePage) Changed() <-chan struct{} { return p.changed }
func (p *fakePage) News() []Event            { return p.news() }
func (p *fakePage) Close()                   { p.closed.Add(1) }

// ask sends a request that change has changed. Paths are those in the room, but for the address that is printed.
func ask(s *Server, path string, change func(*http.Request)) *httptest.ResponseRecorder {
	if !strings.HasPrefix(path, "/?") {
		path = s.room + path
	}
	r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:8080"+path, http.NoBody)
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

func (s *Server) letIn(r *http.Request) { r.AddCookie(&http.Cookie{Name: cookie, Value: s.session}) }

var paths = []string{"/", "/web/index.html", "/api/events", "/api/node?node=a", "/api/logs?node=a", "/elsewhere"}

// TestToken: only who has the token is let in, and only at the door; then the address has no token any more.
func TestToken(t *testing.T) {
	s := New(&fakeSource{})
	for _, path := range paths {
		for name, change := range map[string]func(*http.Request){
			"nothing":           nil,
			"a wrong token":     func(r *http.Request) { r.URL.RawQuery += "&token=" + s.session },
			"a wrong cookie":    func(r *http.Request) { r.AddCookie(&http.Cookie{Name: cookie, Value: s.token}) },
			"another's cookie":  func(r *http.Request) { r.AddCookie(&http.Cookie{Name: cookie, Value: New(nil).session}) },
			"an empty cookie":   func(r *http.Request) { r.AddCookie(&http.Cookie{Name: cookie}) },
			"the token, inside": func(r *http.Request) { r.URL.Path = s.room + "/api/node"; r.URL.RawQuery = "node=a&token=" + s.token },
		} {
			w := ask(s, path, change)
			if w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), "kubectl skyhook board printed") || len(w.Result().Cookies()) > 0 {
				t.Errorf("%s with %s: %d %v\n%s", path, name, w.Code, w.Header(), w.Body)
			}
		}
	}
	w := ask(s, "/?token="+s.token, nil)
	cookies := w.Result().Cookies()
	if w.Code != http.StatusSeeOther || w.Header().Get("Location") != s.room+"/" || len(cookies) != 1 {
		t.Fatalf("%d %v", w.Code, w.Header())
	}
	c := cookies[0]
	if !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != s.room+"/" || c.Domain != "" || c.MaxAge > 0 || c.Value == s.token {
		t.Errorf("%v", c)
	}
	if w := ask(s, "/", func(r *http.Request) { r.AddCookie(c) }); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "<!doctype html>") {
		t.Errorf("%d\n%s", w.Code, w.Body)
	}
	if other := New(nil); other.token == s.token || other.session == s.session || other.room == s.room ||
		min(len(s.token), len(s.session), len(s.room)) < 20 {
		t.Error("the secrets are no secrets")
	}
}

// TestOtherPorts: browsers send the cookies of a host to all of its ports, but nobody else there gets this one.
func TestOtherPorts(t *testing.T) {
	s, address, _ := running(t.Context(), t, &fakeSource{})
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := (&http.Client{Jar: jar}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if got := jar.Cookies(answer.Request.URL); answer.StatusCode != http.StatusOK || len(got) != 1 {
		t.Fatalf("%s: %d, cookies %v", answer.Request.URL, answer.StatusCode, got)
	}
	for _, other := range []string{"/", "/web/board.js", "/elsewhere/", "/" + New(nil).room + "/"} {
		if got := jar.Cookies(&url.URL{Scheme: "http", Host: "127.0.0.1:9", Path: other}); len(got) > 0 {
			t.Errorf("port 9 is sent %v of %s", got, s.room)
		}
	}
}

// TestHost answers no page from elsewhere that made its name lead here.
func TestHost(t *testing.T) {
	s := New(&fakeSource{})
	for host, want := range map[string]int{
		"127.0.0.1:8080": http.StatusOK, "localhost:8080": http.StatusOK, "localhost": http.StatusOK, "127.1.2.3:1": http.StatusOK,
		"[::1]:8080": http.StatusOK, "localhost:9999": http.StatusOK,
		"evil.example:8080": http.StatusForbidden, "evil.example": http.StatusForbidden, "": http.StatusForbidden, "10.0.0.1:8080": http.StatusForbidden,
		"127.0.0.1.evil.example:8080": http.StatusForbidden, "localhost.evil.example": http.StatusForbidden, "0.0.0.0:8080": http.StatusForbidden,
		"[::]:8080": http.StatusForbidden, "169.254.169.254": http.StatusForbidden,
	} {
		w := ask(s, "/", func(r *http.Request) {
			s.letIn(r)
			r.Host = host
		})
		if w.Code != want {
			t.Errorf("host %q: %d, want %d", host, w.Code, want)
		}
	}
	if w := ask(s, "/?token="+s.token, func(r *http.Request) { r.Host = "evil.example" }); w.Code != http.StatusForbidden || len(w.Result().Cookies()) > 0 {
		t.Errorf("the token lets in under another name: %d %v", w.Code, w.Header())
	}
}

// TestMethods: nothing but reading.
func TestMethods(t *testing.T) {
	s := New(&fakeSource{})
	for _, method := range []string{
		http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions, http.MethodHead, http.MethodConnect, "BREW",
	} {
		for _, path := range append(paths, "/?token="+s.token) {
			w := ask(s, path, func(r *http.Request) {
				s.letIn(r)
				r.Method = method
			})
			if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != http.MethodGet || len(w.Result().Cookies()) > 0 {
				t.Errorf("%s %s: %d %v", method, path, w.Code, w.Header())
			}
		}
	}
}

// TestHeaders: whatever is answered, browsers load nothing from elsewhere, and keep nothing.
func TestHeaders(t *testing.T) {
	s := New(&fakeSource{page: &fakePage{news: func() []Event { return nil }}})
	for _, in := range []bool{true, false} {
		for _, path := range append(paths, "/?token="+s.token) {
			ctx, leave := context.WithCancel(t.Context())
			leave() // else events are without end
			w := ask(s, path, func(r *http.Request) {
				*r = *r.WithContext(ctx)
				if in {
					s.letIn(r)
				}
			})
			for header, want := range map[string]string{
				"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
					"base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
				"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
				"Cross-Origin-Resource-Policy": "same-origin", "Access-Control-Allow-Origin": "",
			} {
				if got := w.Header().Get(header); got != want {
					t.Errorf("%s, let in: %t: %s is %q, want %q", path, in, header, got, want)
				}
			}
		}
	}
}

// TestAnswers: what there is as JSON, and why there is nothing.
func TestAnswers(t *testing.T) {
	s := New(&fakeSource{})
	for path, want := range map[string]struct {
		code int
		body string
	}{
		"/api/node?skyhook=gpu&node=a": {http.StatusOK, `"name":"a","skyhook":"gpu"`},
		"/api/node?node=gone":          {http.StatusNotFound, `{"message":"there is no node: not found"}`},
		"/api/node?node=unreadable":    {http.StatusBadGateway, `{"message":"listing nodes: no answer"}`},
		"/api/logs?package=driver":     {http.StatusOK, `{"text":"what driver printed"}`},
		"/web/":                        {http.StatusNotFound, ""},
		"/web/../server.go":            {http.StatusTemporaryRedirect, "/server.go"},
		"/web/none.js":                 {http.StatusNotFound, ""},
		"/elsewhere":                   {http.StatusNotFound, ""},
	} {
		w := ask(s, path, s.letIn)
		if w.Code != want.code || !strings.Contains(w.Body.String(), want.body) {
			t.Errorf("%s: %d\n%s", path, w.Code, w.Body)
		}
	}
}

// timed is a connection with a deadline.
type timed struct {
	*httptest.ResponseRecorder
	deadline time.Time
}

func (w *timed) SetWriteDeadline(deadline time.Time) error {
	w.deadline = deadline
	return nil
}

// TestNobodyIsWaitedFor: whoever does not read an answer loses it.
func TestNobodyIsWaitedFor(t *testing.T) {
	s := New(&fakeSource{})
	for _, path := range []string{"/api/node?node=a", "/api/logs?node=a"} {
		r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:8080"+s.room+path, http.NoBody)
		s.letIn(r)
		w := &timed{ResponseRecorder: httptest.NewRecorder()}
		s.ServeHTTP(w, r)
		if left := time.Until(w.deadline); w.Code != http.StatusOK || left <= 0 || left > stuck {
			t.Errorf("%s: %d, and %s to read it", path, w.Code, left)
		}
	}
}

// running is a server on a real port, and how it ended.
func running(ctx context.Context, t *testing.T, source Source) (s *Server, address string, ended chan error) {
	t.Helper()
	l, err := Listen(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	s, ended = New(source), make(chan error, 1)
	address = s.Address(l.Addr())
	go func() { ended <- s.Serve(ctx, l) }()
	return s, address, ended
}

// TestLoopback listens where nobody else can connect.
func TestLoopback(t *testing.T) {
	l, err := Listen(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	at, err := netip.ParseAddrPort(l.Addr().String())
	if err != nil || !at.Addr().IsLoopback() || at.Port() == 0 {
		t.Errorf("%s: %v", l.Addr(), err)
	}
	if _, err := Listen(t.Context(), int(at.Port())); err == nil {
		t.Error("a port that is taken is no error")
	}
	u, err := url.Parse(New(nil).Address(l.Addr()))
	if err != nil || u.Host != at.String() || u.Path != "/" || u.Query().Get(tokenParameter) == "" {
		t.Errorf("%v: %v", u, err)
	}
}

// TestEndsAtOnce: Ctrl-C does not wait for pages that are open, nor for one that does not read.
func TestEndsAtOnce(t *testing.T) {
	full := strings.Repeat("x", 16<<20) // more than buffers take
	page := &fakePage{changed: make(chan struct{}), news: func() []Event { return []Event{{EventBoard, full}} }}
	source := &fakeSource{page: page}
	ctx, stop := context.WithCancel(t.Context())
	s, address, ended := running(ctx, t, source)
	u, _ := url.Parse(address)
	for range 3 {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+u.Host+s.room+"/api/events", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		s.letIn(r)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = answer.Body.Close() }) // never read
	}
	began := time.Now()
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > time.Second || source.opened.Load() != 3 {
		t.Errorf("it took %s with %d pages", took, source.opened.Load())
	}
}

// TestStream sends what is new at most four times a second, and a sign of life where nothing is.
func TestStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const all = 11 // before the first sign of life
		count := 0
		page := &fakePage{changed: make(chan struct{}, 1), news: func() []Event {
			if count == all {
				return nil
			}
			count++
			return []Event{{EventChange, count}}
		}}
		s := New(&fakeSource{page: page})
		read, write := io.Pipe()
		ctx, leave := context.WithCancel(t.Context())
		over := make(chan struct{})
		go func() {
			r := httptest.NewRequest(http.MethodGet, "http://localhost"+s.room+"/api/events", http.NoBody).WithContext(ctx)
			s.letIn(r)
			s.ServeHTTP(&pipe{header: http.Header{}, PipeWriter: write}, r)
			write.Close()
			close(over)
		}()
		go func() { // something happens all the time
			for range 10 * all {
				select {
				case page.changed <- struct{}{}:
				case <-ctx.Done():
				}
			}
		}()
		lines := bufio.NewScanner(read)
		begin := time.Now()
		for want := 1; want <= all; want++ {
			for lines.Scan() && !strings.HasPrefix(lines.Text(), "data: ") {
			}
			if got := lines.Text(); got != fmt.Sprintf("data: %d", want) {
				t.Fatalf("got %q, want %d", got, want)
			}
		}
		if took := time.Since(begin); took != 2500*time.Millisecond {
			t.Errorf("10 messages after the first took %s", took)
		}
		begin = time.Now()
		for lines.Scan() && lines.Text() != "event: beat" {
		}
		if took := time.Since(begin); took > heartbeat || took == 0 {
			t.Errorf("the sign of life came after %s", took)
		}
		now, err := json.Marshal(Beat{At: metav1.Now()})
		if want := "data: " + string(now); err != nil || !lines.Scan() || lines.Text() != want {
			t.Errorf("%v: got %q, want %q", err, lines.Text(), want)
		}
		leave()
		go func() { _, _ = io.Copy(io.Discard, read) }()
		<-over
		if page.closed.Load() != 1 {
			t.Error("the page is not closed")
		}
	})
}

// pipe is a connection without a network, which the clock of a test can wait for.
type pipe struct {
	*io.PipeWriter
	header http.Header
}

func (p *pipe) Header() http.Header              { return p.header }
func (p *pipe) WriteHeader(int)                  {}
func (p *pipe) Flush()                           {}
func (p *pipe) SetWriteDeadline(time.Time) error { return nil }
