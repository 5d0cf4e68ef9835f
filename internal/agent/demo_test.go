//go:build integration

package agent_test

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
)

const shellscript = "../../packages/shellscript"

// installShellscript puts the package we ship on the host, with a configMap.
func (h *host) installShellscript(configMap map[string]string) {
	h.T.Helper()
	h.Must(os.MkdirAll(h.Path(copyDir), 0o755))
	h.Must(os.CopyFS(h.Path(copyDir), os.DirFS(shellscript)))
	for key, content := range configMap {
		h.Write(copyDir+"/configmaps/"+key, content)
	}
}

var demo = map[string]string{
	"apply.sh":        "#!/bin/bash\necho \"hello world\" > /skyhook-hello-world",
	"apply_check.sh":  "#!/bin/bash\ncat /skyhook-hello-world",
	"config.sh":       "#!/bin/bash\necho \"a config is run\" >> /skyhook-hello-world",
	"config_check.sh": "#!/bin/bash\ngrep \"config\" /skyhook-hello-world",
}

// TestDemo runs every stage of the README's demo.
func TestDemo(t *testing.T) {
	h := newHost(t)
	h.installShellscript(demo)
	for _, mode := range []string{"apply", "apply-check", "config", "config-check"} {
		if r := h.runArgs(mode, h.Root, copyDir); r.Code != 0 {
			t.Fatalf("%s: exit %d\n%s%s", mode, r.Code, r.Stdout, r.Stderr)
		}
	}
	h.ExpectLines("/skyhook-hello-world", "hello world", "a config is run")
	for _, pattern := range []string{"/flags/START", "/flags/shellscript/1.2.0/shellscript_run.sh_*", "/history/shellscript.json"} {
		if len(h.find(stateDir+pattern)) == 0 {
			t.Errorf("no %s", pattern)
		}
	}
	var all strings.Builder
	logs := h.find(logsDir + "/shellscript/1.2.0/*.log")
	for _, log := range logs {
		all.WriteString(h.Read(log))
	}
	if len(logs) != 4 || !strings.Contains(all.String(), "hello world") {
		t.Errorf("logs %q\n%s", logs, all.String())
	}
}

func TestMisspeltHookShowsInTheMessage(t *testing.T) {
	h := newHost(t)
	h.installShellscript(map[string]string{"config.yaml": "echo hi"})
	r := h.runArgs("apply", h.Root, copyDir)
	if r.Code != 1 || !strings.HasPrefix(r.message, "step shellscript_run.sh apply exited 1\nshellscript: the configMap key \"config.yaml\" does nothing") {
		t.Errorf("exit %d, message %q", r.Code, r.message)
	}
}

// TestAgentIsSmall: it runs on every host of a cluster, beside the workload.
func TestAgentIsSmall(t *testing.T) {
	info, err := os.Stat(agentBinary)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > 5<<20 {
		t.Errorf("the binary has %d bytes", info.Size())
	}
	h := newHost(t)
	h.installShellscript(map[string]string{"apply.sh": "head -c 50000000 /dev/zero; read -r < /tmp/hold || true"})
	h.Must(syscall.Mknod(h.Path("/dev/zero"), syscall.S_IFCHR|0o666, 1<<8|5))
	h.Must(syscall.Mkfifo(h.Path("/tmp/hold"), 0o600))
	cmd := h.command("apply", h.Root, copyDir)
	h.Must(cmd.Start())
	// Opens when the script does, behind its output.
	hold, err := os.OpenFile(h.Path("/tmp/hold"), os.O_WRONLY, 0)
	h.Must(err)
	peak := peakMemory(t, cmd.Process.Pid)
	h.Must(hold.Close())
	h.Must(cmd.Wait())
	if peak > 20<<10 {
		t.Errorf("peak memory %d KiB", peak)
	}
	t.Logf("binary %d bytes, peak memory %d KiB", info.Size(), peak)
}

// peakMemory is the most that a running process has had in memory, in KiB. What
// the system says after its end is no good: it counts in the test, of which the
// process was a copy before it became the agent.
func peakMemory(t *testing.T, pid int) (peak int) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	if _, err := fmt.Sscanf(after, "%d kB", &peak); err != nil {
		t.Fatalf("no VmHWM in\n%s", status)
	}
	return peak
}

// BenchmarkApply is the agent's time for a package with one step.
func BenchmarkApply(b *testing.B) {
	h := newHost(b)
	h.installShellscript(demo)
	for b.Loop() {
		if err := h.command("apply", h.Root, copyDir).Run(); err != nil {
			b.Fatal(err)
		}
	}
}
