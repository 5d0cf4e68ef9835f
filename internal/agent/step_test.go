//go:build integration

package agent_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/skyhook-operator/skyhook/test/hostroot"
)

const stamp = `\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z `

func TestStepEnvironment(t *testing.T) {
	h := newHost(t)
	h.Env["A"], h.Env["B"], h.Env["C"] = "container", "container", "a=b=c \"quoted\" 'too' $HOME"
	h.Env["EMPTY"], h.Env["SKYHOOK_DIR"], h.Env["STEP_ROOT"] = "", "/wrong", "/wrong"
	h.Env["SKYHOOK_NODE_ORDER"] = "7"
	pem := "-----BEGIN KEY-----\nLINE=1\nX==\n-----END KEY-----\n"
	h.Env["PEM"] = pem
	h.define("apply", h.Script("a.sh", `
		printf '%s|' "$A" "$B" "$C" "${EMPTY-unset}" "$SKYHOOK_NODE_ORDER" "${LINE-unset}" "${OLDPWD-unset}" >/vars
		printf '%s' "$PEM" >/pem
		echo "$STEP_ROOT $SKYHOOK_DIR" >/dirs`).With("env", map[string]string{"B": "step", "STEP_ROOT": "/wrong"}))
	h.succeed("apply")
	if got, want := h.Read("/vars"), `container|step|a=b=c "quoted" 'too' $HOME||7|unset|unset|`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if h.Read("/pem") != pem {
		t.Errorf("multi-line value became %q", h.Read("/pem"))
	}
	if got := h.Read("/dirs"); got != copyDir+"/skyhook_dir "+copyDir+"\n" {
		t.Errorf("directories %q", got)
	}
}

func TestStepFindsTheHostsCommandsAndHome(t *testing.T) {
	tests := map[string]struct {
		path, home, passwd   string
		wantPath, wantedHome string
	}{
		"nothing set":       {"", "", "root:x:0:0:root:/var/root:/bin/sh\n", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "/var/root"},
		"runtime's default": {"/usr/bin:/bin", "/", "", "/usr/bin:/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/sbin", "/root"},
		"set by the user":   {"/opt/bin", "/opt/home", "", "/opt/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "/opt/home"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			for key, value := range map[string]string{"PATH": test.path, "HOME": test.home} {
				delete(h.Env, key)
				if value != "" {
					h.Env[key] = value
				}
			}
			if test.passwd != "" {
				h.Write("/etc/passwd", "daemon:x:1:1:::\n"+test.passwd)
			}
			h.define("apply", h.Script("a.sh", `echo "$PATH" >>/ran; echo "$HOME" >>/ran`))
			h.succeed("apply")
			h.ExpectLines("/ran", test.wantPath, test.wantedHome)
		})
	}
}

func TestRunStepReplacesEnvironmentVariables(t *testing.T) {
	h := newHost(t)
	h.Env["FOO"], h.Env["EMPTY"] = "a b\nc", ""
	h.define("apply", h.Script("a.sh", `printf '%s|' "$@" >/ran`, "env:FOO", "x env:FOO", "env:EMPTY", "env:FOOenv:BAR", "env"))
	h.succeed("apply")
	if got := h.Read("/ran"); got != "a b\nc|x env:FOO||a b\nc|env|" {
		t.Errorf("arguments %q", got)
	}
}

func TestEnvironmentVariablesMayHaveDefaults(t *testing.T) {
	h := newHost(t)
	h.Env["FOO"], h.Env["EMPTY"] = "a b c", ""
	h.define("apply", h.Script("a.sh", `printf '%s|' "$@" >/ran`,
		"env:FOO:-x", "env:NONE:-x y", "env:NONE:-", "env:EMPTY:-x", "env:NONE:-env:FOO", "env:NONE:-a:-b", "env:NONE:-$FOO"))
	h.succeed("apply")
	if got := h.Read("/ran"); got != "a b c|x y||x|env:FOO|a:-b|$FOO|" {
		t.Errorf("arguments %q", got)
	}
	h.define("apply", h.Script("b.sh", `echo "$@ said no"; exit 1`, "env:NONE:-default", "env:FOO:-x"))
	if r := h.fail("apply", "step b.sh env:NONE:-default env:FOO:-x exited 1"); !strings.HasSuffix(r.message, "\ndefault *** said no") {
		t.Errorf("a default is no secret, a value is: %q", r.message)
	}
}

