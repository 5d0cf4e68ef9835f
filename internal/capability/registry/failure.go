package registry

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/capability"
)

// maxBody bounds every answer of a registry, in bytes. It is the size up to which registries have to accept manifests;
// configurations of images are far smaller.
const maxBody = 4 << 20

// bounded is a transport that reads no more than maxBody of an answer.
type bounded struct{ next http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := b.next.RoundTrip(r)
	if err == nil {
		response.Body = http.MaxBytesReader(nil, response.Body, maxBody)
	}
	return response, err
}

// explain says in two words and in one sentence why an image could not be looked at.
func explain(err error) (capability.Reason, string) {
	var (
		badName *name.ErrBadName
		status  *transport.Error
		large   *http.MaxBytesError
		foreign *tls.CertificateVerificationError
	)
	switch {
	case errors.As(err, &foreign):
		return v1alpha1.ReasonRegistryUnreachable, fmt.Sprintf("the registry's certificate is not trusted (%v); name its authority in SSL_CERT_FILE of the operator", foreign.Err)
	case errors.As(err, &badName):
		return v1alpha1.ReasonReferenceInvalid, err.Error()
	case errors.As(err, &large):
		return v1alpha1.ReasonImageUnreadable, fmt.Sprintf("the registry sends more than %d MiB", maxBody>>20)
	case errors.As(err, &status):
		return byStatus(status.StatusCode), err.Error()
	case unreachable(err):
		return v1alpha1.ReasonRegistryUnreachable, err.Error()
	default:
		return v1alpha1.ReasonImageUnreadable, err.Error()
	}
}

func byStatus(code int) capability.Reason {
	switch code {
	case http.StatusUnauthorized, http.StatusForbidden:
		return v1alpha1.ReasonUnauthorized
	case http.StatusNotFound:
		return v1alpha1.ReasonImageNotFound
	default:
		return v1alpha1.ReasonRegistryError
	}
}

// unreachable is true for an error of the way to the registry, other than one that the registry reported.
func unreachable(err error) bool {
	var status *transport.Error
	var way *url.Error
	return !errors.As(err, &status) && errors.As(err, &way) || errors.Is(err, io.ErrUnexpectedEOF)
}
