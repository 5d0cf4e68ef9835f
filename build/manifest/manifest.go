// Package manifest reads config/install.yaml, the chart rendered with its default values. "make generate" writes it, so
// that neither the demo nor a user needs Helm.
package manifest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/skyhook-operator/skyhook/build/images"
)

const file = "config/install.yaml"

// Install returns the install.yaml of the repository in root. Those images in it that were built are named by their
// digests: the tag is the same for every build of a version, so by tag alone a changed operator would not be rolled
// out.
func Install(root string, built ...images.Result) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		return nil, err
	}
	for _, image := range built {
		if !slices.Contains([]string{"operator", "agent"}, image.Name) {
			continue
		}
		if !bytes.Contains(text, []byte(image.Reference)) {
			return nil, fmt.Errorf("%s does not name the image %s: run \"make generate\"", file, image.Reference)
		}
		text = bytes.ReplaceAll(text, []byte(image.Reference), []byte(image.Reference+"@"+image.Digest.String()))
	}
	return text, nil
}
