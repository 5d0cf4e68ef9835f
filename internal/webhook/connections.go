package webhook

import (
	"cmp"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
)

// connections are those of a server that are open. One more than allowed costs another, never the new one: whoever
// holds all of them must not shut the API server out. It is one of the address that has the most, so that strangers
// lose their own; of these one without a request, and the one on which nothing happened for longest.
type connections struct {
	most int

	mu   sync.Mutex
	open map[net.Conn]use
	// changes counts all changes of connections.
	changes uint64
}

// use is what a connection is used for.
type use struct {
	// host is the address of the other side, without the port.
	host string
	// asking says that a request has come and is not answered yet.
	asking bool
	// changed is the last change.
	changed uint64
}

func newConnections(most int) *connections { return &connections{most: most, open: map[net.Conn]use{}} }

// changed is told by the HTTP server of every change of a connection.
func (c *connections) changed(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if state == http.StateClosed || state == http.StateHijacked {
		delete(c.open, conn)
		return
	}
	if _, known := c.open[conn]; !known && state != http.StateNew {
		return // closed a moment ago
	}
	c.changes++
	c.open[conn] = use{hostOf(conn), state == http.StateActive, c.changes}
	if len(c.open) > c.most {
		c.closeOne(conn)
	}
}

// closeOne closes another connection than the new one.
func (c *connections) closeOne(opened net.Conn) {
	of := map[string]int{}
	for _, u := range c.open {
		of[u.host]++
	}
	var last net.Conn
	for conn, u := range c.open {
		if conn != opened && (last == nil || goesBefore(u, c.open[last], of)) {
			last = conn
		}
	}
	delete(c.open, last)
	// Not by TLS, which says goodbye and would wait for whoever does not listen.
	if secure, is := last.(*tls.Conn); is {
		last = secure.NetConn()
	}
	_ = last.Close()
}

func goesBefore(a, b use, of map[string]int) bool {
	asking := func(u use) int {
		if u.asking {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(of[b.host], of[a.host]),
		cmp.Compare(asking(a), asking(b)), cmp.Compare(a.changed, b.changed)) < 0
}

func hostOf(conn net.Conn) string {
	host, _, err := net.SplitHostPort(conn.RemoteAddr().String())
	if err != nil {
		return ""
	}
	return host
}
