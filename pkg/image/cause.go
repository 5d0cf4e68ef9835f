package image

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// Cause is what kept an image from being had from its registry.
type Cause int

const (
	// Unusable is what came, or what a file has: no image, or a damaged one, or
	// more than is read of it.
	Unusable Cause = iota
	// BadReference cannot be parsed.
	BadReference
	// Missing: the registry says that it does not have the image.
	Missing
	// Denied: the registry wants other credentials. Some say so of images that
	// they do not have.
	Denied
	// Busy: there were too many requests.
	Busy
	// Failing: the registry answers with another error.
	Failing
	// Untrusted is the certificate of the registry.
	Untrusted
	// Unreachable: there was no answer, or only a part of one.
	Unreachable
)

// CauseOf sorts an error of this package, by what comes closest to the registry.
func CauseOf(err error) Cause {
	var (
		badName   *name.ErrBadName
		status    *transport.Error
		large     *http.MaxBytesError
		untrusted *tls.CertificateVerificationError
		way       *url.Error
	)
	switch {
	case errors.As(err, &untrusted):
		return Untrusted
	case errors.As(err, &badName):
		return BadReference
	case errors.As(err, &large):
		return Unusable
	case errors.As(err, &status):
		return causeOfStatus(status.StatusCode)
	case errors.As(err, &way) || errors.Is(err, io.ErrUnexpectedEOF):
		return Unreachable
	}
	return Unusable
}

func causeOfStatus(code int) Cause {
	switch code {
	case http.StatusUnauthorized, http.StatusForbidden:
		return Denied
	case http.StatusNotFound:
		return Missing
	case http.StatusTooManyRequests:
		return Busy
	}
	return Failing
}

// explain says what a person at a terminal may do about it.
func explain(reference name.Reference, err error) error {
	host := reference.Context().RegistryStr()
	advice := map[Cause]string{
		Untrusted:   "; name the certificates to trust in SSL_CERT_FILE or SSL_CERT_DIR",
		Unreachable: "; check its name, and that " + host + " can be reached from here",
		Missing:     "; check its name and its tag; it has to be pushed first",
		Denied:      "; it does not exist, or credentials are missing: docker login " + host,
		Busy:        "; wait, or log in: docker login " + host,
	}[CauseOf(err)]
	return fmt.Errorf("get image %s: %w%s", reference.Name(), err, advice)
}
