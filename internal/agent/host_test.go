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
			h.define("apply", h.script("a.sh", ""))
			h.write(copyDir+"/root_dir/etc/new/file", "content")
			h.must(os.Chmod(h.path(copyDir, "root_dir"), 0o711))
			h.must(os.Chmod(h.path(copyDir, "root_dir/etc"), 0o700))
			h.succeed(mode)
			if h.has("/etc/new/file") != copied {
				t.Errorf("copied: %v", !copied)
			}
			for dir, want := range map[string]os.FileMode{"/": 0o755, "/etc": 0o755} {
				if info, err := os.Stat(h.path(dir)); err != nil || info.Mode().Perm() != want {
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
		h.must(os.MkdirAll(h.path(target), 0o755))
		h.must(os.RemoveAll(h.path(link)))
		h.must(os.Symlink(target, h.path(link)))
	}
	// What the test writes itself must not follow the links.
	moved := strings.Replace(copyDir, "/var/lib", "/data/lib", 1)
	h.write(moved+"/skyhook_dir/a.sh", "#!/bin/bash\necho hi\n")
	h.write(moved+"/root_dir/opt/tool", "tool")
	h.write(moved+"/config.json", `{"schema_version": "v1", "package_name": "shell", "package_version": "1.1.0", "expected_config_files": [],
		"modes": {"apply": [{"name": "a", "path": "a.sh", "arguments": [], "returncodes": [0], "on_host": true, "idempotence": true, "upgrade_step": false}],
		"apply-check": [{"name": "a", "path": "a.sh", "arguments": [], "returncodes": [0], "on_host": true, "idempotence": true, "upgrade_step": false}]}}`)
	if r := h.runArgs("apply", h.root, copyDir); r.code != 0 {
		t.Fatalf("exit %d\n%s", r.code, r.stderr)
	}
	for _, name := range []string{"/data/opt/tool", "/data/lib/skyhook/demo/flags/START"} {
		if !h.has(name) {
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
	h.config["expected_config_files"] = []any{"one", "two", "three"}
	h.define("apply", h.script("a.sh", "cat $SKYHOOK_DIR/configmaps/two >>/ran"))
	h.define("uninstall", h.script("u.sh", ""))
	// As cp -r leaves the mount of a ConfigMap behind.
	h.write(copyDir+"/configmaps/..2026_11_20/two", "from the map")
	h.must(os.Symlink("..2026_11_20", h.path(copyDir, "configmaps/..data")))
	h.must(os.Symlink("..data/two", h.path(copyDir, "configmaps/two")))
	r := h.fail("apply", "one, three")
	if strings.Contains(r.message, "two") || h.has("/ran") {
		t.Errorf("message %q", r.message)
	}
	h.fail("apply-check", "one, three")
	h.succeed("uninstall")
	h.write(copyDir+"/configmaps/one", "")
	h.write(copyDir+"/configmaps/three", "")
	h.write(copyDir+"/configmaps/extra", "")
	h.succeed("apply")
	h.expectLines("/ran", "from the map")
}

func TestInvalidPackageRunsNothing(t *testing.T) {
	h := newHost(t)
	h.define("apply", h.script("a.sh", "touch /ran").with("on_host", false), h.script("b.sh", "").with("path", "../../../bin/sh"))
	r := h.fail("apply", "/modes/apply/0/on_host", "/modes/apply/1/path", "the package is not valid (2 problems)")
	if h.has("/ran") || h.has(stateDir, "flags") {
		t.Error("something ran")
	}
	if !strings.Contains(r.stdout, "flag_dir: unknown") {
		t.Errorf("banner:\n%s", r.stdout)
	}
	h.must(os.Remove(h.path(copyDir, "config.json")))
	if r := h.runArgs("uninstall", h.root, copyDir); r.code != 1 || !strings.Contains(r.message, "config.json: the file does not exist") {
		t.Errorf("exit %d, message %q", r.code, r.message)
	}
}

// TestMissingCopyDirIsPopulatedFromTheContainer also for the legacy form.
func TestMissingCopyDirIsPopulatedFromTheContainer(t *testing.T) {
	h := newHost(t)
	h.define("apply", h.script("a.sh", "echo ran >>/ran"))
	h.writeConfig()
	data := filepath.Join(t.TempDir(), "package")
	h.must(os.Rename(h.path(copyDir), data))
	h.must(os.Symlink("config.json", filepath.Join(data, "link")))
	h.env["SKYHOOK_DATA_DIR"] = data
	if r := h.runArgs("apply", h.root, copyDir); r.code != 0 {
		t.Fatalf("exit %d\n%s", r.code, r.stderr)
	}
	h.expectLines("/ran", "ran")
	if link, err := os.Readlink(h.path(copyDir, "link")); err != nil || link != "config.json" {
		t.Errorf("link %q, %v", link, err)
	}
	// It is there now, so it is not copied again.
	h.write(copyDir+"/skyhook_dir/a.sh", "#!/bin/bash\necho changed >>/ran\n")
	h.env["OVERLAY_ALWAYS_RUN_STEP"] = "true"
	if r := h.runArgs("apply", h.root, copyDir); r.code != 0 {
		t.Fatalf("exit %d\n%s", r.code, r.stderr)
	}
	h.expectLines("/ran", "ran", "changed")
	if left := h.find(stateDir + "/.skyhook-*"); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestMissingCopyDirAndNothingToCopy(t *testing.T) {
	h := newHost(t)
	h.env["SKYHOOK_DATA_DIR"] = "/does/not/exist"
	r := h.runArgs("apply", h.root, copyDir)
	if r.code != 1 || !strings.Contains(r.message, copyDir) || !strings.Contains(r.message, "/does/not/exist") {
		t.Errorf("exit %d, message %q", r.code, r.message)
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
			h.env["COPY_RESOLV"] = value
			h.write("/etc/resolv.conf", "the host's")
			h.define("apply", h.script("a.sh", ""))
			h.succeed("apply")
			want := "the host's"
			if copied {
				want = string(own)
			}
			if got := h.read("/etc/resolv.conf"); got != want {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestHostRootThatCannotBeEntered(t *testing.T) {
	h := newHost(t)
	r := h.runArgs("apply", filepath.Join(h.root, "none"), copyDir)
	if r.code != 1 || !strings.Contains(r.message, "enter the host's root directory at") {
		t.Errorf("exit %d, message %q", r.code, r.message)
	}
}

func TestBannerNamesTheDirectoriesReallyUsed(t *testing.T) {
	h := newHost(t)
	h.define("apply", h.script("a.sh", ""))
	r := h.succeed("apply")
	for _, want := range []string{
		"--------------------\n-CLI CONFIGURATION--\nmode: apply\n", "-ENV CONFIGURATION--\nCOPY_RESOLV: False\n", "\nDirectory CONFIGURATION\n",
		"\nroot_mount: " + h.root + "\n", "\ncopy_dir: " + copyDir + "\n", "\ninterrupt_data: None\n",
		"\nSKYHOOK_AGENT_BUFFER_LIMIT: 8192\n", "\nSKYHOOK_AGENT_WRITE_LOGS: True\n",
		"\nflag_dir: " + flagsDir + "\n", "\nlog_dir: " + logsDir + "/shell/1.1.0\n", "\nhistory_file: " + history + "\n",
	} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("no %q in\n%s", want, r.stdout)
		}
	}
}

func TestImageOfAnotherVersionIsWarnedOf(t *testing.T) {
	h := newHost(t)
	h.define("apply", h.script("a.sh", ""))
	if r := h.succeed("apply"); strings.Contains(r.stderr, "asks for version") {
		t.Errorf("stderr %q", r.stderr)
	}
	h.env["SKYHOOK_RESOURCE_ID"] = "demo-uid-1_tuning_2.0.0"
	if r := h.succeed("apply"); !strings.Contains(r.stderr, "asks for version 2.0.0, but the image's config.json says 1.1.0") {
		t.Errorf("stderr %q", r.stderr)
	}
	delete(h.env, "SKYHOOK_RESOURCE_ID")
	h.succeed("apply")
}
