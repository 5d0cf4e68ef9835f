//go:build linux

package testbed

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestMissingToolsNeedApt(t *testing.T) {
	bin := t.TempDir()
	t.Setenv("PATH", bin)
	err := installTools(newProgress(io.Discard))
	if err == nil || !strings.Contains(err.Error(), "debootstrap") || !strings.Contains(err.Error(), "use Debian") {
		t.Errorf("without apt-get: %v", err)
	}
	// With all tools in place nothing is installed, and no apt-get needed.
	for tool := range hostTools {
		if err := os.WriteFile(filepath.Join(bin, tool), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := installTools(newProgress(io.Discard)); err != nil {
		t.Error(err)
	}
}

func TestAptIsAskedTwice(t *testing.T) {
	bin := t.TempDir()
	calls := filepath.Join(bin, "calls")
	t.Setenv("PATH", bin)
	// The first install fails for want of package lists.
	script := "#!/bin/sh\necho $1 >> " + calls + "\n[ $1 = update ] || [ $(/usr/bin/wc -l < " + calls + ") -gt 2 ]\n"
	if err := os.WriteFile(filepath.Join(bin, "apt-get"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := installTools(newProgress(io.Discard)); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(calls); string(got) != "install\nupdate\ninstall\n" {
		t.Errorf("calls %q", got)
	}
}
