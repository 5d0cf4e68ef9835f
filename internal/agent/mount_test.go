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
	h.T.Helper()
	h.Must(os.MkdirAll(h.Path(target), 0o755))
	h.Must(syscall.Mount(source, h.Path(target), kind, flags, ""))
	h.T.Cleanup(func() { h.Must(syscall.Unmount(h.Path(target), syscall.MNT_DETACH)) })
}

// TestMountsBelowOldCopiesStay: a package may have mounted file systems of
// others in its folder, as for a chroot.
func TestMountsBelowOldCopiesStay(t *testing.T) {
	for name, mount := range map[string]func(h *host, target string){
		"another file system": func(h *host, target string) {
			h.mount("tmpfs", target, "tmpfs", 0)
			h.Write(target+"/data", "theirs")
		},
		"the same file system": func(h *host, target string) {
			h.Write("/srv/data", "theirs")
			h.mount(h.Path("/srv"), target, "", syscall.MS_BIND)
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			h.define("config", h.Script("c.sh", ""))
			h.define("uninstall", h.Script("u.sh", ""))
			h.Save()
			folder := func(number string) string { return filepath.Join(stateDir, "tuning-1.1.0-"+uid+"-"+number) }
			run := func(mode, number string) (warnings string) {
				t.Helper()
				h.Env["SKYHOOK_RESOURCE_ID"] = "demo-" + uid + "-" + number + "_tuning_1.1.0"
				h.copyTree(copyDir, folder(number))
				r := h.runArgs(mode, h.Root, folder(number))
				if r.Code != 0 {
					t.Fatal(r.Stderr)
				}
				return r.Stderr
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
				if !h.Has(point+"/data") || !h.Has(folder("1"), "config.json") || h.Has(folder("2")) {
					t.Errorf("%s: left %q", mode, h.find(stateDir+"/*/*"))
				}
			}
		})
	}
}

// TestMountsInTheStateOfAPackageStay and do not hold up its uninstall.
func TestMountsInTheStateOfAPackageStay(t *testing.T) {
	h := newHost(t)
	h.define("apply", h.Script("a.sh", ""))
	h.define("uninstall", h.Script("u.sh", ""))
	h.Write(copyDir+"/root_dir/opt/data/shipped", "")
	h.succeed("apply")
	for _, point := range []string{stateDir + "/packages/tuning/some", "/opt/data"} {
		h.mount("tmpfs", point, "tmpfs", 0)
		h.Write(point+"/data", "theirs")
	}
	h.succeed("uninstall")
	r := h.succeed("uninstall-check")
	for _, point := range []string{stateDir + "/packages/tuning/some", "/opt/data"} {
		if !h.Has(point + "/data") {
			t.Errorf("%s: what was mounted is gone", point)
		}
	}
	for _, point := range []string{stateDir + "/packages/tuning/some", `"/opt/data" stays`} {
		if !strings.Contains(r.Stderr, point) {
			t.Errorf("no word of %s in %q", point, r.Stderr)
		}
	}
}

// TestKilledWhileAMountPointIsWritten: it cannot be replaced at once as other
// files are, but what is half written is not taken for someone else's.
func TestKilledWhileAMountPointIsWritten(t *testing.T) {
	h := newHost(t)
	h.define("apply", h.Script("a.sh", ""))
	h.define("uninstall", h.Script("u.sh", ""))
	h.Write(copyDir+"/root_dir/srv/hosts", "the package's")
	h.Write("/srv/hosts", "covered")
	h.Write("/hosts", "the host's")
	h.Must(os.MkdirAll(h.Path("/opt"), 0o755))
	h.Save()
	h.Must(syscall.Mount(h.Path("/hosts"), h.Path("/srv/hosts"), "", syscall.MS_BIND, ""))
	t.Cleanup(func() { h.Must(syscall.Unmount(h.Path("/srv/hosts"), syscall.MNT_DETACH)) })
	run := func(mode, want string) {
		t.Helper()
		if r := h.runArgs(mode, h.Root, copyDir); r.Code != 0 || h.Read("/srv/hosts") != want {
			t.Fatalf("%s: %q\n%s", mode, h.Read("/srv/hosts"), r.Stderr)
		}
	}
	restore := h.save()
	for n := 1; h.killAt(n, "apply", h.Root, copyDir); n++ {
		run("apply", "the package's")
		if kept := h.find(stateDir + "/packages/tuning/originals/*"); len(kept) != 1 || h.Read(kept[0]) != "the host's" {
			t.Fatalf("change %d: originals %q", n, kept)
		}
		restore()
		h.Write("/srv/hosts", "the host's")
	}
	run("apply", "the package's")
	run("uninstall", "the package's")
	restore = h.save()
	for n := 1; h.killAt(n, "uninstall-check", h.Root, copyDir); n++ {
		run("uninstall-check", "the host's")
		h.Write("/srv/hosts", "the package's")
		restore()
	}
	run("uninstall-check", "the host's")
}
