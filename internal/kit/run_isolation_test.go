//go:build integration

package kit_test

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// escapes is a step that says what it can reach of the machine. That its word
// "looked" comes shows that it went on to its end.
const escapes = `
for file in /proc/sysrq-trigger /proc/irq/default_smp_affinity /sys/kernel/mm/transparent_hugepage/enabled /dev/probe; do
    # Opened, but nothing is written: it might be the machine's.
    if ( : > $file ) 2> /dev/null; then echo "escaped: $file can be written"; fi
done
if ( : > /sys/fs/cgroup/probe ) 2> /dev/null; then echo "escaped: what is mounted below /sys can be written"; fi
if [ "$(readlink /proc/self/ns/uts)" = "$MACHINE_UTS" ]; then echo "escaped: the machine's name can be changed"; fi
if ! tr '\0' ' ' < /proc/1/cmdline | grep -q run-inside; then echo "escaped: processes of the machine can be killed"; fi
echo probe > /proc/sys/kernel/domainname # a copy
if chmod 600 /dev/null 2> /dev/null; then echo "escaped: the machine's /dev/null can be locked"; fi
echo "devices:" /dev/* "in shm:" $(ls /dev/shm) "in pts:" $(ls /dev/pts)
echo 1 > /dev/null && head -c 8 /dev/zero > /dev/shm/own && exec 3<> /dev/ptmx && [ -c /dev/pts/0 ] && [ -d /sys/kernel ] && echo looked`

const ownDevices = "devices: /dev/fd /dev/full /dev/null /dev/ptmx /dev/pts /dev/random /dev/shm /dev/stderr /dev/stdin /dev/stdout" +
	" /dev/tty /dev/urandom /dev/zero in shm: in pts: ptmx\n"

// TestRunReachesNothingOfTheMachine, whatever the root is, and also by kernels
// that cannot make many mounts read-only at once.
func TestRunReachesNothingOfTheMachine(t *testing.T) {
	onMachine := func(t *testing.T) *trial {
		r := newOverlayTrial(t)
		r.Root = "/"
		return r
	}
	for name, newOne := range map[string]func(t *testing.T) *trial{"a folder": newTrial, "an overlay": newOverlayTrial, "an overlay on the machine": onMachine} {
		for kernel, start := range map[string]func(cmd *exec.Cmd){"this kernel": runCommand, "Linux 5.4": runOnOldKernel} {
			t.Run(name+" on "+kernel, func(t *testing.T) {
				if out := newOne(t).tryEscapes(start); strings.Contains(out, "escaped") || !strings.Contains(out, "looked\n") || !strings.Contains(out, ownDevices) {
					t.Errorf("%s", out)
				}
				if domain, err := os.ReadFile("/proc/sys/kernel/domainname"); err != nil || string(domain) == "probe\n" {
					t.Errorf("the machine's domain name is %q, %v", domain, err)
				}
				for _, file := range []string{"/dev/probe", "/dev/shm/own"} {
					if _, err := os.Lstat(file); err == nil {
						t.Errorf("%s is on the machine", file)
					}
				}
			})
		}
	}
}

// tryEscapes runs the step where /sys has a file system in it that can be
// written, as that of cgroups.
func (r *trial) tryEscapes(start func(cmd *exec.Cmd)) string {
	r.T.Helper()
	uts, err := os.Readlink("/proc/self/ns/uts")
	r.Must(err)
	r.stage("apply", escapes)
	r.save()
	args := r.arguments("apply", "--env", "MACHINE_UTS="+uts)
	cmd := exec.Command("bash", append([]string{"-euc", `mount -t tmpfs probe /sys/fs/cgroup; exec "$@"`, "bash", program, "package"}, args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	start(cmd)
	return out.String()
}

func runCommand(cmd *exec.Cmd) { _ = cmd.Run() }

// runOnOldKernel has the kernel say of mount_setattr that it does not know it.
func runOnOldKernel(cmd *exec.Cmd) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		// The filter is of this thread, which ends with the goroutine.
		runtime.LockOSThread()
		filter := []unix.SockFilter{
			{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS},
			{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: unix.SYS_MOUNT_SETATTR},
			{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
			{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
		}
		program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
		if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0); err != nil {
			_, _ = fmt.Fprintln(cmd.Stdout, "escaped: no filter:", err)
			return
		}
		runCommand(cmd)
	}()
	<-done
}
