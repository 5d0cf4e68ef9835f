package main

import (
	"path/filepath"

	"github.com/skyhook-operator/skyhook/build/cachedir"
)

// place is where each clone runs its tests, beside what is built only once.
func place() (string, error) {
	cache, err := cachedir.Path()
	return filepath.Join(cache, "clone"), err
}

// inPlace runs a command as all clones do it, since results of tests are kept by the whole paths of the files that they
// open, and by what they read of the environment: in the same folder, and with nothing of somebody's own in PATH. Nobody
// else sees what is mounted there, so that tests of several clones may run at the same time.
func inPlace(place string, args []string) []string {
	const script = `mkdir -p "$1"
mount --bind . "$1"
cd "$1"
export PWD PATH="$(go env GOROOT)/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
shift
exec "$@"`
	return append([]string{"unshare", "--mount", "sh", "-ec", script, "sh", place}, args...)
}
