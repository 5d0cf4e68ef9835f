//go:build integration

package kit_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/skyhook-operator/skyhook/test/hostroot"
)

func TestRunRefuses(t *testing.T) {
	r := newOverlayTrial(t)
	r.stage("apply", "true")
	r.save()
	r.put("broken/config.json", "{}")
	r.put("crlf", "#!/bin/sh\r\n")
	others := overlayParent(t)
	r.Must(os.MkdirAll(others+"/full/file", 0o755))
	pkg := r.file("motd")
	used := filepath.Join(others, "used")
	if ran := r.run("run", "--root", r.Root, "--overlay", used, pkg, "apply"); ran.Code != 0 {
		t.Fatal(ran.Stderr)
	}
	for name, c := range map[string]struct {
		args []string
		code int
		want string
	}{
		"nothing":            {nil, 2, "wants a package and a stage, not 0"},
		"no stage":           {[]string{"--root", r.Root, pkg}, 2, "not 1"},
		"too much":           {[]string{"--root", r.Root, pkg, "apply", "config"}, 2, "not 3"},
		"no root":            {[]string{pkg, "apply"}, 2, "--root DIR"},
		"another option":     {[]string{"--rot", "/", pkg, "apply"}, 2, "-rot"},
		"no such stage":      {[]string{"--root", r.Root, pkg, "install"}, 2, `no stage "install"; stages: `},
		"an interrupt":       {[]string{"--root", r.Root, pkg, "interrupt"}, 2, `no stage "interrupt"`},
		"format":             {[]string{"--root", r.Root, "-o", "yaml", pkg, "apply"}, 2, "text or json, not yaml"},
		"name":               {[]string{"--root", r.Root, "--name", "a_b", pkg, "apply"}, 2, "not a_b"},
		"env":                {[]string{"--root", r.Root, "--env", "A", pkg, "apply"}, 2, "want NAME=VALUE"},
		"key":                {[]string{"--root", r.Root, "--configmap", "a/b=" + pkg, pkg, "apply"}, 2, `not "a/b"`},
		"key of dots":        {[]string{"--root", r.Root, "--configmap", "..data=" + pkg, pkg, "apply"}, 2, `not "..data"`},
		"key without a file": {[]string{"--root", r.Root, "--configmap", "key", pkg, "apply"}, 2, "want a folder or KEY=FILE"},
		"key of no file":     {[]string{"--root", r.Root, "--configmap", "a=/nowhere", pkg, "apply"}, 2, "/nowhere: no such file"},
		"no such root":       {[]string{"--root", "/nowhere", pkg, "apply"}, 1, "find the root folder: "},
		"no such package":    {[]string{"--root", r.Root, "/nowhere", "apply"}, 1, "find the package: "},
		"line ends of a key": {
			[]string{"--root", r.Root, "--configmap", "apply.sh=" + r.file("crlf"), pkg, "apply"},
			1,
			"configmaps/apply.sh: line 1 ends with CR",
		},
		"a broken package":    {[]string{"--root", r.Root, r.file("broken"), "apply"}, 1, "the package is not valid"},
		"root in the package": {[]string{"--root", pkg + "/skyhook_dir", pkg, "apply"}, 1, "must not be in the package"},
		"overlay in the package": {
			[]string{"--root", r.Root, "--overlay", pkg + "/try", pkg, "apply"},
			1,
			"/motd/try must not be in the package",
		},
		"overlay with files":     {[]string{"--root", r.Root, "--overlay", others + "/full", pkg, "apply"}, 1, "/full has other files in it"},
		"overlay of another":     {[]string{"--root", r.dir, "--overlay", used, pkg, "apply"}, 1, "has changes of " + r.Root},
		"overlay with a comma":   {[]string{"--root", r.Root, "--overlay", others + "/a,b", pkg, "apply"}, 1, "/a,b has a comma"},
		"root that is no folder": {[]string{"--root", pkg + "/config.json", "--overlay", r.overlay, pkg, "apply"}, 1, "is no folder"},
	} {
		ran := r.run(append([]string{"run"}, c.args...)...)
		if ran.Code != c.code || !strings.Contains(ran.Stderr, c.want) || ran.Stdout != "" {
			t.Errorf("%s: exit %d, want %d and %q\n%s%s", name, ran.Code, c.code, c.want, ran.Stdout, ran.Stderr)
		}
	}
	if _, err := os.Stat(pkg + "/try"); err == nil {
		t.Error("the refused overlay is there")
	}
}

