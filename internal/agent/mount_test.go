package agent_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// mount mounts on a folder of the host until the test is over.
func (h *host) mount(source, target, kind string, flags uintptr) {
	h.t.Helper()
	h.must(os.MkdirAll(h.path(target), 0o755))
	h.must(syscall.Mount(source, h.path(target), kind, flags, ""))
	h.t.Cleanup(func() { h.must(syscall.Unmount(h.path(target), syscall.MNT_DETACH)) })
}

// TestMountsBelowOldCopiesStay: a package may have mounted file systems of
// others in its folder, as for a chroot.
func TestMountsBelowOldCopiesStay(t *testing.T) {
	for name, mount := range map[string]func(h *host, target string){
		"another file system": func(h *host, target string) {
			h.mount("tmpfs", target, "tmpfs", 0)
			h.write(target+"/data", "theirs")
		},
		"the same file system": func(h *host, target string) {
			h.write("/srv/data", "theirs")
			h.mount(h.path("/srv"), target, "", syscall.MS_BIND)
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			h.define("config", h.script("c.sh", ""))
			h.define("uninstall", h.script("u.sh", ""))
			h.writeConfig()
			folder := func(number string) string { return filepath.Join(stateDir, "tuning-1.1.0-"+uid+"-"+number) }
			run := func(mode, number string) (warnings string) {
				t.Helper()
				h.env["SKYHOOK_RESOURCE_ID"] = "demo-" + uid + "-" + number + "_tuning_1.1.0"
				h.copyTree(copyDir, folder(number))
				r := h.runArgs(mode, h.root, folder(number))
				if r.code != 0 {
					t.Fatal(r.stderr)
				}
				return r.stderr
			}
			for _, number := range []string{"1", "2", "3", "4"} {
				run("config", number)
			}
			mount(h, folder("1")+"/chroot/dev")
			for _, mode := range []string{"config-check", "uninstall-check"} {
				point := folder("1") + "/chroot/dev"
				if text := run(mode, "4"); !strings.Contains(text, "WARNING: old copies of the package stay") || !strings.Contains(text, point) {
					t.Errorf("%s: it says %q", mode, text)
				}
				if !h.has(point+"/data") || !h.has(folder("1"), "config.json") || h.has(folder("2")) {
					t.Errorf("%s: left %q", mode, h.find(stateDir+"/*/*"))
				}
			}
		})
	}
}

// TestMountsInTheStateOfAPackageStay and do not hold up its uninstall.
func TestMountsInTheStateOfAPackageStay(t *testing.T) {
	h := newHost(t)
	h.define("apply", h.script("a.sh", ""))
	h.define("uninstall", h.script("u.sh", ""))
	h.write(copyDir+"/root_dir/opt/data/shipped", "")
	h.succeed("apply")
	for _, point := range []string{stateDir + "/packages/tuning/some", "/opt/data"} {
		h.mount("tmpfs", point, "tmpfs", 0)
		h.write(point+"/data", "theirs")
	}
	h.succeed("uninstall")
	r := h.succeed("uninstall-check")
	for _, point := range []string{stateDir + "/packages/tuning/some", "/opt/data"} {
		if !h.has(point + "/data") {
			t.Errorf("%s: what was mounted is gone", point)
		}
	}
	if !strings.Contains(r.stderr, stateDir+"/packages/tuning/some") {
		t.Errorf("it says %q", r.stderr)
	}
}
