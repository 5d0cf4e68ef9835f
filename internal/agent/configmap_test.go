//go:build integration

package agent_test

import (
	"os"
	"path/filepath"
	"testing"
)

// TestConfigMapsAreNotForEverybody: what the user gave is root's to read, what
// the package ships stays as it was shipped. Units may run that as others.
func TestConfigMapsAreNotForEverybody(t *testing.T) {
	for _, call := range []string{"apply", "apply-check", "interrupt"} {
		t.Run(call, func(t *testing.T) {
			h := newInterruptHost(t)
			h.define("apply", h.Script("a.sh", "cp $SKYHOOK_DIR/configmaps/key /copied"))
			h.Write(copyDir+"/skyhook_dir/tool", "")
			h.Must(os.Chmod(h.Path(copyDir, "skyhook_dir/tool"), 0o755))
			earlier := filepath.Join(stateDir, "tuning-1.0.0-uid-1/configmaps")
			for _, dir := range []string{copyDir + "/configmaps", earlier} {
				h.Write(dir+"/key", "value")
				h.Must(os.Chmod(h.Path(dir), 0o755))
			}
			h.Write(stateDir+"/other-1.0.0-uid-1/configmaps/key", "value")
			h.Save()
			args := []string{call, h.Root, copyDir}
			if call == "interrupt" {
				args = h.interruptArgs(`{"type":"no_op"}`)
			}
			if r := h.runArgs(args...); r.Code != 0 {
				t.Fatal(r.Stderr)
			}
			want := map[string]os.FileMode{
				copyDir: 0o755, copyDir + "/skyhook_dir": 0o755, copyDir + "/skyhook_dir/tool": 0o755,
				copyDir + "/configmaps": 0o700, earlier: 0o700, stateDir + "/other-1.0.0-uid-1/configmaps": 0o755,
				// A step that copies a key gives the copy its mode.
				copyDir + "/configmaps/key": 0o644,
			}
			if call == "apply" {
				want["/copied"] = 0o644
			}
			for name, mode := range want {
				if info, err := os.Stat(h.Path(name)); err != nil || info.Mode().Perm() != mode {
					t.Errorf("%s: %v, %v, want %v", name, info.Mode(), err, mode)
				}
			}
		})
	}
}

// TestConfigMapsThatAreNoFolder are left to the package.
func TestConfigMapsThatAreNoFolder(t *testing.T) {
	h := newHost(t)
	h.define("apply", h.Script("a.sh", ""))
	h.Must(os.MkdirAll(h.Path("/srv"), 0o755))
	h.Must(os.MkdirAll(h.Path(copyDir), 0o755))
	h.Must(os.Symlink("/srv", h.Path(copyDir, "configmaps")))
	h.succeed("apply")
	if info, err := os.Stat(h.Path("/srv")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}
