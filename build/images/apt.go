package images

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// aptDownload puts the newest files of packages for any architecture into dir, under the names that apt gives them.
//
// Apt is given lists and caches of its own below dir: the machine's own architectures and lists stay as they are, and
// root is not needed. Its mirrors and archive keys are the machine's, so what comes was signed by Debian.
func aptDownload(ctx context.Context, dir, arch string, names []string) error {
	if _, err := exec.LookPath("apt-get"); err != nil {
		return errors.New("apt-get was not found: package images need it for Debian's static bash and busybox")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	dir, err := filepath.Abs(dir) // apt takes what is relative for a folder below its own
	if err != nil {
		return err
	}
	// Beside the target, so that the renames at the end are atomic.
	work, err := os.MkdirTemp(dir, "fetch-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	for _, sub := range []string{"state/lists/partial", "cache/archives/partial", "out"} {
		if err := os.MkdirAll(filepath.Join(work, sub), 0o755); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(work, "state/status"), nil, 0o644); err != nil {
		return err
	}
	// An update that reached nothing has said so, and is no error to apt.
	said, err := aptGet(ctx, work, arch, "update")
	if err == nil {
		var more string
		more, err = aptGet(ctx, work, arch, append([]string{"download"}, names...)...)
		said += more
	}
	if err != nil {
		return fmt.Errorf("%s for %s cannot be had from Debian's archive: check the network, and apt's sources (%w)\n%s",
			strings.Join(names, " and "), arch, err, said)
	}
	return keep(filepath.Join(work, "out"), dir, len(names))
}

func aptGet(ctx context.Context, work, arch string, args ...string) (said string, err error) {
	cmd := exec.CommandContext(ctx, "apt-get", append([]string{
		"-o", "APT::Architecture=" + arch, "-o", "APT::Architectures::=" + arch,
		"-o", "Dir::State=" + filepath.Join(work, "state"), "-o", "Dir::State::status=" + filepath.Join(work, "state/status"),
		"-o", "Dir::Cache=" + filepath.Join(work, "cache"),
		// Of the lists only that of packages; and where nothing answers, that is known soon.
		"-o", "Acquire::Languages=none", "-o", "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false",
		"-o", "Acquire::Retries=0", "-o", "Acquire::http::Timeout=10", "-o", "Acquire::https::Timeout=10",
		// The unprivileged user of apt cannot enter a cache folder of root's.
		"-o", "APT::Sandbox::User=root", "-qq",
	}, args...)...)
	cmd.Dir = filepath.Join(work, "out")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// keep moves the packages in from to dir, as fetched now: apt gives a file the time of the archive's.
func keep(from, dir string, want int) error {
	files, err := filepath.Glob(filepath.Join(from, "*.deb"))
	if err != nil || len(files) != want {
		return fmt.Errorf("apt-get download left %d files, want %d", len(files), want)
	}
	for _, file := range files {
		if err := os.Chtimes(file, time.Time{}, time.Now()); err != nil {
			return err
		}
		if err := os.Rename(file, filepath.Join(dir, filepath.Base(file))); err != nil {
			return err
		}
	}
	return nil
}
