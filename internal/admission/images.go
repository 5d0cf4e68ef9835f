package admission

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/registry"
)

// ImageRules are what the cluster's administrator demands of all images that run on nodes. The zero value demands
// nothing.
type ImageRules struct {
	// RequireDigest refuses images that are named by a tag.
	RequireDigest bool
	// Registries are the only ones, with or without the beginning of a path, such as ghcr.io/org; empty allows all.
	Registries []string
	// Mirror is where nodes pull the images. What they pull has to be allowed, whatever it is called in the spec.
	Mirror registry.Mirror
	// ForbidAgentOverride refuses spec.packages.X.agentImageOverride.
	ForbidAgentOverride bool
}

// ParseRegistries reads a list of registries, separated by commas.
func ParseRegistries(text string) ([]string, error) {
	var list []string
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSuffix(strings.TrimSpace(part), "/"); part == "" {
			continue
		}
		if _, err := registry.Prefix(part); err != nil {
			return nil, fmt.Errorf("%q is not a registry: %w", part, err)
		}
		list = append(list, part)
	}
	return list, nil
}

// Foreign are the images of a package that the rules do not allow, wherever they are named by tag or by digest.
func (r ImageRules) Foreign(pkgName string, pkg v1alpha1.Package) []Problem {
	c, field := &checker{}, "spec.packages."+pkgName
	c.registry(r, field+".image", pkg.Repository())
	switch override := pkg.AgentImageOverride; {
	case override == "":
	case r.ForbidAgentOverride:
		c.add(field+".agentImageOverride", "is not allowed in this cluster (FORBID_AGENT_IMAGE_OVERRIDE); "+
			"remove it to use the operator's agent")
	default:
		c.registry(r, field+".agentImageOverride", override)
		if r.RequireDigest && !pinned(override) {
			c.add(field+".agentImageOverride", "has no digest, and this cluster runs no image by its tag (REQUIRE_DIGEST); "+
				"append @sha256: and the digest, or remove it")
		}
	}
	return c.problems
}

// Allows reports whether an image is of a registry that is allowed.
func (r ImageRules) Allows(image string) bool {
	c := &checker{}
	c.registry(r, "", image)
	return len(c.problems) == 0
}

// Undigested tells that the image of a package is named by a tag where that is not allowed.
func (r ImageRules) Undigested(pkgName string, pkg v1alpha1.Package) []Problem {
	if !r.RequireDigest || pkg.Digest() != "" {
		return nil
	}
	c := &checker{}
	c.add("spec.packages."+pkgName+".containerSHA", "is missing, and this cluster runs no image by its tag "+
		"(REQUIRE_DIGEST); set it to the digest of %s", pkg.ImageRef())
	return c.problems
}

// images checks a package by the rules.
func (c *checker) images(r ImageRules, pkgName string, pkg v1alpha1.Package) {
	c.problems = append(c.problems, r.Foreign(pkgName, pkg)...)
	c.problems = append(c.problems, r.Undigested(pkgName, pkg)...)
}

// registry checks where an image comes from. One without a registry is taken from wherever the node's runtime looks
// first, so nobody can tell where that is.
func (c *checker) registry(r ImageRules, field, named string) {
	image := r.Mirror.Of(named)
	if len(r.Registries) == 0 || image == "" {
		return
	}
	allowed := strings.Join(r.Registries, ", ")
	if !registry.Named(image) {
		c.add(field, "%q names no registry, and this cluster allows images from %s only (ALLOWED_REGISTRIES); "+
			"add the registry",
			image, allowed)
		return
	}
	ref, err := name.ParseReference(image)
	if err != nil {
		c.add(field, "%q is not an image reference: %v; correct it", image, err)
		return
	}
	repository := ref.Context().Name()
	if slices.ContainsFunc(r.Registries, func(one string) bool {
		prefix, err := registry.Prefix(one)
		return err == nil && (repository == prefix || strings.HasPrefix(repository, prefix+"/"))
	}) {
		return
	}
	if image != named {
		c.add(field, "%q is pulled as %q (PACKAGE_REGISTRY), which is from none of the registries that this cluster allows, "+
			"%s (ALLOWED_REGISTRIES); ask its administrator to allow it", named, image, allowed)
		return
	}
	c.add(field, "%q is from none of the registries that this cluster allows, %s (ALLOWED_REGISTRIES); "+
		"use an image from there",
		image, allowed)
}

// pinned reports whether a reference has a digest that can be one.
func pinned(image string) bool {
	_, err := name.NewDigest(image)
	return err == nil
}
