// Package image reads container images from registries, OCI layout folders and
// docker archives, writes layers and images, and checks the package in an image.
// It needs no container engine and runs nothing of what it reads.
//
// Whoever made an image is not trusted: what is read of it is bounded in size,
// number and depth, and a context ends the reading of any file.
//
// What is right and wrong about a package is said by packagefile; here are the
// rules on what surrounds it in an image.
package image

import (
	"context"
	"fmt"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

// PackageDir is where an image has its package.
const PackageDir = "/skyhook-package"

// Image is a package image that was found, for one or more platforms.
type Image struct {
	// name is how messages call it.
	name  string
	parts []part
	// whole says that all platforms of a release should be there; a docker
	// archive holds one by its nature.
	whole bool
}

// part is the image for one platform.
type part struct {
	v1.Image
	platform v1.Platform
	// tags it is known by, without the repository; none if it is known by its
	// digest or by no name.
	tags []string
}

// Lint checks the package for each platform and the image around it. Of the
// problems each says which platforms have it. The package is that of the first
// platform, as [packagefile.Lint] returns it. When ctx is done, so is Lint, with
// the cause as its error; it leaves no files in any case.
func (i *Image) Lint(ctx context.Context) (*packagefile.Package, packagefile.Report, error) {
	return i.lintWithin(ctx, maxStream)
}

// lintWithin reads that many bytes of layers at most, of all platforms.
func (i *Image) lintWithin(ctx context.Context, limit int64) (*packagefile.Package, packagefile.Report, error) {
	var (
		all   findings
		first *packagefile.Package
	)
	for n, p := range i.parts {
		pkg, report, err := p.lint(ctx, &limit)
		if err != nil {
			return nil, packagefile.Report{}, fmt.Errorf("%s for %s: %w", i.name, p.platform, err)
		}
		if n == 0 {
			first = pkg
		}
		all.add(p.platform.String(), report)
	}
	report := all.report()
	if i.whole {
		report.Warnings = append(report.Warnings, missingPlatforms(i.parts)...)
	}
	return first, report, nil
}

func (p part) lint(ctx context.Context, left *int64) (*packagefile.Package, packagefile.Report, error) {
	dir, err := os.MkdirTemp("", "skyhook-package-")
	if err != nil {
		return nil, packagefile.Report{}, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, packagefile.Report{}, err
	}
	defer func() { _ = root.Close() }()
	config, err := p.ConfigFile()
	if err != nil {
		return nil, packagefile.Report{}, fmt.Errorf("read its configuration: %w", err)
	}
	content, err := unpack(ctx, p.Image, root, left)
	if err != nil {
		return nil, packagefile.Report{}, err
	}
	pkg, report, err := content.lint(ctx)
	if err != nil {
		return nil, report, err
	}
	report.Errors = append(report.Errors, content.missingPrograms()...)
	if pkg != nil {
		report.Errors = append(report.Errors, wrongTags(pkg, p.tags)...)
		checkLabel(pkg, config.Config.Labels, &report)
	}
	return pkg, report, nil
}

// maxParts bounds for how many platforms an image is looked at.
const maxParts = 32

func (i *Image) add(img v1.Image, platform *v1.Platform, tags []string) error {
	if platform == nil || platform.OS == "" {
		config, err := img.ConfigFile()
		if err != nil {
			return fmt.Errorf("read the image's configuration: %w", err)
		}
		platform = config.Platform()
	}
	if platform == nil || platform.OS != "linux" {
		// Packages are for Linux hosts; images for others come along now and then.
		return nil
	}
	i.parts = append(i.parts, part{img, *platform, tags})
	if len(i.parts) > maxParts {
		return fmt.Errorf("it is for more than %d platforms", maxParts)
	}
	return nil
}

// found returns the image if it has anything to check.
func (i *Image) found() (*Image, error) {
	if len(i.parts) == 0 {
		return nil, fmt.Errorf("%s holds no image for linux; build the package for linux/amd64 and linux/arm64", i.name)
	}
	return i, nil
}
