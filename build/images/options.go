package images

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/skyhook-operator/skyhook/build/cachedir"
)

// AllPlatforms are the platforms of a release.
var AllPlatforms = []v1.Platform{{OS: "linux", Architecture: "amd64"}, {OS: "linux", Architecture: "arm64"}}

// Options says what to build. Only Root or Package is required.
type Options struct {
	// Root is the repository's folder; empty for a Package that has nothing to do with it.
	Root string
	// Out is where images go; default <Root>/dist/images. Binaries are kept in <Out>/../bin.
	Out string
	// Cache keeps Debian's packages; default $SKYHOOK_CACHE, else skyhook in the user's cache folder.
	Cache string
	// Debs is a folder with the packages of Debian to take, named as in its archive, and gets those that it lacks; default
	// the newest of the archive, which is asked once a day.
	Debs string
	// Version of operator and agent; default the content of <Root>/VERSION.
	Version string
	// Revision is the commit for the labels; default git's of what is built, with "-dirty" for a changed tree, or none
	// outside of git.
	Revision string
	// Platforms to build; default AllPlatforms.
	Platforms []v1.Platform
	// Only names the images to build ("operator", "agent", or a folder in packages/); default all.
	Only []string
	// Package is the folder of one package to build instead of all that, in Root or anywhere else.
	Package string
	// Base is what that package is derived from: a package folder, or an image by a name that skyhook package validate
	// takes; default our own base of bash and busybox.
	Base string
	// Name of that package's image and of its files in Out; default the name of its folder.
	Name string
	// Repository of that package's image, without tag; default that of our packages, or localhost/<Name> for those of
	// others.
	Repository string
	// PackageVersion is the version to give that package, in its config.json as well; default the one that is there.
	PackageVersion string
	// Log gets a line per slow step; nil means silence.
	Log io.Writer

	debian debian
}

func (o Options) withDefaults() (Options, error) {
	if o.Root == "" && o.Package == "" {
		return o, errors.New("images: option Root (the repository's folder) or Package is required")
	}
	if o.Out == "" {
		o.Out = filepath.Join(o.Root, "dist", "images")
	}
	if o.Cache == "" {
		cache, err := cachedir.Path()
		if err != nil {
			return o, err
		}
		o.Cache = cache
	}
	if o.Version == "" && o.Package == "" {
		version, err := Version(o.Root)
		if err != nil {
			return o, err
		}
		o.Version = version
	}
	if o.Revision == "" {
		o.Revision = Revision(cmp.Or(o.Package, o.Root))
	}
	if len(o.Platforms) == 0 {
		o.Platforms = AllPlatforms
	}
	if o.Log == nil {
		o.Log = io.Discard
	}
	o.debian = debian{}
	return o, nil
}

// wants reports whether an image is to be built.
func (o Options) wants(name string) bool { return len(o.Only) == 0 || slices.Contains(o.Only, name) }

// Revision is the checked-out commit, with "-dirty" for a changed tree, or empty where there is none: a source archive
// builds as well.
func Revision(dir string) string {
	out, err := exec.Command("git", "-C", dir, "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// Version is the version of the project in the folder root, from its file VERSION.
func Version(root string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, "VERSION"))
	if err != nil {
		return "", fmt.Errorf("read the version: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}
