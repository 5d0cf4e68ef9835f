//go:build linux

package testbed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
)

// The daemon takes orders as HTTP requests on a socket in the state folder:
//
//	GET    /nodes              the cluster's state
//	POST   /nodes?label&taint  add a node that registers with these; answers with its number
//	DELETE /nodes/{n}          remove a node
//	POST   /nodes/{n}/boot     start a node that is off

func (d *daemon) serveControl() error {
	l, err := listenSocket(d.dir)
	if err != nil {
		return err
	}
	return http.Serve(l, d.handler())
}

func (d *daemon) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /nodes", func(w http.ResponseWriter, _ *http.Request) {
		d.mu.Lock()
		defer d.mu.Unlock()
		answer(w, d.state, nil)
	})
	mux.HandleFunc("POST /nodes", func(w http.ResponseWriter, req *http.Request) {
		n, err := d.addNode(readJoin(req.URL.Query()))
		answer(w, n, err)
	})
	mux.HandleFunc("DELETE /nodes/{n}", d.onNode(d.removeNode))
	mux.HandleFunc("POST /nodes/{n}/boot", d.onNode(d.bootNode))
	return mux
}

func (d *daemon) onNode(do func(int) error) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		n, err := strconv.Atoi(req.PathValue("n"))
		if err == nil {
			err = do(n)
		}
		answer(w, n, err)
	}
}

func answer(w http.ResponseWriter, v any, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_ = json.NewEncoder(w).Encode(v) // a client that went away is no concern of ours
}

// ask sends one order to the daemon of a state folder and decodes its answer.
func ask[T any](ctx context.Context, dir, method, path string) (T, error) {
	var v T
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", filepath.Join(dir, fileSocket))
	}}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, method, "http://daemon"+path, http.NoBody)
	if err != nil {
		return v, err
	}
	res, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return v, fmt.Errorf("ask the testbed's daemon: %w", err)
	}
	defer closeQuietly(res.Body)
	if res.StatusCode != http.StatusOK {
		b, _ := io.ReadAll(res.Body)
		return v, errors.New(strings.TrimSpace(string(b)))
	}
	err = json.NewDecoder(res.Body).Decode(&v)
	return v, err
}
