package hostfs_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/skyhook-operator/skyhook/internal/agent/hostfs"
)

// withoutFiles runs do while this process can open no file, and so can sync
// none either.
func withoutFiles(t *testing.T, do func()) {
	t.Helper()
	var limit unix.Rlimit
	must(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Max: limit.Max}))
	defer func() { must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &limit)) }()
	do()
}

// TestRenamesAreDurable: what got its name has it after a power cut, or it is
// no success.
func TestRenamesAreDurable(t *testing.T) {
	dir := t.TempDir()
	from := filepath.Join(dir, "from")
	must(t, os.Symlink("somewhere", from))
	for name, do := range map[string]func(from, to string) error{"a link": hostfs.Clone, "a rename": hostfs.Rename} {
		to := filepath.Join(dir, name)
		var err error
		withoutFiles(t, func() { err = do(from, to) })
		if !errors.Is(err, unix.EMFILE) {
			t.Errorf("%s: its directory was not synced: %v", name, err)
		}
		if target, err := os.Readlink(to); err != nil || target != "somewhere" {
			t.Errorf("%s: %q, %v", name, target, err)
		}
		must(t, hostfs.Clone(to, from))
	}
}
