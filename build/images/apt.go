package images

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// aptDownload downloads one package ("name=version") of any architecture into dir and returns its file.
//
// Apt is given lists and caches of its own below dir: the machine's own architectures and lists stay as they are, and
// root is not needed. Its mirrors and archive keys are the machine's, so what comes was signed by Debian.
func aptDownload(ctx context.Context, dir, arch, what string) (string, error) {
	if _, err := exec.LookPath("apt-get"); err != nil {
		return "", errors.New("apt-get was not found: package images need it for Debian's static bash and busybox")
	}
	for _, sub := range []string{"state/lists/partial", "cache/archives/partial", "out"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return "", err
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "state/status"), nil, 0o644); err != nil {
		return "", err
	}
	run := func(args ...string) error {
		cmd := exec.CommandContext(ctx, "apt-get", append([]string{
			"-o", "APT::Architecture=" + arch, "-o", "APT::Architectures::=" + arch,
			"-o", "Dir::State=" + filepath.Join(dir, "state"), "-o", "Dir::State::status=" + filepath.Join(dir, "state/status"),
			"-o", "Dir::Cache=" + filepath.Join(dir, "cache"), "-o", "Acquire::Languages=none",
			// The unprivileged user of apt cannot enter a cache folder of root's.
			"-o", "APT::Sandbox::User=root", "-qq",
		}, args...)...)
		cmd.Dir = filepath.Join(dir, "out")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("apt-get %s: %w\n%s", args[0], err, out)
		}
		return nil
	}
	if err := run("update"); err != nil {
		return "", err
	}
	if err := run("download", what); err != nil {
		return "", fmt.Errorf("%w(if Debian has a newer version now: update its pin in build/images/debian.go)", err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "out", "*.deb"))
	if err != nil || len(files) != 1 {
		return "", fmt.Errorf("apt-get download %s left %d files, want 1", what, len(files))
	}
	return files[0], nil
}
