// Package registry says which registry an image that a Skyhook names is pulled from.
//
// It takes values and returns values; it knows no client, clock or logger.
package registry

import (
	"errors"
	"fmt"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
)

// dockerHub is where runtimes look for an image that names no registry, and library its folder for names of one part.
const (
	dockerHub = "docker.io"
	library   = "library/"
)

// Mirror is a registry that has copies of all images, with or without the beginning of a path, such as
// registry.example.com:5000/copies. An empty one has none.
type Mirror string

// ParseMirror reads the name of a mirror; an empty one is none.
func ParseMirror(text string) (Mirror, error) {
	text = strings.TrimSuffix(strings.TrimSpace(text), "/")
	if text == "" {
		return "", nil
	}
	if _, err := Prefix(text); err != nil {
		return "", err
	}
	if !Named(text + "/") {
		return "", errors.New("its first part has neither a dot nor a port, so it is read as a folder of Docker Hub")
	}
	return Mirror(text), nil
}

// Of is what nodes pull for an image: the same path, tag and digest from the mirror. What is in the mirror by its name
// already stays as it is.
func (m Mirror) Of(image string) string {
	if m == "" || image == "" || strings.HasPrefix(image, string(m)+"/") {
		return image
	}
	host, path := dockerHub, image
	if Named(image) {
		host, path, _ = strings.Cut(image, "/")
	}
	if (host == dockerHub || host == name.DefaultRegistry) && !strings.Contains(path, "/") {
		path = library + path
	}
	return string(m) + "/" + path
}

// Named reports whether an image names its registry. Where it does not, each node's runtime decides.
func Named(image string) bool {
	host, _, found := strings.Cut(image, "/")
	return found && (strings.ContainsAny(host, ".:") || host == "localhost")
}

// Prefix is how the names of a registry's repositories begin.
func Prefix(registry string) (string, error) {
	host, path, deeper := strings.Cut(registry, "/")
	if strings.HasPrefix(path, "/") {
		return "", errors.New("it has a scheme")
	}
	parsed, err := name.NewRegistry(host, name.StrictValidation)
	if err != nil {
		return "", err
	}
	if !deeper {
		return parsed.Name(), nil
	}
	repository, err := name.NewRepository(registry)
	if err != nil {
		return "", err
	}
	if !strings.HasSuffix(repository.Name(), "/"+path) {
		return "", fmt.Errorf("it is read as %s", repository.Name())
	}
	return parsed.Name() + "/" + path, nil
}
