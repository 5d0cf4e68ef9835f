// Package registry asks container registries what the labels of an image say about uninstalling the package in it.
//
// It fetches manifests and image configurations, never layers. It knows nothing of Skyhooks; what is worth asking, and
// what to do with the answer, is decided elsewhere.
package registry

import (
	"context"
	"errors"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	_ "golang.org/x/crypto/x509roots/fallback" // the operator's image has no certificates; those that are mounted win

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/capability"
)

// DefaultTimeout is how long one image may take, all requests together.
const DefaultTimeout = 10 * time.Second

// Client looks at images. Its zero value is ready for use, by several goroutines.
type Client struct {
	// Timeout for one image, all requests together; 0 means DefaultTimeout.
	Timeout time.Duration
	// UserAgent that registries see; empty for the library's.
	UserAgent string
}

// Look finds out what an image says. keys are the credentials; known are answers by digest, which are not asked for again.
// What goes wrong is part of the finding. The error is only that of ctx: a look that is cut short has found nothing.
//
// A registry is asked in plain HTTP only if its name is of this machine or of a private network (localhost, *.local, the
// addresses of RFC 1918), as container tools do.
func (c *Client) Look(ctx context.Context, reference string, keys authn.Keychain, known map[string]capability.Answer) (capability.Finding, error) {
	timeout := c.Timeout
	if timeout == 0 {
		timeout = DefaultTimeout
	}
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	found := capability.Finding{Reference: reference, Answer: capability.Unknown}
	err := look(limited, &found, c.options(limited, keys), known)
	switch {
	case ctx.Err() != nil:
		return capability.Finding{}, ctx.Err()
	case err != nil && limited.Err() != nil:
		found.Reason, found.Message = v1alpha1.ReasonTimeout, "no answer within "+timeout.String()
	case err != nil:
		found.Reason, found.Message = explain(err)
	}
	return found, nil
}

func (c *Client) options(ctx context.Context, keys authn.Keychain) []remote.Option {
	options := []remote.Option{
		remote.WithContext(ctx), remote.WithAuthFromKeychain(keys), remote.WithTransport(bounded{remote.DefaultTransport}),
	}
	if c.UserAgent != "" {
		options = append(options, remote.WithUserAgent(c.UserAgent))
	}
	return options
}

func look(ctx context.Context, found *capability.Finding, options []remote.Option, known map[string]capability.Answer) error {
	reference, err := name.ParseReference(found.Reference)
	if err != nil {
		return err
	}
	if found.Digest, err = resolve(ctx, reference, options); err != nil {
		return err
	}
	if answer, ok := known[found.Digest]; ok {
		found.Answer = answer
		return nil
	}
	value, err := label(reference.Context().Digest(found.Digest), options)
	if answer := capability.Answer(value); answer == capability.True || answer == capability.False {
		found.Answer = answer
	}
	return err
}

// resolve returns the digest that a reference stands for.
func resolve(ctx context.Context, reference name.Reference, options []remote.Option) (string, error) {
	if pinned, ok := reference.(name.Digest); ok {
		return pinned.DigestStr(), nil
	}
	head, err := remote.Head(reference, options...)
	if err == nil {
		return head.Digest.String(), nil
	}
	var status *transport.Error
	if unreachable(err) || ctx.Err() != nil || errors.As(err, &status) && status.Temporary() {
		return "", err
	}
	// Some registries answer HEAD without a digest, and all without saying what is wrong.
	full, err := remote.Get(reference, options...)
	if err != nil {
		return "", err
	}
	return full.Digest.String(), nil
}

// label returns the value of the label; empty when the image has none.
func label(reference name.Digest, options []remote.Option) (string, error) {
	artifact, err := remote.Get(reference, options...)
	if err != nil {
		return "", err
	}
	image, err := linux(artifact)
	if err != nil {
		return "", err
	}
	file, err := image.ConfigFile()
	if err != nil {
		return "", err
	}
	return file.Config.Labels[v1alpha1.ImageLabelUninstall], nil
}

// linux returns the image, or of several the first for Linux: what a package can do does not depend on the processor.
func linux(artifact *remote.Descriptor) (v1.Image, error) {
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
