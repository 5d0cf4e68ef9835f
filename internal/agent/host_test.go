//go:build integration

package agent_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRootDirIsCopiedButNotForChecksAndUninstall(t *testing.T) {
	tests := map[string]bool{
		"apply": true, "config": true, "upgrade": true, "post-interrupt": true,
		"apply-check": false, "config-check": false, "uninstall": false, "uninstall-check": false,
	}
	for mode, copied := range tests {
		t.Run(mode, func(t *testing.T) {
			h := newHost(t)
			h.define("apply", h.Script("a.sh", ""))
			h.Write(copyDir+"/root_dir/etc/new/file", "content")
			h.Must(os.Chmod(h.Path(copyDir, "root_dir"), 0o711))
			h.Must(os.Chmod(h.Path(copyDir, "root_dir/etc"), 0o700))
			h.succeed(mode)
			if h.Has("/etc/new/file") != copied {
				t.Errorf("copied: %v", !copied)
			}
			for dir, want := range map[string]os.FileMode{"/": 0o755, "/etc": 0o755} {
				if info, err := os.Stat(h.Path(dir)); err != nil || info.Mode().Perm() != want {
					t.Errorf("%s: mode %v, %v", dir, info.Mode(), err)
				}
			}
		})
	}
}

// TestLinksOfTheHostLeadIntoTheHost: the host keeps its state and its logs
// elsewhere, behind absolute links, as hosts with a data disk do.
func TestLinksOfTheHostLeadIntoTheHost(t *testing.T) {
	h := newHost(t)
	for link, target := range map[string]string{"/var/lib": "/data/lib", "/var/log": "/data/log", "/opt": "/data/opt"} {
		h.Must(os.MkdirAll(h.Path(target), 0o755))
		h.Must(os.RemoveAll(h.Path(link)))
		h.Must(os.Symlink(target, h.Path(link)))
	}
	// What the test writes itself must not follow the links.
	moved := strings.Replace(copyDir, "/var/lib", "/data/lib", 1)
	h.Write(moved+"/skyhook_dir/a.sh", "#!/bin/bash\necho hi\n")
	h.Write(moved+"/root_dir/opt/tool", "tool")
	h.Write(moved+"/config.json", `{"schema_version": "v1", "package_name": "shell", "package_version": "1.1.0", "expected_config_files": [],
		"modes": {"apply": [{"name": "a", "path": "a.sh", "arguments": [], "returncodes": [0], "on_host": true, "idempotence": true, "upgrade_step": false}],
		"apply-check": [{"name": "a", "path": "a.sh", "arguments": [], "returncodes": [0], "on_host": true, "idempotence": true, "upgrade_step": false}]}}`)
	if r := h.runArgs("apply", h.Root, copyDir); r.Code != 0 {
		t.Fatalf("exit %d\n%s", r.Code, r.Stderr)
	}
	for _, name := range []string{"/data/opt/tool", "/data/lib/skyhook/demo/flags/START"} {
		if !h.Has(name) {
			t.Errorf("no %s", name)
		}
	}
	if len(h.find("/data/log/skyhook/demo/shell/1.1.0/*.log")) != 1 {
		t.Error("no log")
	}
	if _, err := os.Lstat("/data/opt/tool"); err == nil {
		t.Error("written outside of the host")
	}
}

func TestExpectedConfigFiles(t *testing.T) {
	h := newHost(t)
	h.Config["expected_config_files"] = []any{"one", "two", "three"}
	h.define("apply", h.Script("a.sh", "cat $SKYHOOK_DIR/configmaps/two >>/ran"))
	h.define("uninstall", h.Script("u.sh", ""))
	// As cp -r leaves the mount of a ConfigMap behind.
	h.Write(copyDir+"/configmaps/..2026_11_20/two", "from the map")
	h.Must(os.Symlink("..2026_11_20", h.Path(copyDir, "configmaps/..data")))
	h.Must(os.Symlink("..data/two", h.Path(copyDir, "configmaps/two")))
	r := h.fail("apply", "one, three")
	if strings.Contains(r.message, "two") || h.Has("/ran") {
		t.Errorf("message %q", r.message)
	}
	h.fail("apply-check", "one, three")
	h.succeed("uninstall")
	h.Write(copyDir+"/configmaps/one", "")
	h.Write(copyDir+"/configmaps/three", "")
	h.Write(copyDir+"/configmaps/extra", "")
	h.succeed("apply")
	h.ExpectLines("/ran", "from the map")
}

func TestInvalidPackageRunsNothing(t *testing.T) {
	h := newHost(t)
	h.define("apply", h.Script("a.sh", "touch /ran").With("on_host", false), h.Script("b.sh", "").With("path", "../../../bin/sh"))
	r := h.fail("apply", "/modes/apply/0/on_host", "/modes/apply/1/path", "the package is not valid (2 problems)")
	if h.Has("/ran") || h.Has(stateDir, "flags") {
		t.Error("something ran")
	}
	if !strings.Contains(r.Stdout, "flag_dir: unknown") {
		t.Errorf("banner:\n%s", r.Stdout)
	}
	h.Must(os.Remove(h.Path(copyDir, "config.json")))
	if r := h.runArgs("uninstall", h.Root, copyDir); r.Code != 1 || !strings.Contains(r.message, "config.json: the file does not exist") {
		t.Errorf("exit %d, message %q", r.Code, r.message)
	}
}

