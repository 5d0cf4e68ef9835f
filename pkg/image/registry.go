package image

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// maxConfig bounds the configuration of an image, in bytes: the most that
// registries have to accept of a manifest, and far more than any needs.
const maxConfig = 4 << 20

// FromRegistry finds an image by its reference. keys are the credentials, such
// as [authn.DefaultKeychain]; ctx is for the whole use of the image.
//
// A registry is asked in plain HTTP only if its name is of this machine or of a
// private network, as container tools do.
func FromRegistry(ctx context.Context, reference string, keys authn.Keychain) (*Image, error) {
	parsed, err := name.ParseReference(reference)
	if err != nil {
		return nil, fmt.Errorf("%q is not a reference of an image: %w", reference, err)
	}
	result := &Image{name: "image " + reference, whole: true}
	if err := result.fetch(ctx, parsed, keys); err != nil {
		return nil, explain(parsed, err)
	}
	return result.found()
}

func (i *Image) fetch(ctx context.Context, reference name.Reference, keys authn.Keychain) error {
	var tags []string
	if tag, ok := reference.(name.Tag); ok {
		tags = []string{tag.TagStr()}
	}
	artifact, err := remote.Get(reference, remote.WithContext(ctx), remote.WithAuthFromKeychain(keys))
	if err != nil {
		return err
	}
	if artifact.MediaType.IsIndex() {
		index, err := artifact.ImageIndex()
		if err != nil {
			return err
		}
		return i.addIndex(index, tags, 0)
	}
	img, err := artifact.Image()
	if err != nil {
		return err
	}
	if err := checkConfigSize(img); err != nil {
		return err
	}
	return i.add(img, nil, tags)
}

func checkConfigSize(img v1.Image) error {
	manifest, err := img.Manifest()
	if err != nil {
		return err
	}
	if manifest.Config.Size > maxConfig {
		return fmt.Errorf("the configuration of the image has more than %d bytes", maxConfig)
	}
	return nil
}

// explain says what to do about an image that cannot be had.
func explain(reference name.Reference, err error) error {
	var (
		status    *transport.Error
		untrusted *tls.CertificateVerificationError
		host      = reference.Context().RegistryStr()
		way       *url.Error
		advice    = ""
	)
	switch {
	case errors.As(err, &untrusted):
		advice = "; name the certificates to trust in SSL_CERT_FILE or SSL_CERT_DIR"
	case !errors.As(err, &status):
		if errors.As(err, &way) {
			advice = "; check its name, and that " + host + " can be reached from here"
		}
	case status.StatusCode == http.StatusNotFound:
		advice = "; check its name and its tag; it has to be pushed first"
	case status.StatusCode == http.StatusUnauthorized || status.StatusCode == http.StatusForbidden:
		advice = "; it does not exist, or credentials are missing: docker login " + host
	case status.StatusCode == http.StatusTooManyRequests:
		advice = "; wait, or log in: docker login " + host
	}
	return fmt.Errorf("get image %s: %w%s", reference.Name(), err, advice)
}