func TestRunStepPrintsAllMissingEnvironmentVariables(t *testing.T) {
	h := newHost(t)
	h.define("apply", h.Script("a.sh", "touch /ran", "env:ONE", "env:PATH", "env:TWO").With("env", map[string]string{"ONE": "not a source"}))
	h.fail("apply", "a.sh: Expected environment variable did not exist: ONE", "a.sh: Expected environment variable did not exist: TWO")
	if h.Has("/ran") {
		t.Error("the step ran")
	}
}

// TestSecretsAreNeverPrinted: not by the agent itself anywhere, and not in the
// message even if the step prints them.
func TestSecretsAreNeverPrinted(t *testing.T) {
	h := newHost(t)
	h.Env["TOKEN"] = "hunter2-hunter2"
	h.define("apply", h.Script("a.sh", `[[ "$1" == hunter2-hunter2 ]] && echo given; exit 5`, "env:TOKEN"))
	r := h.fail("apply", "step a.sh env:TOKEN exited 5")
	all := []string{r.Stdout, r.Stderr, r.message}
	for _, log := range h.find(logsDir + "/shell/1.1.0/*") {
		all = append(all, log, h.Read(log))
	}
	if strings.Contains(strings.Join(all, "\n"), "hunter2") || !strings.Contains(r.Stdout, "given") {
		t.Errorf("output:\n%s", strings.Join(all, "\n"))
	}
	h.define("apply", h.Script("a.sh", `echo "curl -H $1 failed"; exit 5`, "env:TOKEN"))
	if r := h.fail("apply", "exited 5"); r.message != "step a.sh env:TOKEN exited 5\ncurl -H *** failed" {
		t.Errorf("message %q", r.message)
	}
}

func TestTerminationMessageIsBounded(t *testing.T) {
	h := newHost(t)
	h.define("apply", h.Script("a.sh", `for i in $(seq 1 2000); do echo "line $i"; done; printf 'é%.0s' $(seq 1 3000); echo; echo "the reason" >&2; exit 9`))
	r := h.fail("apply", "step a.sh exited 9\n")
	if len(r.message) > 3<<10 || !slices.Contains(strings.Split(r.message, "\n"), "the reason") {
		t.Errorf("%d bytes: %q", len(r.message), r.message)
	}
	h.define("apply", h.Script("a.sh", "exit 1").With("returncodes", []any{0, 2}))
	h.Must(os.Remove(h.Env["SKYHOOK_AGENT_TERMINATION_LOG"]))
	if r := h.fail("apply"); r.message != "step a.sh exited 1 (success would be 0 or 2)" {
		t.Errorf("message %q", r.message)
	}
}

func TestStepLogsAreSentToOutputsAndLogFile(t *testing.T) {
	h := newHost(t)
	h.define("apply", h.Script("sub/a.sh", `echo out; printf 'h\xc3'; sleep 0.05; printf '\xa9llo\n'; echo err >&2; printf 'no end'`))
	r := h.succeed("apply")
	out := regexp.MustCompile(`(?m)^\[out\]` + stamp + `out\n\[out\]` + stamp + `héllo\n\[out\]` + stamp + `no end\n`)
	errs := regexp.MustCompile(`(?m)^\[err\]` + stamp + `err\n`)
	if !out.MatchString(r.Stdout) || !errs.MatchString(r.Stderr) {
		t.Errorf("stdout\n%s\nstderr\n%s", r.Stdout, r.Stderr)
	}
	if !strings.Contains(r.Stdout, "apply sub/a.sh [] [0] Idempotence.Auto True\n") {
		t.Errorf("no announcement in\n%s", r.Stdout)
	}
	logs := h.find(logsDir + "/shell/1.1.0/sub/a.sh-*")
	if len(logs) != 2 || !regexp.MustCompile(`/a\.sh-\d{4}-\d\d-\d\d-\d{6}\.err$`).MatchString(logs[0]) || !strings.HasSuffix(logs[1], ".log") {
		t.Fatalf("logs %q", logs)
	}
	if !whole(errs, h.Read(logs[0])) || !whole(out, h.Read(logs[1])) {
		t.Errorf("files\n%s\n%s", h.Read(logs[0]), h.Read(logs[1]))
	}
}

// whole reports whether the pattern matches all of the text.
func whole(pattern *regexp.Regexp, text string) bool { return pattern.FindString(text) == text }

