package capability_test

import (
	"bytes"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	known "github.com/skyhook-operator/skyhook/internal/capability"
	"github.com/skyhook-operator/skyhook/internal/controller/capability"
)

// on answers requests whose path contains a text.
func on(path string, answer http.HandlerFunc) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		matches := strings.Contains(r.URL.Path, path)
		if matches {
			answer(w, r)
		}
		return matches
	}
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// tooMuch sends a JSON object that never seems to end.
func tooMuch(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
	_, _ = w.Write([]byte(`{"x":"`))
	block := bytes.Repeat([]byte("x"), 1<<20)
	for range 10 {
		if _, err := w.Write(block); err != nil {
			return // the client has seen enough
		}
	}
	_, _ = w.Write([]byte(`"}`))
}

// TestAuthoritiesAreBuiltIn: the operator's image is made from nothing, so there are no certificates to be found in it.
func TestAuthoritiesAreBuiltIn(t *testing.T) {
	const inside = "SKYHOOK_TEST_WITHOUT_CERTIFICATES"
	if os.Getenv(inside) == "" {
		none := filepath.Join(t.TempDir(), "none")
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), inside+"=1", "SSL_CERT_FILE="+none, "SSL_CERT_DIR="+none)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	pool, err := x509.SystemCertPool()
	if err != nil || pool.Equal(x509.NewCertPool()) {
		t.Errorf("no authority is known, error %v", err)
	}
}

// TestForeignCertificate: the message says what to do, within the bytes that are kept of it.
func TestForeignCertificate(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	got, err := capability.Registries{}.Look(t.Context(), strings.TrimPrefix(server.URL, "https://")+"/x/a:1", nil, nil)
	if err != nil || got.Reason != v1alpha1.ReasonRegistryUnreachable || !strings.HasPrefix(got.Message, "the registry's certificate is not trusted (x509: ") || !strings.HasSuffix(got.Message, "SSL_CERT_FILE of the operator") {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestFailures(t *testing.T) {
	s := serve(t)
	reference, digest := s.push("x/a:1", image(t, "true"))
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	must(t, closed.Close())
	for _, c := range []struct {
		name, reference string
		front           func(http.ResponseWriter, *http.Request) bool
		reason          string
		message         string // a part of it
		resolved        bool
	}{
		{"no such tag", s.host + "/x/a:2", nil, v1alpha1.ReasonImageNotFound, "MANIFEST_UNKNOWN", false},
		{"no such repository", s.host + "/y/none:1", nil, v1alpha1.ReasonImageNotFound, "NAME_UNKNOWN", false},
		{"no name", "x/A B:1", nil, v1alpha1.ReasonImageNotFound, "could not parse reference", false},
		{"a digest cut short", s.host + "/x/a@sha256:12", nil, v1alpha1.ReasonImageNotFound, "sha256:12", false},
		{"nobody listens", closed.Addr().String() + "/x/a:1", nil, v1alpha1.ReasonRegistryUnreachable, "connection refused", false},
		{"not allowed", reference, on("/manifests/", status(http.StatusForbidden)), v1alpha1.ReasonImageNotFound, "403 Forbidden", false},
		{"no credentials", reference, on("/manifests/", status(http.StatusUnauthorized)), v1alpha1.ReasonImageNotFound, "401 Unauthorized", false},
		{"another error", reference, on("/v2/", status(http.StatusTeapot)), v1alpha1.ReasonRegistryUnreachable, "418", false},
		{"the configuration is gone", reference, on("/blobs/", status(http.StatusNotFound)), v1alpha1.ReasonImageNotFound, "404", true},
		{"another configuration", reference, on("/blobs/", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{}")) }), v1alpha1.ReasonImageUnreadable, "does not match", true},
		{"a manifest without end", reference, on("/manifests/", tooMuch), v1alpha1.ReasonImageUnreadable, "more than 4 MiB", false},
		{"a web page", reference, on("/manifests/", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }), v1alpha1.ReasonImageUnreadable, "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s.instead(c.front)
			got, err := capability.Registries{}.Look(t.Context(), c.reference, nil, nil)
			must(t, err)
			if got.Reference != c.reference || got.Answer != known.Unknown || got.Reason != c.reason || !strings.Contains(got.Message, c.message) || got.Message == "" {
				t.Errorf("got %+v", got)
			}
			if (got.Digest == digest) != c.resolved {
				t.Errorf("the digest is %q", got.Digest)
			}
		})
	}
}
