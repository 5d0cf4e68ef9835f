package main

import (
	"os"
	"path/filepath"
)

// place is where each clone runs its tests, beside what is built only once.
func place() string {
	cache := os.Getenv("SKYHOOK_CACHE")
	if cache == "" {
		users, err := os.UserCacheDir()
		if err != nil {
			users = os.TempDir()
		}
		cache = filepath.Join(users, "skyhook")
	}
	return filepath.Join(cache, "clone")
}

// inPlace runs a command in the same folder for all clones: results of tests that open files are kept by their whole
// paths. Nobody else sees what is mounted there, so that tests of several clones may run at the same time.
func inPlace(place string, args []string) []string {
	const script = `mkdir -p "$1" && mount --bind . "$1" && cd "$1" && export PWD && shift && exec "$@"`
	return append([]string{"unshare", "--mount", "sh", "-c", script, "sh", place}, args...)
}
