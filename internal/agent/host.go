package agent

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/skyhook-operator/skyhook/internal/agent/hostfs"
	"github.com/skyhook-operator/skyhook/internal/agent/process"
	"github.com/skyhook-operator/skyhook/internal/agent/rootdir"
	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

const (
	resolvConf = "/etc/resolv.conf"
	// legacyFiles are copied over a package that the agent brings itself.
	legacyFiles = "/etc/nvidia-bootstrap/node-files"
)

// container holds what is needed from the agent's own file system once the
// process has left it. Missing parts are nil.
type container struct {
	resolv []byte
	data   *os.Root
	legacy *os.Root
}

func (a *agent) openContainer() (container, error) {
	var c container
	a.openTable()
	if a.CopyResolv {
		content, err := os.ReadFile(resolvConf)
		if err != nil {
			return c, fmt.Errorf("copy %s to the host: %w; set COPY_RESOLV=false to leave the host's own as it is",
				resolvConf, err)
		}
		c.resolv = content
	}
	// Either may be missing: they only matter if the package is not there yet.
	c.data, _ = os.OpenRoot(a.DataDir)
	c.legacy, _ = os.OpenRoot(legacyFiles)
	return c, nil
}

// openTable opens the container's own /proc, which stays open: the host's may
// not be mounted below its root. One of other processes than ours tells nothing.
func (a *agent) openTable() {
	root, err := os.OpenRoot("/proc")
	if err != nil {
		return
	}
	if self, err := root.Readlink("self"); err == nil && self == strconv.Itoa(os.Getpid()) {
		a.table = process.Table{Root: root}
	}
}

func (c container) close() {
	for _, root := range []*os.Root{c.data, c.legacy} {
		if root != nil {
			_ = root.Close()
		}
	}
}

// enterHost makes the host's root the root of this process. From then on the
// kernel resolves every path and symbolic link as it would on the host, so no
// link of the host can lead into the container, and steps need no helper.
func enterHost(rootMount string) error {
	if err := syscall.Chroot(rootMount); err != nil {
		return fmt.Errorf("enter the host's root directory at %s: %w; the container must be privileged and have the "+
			"host's root mounted there", rootMount, err)
	}
	if err := os.Chdir("/"); err != nil {
		return fmt.Errorf("enter the host's root directory at %s: %w", rootMount, err)
	}
	return nil
}

// prepareHost brings the container's part to the host: the name servers, and
// the package if no init container has copied it.
func (a *agent) prepareHost(c container) error {
	if c.resolv != nil {
		current, err := os.ReadFile(resolvConf)
		if err != nil || !bytes.Equal(current, c.resolv) {
			if err := os.WriteFile(resolvConf, c.resolv, 0o644); err != nil {
				return fmt.Errorf("copy the container's %s to the host: %w", resolvConf, err)
			}
		}
	}
	_, err := os.Stat(a.CopyDir)
	if errors.Is(err, fs.ErrNotExist) {
		err = a.bootstrap(c)
	}
	if err != nil {
		return err
	}
	return a.closeConfigMaps()
}

// closeConfigMaps keeps all but root out of what the user gave the package, in
// this copy and in earlier ones. The files keep their modes, since a step that
// copies one to its place gives the copy the same. What the package ships stays
// as it is: units may run it as other users.
func (a *agent) closeConfigMaps() error {
	// A name that is a bad pattern has none; the present copy is known anyway.
	earlier, _ := filepath.Glob(filepath.Join(a.RootDir, a.packageName()+"-*", packagefile.ConfigMapDir))
	for _, dir := range append(earlier, filepath.Join(a.CopyDir, packagefile.ConfigMapDir)) {
		info, err := os.Lstat(dir)
		if err != nil || !info.IsDir() || info.Mode().Perm() == 0o700 {
			continue
		}
		if err := os.Chmod(dir, 0o700); err != nil {
			return fmt.Errorf("close the package's configMap to other users: %w", err)
		}
	}
	return nil
}