func TestLargeLinesAreNotSplit(t *testing.T) {
	h := newHost(t)
	h.Env["SKYHOOK_AGENT_BUFFER_LIMIT"] = "100"
	h.define("apply", h.Script("a.sh", `for i in 1 2 3; do head -c 300000 /dev/zero | tr '\0' x; echo; done`))
	// The template has no such device.
	h.Must(syscall.Mknod(h.Path("/dev/zero"), syscall.S_IFCHR|0o666, 1<<8|5))
	h.succeed("apply")
	log := h.Read(h.find(logsDir + "/shell/1.1.0/a.sh-*.log")[0])
	if n := strings.Count(log, "\n"); n != 3 || strings.Count(log, "[out]") != 3 {
		t.Errorf("%d lines", n)
	}
}

// TestReapOldLogs: the log exists before the step runs, a failed run keeps
// its own, and five stay.
func TestReapOldLogs(t *testing.T) {
	h := newHost(t)
	h.define("apply", h.Script("a.sh", `ls `+logsDir+`/shell/1.1.0/a.sh-*.log | wc -l >>/count; exit 1`))
	for range 7 {
		h.fail("apply", "exited 1")
	}
	h.ExpectLines("/count", "1", "2", "3", "4", "5", "6", "6")
	logs, errs := h.find(logsDir+"/shell/1.1.0/a.sh-*.log"), h.find(logsDir+"/shell/1.1.0/a.sh-*.err")
	if len(logs) != 5 || len(errs) != 5 {
		t.Errorf("logs %q, %q", logs, errs)
	}
	for i, log := range logs {
		if strings.TrimSuffix(log, ".log") != strings.TrimSuffix(errs[i], ".err") {
			t.Errorf("%s goes with %s", log, errs[i])
		}
	}
}

// TestLogOfTheRunThatFailedStays, though the clock has jumped back since the
// runs before.
func TestLogOfTheRunThatFailedStays(t *testing.T) {
	h := newHost(t)
	h.define("apply", h.Script("a.sh", `echo "the reason"; exit 1`))
	future := time.Now().Add(24 * time.Hour)
	for i := range 6 {
		log := fmt.Sprintf(logsDir+"/shell/1.1.0/a.sh-2099-01-01-00000%d.log", i)
		h.Write(log, "")
		h.Must(os.Chtimes(h.Path(log), future, future))
	}
	for want := 1; want <= 5; want++ {
		h.fail("apply", "exited 1")
		kept := 0
		for _, log := range h.find(logsDir + "/shell/1.1.0/a.sh-*.log") {
			if strings.HasSuffix(h.Read(log), " the reason\n") {
				kept++
			}
		}
		if kept != want {
			t.Fatalf("after %d runs %d logs of them", want, kept)
		}
	}
}

func TestDontWriteLogs(t *testing.T) {
	for value, written := range map[string]bool{"true": true, "True": true, "false": false, "False": false, "0": false} {
		h := newHost(t)
		h.Env["SKYHOOK_AGENT_WRITE_LOGS"] = value
		h.define("apply", h.Script("a.sh", "echo out"))
		r := h.succeed("apply")
		if h.Has(logsDir) != written || !strings.Contains(r.Stdout, "Z out\n") {
			t.Errorf("%s: logs %v\n%s", value, h.Has(logsDir), r.Stdout)
		}
	}
}

func TestStepRunsWithoutLogsOnAHostThatCannotTakeThem(t *testing.T) {
	h := newHost(t)
	h.Write(logsDir, "a file in the way")
	h.define("apply", h.Script("a.sh", "echo ran >>/ran"))
	if r := h.succeed("apply"); !strings.Contains(r.Stderr, "a.sh runs without log files") {
		t.Errorf("stderr %q", r.Stderr)
	}
	h.ExpectLines("/ran", "ran")
}

