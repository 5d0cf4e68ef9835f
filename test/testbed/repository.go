//go:build linux

package testbed

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const (
	// repositoryDir is where nodes have their package repository.
	repositoryDir = "/usr/local/share/testbed/debian"
	// repositorySource is all that apt knows on a node: there is no way out to Debian's own archive. Its files came from
	// there through debootstrap's verified lists, so nothing signs them again.
	repositorySource = "deb [trusted=yes] file:" + repositoryDir + " ./\n"
)

// offeredPackages can be installed on nodes with apt-get, together with what they depend on.
var offeredPackages = []string{"tuned", "grub2-common"}

// offerPackages makes the repository in a fresh root file system: apt of that very root decides which files are needed
// beyond what it has installed.
func offerPackages(ctx context.Context, root string) error {
	download := []string{root, "apt-get", "install", "--yes", "--no-install-recommends", "--download-only"}
	if err := runCommand(isolated(exec.CommandContext(ctx, "chroot",
		append(download, offeredPackages...)...))); err != nil {
		return err
	}
	dir := filepath.Join(root, repositoryDir)
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(root, "var", "cache", "apt", "archives"), dir); err != nil {
		return err
	}
	for _, empty := range []string{"lock", "partial"} {
		if err := os.RemoveAll(filepath.Join(dir, empty)); err != nil {
			return err
		}
	}
	if err := indexPackages(ctx, dir); err != nil {
		return err
	}
	// What apt knows is about an archive that nodes cannot reach.
	for _, known := range []string{"var/lib/apt/lists", "var/cache/apt"} {
		if err := os.RemoveAll(filepath.Join(root, known)); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(root, "etc", "apt", "sources.list"), []byte(repositorySource), 0o644)
}

// indexPackages writes what makes a folder of packages a repository: their index, and the index's sum.
func indexPackages(ctx context.Context, dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.deb"))
	if err != nil {
		return err
	}
	var index strings.Builder
	for _, file := range files {
		control, err := exec.CommandContext(ctx, "dpkg-deb", "--field", file).Output()
		if err != nil {
			return fmt.Errorf("read %s: %w", file, err)
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		// Apt decodes no escapes in the names of local files: a name in the index is the file's.
		fmt.Fprintf(&index, "%s\nFilename: ./%s\nSize: %d\nSHA256: %x\n\n",
			strings.TrimSpace(string(control)), filepath.Base(file), len(content), sha256.Sum256(content))
	}
	if err := os.WriteFile(filepath.Join(dir, "Packages"), []byte(index.String()), 0o644); err != nil {
		return err
	}
	release := fmt.Sprintf("Suite: testbed\nDate: %s\nSHA256:\n %x %d Packages\n",
		time.Now().UTC().Format(time.RFC1123), sha256.Sum256([]byte(index.String())), index.Len())
	return os.WriteFile(filepath.Join(dir, "Release"), []byte(release), 0o644)
}