// bootstrap copies the package from the agent's own container. It appears on
// the host all at once, so that a crash leaves no half of it behind.
func (a *agent) bootstrap(c container) error {
	if c.data == nil {
		return fmt.Errorf("%w: the directory %s does not exist on the host, and the container has no %s to copy it "+
			"from", errNoPackage, a.CopyDir, a.DataDir)
	}
	parent := filepath.Dir(a.CopyDir)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return fmt.Errorf("copy the package to the host: %w", err)
	}
	temp := hostfs.TempName(a.CopyDir)
	// There may be half a copy that a killed agent has left.
	if err := errors.Join(hostfs.RemoveAll(temp), os.Mkdir(temp, 0o755)); err != nil {
		return fmt.Errorf("copy the package to the host: %w", err)
	}
	for _, source := range []*os.Root{c.data, c.legacy} {
		if source == nil {
			continue
		}
		if err := hostfs.CopyTree(source, temp); err != nil {
			return fmt.Errorf("copy the package to the host: %w", err)
		}
	}
	if err := hostfs.Rename(temp, a.CopyDir); err != nil {
		return fmt.Errorf("copy the package to the host: %w", err)
	}
	return nil
}

// loadPackage reads the package from the host.
func (a *agent) loadPackage() (*packagefile.Package, error) {
	pkg, report, err := packagefile.OpenFor(a.CopyDir, packagefile.Mode(a.Mode))
	if err != nil {
		return nil, err
	}
	for _, warning := range report.Warnings {
		a.warn("%s", warning)
	}
	return pkg, report.Err()
}

// copyHostFiles puts the package's static files in place. Without any it still
// takes away those of an earlier version.
func (a *agent) copyHostFiles(pkg *packagefile.Package) error {
	files, err := os.OpenRoot(filepath.Join(a.CopyDir, packagefile.HostFilesDir))
	if errors.Is(err, fs.ErrNotExist) {
		return a.removeHostFiles(pkg)
	}
	if err == nil {
		defer func() { _ = files.Close() }()
		err = a.hostFiles(pkg).Install(files)
	}
	if err != nil {
		return fmt.Errorf("copy the package's files from %s to the host: %w", packagefile.HostFilesDir, err)
	}
	return nil
}

func (a *agent) removeHostFiles(pkg *packagefile.Package) error {
	if err := a.hostFiles(pkg).Remove(); err != nil {
		return fmt.Errorf("remove the package's files from the host: %w", err)
	}
	return nil
}

func (a *agent) hostFiles(pkg *packagefile.Package) rootdir.Files {
	return rootdir.Files{Dir: a.state().Own(pkg), Root: "/", Living: a.packagesOfSkyhook(), Warn: a.warn}
}

// packagesOfSkyhook are the names in the package's node metadata; nil if there
// is none, as with operators that do not write it.
func (a *agent) packagesOfSkyhook() []string {
	raw, err := os.ReadFile(filepath.Join(a.CopyDir, packagefile.MetadataDir, "packages.json"))
	if err != nil {
		return nil
	}
	var metadata struct {
		Packages map[string]json.RawMessage `json:"packages"`
	}
	if json.Unmarshal(raw, &metadata) != nil || metadata.Packages == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(metadata.Packages))
}

// requireConfigFiles names all keys that the package wants and did not get.
func (a *agent) requireConfigFiles(pkg *packagefile.Package) error {
	var missing []string
	for _, name := range pkg.ExpectedConfigFiles {
		if _, err := os.Stat(filepath.Join(a.CopyDir, packagefile.ConfigMapDir, name)); err != nil {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("the package's configMap lacks %s; add the keys to the package in the Skyhook",
		strings.Join(missing, ", "))
}

// rootHome is the home of the host's root user.
func rootHome() string {
	file, err := os.Open("/etc/passwd")
	if err != nil {
		return defaultRootHome
	}
	defer func() { _ = file.Close() }()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		fields := strings.Split(lines.Text(), ":")
		if len(fields) >= 6 && fields[0] == "root" && fields[5] != "" {
			return fields[5]
		}
	}
	return defaultRootHome
}

const defaultRootHome = "/root"