func TestRunHelp(t *testing.T) {
	a := newAuthor(t)
	for _, option := range []string{"--help", "-h"} {
		ran := a.run("run", option)
		if ran.Code != 0 || ran.Stderr != "" || !strings.Contains(ran.Stdout, "Examples:\n  skyhook package run --root / --overlay try") {
			t.Errorf("%s: exit %d\n%s%s", option, ran.Code, ran.Stdout, ran.Stderr)
		}
	}
}

func TestRunNeedsRoot(t *testing.T) {
	r := newTrial(t)
	r.stage("apply", "true")
	r.save()
	r.Must(os.Chmod(filepath.Dir(program), 0o755))
	cmd := r.command(r.arguments("apply")...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if err == nil || cmd.ProcessState.ExitCode() != 1 || !strings.Contains(string(out), "needs root: use sudo") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestRunWarnsOfARootWithoutFolders: a root need not have them all.
func TestRunWarnsOfARootWithoutFolders(t *testing.T) {
	r := newTrial(t)
	r.Must(os.Remove(r.Path("/dev")))
	r.stage("apply", "true")
	if _, ran := r.try("apply"); ran.Code != 0 || !strings.Contains(ran.Stderr, "has no folder /dev: scripts that need it will fail") {
		t.Errorf("exit %d\n%s", ran.Code, ran.Stderr)
	}
}

// script runs a shell script of this machine in a mount namespace of its own.
func script(t *testing.T, text string) (output string, code int) {
	t.Helper()
	cmd := exec.Command("bash", "-euc", text)
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// TestRunOnAnOverlay: the folder with the changes cannot be on an overlay, the
// root can.
func TestRunOnAnOverlay(t *testing.T) {
	r := newOverlayTrial(t)
	r.stage("apply", "echo 1 > /etc/new")
	r.save()
	layers := overlayParent(t)
	// A third overlay on two others is too many for the kernel.
	r.Must(os.CopyFS(filepath.Join(layers, "lower"), os.DirFS(r.Root)))
	mount := fmt.Sprintf("cd %s; mkdir -p upper work merged; mount -t overlay -o lowerdir=lower,upperdir=upper,workdir=work overlay merged; ", layers)
	out, code := script(t, mount+fmt.Sprintf("exec %s package run --root %s --overlay merged/try %s apply", program, r.Root, r.file("motd")))
	if code != 1 || !strings.Contains(out, "is on an overlay itself (as containers are); name a folder on a disk, or below /dev/shm") {
		t.Errorf("exit %d\n%s", code, out)
	}
	out, code = script(t, mount+fmt.Sprintf("exec %s package run --root merged --overlay %s %s apply", program, r.overlay, r.file("motd")))
	if code != 0 || !strings.Contains(out, "created  -rw-r--r--  2  /etc/new\n") {
		t.Errorf("exit %d\n%s", code, out)
	}
}

// TestRunOnThisMachine: with an overlay on its root, the machine's own shell
// is there, and nothing that a script does reaches the machine.
func TestRunOnThisMachine(t *testing.T) {
	r := newOverlayTrial(t)
	r.Root = "/"
	probe := "/etc/skyhook-tryout-probe"
	r.stage("apply", "echo 1 > "+probe)
	report := r.pass("apply")
	r.expectChanges("this run", report.Changes, "created "+probe)
	if _, err := os.Lstat(probe); err == nil {
		t.Errorf("%s is on the machine", probe)
	}
}

// TestRunOnTheMachineItself: the one who names / without an overlay means it.
func TestRunOnTheMachineItself(t *testing.T) {
	r := newTrial(t)
	uts, err := os.Readlink("/proc/self/ns/uts")
	r.Must(err)
	r.stage("apply", `echo 1 > /etc/new; [ -e /proc/self/status ] && [ "$(readlink /proc/self/ns/uts)" = "`+uts+`" ]`)
	r.save()
	r.Must(syscall.Mknod(r.Path("/dev/null"), syscall.S_IFCHR|0o666, 1<<8|3))
	r.Must(os.CopyFS(r.Path("/motd"), os.DirFS(r.file("motd"))))
	r.Must(hostroot.CopyFile(program, r.Path("/skyhook")))
	out, code := script(t, fmt.Sprintf(`root=%s
mount --bind "$root" "$root"; mount -t proc proc "$root/proc"
exec chroot "$root" /skyhook package run --root / /motd apply`, r.Root))
	if code != 0 || !strings.Contains(out, "changed by this run:\n  created  -rw-r--r--  2  /etc/new\nnot listed:") {
		t.Errorf("exit %d\n%s", code, out)
	}
}

// running is a trial at work.
type running struct {
	*exec.Cmd
	output *bufio.Reader
	rest   *bytes.Buffer
}

// begin starts a trial, in a process group as a shell would, and waits for the
// step's word.
func (r *trial) begin(mode, word string) *running {
	r.T.Helper()
	r.save()
	cmd := r.command(r.arguments(mode)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	pipe, err := cmd.StdoutPipe()
	r.Must(err)
	run := &running{Cmd: cmd, output: bufio.NewReader(pipe), rest: &bytes.Buffer{}}
	r.Must(cmd.Start())
	for {
		line, err := run.output.ReadString('\n')
		if err != nil {
			r.T.Fatalf("no %q: %v", word, err)
		}
		if strings.Contains(line, word) {
			return run
		}
	}
}

func (r *running) end() (code int, output string) {
	_, _ = io.Copy(r.rest, r.output)
	_ = r.Wait()
	return r.ProcessState.ExitCode(), r.rest.String()
}

const untilStopped = `trap 'echo stopped > /etc/stopped; exit 1' TERM
while true; do sleep 600 & echo waiting; wait $!; done`

// TestRunIsStopped: by Ctrl-C, which the whole group gets, or by a signal to
// the command alone. Either reaches the step, and there is a report.
func TestRunIsStopped(t *testing.T) {
	for name, signal := range map[string]func(pid int) error{
		"Ctrl-C":  func(pid int) error { return syscall.Kill(-pid, syscall.SIGINT) },
		"SIGTERM": func(pid int) error { return syscall.Kill(pid, syscall.SIGTERM) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newOverlayTrial(t)
			r.stage("apply", untilStopped)
			run := r.begin("apply", "waiting")
			r.Must(signal(run.Process.Pid))
			code, output := run.end()
			if code != 1 || !strings.Contains(output, "apply FAILED with exit code 143") || !strings.Contains(output, "apply-check was not run\n") ||
				!strings.Contains(output, "created  -rw-r--r--  8  /etc/stopped\n") {
				t.Errorf("exit %d\n%s", code, output)
			}
			r.expectNothingLeft()
		})
	}
}

// TestRunIsKilled: then the kernel ends everything else.
func TestRunIsKilled(t *testing.T) {
	r := newOverlayTrial(t)
	r.stage("apply", "trap '' TERM INT HUP; sleep 600 & echo waiting; wait")
	run := r.begin("apply", "waiting")
	r.Must(run.Process.Kill())
	run.end()
	r.expectNothingLeft()
	r.stage("apply", "echo 1 > /etc/new")
	r.expectChanges("the next run", r.pass("apply").Changes, "created /etc/new")
}

// TestRunLeavesNothingRunning: neither mounts nor a step's children.
func TestRunLeavesNothingRunning(t *testing.T) {
	for name, body := range map[string]string{
		"done":   "sleep 600 > /dev/null 2>&1 &",
		"failed": "sleep 600 > /dev/null 2>&1 & exit 1",
	} {
		t.Run(name, func(t *testing.T) {
			r := newOverlayTrial(t)
			r.stage("apply", body)
			r.try("apply")
			r.expectNothingLeft()
		})
	}
}

// TestRunInUse: two runs on one overlay would each undo what the other sees.
func TestRunInUse(t *testing.T) {
	r := newOverlayTrial(t)
	r.stage("apply", untilStopped)
	run := r.begin("apply", "waiting")
	second := r.run(r.arguments("apply")...)
	r.Must(run.Process.Signal(syscall.SIGTERM))
	run.end()
	if second.Code != 1 || !strings.Contains(second.Stderr, "is in use by another run") {
		t.Errorf("exit %d\n%s", second.Code, second.Stderr)
	}
}

// expectNothingLeft waits until no process has the overlay mounted: mounts of
// a namespace are there as long as one of its processes.
func (r *trial) expectNothingLeft() {
	r.T.Helper()
	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for left := r.mountedIn(); len(left) > 0; left = r.mountedIn() {
		select {
		case <-deadline:
			r.T.Fatalf("%s is still mounted for %q", r.overlay, left)
		case <-tick.C:
		}
	}
}

func (r *trial) mountedIn() []string {
	r.T.Helper()
	tables, err := filepath.Glob("/proc/[0-9]*/mountinfo")
	r.Must(err)
	var left []string
	for _, table := range tables {
		if raw, err := os.ReadFile(table); err == nil && strings.Contains(string(raw), r.overlay) {
			left = append(left, table)
		}
	}
	return left
}
