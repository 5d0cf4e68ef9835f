package release

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/skyhook-operator/skyhook/build/images"
)

// Options says what to make. Only Root is required.
type Options struct {
	// Root is the repository's folder.
	Root string
	// Dist is where the release goes: <Dist>/release/<version>; images and binaries are kept in <Dist> as well. Default
	// <Root>/dist.
	Dist string
	// Platforms of images and programs; default those that each is made for.
	Platforms []v1.Platform
	// Debs is a folder with the packages of Debian to take, see images.Options; default the newest.
	Debs string
	// Key is a file with the private key to sign with, see ReadKey; without one nothing is signed.
	Key string
	// Log gets a line per step; nil means silence.
	Log io.Writer

	version  string
	revision string
	created  time.Time
}

func (o Options) withDefaults() (Options, error) {
	if o.Root == "" {
		return o, errors.New("release: option Root (the repository's folder) is required")
	}
	if o.Dist == "" {
		o.Dist = filepath.Join(o.Root, "dist")
	}
	if o.Log == nil {
		o.Log = io.Discard
	}
	var err error
	if o.version, err = images.Version(o.Root); err != nil {
		return o, err
	}
	o.revision = images.Revision(o.Root)
	o.created, err = created(o.Root)
	return o, err
}

func (o Options) images() images.Options {
	return images.Options{
		Root: o.Root, Out: filepath.Join(o.Dist, "images"), Version: o.version, Revision: o.revision,
		Platforms: o.Platforms, Debs: o.Debs, Log: o.Log,
	}
}

// wants reports whether something is to be made for a platform.
func (o Options) wants(platform v1.Platform) bool {
	return len(o.Platforms) == 0 || slices.ContainsFunc(o.Platforms, func(p v1.Platform) bool { return p.String() == platform.String() })
}

// created is the time that documents have to tell: not that of the build, so that two builds are equal.
// SOURCE_DATE_EPOCH (https://reproducible-builds.org/specs/source-date-epoch) comes first, then the time of the commit.
func created(root string) (time.Time, error) {
	given := os.Getenv("SOURCE_DATE_EPOCH")
	if given == "" {
		out, err := exec.Command("git", "-C", root, "log", "-1", "--format=%ct").Output()
		if err != nil {
			return time.Unix(0, 0).UTC(), nil //nolint:nilerr // A source archive has no commit, and builds as well.
		}
		given = strings.TrimSpace(string(out))
	}
	seconds, err := strconv.ParseInt(given, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH is %q, want seconds since 1970", given)
	}
	return time.Unix(seconds, 0).UTC(), nil
}
