package webhook

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// bounds of connections. The gate cannot see one before its request has come.
type bounds struct {
	// connections that are open; see [connections].
	connections int
	// headerBytes of one request. What the API server sends has less than 1 KiB, or a few more with a token.
	headerBytes int
	// header is the time for the headers of a request, and before for the TLS handshake.
	header time.Duration
	// request is the time for all of a request: also of one that the gate does not let in, or whose path is not known, as
	// the HTTP server reads the rest of its body before it answers. answer is the time until the answer is taken, and
	// longer.
	request, answer time.Duration
	// idle is the time without a request. The API server closes what it did not use for 90 s. It should be the one to do
	// so: a review that is sent into a connection that the other side is about to close is lost.
	idle time.Duration
}

var servedBounds = bounds{
	connections: 256, headerBytes: 16 << 10,
	header: 5 * time.Second, request: 15 * time.Second, answer: 20 * time.Second, idle: 2 * time.Minute,
}

// shutdownTime is what requests have that are there when the operator ends.
const shutdownTime = time.Minute

// Server is controller-runtime's, which takes handlers and measures them, but for its connections: it lets nobody bound
// those. Of its methods only Start serves.
type Server struct {
	webhook.Server
	address     string
	certificate Certificate
	bounds      bounds
}

// Certificate is what a server shows to clients.
type Certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)

// NewServer makes a server for an address such as ":9443".
func NewServer(address string, certificate Certificate) *Server {
	return &Server{webhook.NewServer(webhook.Options{}), address, certificate, servedBounds}
}

// Start serves until ctx is done.
func (s *Server) Start(ctx context.Context) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.address)
	if err != nil {
		return fmt.Errorf("listen for webhooks: %w", err)
	}
	return s.serve(ctx, listener)
}

func (s *Server) serve(ctx context.Context, listener net.Listener) error {
	// HTTP/1.1 only, which is what the API server speaks to webhooks: one request at a time is all that a connection
	// holds.
	secure := tls.NewListener(listener, &tls.Config{
		GetCertificate: s.certificate, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
	})
	patience := shutdownTime
	return (&manager.Server{Name: "webhooks", Listener: secure, ShutdownTimeout: &patience, Server: &http.Server{
		Handler:           s.WebhookMux(),
		MaxHeaderBytes:    s.bounds.headerBytes,
		ReadHeaderTimeout: s.bounds.header,
		ReadTimeout:       s.bounds.request,
		WriteTimeout:      s.bounds.answer,
		IdleTimeout:       s.bounds.idle,
		ConnState:         newConnections(s.bounds.connections).changed,
	}}).Start(ctx)
}

var _ webhook.Server = &Server{}
