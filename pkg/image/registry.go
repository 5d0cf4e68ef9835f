package image

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// maxConfig bounds manifest and configuration of an image, in bytes: the most
// that registries have to accept of a manifest, and far more than any needs.
const maxConfig = 4 << 20

// Registry asks registries about images without fetching any layer. The zero
// value has no credentials. Several goroutines may use one.
//
// A registry is asked in plain HTTP only if its name is of this machine or of a
// private network (localhost, *.local, the addresses of RFC 1918), as container
// tools do. Of no answer more than 4 MiB is read. [CauseOf] sorts the errors.
type Registry struct {
	// Keys are the credentials; nil for none. They go to their registry alone.
	Keys authn.Keychain
	// UserAgent that registries see; empty for the library's.
	UserAgent string
}

// Digest returns what a reference stands for, such as sha256:<64 hexadecimal
// digits>. A reference with a digest needs no request for that.
func (r Registry) Digest(ctx context.Context, reference string) (string, error) {
	parsed, err := name.ParseReference(reference)
	if err != nil {
		return "", err
	}
	if pinned, ok := parsed.(name.Digest); ok {
		return pinned.DigestStr(), nil
	}
	options := r.options(ctx)
	head, err := remote.Head(parsed, options...)
	if err == nil {
		return head.Digest.String(), nil
	}
	var status *transport.Error
	cause := CauseOf(err)
	if cause == Unreachable || cause == Untrusted || ctx.Err() != nil || errors.As(err, &status) && status.Temporary() {
		return "", err
	}
	// Some registries answer HEAD without a digest, and all without saying what is wrong.
	full, err := remote.Get(parsed, options...)
	if err != nil {
		return "", saidTooMuch(err)
	}
	return full.Digest.String(), nil
}

// Labels returns the labels of the image that has the digest in the repository
// of a reference; of an image for several platforms those of the first for Linux.
func (r Registry) Labels(ctx context.Context, reference, digest string) (map[string]string, error) {
	parsed, err := name.ParseReference(reference)
	if err != nil {
		return nil, err
	}
	artifact, err := remote.Get(parsed.Context().Digest(digest), r.options(ctx)...)
	if err != nil {
		return nil, saidTooMuch(err)
	}
	img, err := firstForLinux(artifact)
	if err != nil {
		return nil, err
	}
	file, err := img.ConfigFile()
	if err != nil {
		return nil, saidTooMuch(err)
	}
	return file.Config.Labels, nil
}

func (r Registry) options(ctx context.Context) []remote.Option {
	options := []remote.Option{remote.WithContext(ctx), remote.WithTransport(bounded{remote.DefaultTransport})}
	if r.Keys != nil {
		options = append(options, remote.WithAuthFromKeychain(r.Keys))
	}
	if r.UserAgent != "" {
		options = append(options, remote.WithUserAgent(r.UserAgent))
	}
	return options
}

// bounded is a transport that reads no more than maxConfig of an answer.
type bounded struct{ next http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := b.next.RoundTrip(r)
	if err == nil {
		response.Body = http.MaxBytesReader(nil, response.Body, maxConfig)
	}
	return response, err
}

// saidTooMuch puts right what the standard library says of answers that are too
// large: that requests are.
func saidTooMuch(err error) error {
	if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
		return fmt.Errorf("the registry sends more than %d MiB: %w", maxConfig>>20, err)
	}
	return err
}

func firstForLinux(artifact *remote.Descriptor) (v1.Image, error) {
	if !artifact.MediaType.IsIndex() {
		return artifact.Image()
	}
	index, err := artifact.ImageIndex()
	if err != nil {
		return nil, err
	}
	list, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	for _, m := range list.Manifests {
		if m.MediaType.IsImage() && m.Platform != nil && m.Platform.OS == "linux" {
			return index.Image(m.Digest)
		}
	}
	return nil, errors.New("the index lists no image for linux")
}

// FromRegistry finds an image by its reference, for all of its platforms. keys
// are the credentials, such as [authn.DefaultKeychain]; ctx is for the whole use
// of the image. As to plain HTTP see [Registry].
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
	return i.addStored(Stored{Image: img}, tags, 0)
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
