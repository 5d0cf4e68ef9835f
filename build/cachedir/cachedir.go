// Package cachedir tells where what is slow to build is kept, for all clones.
package cachedir

import (
	"fmt"
	"os"
	"path/filepath"
)

// Path is $SKYHOOK_CACHE, else skyhook in the user's cache folder.
func Path() (string, error) {
	if cache := os.Getenv("SKYHOOK_CACHE"); cache != "" {
		return cache, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no cache folder (%w); set SKYHOOK_CACHE", err)
	}
	return filepath.Join(cache, "skyhook"), nil
}
