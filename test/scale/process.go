package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of CPU times in /proc: USER_HZ, which is 100 wherever Go runs on Linux.
const tick = 10 * time.Millisecond

// processes are those that are measured, by name.
type processes map[string]int

// child finds the process of a program that this one has started.
func child(program string) (int, error) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, fmt.Errorf("look for %s: %w", program, err)
	}
	for _, file := range stats {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it ended meanwhile
		}
		name, rest, ok := splitStat(string(text))
		if ok && name == program && rest[1] == strconv.Itoa(os.Getpid()) {
			return strconv.Atoi(filepath.Base(filepath.Dir(file)))
		}
	}
	return 0, fmt.Errorf("no process %s was started", program)
}

// splitStat takes a line of /proc/PID/stat apart: the program, cut by the kernel to 15 bytes, and the fields after it,
// of which the first is the state.
func splitStat(text string) (program string, rest []string, ok bool) {
	open, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return "", nil, false
	}
	rest = strings.Fields(text[end+1:])
	return text[open+1 : end], rest, len(rest) > 13
}

// cpu is the time that a process has used.
func cpu(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("read the CPU time of a process: %w", err)
	}
	_, rest, ok := splitStat(string(text))
	if !ok {
		return 0, fmt.Errorf("process %d has no CPU times: %q", pid, text)
	}
	return ticks(rest[11], rest[12])
}

func ticks(counts ...string) (time.Duration, error) {
	var sum time.Duration
	for _, text := range counts {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read a CPU time: %w", err)
		}
		sum += time.Duration(n) * tick
	}
	return sum, nil
}

func (p processes) usage() (usage, error) {
	u := usage{at: time.Now(), process: map[string]time.Duration{}}
	var err error
	for name, pid := range p {
		if u.process[name], err = cpu(pid); err != nil {
			return u, fmt.Errorf("%s does not run any more; dmesg says if the machine had no memory left: %w", name, err)
		}
	}
	return u, nil
}

// memoryUse of a process, in bytes: what it has in memory, how much of that no file has, and the most that it had since
// resetPeak.
type memoryUse struct{ resident, anonymous, peak int64 }

func memory(pid int) (m memoryUse, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return m, fmt.Errorf("read the memory of a process: %w", err)
	}
	for line := range bytes.Lines(text) {
		for format, to := range map[string]*int64{
			"VmRSS: %d kB": &m.resident, "RssAnon: %d kB": &m.anonymous, "VmHWM: %d kB": &m.peak,
		} {
			var kib int64
			if n, _ := fmt.Sscanf(string(line), format, &kib); n == 1 {
				*to = kib << 10
			}
		}
	}
	return m, nil
}

func resetPeak(pid int) error {
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0); err != nil {
		return fmt.Errorf("reset the peak memory of a process: %w", err)
	}
	return nil
}
