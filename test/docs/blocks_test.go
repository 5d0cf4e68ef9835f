package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

// place is where the content of a YAML block belongs; the word behind "```yaml" names it. A block without one has whole
// manifests.
type place string

const (
	manifests  place = ""
	ofSkyhook  place = "skyhook" // keys beside apiVersion and kind
	ofSpec     place = "spec"    // keys of spec
	ofPackage  place = "package" // keys of one package
	ofStatus   place = "status"  // keys of status
	chart      place = "values"  // of the Helm chart
	prometheus place = "prometheus"
	policy     place = "policy" // keys of an admission policy's spec, or of its binding's
)

// block is one YAML block of a page, or a file.
type block struct {
	// at is the file, and the line on which a block begins.
	at    string
	place place
	text  string
}

// yamlBlocks returns the YAML blocks of a page.
func yamlBlocks(path string) ([]block, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var blocks []block
	var open *block
	fenced := false
	for i, line := range strings.Split(string(raw), "\n") {
		info, fence := strings.CutPrefix(strings.TrimSpace(line), "```")
		words := strings.Fields(info)
		switch {
		case fence && fenced:
			if open != nil {
				blocks = append(blocks, *open)
			}
			open, fenced = nil, false
		case fence:
			fenced = true
			if len(words) > 0 && words[0] == "yaml" {
				open = &block{at: fmt.Sprintf("%s:%d", path, i+2), place: place(strings.Join(words[1:], " "))}
			}
		case open != nil:
			open.text += line + "\n"
		}
	}
	return blocks, nil
}

// frames are what fragments are completed with: the smallest Skyhook that is valid without them, and the path in it at
// which a fragment's keys are added.
var frames = map[place][]string{ofSkyhook: {}, ofSpec: {"spec"}, ofPackage: {"spec", "packages", "example"}}

const smallest = `apiVersion: skyhook.nvidia.com/v1alpha1
kind: Skyhook
metadata: {name: example}
spec:
  packages:
    example: {version: 1.0.0, image: registry.example/packages/example}
`

// objects are what the API server gets of a block: its documents, or the Skyhook that a fragment belongs to.
func (b block) objects() ([]map[string]any, error) {
	path, fragment := frames[b.place]
	if !fragment {
		return documents(b.text)
	}
	var whole, part map[string]any
	if err := yaml.Unmarshal([]byte(smallest), &whole); err != nil {
		return nil, err
	}
	if err := yaml.UnmarshalStrict([]byte(b.text), &part); err != nil {
		return nil, err
	}
	at := whole
	for _, key := range path {
		at = at[key].(map[string]any)
	}
	overlay(at, part)
	return []map[string]any{whole}, nil
}

// overlay adds the keys of part to whole. What both have as an object is joined.
func overlay(whole, part map[string]any) {
	for key, value := range part {
		inner, ok := value.(map[string]any)
		if have, both := whole[key].(map[string]any); ok && both {
			overlay(have, inner)
			continue
		}
		whole[key] = value
	}
}

// documents are the objects of a file, without empty ones.
func documents(text string) ([]map[string]any, error) {
	var all []map[string]any
	for document := range strings.SplitSeq(text, "\n---\n") {
		var object map[string]any
		if err := yaml.UnmarshalStrict([]byte(document), &object); err != nil {
			return nil, err
		}
		if object != nil {
			all = append(all, object)
		}
	}
	return all, nil
}

// allYAML are the blocks of all pages, and the examples.
func allYAML(root string) ([]block, error) {
	var blocks []block
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "packages/*/README.md", "examples/*.yaml"} {
		paths, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			some, err := blocksOf(path)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			blocks = append(blocks, some...)
		}
	}
	return blocks, nil
}

func blocksOf(path string) ([]block, error) {
	if filepath.Ext(path) == ".md" {
		return yamlBlocks(path)
	}
	raw, err := os.ReadFile(path)
	return []block{{at: path, text: string(raw)}}, err
}
