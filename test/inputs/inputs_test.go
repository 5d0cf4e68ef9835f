package inputs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestLog: the go command reads a log of what a test opened, which is where all inputs have to be.
func TestLog(t *testing.T) {
	const inside = "SKYHOOK_TEST_INPUTS"
	if os.Getenv(inside) != "" {
		if err := Files("../../packages/shellscript", "../../VERSION"); err != nil {
			t.Error(err)
		}
		if err := sources("../../cmd/skyhook-agent", []string{"-tags", "faults"}); err != nil {
			t.Error(err)
		}
		if err := sources("../../cmd/skyhook", nil); err != nil {
			t.Error(err)
		}
		return
	}
	log := filepath.Join(t.TempDir(), "log")
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestLog$", "-test.testlogfile", log)
	cmd.Env = append(os.Environ(), inside+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	raw, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"open ../../VERSION",
		"open ../../packages/shellscript/skyhook_dir", // so that another file in it counts
		"open ../../packages/shellscript/skyhook_dir/shellscript_run.sh",
		"open " + root + "/go.mod",
		"open " + root + "/go.sum",
		"open " + root + "/cmd/skyhook-agent/main.go",
		"stat " + root + "/internal/agent",
		"open " + root + "/internal/agent/hostfs/boundary_faults.go",
		"open " + root + "/internal/agent/hostfs/boundary.go", // ignored: its constraint may be edited
		"stat " + root + "/internal/board/web",                // has embedded files
	} {
		if !strings.Contains(string(raw), want+"\n") {
			t.Errorf("%q is not in the log", want)
		}
	}
}

func TestNoSuchInput(t *testing.T) {
	if err := Files("../../VERSION", "none"); err == nil || !strings.Contains(err.Error(), "none") {
		t.Errorf("got %v", err)
	}
}
