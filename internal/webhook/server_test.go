package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// served is a running server with one path, /asked; a request for /held is answered when release says so.
type served struct {
	t             *testing.T
	address       string
	trust         *tls.Config
	held, release chan struct{}
}

func serveBounded(t *testing.T, b bounds) *served {
	t.Helper()
	model := httptest.NewTLSServer(http.NotFoundHandler())
	defer model.Close()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &served{t: t, address: listener.Addr().String(), held: make(chan struct{}, 1), release: make(chan struct{})}
	s.trust = &tls.Config{RootCAs: x509.NewCertPool(), ServerName: "example.com"}
	s.trust.RootCAs.AddCert(model.Certificate())
	server := NewServer("", func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &model.TLS.Certificates[0], nil })
	server.bounds = b
	server.Register("/asked", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.Register("/held", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		s.held <- struct{}{}
		<-s.release
	}))
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- server.serve(ctx, listener) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s
}

// dial opens a connection from an address of this machine.
func (s *served) dial(from string) net.Conn {
	s.t.Helper()
	conn, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}).DialContext(s.t.Context(), "tcp", s.address)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// begin opens a connection and sends a text by TLS; none at all leaves the handshake out.
func (s *served) begin(from, text string) net.Conn {
	s.t.Helper()
	conn := s.dial(from)
	if text == "" {
		return conn
	}
	secure := tls.Client(conn, s.trust)
	// A server that is told to take others may close this one meanwhile.
	_, _ = io.WriteString(secure, text)
	return secure
}

const (
	halfHeaders = "POST /asked HTTP/1.1\r\nHost: x\r\n"
	noBody      = "POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n"
	request     = "GET /asked HTTP/1.1\r\nHost: x\r\n\r\n"
)

// TestConnectionsThatHoldOn: who sends nothing, or not all, does not stay.
func TestConnectionsThatHoldOn(t *testing.T) {
	const moment = 300 * time.Millisecond
	s := serveBounded(t, bounds{connections: 10, headerBytes: 16 << 10, header: moment, request: 2 * moment, answer: time.Minute, idle: moment})
	for name, text := range map[string]string{
		"no handshake": "", "half of the headers": halfHeaders, "no body, for nobody": noBody, "no other request": request,
	} {
		t.Run(name, func(t *testing.T) {
			conn := s.begin("127.0.0.1", text)
			if err := conn.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
				t.Fatal(err)
			}
			if answer, err := io.ReadAll(conn); err != nil {
				t.Errorf("the connection stays: %v\n%s", err, answer)
			}
		})
	}
}

func TestLongHeaders(t *testing.T) {
	s := serveBounded(t, servedBounds)
	for size, want := range map[int]int{8 << 10: http.StatusOK, 32 << 10: http.StatusRequestHeaderFieldsTooLarge} {
		if got := s.caller().get("/asked", strings.Repeat("x", size)); got != want {
			t.Errorf("with %d bytes of headers answers %d, want %d", size, got, want)
		}
	}
}

// caller asks as the API server does: it keeps its connection.
type caller struct {
	*served
	http.Client
	dials atomic.Int32
}

func (s *served) caller() *caller {
	c := &caller{served: s}
	c.Transport = &http.Transport{
		TLSClientConfig: s.trust, MaxIdleConns: 1,
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			c.dials.Add(1)
			return (&net.Dialer{}).DialContext(ctx, network, s.address)
		},
	}
	c.Timeout = 30 * time.Second
	s.t.Cleanup(c.CloseIdleConnections)
	return c
}

// get returns the status of the answer, or 0.
func (c *caller) get(path, header string) int {
	q, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, "https://example.com"+path, http.NoBody)
	if err != nil {
		c.t.Error(err)
		return 0
	}
	q.Header.Set("X-Long", header)
	response, err := c.Do(q)
	if err != nil {
		c.t.Error(err)
		return 0
	}
	_, _ = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
	return response.StatusCode
}

// TestStrangersTakeTheirOwnPlaces: they can open as many connections as they like, and do with them what they like. The
// API server keeps its own, gets another, and its answers.
func TestStrangersTakeTheirOwnPlaces(t *testing.T) {
	const most, many = 8, 40
	for name, text := range map[string]string{
		"no handshake": "", "half of the headers": halfHeaders, "no body, for nobody": noBody, "idle": request,
	} {
		for from, keeps := range map[string]bool{"127.0.0.2": true, "127.0.0.1": false} {
			// Of one address those go last that have asked.
			answers := keeps || text != noBody
			t.Run(name+" from "+from, func(t *testing.T) {
				s := serveBounded(t, bounds{connections: most, headerBytes: 16 << 10, header: time.Minute, request: time.Minute, answer: time.Minute, idle: time.Minute})
				defer close(s.release)
				api, asking := s.caller(), s.caller()
				held := make(chan int, 1)
				if api.get("/asked", "") != http.StatusOK {
					t.Fatal("the API server gets no answer")
				}
				if answers {
					go func() { held <- asking.get("/held", "") }()
					<-s.held
				}
				ended := make(chan struct{}, many)
				for range many {
					conn := s.begin(from, text)
					go func() {
						_, _ = io.Copy(io.Discard, conn)
						ended <- struct{}{}
					}()
				}
				enough := time.After(30 * time.Second)
				for n := range many - most {
					select {
					case <-ended:
					case <-enough:
						t.Fatalf("%d connections stay", many-n)
					}
				}
				if code := api.get("/asked", ""); code != http.StatusOK || (keeps && api.dials.Load() != 1) {
					t.Errorf("the API server is answered %d, and opened %d connections", code, api.dials.Load())
				}
				if code := s.caller().get("/asked", ""); code != http.StatusOK {
					t.Errorf("a new connection of the API server is answered %d", code)
				}
				if answers {
					s.release <- struct{}{}
					if code := <-held; code != http.StatusOK {
						t.Errorf("what was asked before is answered %d", code)
					}
				}
			})
		}
	}
}
