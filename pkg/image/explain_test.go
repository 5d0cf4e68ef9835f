package image

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

func TestExplain(t *testing.T) {
	reference, err := name.ParseReference("registry.test/tuning:1.2.3")
	must(t, err)
	way := func(err error) error { return &url.Error{Op: "Get", URL: "https://registry.test/v2/", Err: err} }
	tests := map[string]struct {
		err  error
		want string
	}{
		"certificate": {way(&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}), "; name the certificates to trust in SSL_CERT_FILE"},
		"network":     {way(errors.New("no route")), "; check its name, and that registry.test can be reached"},
		"forbidden":   {&transport.Error{StatusCode: http.StatusForbidden}, "; it does not exist, or credentials are missing: docker login registry.test"},
		"unknown":     {&transport.Error{StatusCode: http.StatusUnauthorized}, "docker login registry.test"},
		"missing":     {&transport.Error{StatusCode: http.StatusNotFound}, "; check its name and its tag"},
		"too many":    {&transport.Error{StatusCode: http.StatusTooManyRequests}, "; wait, or log in: docker login registry.test"},
		"broken":      {&transport.Error{StatusCode: http.StatusBadGateway}, "502"},
		"other":       {errors.New("indexes are nested too deeply"), "get image registry.test/tuning:1.2.3: indexes are nested too deeply"},
	}
	for title, test := range tests {
		t.Run(title, func(t *testing.T) {
			got := explain(reference, test.err)
			if !strings.Contains(got.Error(), test.want) || !errors.Is(got, test.err) {
				t.Errorf("got %v", got)
			}
		})
	}
}
