//go:build integration

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
				if text := run(mode, "4"); !strings.Contains(text, "WARNING: old copies of the package could not be removed") || !strings.Contains(text, point) {
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
	for _, point := range []string{stateDir + "/packages/tuning/some", `"/opt/data" stays`} {
		if !strings.Contains(r.stderr, point) {
			t.Errorf("no word of %s in %q", point, r.stderr)
		}
	}
}

// TestKilledWhileAMountPointIsWritten: it cannot be replaced at once as other
// files are, but what is half written is not taken for someone else's.
func TestKilledWhileAMountPointIsWritten(t *testing.T) {
	h := newHost(t)
	h.define("apply", h.script("a.sh", ""))
	h.define("uninstall", h.script("u.sh", ""))
	h.write(copyDir+"/root_dir/srv/hosts", "the package's")
	h.write("/srv/hosts", "covered")
	h.write("/hosts", "the host's")
	h.must(os.MkdirAll(h.path("/opt"), 0o755))
	h.writeConfig()
	h.must(syscall.Mount(h.path("/hosts"), h.path("/srv/hosts"), "", syscall.MS_BIND, ""))
	t.Cleanup(func() { h.must(syscall.Unmount(h.path("/srv/hosts"), syscall.MNT_DETACH)) })
	run := func(mode, want string) {
		t.Helper()
		if r := h.runArgs(mode, h.root, copyDir); r.code != 0 || h.read("/srv/hosts") != want {
			t.Fatalf("%s: %q\n%s", mode, h.read("/srv/hosts"), r.stderr)
		}
	}
	restore := h.save()
	for n := 1; h.killAt(n, "apply", h.root, copyDir); n++ {
		run("apply", "the package's")
		if kept := h.find(stateDir + "/packages/tuning/originals/*"); len(kept) != 1 || h.read(kept[0]) != "the host's" {
			t.Fatalf("change %d: originals %q", n, kept)
		}
		restore()
		h.write("/srv/hosts", "the host's")
	}
	run("apply", "the package's")
	run("uninstall", "the package's")
	restore = h.save()
	for n := 1; h.killAt(n, "uninstall-check", h.root, copyDir); n++ {
		run("uninstall-check", "the host's")
		h.write("/srv/hosts", "the package's")
		restore()
	}
	run("uninstall-check", "the host's")
}