func TestScriptIsMadeExecutable(t *testing.T) {
	h := newHost(t)
	h.define("apply", h.Script("a.sh", ""))
	h.succeed("apply")
	info, err := os.Stat(h.Path(copyDir, "skyhook_dir/a.sh"))
	if err != nil || info.Mode().Perm() != fs.FileMode(0o755) {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

// TestBackgroundChildHoldingTheOutputDoesNotBlock also wants it left alone:
// the step may have started a daemon.
func TestBackgroundChildHoldingTheOutputDoesNotBlock(t *testing.T) {
	h := newHost(t)
	h.define("apply", h.Script("a.sh", "sleep 300 & echo $! >/pid"))
	began := time.Now()
	r := h.succeed("apply")
	if took := time.Since(began); took > 60*time.Second {
		t.Errorf("took %v", took)
	}
	if !strings.Contains(r.Stdout, "left a process behind") {
		t.Errorf("stdout:\n%s", r.Stdout)
	}
	pid, err := strconv.Atoi(h.Lines("/pid")[0])
	h.Must(err)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Errorf("the background process is gone: %v", err)
	}
}

// started runs a stage until its step has printed a line.
func (h *host) started(mode string) (cmd *exec.Cmd, wait func() result) {
	h.T.Helper()
	h.Save()
	return h.start(mode, h.Root, copyDir)
}

// start runs the agent until a command on the host has printed a line; the
// function returned waits for the end.
func (h *host) start(args ...string) (cmd *exec.Cmd, wait func() result) {
	h.T.Helper()
	cmd = h.command(args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	h.Must(err)
	h.Must(cmd.Start())
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "[out]") {
	}
	return cmd, func() result {
		var rest strings.Builder
		for lines.Scan() {
			fmt.Fprintln(&rest, lines.Text())
		}
		_ = cmd.Wait()
		return result{hostroot.Result{Code: cmd.ProcessState.ExitCode(), Stdout: rest.String(), Stderr: stderr.String()}, h.message()}
	}
}

func TestSigtermIsForwardedToTheStep(t *testing.T) {
	h := newHost(t)
	h.define("apply", h.Script("a.sh", `trap 'echo cleaned >>/ran; exit 0' TERM; echo ready; while :; do sleep 0.01; done`),
		h.Script("b.sh", "echo b >>/ran"))
	cmd, wait := h.started("apply")
	h.Must(cmd.Process.Signal(syscall.SIGTERM))
	r := wait()
	h.ExpectLines("/ran", "cleaned")
	if r.Code != 143 || !strings.Contains(r.message, "step a.sh exited 0 after the agent was told to stop") {
		t.Errorf("exit %d, message %q", r.Code, r.message)
	}
	if len(h.find(flagsDir+"/*")) != 0 {
		t.Error("a stopped step counts as done")
	}
}

func TestSigtermReachesTheStepsChildren(t *testing.T) {
	h := newHost(t)
	h.define("apply", h.Script("a.sh", `bash -c 'trap "echo child >>/ran; exit" TERM; echo ready; while :; do sleep 0.01; done'; echo not reached >>/ran`))
	cmd, wait := h.started("apply")
	h.Must(cmd.Process.Signal(syscall.SIGTERM))
	if r := wait(); r.Code != 143 || !strings.Contains(r.message, "was killed by SIGTERM") {
		t.Errorf("exit %d, message %q", r.Code, r.message)
	}
	h.ExpectLines("/ran", "child")
}

func TestStepThatIgnoresSigtermIsKilled(t *testing.T) {
	h := newHost(t)
	h.Env["SKYHOOK_AGENT_STOP_SECONDS"] = "0.2"
	h.define("apply-check", h.Script("a.sh", `trap '' TERM; echo ready; while :; do sleep 0.01; done`))
	h.define("apply", h.Script("x.sh", ""))
	cmd, wait := h.started("apply-check")
	h.Must(cmd.Process.Signal(syscall.SIGTERM))
	if r := wait(); r.Code != 143 || !strings.Contains(r.message, "was killed by SIGKILL") {
		t.Errorf("exit %d, message %q", r.Code, r.message)
	}
	if h.Has(stateDir, "flags/check_results") {
		t.Error("a stopped check has a result")
	}
}

// TestReadOnlyContainerWithoutShell runs the agent as its image does: alone in
// a root file system that cannot be written to.
func TestReadOnlyContainerWithoutShell(t *testing.T) {
	h := newHost(t)
	h.define("apply", h.Script("a.sh", "echo ran >>/ran"))
	h.Save()
	image := t.TempDir()
	for _, dir := range []string{"root", "dev"} {
		h.Must(os.Mkdir(filepath.Join(image, dir), 0o755))
	}
	h.Must(hostroot.CopyFile(agentBinary, filepath.Join(image, "skyhook-agent")))
	h.Must(os.WriteFile(filepath.Join(image, "dev/termination-log"), nil, 0o644))
	delete(h.Env, "SKYHOOK_AGENT_TERMINATION_LOG")
	container := fmt.Sprintf("set -e; mount --make-rprivate /; mount --bind %[1]s %[1]s; mount -o remount,bind,ro %[1]s; "+
		"mount --bind %[2]s %[1]s/root; exec /usr/sbin/chroot %[1]s /skyhook-agent \"$@\"", image, h.Root)
	cmd := exec.Command("unshare", "--mount", "sh", "-c", container, "sh", "apply", "/root", copyDir)
	cmd.Env = h.command().Env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	h.ExpectLines("/ran", "ran")
}
