package board

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"embed"
	"encoding/json"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"time"
)

// ErrNotFound is in the errors of a Source about what is not there.
var ErrNotFound = errors.New("not found")

// Source is what the board shows of a cluster. Its errors are sentences for people.
type Source interface {
	// Open begins a page for a Skyhook; without a name the source chooses one.
	Open(skyhook string) Page
	// Node is what there is to say of a node and a Skyhook.
	Node(ctx context.Context, skyhook, node string) (*Details, error)
	// Logs are the last lines that the newest pod of a package on a node printed.
	Logs(ctx context.Context, skyhook, node, pkg string) (*Logs, error)
}

// Page is one picture that somebody looks at.
type Page interface {
	// Changed can be received from when there may be something new.
	Changed() <-chan struct{}
	// News are the events since the last call: none as long as nothing is known, then the whole picture, then what changes.
	// Now and then it is called without a change, as some numbers depend on the time.
	News() []Event
	Close()
}

//go:embed web
var web embed.FS

// policy is what the page may do: load its own files, and ask this server.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// tokenParameter has the token in the address that is printed.
const tokenParameter = "token"

// Server answers the browser of one user.
type Server struct {
	source Source
	// token is in the address that the user opens, session in the cookie that the browser gets for it: addresses are kept
	// in histories.
	token, session string
	// room is the folder that has everything, with a name that nobody else knows: browsers send the cookies of a host to all
	// of its ports, and another user of this machine may listen on one of them.
	room   string
	routes http.Handler
}

// cookie is the name of the cookie.
const cookie = "skyhook-board"

// New makes a server for what a source shows.
func New(source Source) *Server {
	s := &Server{source: source, token: rand.Text(), session: rand.Text(), room: "/" + rand.Text()}
	routes := http.NewServeMux()
	routes.HandleFunc("/{$}", func(w http.ResponseWriter, r *http.Request) {
		http.ServeFileFS(w, r, web, "web/index.html")
	})
	routes.HandleFunc("/web/", asset)
	routes.HandleFunc("/api/events", s.events)
	routes.HandleFunc("/api/node", s.node)
	routes.HandleFunc("/api/logs", s.logs)
	s.routes = http.StripPrefix(s.room, routes)
	return s
}

// Address is what the user opens, for a server that listens on address.
func (s *Server) Address(address net.Addr) string {
	query := url.Values{tokenParameter: {s.token}}
	u := url.URL{Scheme: "http", Host: address.String(), Path: "/", RawQuery: query.Encode()}
	return u.String()
}

// ServeHTTP answers only whoever has the token, only under the name of this machine, and only reads.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	switch {
	case !here(r.Host): // a page from elsewhere whose name was made to lead here
		http.Error(w, "The board is only for the machine it runs on: open it as http://localhost or http://127.0.0.1.",
			http.StatusForbidden)
	case r.Method != http.MethodGet:
		h.Set("Allow", http.MethodGet)
		http.Error(w, "The board only reads.", http.StatusMethodNotAllowed)
	case r.URL.Path == "/" && same(r.URL.Query().Get(tokenParameter), s.token):
		s.admit(w, r)
	case !s.admitted(r):
		http.Error(w, "Open the address that kubectl skyhook board printed, with its token; other users of this machine "+
			"must not see what you may see.", http.StatusForbidden)
	default:
		s.routes.ServeHTTP(w, r)
	}
}

// here reports whether a request was made to a name of this machine. The port may be another one, as with ssh -L.
func here(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// same compares secrets so that the time it takes tells nothing of them.
func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// admit lets the browser in, and takes the token from the address. The cookie also comes where a link on another site,
// such as a terminal in the browser, led here: it only lets read, and no other site can read what comes.
func (s *Server) admit(w http.ResponseWriter, r *http.Request) {
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // G124: loopback has no TLS
		Name: cookie, Value: s.session, Path: s.room + "/", HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
	http.Redirect(w, r, s.room+"/", http.StatusSeeOther)
}

func (s *Server) admitted(r *http.Request) bool {
	c, err := r.Cookie(cookie)
	return err == nil && same(c.Value, s.session)
}

// types are those that browsers insist on; what the machine has in its own list may be wrong.
var types = map[string]string{
	".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
}

// asset serves a file of the page, and no folder.
func asset(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Path[1:]
	if info, err := fs.Stat(web, name); err != nil || info.IsDir() {
		http.NotFound(w, r)
		return
	}
	if kind, ok := types[path.Ext(name)]; ok {
		w.Header().Set("Content-Type", kind)
	}
	http.ServeFileFS(w, r, web, name) //nolint:gosec // G703: nothing outside the embedded files is reached
}

func (s *Server) node(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	d, err := s.source.Node(r.Context(), q.Get("skyhook"), q.Get("node"))
	answer(w, d, err)
}

func (s *Server) logs(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	l, err := s.source.Logs(r.Context(), q.Get("skyhook"), q.Get("node"), q.Get("package"))
	answer(w, l, err)
}

// answer sends a value, or why there is none.
func answer(w http.ResponseWriter, value any, err error) {
	w.Header().Set("Content-Type", "application/json")
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(stuck)) // fails where nothing gets stuck
	switch {
	case errors.Is(err, ErrNotFound):
		w.WriteHeader(http.StatusNotFound)
	case err != nil:
		w.WriteHeader(http.StatusBadGateway)
	}
	if err != nil {
		value = Failure{Message: err.Error()}
	}
	_ = json.NewEncoder(w).Encode(value) // fails if nobody listens any more
}
