//go:build linux && e2e

package testbed

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func itoa(n int) string { return strconv.Itoa(n) }

// machineTraces lists what a cluster could leave on the machine: mounts, named network namespaces, network interfaces
// and control groups of the test's cluster.
func machineTraces(t *testing.T) string {
	t.Helper()
	mounts, err := os.ReadFile("/proc/self/mounts")
	check(t, err)
	traces := []string{string(mounts)}
	for _, argv := range [][]string{{"ip", "netns", "list"}, {"ip", "-o", "link", "show"}} {
		out, err := exec.Command(argv[0], argv[1:]...).Output()
		check(t, err)
		traces = append(traces, linkNames(string(out)))
	}
	group, err := clusterGroup(e2eOptions(t))
	check(t, err)
	for _, dir := range group.dirs() {
		if _, err := os.Stat(dir); err == nil {
			traces = append(traces, dir)
		}
	}
	return strings.Join(traces, "\n")
}

// linkNames drops the counters and flags behind each name.
func linkNames(out string) string {
	var names []string
	for line := range strings.Lines(out) {
		if f := strings.Fields(line); len(f) > 1 {
			names = append(names, f[0]+f[1])
		}
	}
	return strings.Join(names, "\n")
}

// processesOf finds processes by what the control groups do not know: programs and open folders below the state folder.
func processesOf(t *testing.T, o Options) []string {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	check(t, err)
	var left []string
	for _, dir := range dirs {
		cmdline, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		exe, _ := os.Readlink(filepath.Join(dir, "exe"))
		environ, _ := os.ReadFile(filepath.Join(dir, "environ"))
		if strings.Contains(exe, o.State) || bytes.Contains(cmdline, []byte(o.State)) || bytes.Contains(environ, []byte(configVar+"="+o.State)) {
			left = append(left, filepath.Base(dir)+" "+exe)
		}
	}
	return left
}