// TestMissingCopyDirIsPopulatedFromTheContainer also for the legacy form.
func TestMissingCopyDirIsPopulatedFromTheContainer(t *testing.T) {
	h := newHost(t)
	h.define("apply", h.Script("a.sh", "echo ran >>/ran"))
	h.Save()
	data := filepath.Join(t.TempDir(), "package")
	h.Must(os.Rename(h.Path(copyDir), data))
	h.Must(os.Symlink("config.json", filepath.Join(data, "link")))
	h.Env["SKYHOOK_DATA_DIR"] = data
	if r := h.runArgs("apply", h.Root, copyDir); r.Code != 0 {
		t.Fatalf("exit %d\n%s", r.Code, r.Stderr)
	}
	h.ExpectLines("/ran", "ran")
	if link, err := os.Readlink(h.Path(copyDir, "link")); err != nil || link != "config.json" {
		t.Errorf("link %q, %v", link, err)
	}
	// It is there now, so it is not copied again.
	h.Write(copyDir+"/skyhook_dir/a.sh", "#!/bin/bash\necho changed >>/ran\n")
	h.Env["OVERLAY_ALWAYS_RUN_STEP"] = "true"
	if r := h.runArgs("apply", h.Root, copyDir); r.Code != 0 {
		t.Fatalf("exit %d\n%s", r.Code, r.Stderr)
	}
	h.ExpectLines("/ran", "ran", "changed")
	if left := h.find(stateDir + "/.skyhook-*"); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestMissingCopyDirAndNothingToCopy(t *testing.T) {
	h := newHost(t)
	h.Env["SKYHOOK_DATA_DIR"] = "/does/not/exist"
	r := h.runArgs("apply", h.Root, copyDir)
	if r.Code != 1 || !strings.Contains(r.message, copyDir) || !strings.Contains(r.message, "/does/not/exist") {
		t.Errorf("exit %d, message %q", r.Code, r.message)
	}
}

func TestCopyResolv(t *testing.T) {
	own, err := os.ReadFile("/etc/resolv.conf")
	if err != nil {
		t.Fatal(err)
	}
	for value, copied := range map[string]bool{"true": true, "True": true, "false": false, "no": false} {
		t.Run(value, func(t *testing.T) {
			h := newHost(t)
			h.Env["COPY_RESOLV"] = value
			h.Write("/etc/resolv.conf", "the host's")
			h.define("apply", h.Script("a.sh", ""))
			h.succeed("apply")
			want := "the host's"
			if copied {
				want = string(own)
			}
			if got := h.Read("/etc/resolv.conf"); got != want {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestHostRootThatCannotBeEntered(t *testing.T) {
	h := newHost(t)
	r := h.runArgs("apply", filepath.Join(h.Root, "none"), copyDir)
	if r.Code != 1 || !strings.Contains(r.message, "enter the host's root directory at") {
		t.Errorf("exit %d, message %q", r.Code, r.message)
	}
}

func TestBannerNamesTheDirectoriesReallyUsed(t *testing.T) {
	h := newHost(t)
	h.define("apply", h.Script("a.sh", ""))
	r := h.succeed("apply")
	for _, want := range []string{
		"--------------------\n-CLI CONFIGURATION--\nmode: apply\n", "-ENV CONFIGURATION--\nCOPY_RESOLV: False\n", "\nDirectory CONFIGURATION\n",
		"\nroot_mount: " + h.Root + "\n", "\ncopy_dir: " + copyDir + "\n", "\ninterrupt_data: None\n",
		"\nSKYHOOK_AGENT_BUFFER_LIMIT: 8192\n", "\nSKYHOOK_AGENT_WRITE_LOGS: True\n",
		"\nflag_dir: " + flagsDir + "\n", "\nlog_dir: " + logsDir + "/shell/1.1.0\n", "\nhistory_file: " + history + "\n",
	} {
		if !strings.Contains(r.Stdout, want) {
			t.Errorf("no %q in\n%s", want, r.Stdout)
		}
	}
}

func TestImageOfAnotherVersionIsWarnedOf(t *testing.T) {
	h := newHost(t)
	h.define("apply", h.Script("a.sh", ""))
	if r := h.succeed("apply"); strings.Contains(r.Stderr, "asks for version") {
		t.Errorf("stderr %q", r.Stderr)
	}
	h.Env["SKYHOOK_RESOURCE_ID"] = "demo-uid-1_tuning_2.0.0"
	if r := h.succeed("apply"); !strings.Contains(r.Stderr, "asks for version 2.0.0, but the image's config.json says 1.1.0") {
		t.Errorf("stderr %q", r.Stderr)
	}
	delete(h.Env, "SKYHOOK_RESOURCE_ID")
	h.succeed("apply")
}
