package v1alpha1

import "strings"

// Repository is the package's image without tag and digest. Ports of a registry stay: localhost:5000/a/b:1.2 gives
// localhost:5000/a/b.
func (p *Package) Repository() string {
	image, _, _ := strings.Cut(p.Image, "@")
	slash := strings.LastIndex(image, "/")
	if colon := strings.LastIndex(image, ":"); colon > slash {
		image = image[:colon]
	}
	return image
}

// Digest is what the image is pinned to: containerSHA, or else the digest in image; empty when it is pinned to none.
func (p *Package) Digest() string {
	if p.ContainerSHA != "" {
		return p.ContainerSHA
	}
	_, digest, _ := strings.Cut(p.Image, "@")
	return digest
}

// ImageRef is the reference to pull: by digest when there is one, else by version. A tag in image is ignored.
func (p *Package) ImageRef() string {
	if digest := p.Digest(); digest != "" {
		return p.Repository() + "@" + digest
	}
	return p.Repository() + ":" + p.Version
}
