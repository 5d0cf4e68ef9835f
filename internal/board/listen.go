package board

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strconv"
	"time"
)

// loopback is the only address that is listened on: nobody on another machine gets the user's rights.
const loopback = "127.0.0.1"

// Listen takes a port of this machine that nobody else reaches; 0 is any free one.
func Listen(ctx context.Context, port int) (net.Listener, error) {
	return (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(loopback, strconv.Itoa(port)))
}

// Serve answers until the context ends, and then ends at once, whoever is connected.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{
		Handler: s, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
