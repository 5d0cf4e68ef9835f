// Package registry serves images from memory to tests.
package registry

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// Front answers a request in place of the registry when it returns true.
type Front func(http.ResponseWriter, *http.Request) bool

// Serve starts a registry, which ends with the test, and returns its host and port. A request goes to the fronts first.
func Serve(t testing.TB, fronts ...Front) (host string) {
	t.Helper()
	images := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, front := range fronts {
			if front(w, r) {
				return
			}
		}
		images.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// Login asks for a user and a password on every request.
func Login(user, password string) Front {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if u, p, ok := r.BasicAuth(); ok && u == user && p == password {
			return false
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
		w.WriteHeader(http.StatusUnauthorized)
		return true
	}
}

// Push stores an image or an index under a reference, and returns its digest.
func Push(t testing.TB, reference string, what remote.Taggable, options ...remote.Option) (digest string) {
	t.Helper()
	described, ok := what.(interface{ Digest() (v1.Hash, error) })
	if !ok {
		t.Fatalf("%T has no digest", what)
	}
	hash, err := described.Digest()
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := name.ParseReference(reference)
	if err == nil {
		err = remote.Push(parsed, what, options...)
	}
	if err != nil {
		t.Fatal(err)
	}
	return hash.String()
}
