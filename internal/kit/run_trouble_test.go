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
	others := overlayParent(t)
	r.must(os.MkdirAll(others+"/full/file", 0o755))
	pkg := r.file("motd")
	used := filepath.Join(others, "used")
	if ran := r.run("run", "--root", r.root, "--overlay", used, pkg, "apply"); ran.code != 0 {
		t.Fatal(ran.stderr)
	}
	for name, c := range map[string]struct {
		args []string
		code int
		want string
	}{
		"nothing":             {nil, 2, "wants a package and a stage, not 0"},
		"no stage":            {[]string{"--root", r.root, pkg}, 2, "not 1"},
		"too much":            {[]string{"--root", r.root, pkg, "apply", "config"}, 2, "not 3"},
		"no root":             {[]string{pkg, "apply"}, 2, "--root DIR"},
		"another option":      {[]string{"--rot", "/", pkg, "apply"}, 2, "-rot"},
		"no such stage":       {[]string{"--root", r.root, pkg, "install"}, 2, `no stage "install"; stages: `},
		"an interrupt":        {[]string{"--root", r.root, pkg, "interrupt"}, 2, `no stage "interrupt"`},
		"format":              {[]string{"--root", r.root, "-o", "yaml", pkg, "apply"}, 2, "text or json, not yaml"},
		"name":                {[]string{"--root", r.root, "--name", "a_b", pkg, "apply"}, 2, "not a_b"},
		"env":                 {[]string{"--root", r.root, "--env", "A", pkg, "apply"}, 2, "want NAME=VALUE"},
		"key":                 {[]string{"--root", r.root, "--configmap", "a/b=" + pkg, pkg, "apply"}, 2, `not "a/b"`},
		"key of dots":         {[]string{"--root", r.root, "--configmap", "..data=" + pkg, pkg, "apply"}, 2, `not "..data"`},
		"key without a file":  {[]string{"--root", r.root, "--configmap", "key", pkg, "apply"}, 2, "want a folder or KEY=FILE"},
		"key of no file":      {[]string{"--root", r.root, "--configmap", "a=/nowhere", pkg, "apply"}, 2, "/nowhere: no such file"},
		"no such root":        {[]string{"--root", "/nowhere", pkg, "apply"}, 1, "find the root folder: "},
		"no such package":     {[]string{"--root", r.root, "/nowhere", "apply"}, 1, "find the package: "},
		"a broken package":    {[]string{"--root", r.root, r.file("broken"), "apply"}, 1, "the package is not valid"},
		"root in the package": {[]string{"--root", pkg + "/skyhook_dir", pkg, "apply"}, 1, "must not be in the package"},
		"overlay in the package": {
			[]string{"--root", r.root, "--overlay", pkg + "/try", pkg, "apply"},
			1,
			"/motd/try must not be in the package",
		},
		"overlay with files":     {[]string{"--root", r.root, "--overlay", others + "/full", pkg, "apply"}, 1, "/full has other files in it"},
		"overlay of another":     {[]string{"--root", r.dir, "--overlay", used, pkg, "apply"}, 1, "has changes of " + r.root},
		"overlay with a comma":   {[]string{"--root", r.root, "--overlay", others + "/a,b", pkg, "apply"}, 1, "/a,b has a comma"},
		"root that is no folder": {[]string{"--root", pkg + "/config.json", "--overlay", r.overlay, pkg, "apply"}, 1, "is no folder"},
	} {
		ran := r.run(append([]string{"run"}, c.args...)...)
		if ran.code != c.code || !strings.Contains(ran.stderr, c.want) || ran.stdout != "" {
			t.Errorf("%s: exit %d, want %d and %q\n%s%s", name, ran.code, c.code, c.want, ran.stdout, ran.stderr)
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
		if ran.code != 0 || ran.stderr != "" || !strings.Contains(ran.stdout, "Examples:\n  skyhook package run --root / --overlay try") {
			t.Errorf("%s: exit %d\n%s%s", option, ran.code, ran.stdout, ran.stderr)
		}
	}
}

func TestRunNeedsRoot(t *testing.T) {
	r := newTrial(t)
	r.stage("apply", "true")
	r.save()
	r.must(os.Chmod(filepath.Dir(program), 0o755))
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
	r.must(os.Remove(r.path("/dev")))
	r.stage("apply", "true")
	if _, ran := r.try("apply"); ran.code != 0 || !strings.Contains(ran.stderr, "has no folder /dev: scripts that need it will fail") {
		t.Errorf("exit %d\n%s", ran.code, ran.stderr)
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
	r.must(os.CopyFS(filepath.Join(layers, "lower"), os.DirFS(r.root)))
	mount := fmt.Sprintf("cd %s; mkdir -p upper work merged; mount -t overlay -o lowerdir=lower,upperdir=upper,workdir=work overlay merged; ", layers)
	out, code := script(t, mount+fmt.Sprintf("exec %s package run --root %s --overlay merged/try %s apply", program, r.root, r.file("motd")))
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
	r.root = "/"
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
	r.must(err)
	r.stage("apply", `echo 1 > /etc/new; [ -e /proc/self/status ] && [ "$(readlink /proc/self/ns/uts)" = "`+uts+`" ]`)
	r.save()
	r.must(syscall.Mknod(r.path("/dev/null"), syscall.S_IFCHR|0o666, 1<<8|3))
	r.must(os.CopyFS(r.path("/motd"), os.DirFS(r.file("motd"))))
	r.must(hostroot.CopyFile(program, r.path("/skyhook")))
	out, code := script(t, fmt.Sprintf(`root=%s
mount --bind "$root" "$root"; mount -t proc proc "$root/proc"
exec chroot "$root" /skyhook package run --root / /motd apply`, r.root))
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
	r.t.Helper()
	r.save()
	cmd := r.command(r.arguments(mode)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	pipe, err := cmd.StdoutPipe()
	r.must(err)
	run := &running{Cmd: cmd, output: bufio.NewReader(pipe), rest: &bytes.Buffer{}}
	r.must(cmd.Start())
	for {
		line, err := run.output.ReadString('\n')
		if err != nil {
			r.t.Fatalf("no %q: %v", word, err)
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
			r.must(signal(run.Process.Pid))
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
	r.must(run.Process.Kill())
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
	r.must(run.Process.Signal(syscall.SIGTERM))
	run.end()
	if second.code != 1 || !strings.Contains(second.stderr, "is in use by another run") {
		t.Errorf("exit %d\n%s", second.code, second.stderr)
	}
}

// expectNothingLeft waits until no process has the overlay mounted: mounts of
// a namespace are there as long as one of its processes.
func (r *trial) expectNothingLeft() {
	r.t.Helper()
	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for left := r.mountedIn(); len(left) > 0; left = r.mountedIn() {
		select {
		case <-deadline:
			r.t.Fatalf("%s is still mounted for %q", r.overlay, left)
		case <-tick.C:
		}
	}
}

func (r *trial) mountedIn() []string {
	r.t.Helper()
	tables, err := filepath.Glob("/proc/[0-9]*/mountinfo")
	r.must(err)
	var left []string
	for _, table := range tables {
		if raw, err := os.ReadFile(table); err == nil && strings.Contains(string(raw), r.overlay) {
			left = append(left, table)
		}
	}
	return left
}
