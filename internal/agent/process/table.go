package process

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// Table reads what the kernel tells of processes. It has a directory instead
// of a path, as libraries want it: the agent leaves its own /proc behind when
// it enters the root of a host. The zero value knows nothing.
type Table struct{ Root *os.Root }

// Member is a process of a group.
type Member struct {
	PID int
	// State is a letter, as ps prints it: "D" waits for a device or a file
	// system, and cannot be killed meanwhile; "?" is not known.
	State string
	// Command is the command line.
	Command string

	// start is the time of its begin, in clock ticks since the boot.
	start          uint64
	group, session int
}

// Group names a process group so that it is not taken for a later one of the
// same number.
type Group struct {
	ID      int    `json:"id"`
	Start   uint64 `json:"start"`
	Session int    `json:"session"`
	Boot    string `json:"boot"`
}

// Identify names the group that a process leads; false if it is not there.
func (t Table) Identify(leader int) (Group, bool) {
	m, there := t.look(leader)
	return Group{ID: leader, Start: m.start, Session: m.session, Boot: t.boot()}, there && m.group == leader
}

// Living are the processes of the group that have not ended.
func (t Table) Living(g Group) []Member {
	if g.Boot != t.boot() {
		return nil
	}
	// The number of a group is not given away as long as it has members.
	if leader, there := t.look(g.ID); there && leader.start != g.Start {
		return nil
	}
	members := t.members(g.ID)
	for _, m := range members {
		if m.session != g.Session {
			return nil
		}
	}
	return members
}

// Kill ends all processes of the group, if the kernel lets it.
func (t Table) Kill(g Group) {
	if len(t.Living(g)) > 0 {
		_ = syscall.Kill(-g.ID, syscall.SIGKILL)
	}
}

func (t Table) members(group int) (members []Member) {
	if t.Root == nil {
		return nil
	}
	dir, err := t.Root.Open(".")
	if err != nil {
		return nil
	}
	defer func() { _ = dir.Close() }()
	// Those that end meanwhile are none to care about.
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if m, there := t.look(pid); there && m.group == group {
			members = append(members, m)
		}
	}
	return members
}

// look reads one process; false if it has ended.
func (t Table) look(pid int) (m Member, there bool) {
	stat, err := t.read(strconv.Itoa(pid) + "/stat")
	if err != nil {
		return Member{}, false
	}
	// "PID (NAME) STATE ...": the name may hold anything. See proc(5).
	open, end := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if open < 0 || end < open {
		return Member{}, false
	}
	fields := strings.Fields(string(stat[end+1:]))
	const state, group, session, start = 0, 2, 3, 19
	if len(fields) <= start {
		return Member{}, false
	}
	m = Member{PID: pid, State: fields[state], Command: t.command(pid)}
	if m.Command == "" {
		m.Command = "[" + string(stat[open+1:end]) + "]"
	}
	m.group, _ = strconv.Atoi(fields[group])
	m.session, _ = strconv.Atoi(fields[session])
	m.start, _ = strconv.ParseUint(fields[start], 10, 64)
	ended := m.State == "Z" || m.State == "X" || m.State == "x"
	return m, !ended
}

func (t Table) command(pid int) string {
	raw, _ := t.read(strconv.Itoa(pid) + "/cmdline")
	return strings.TrimSpace(strings.ReplaceAll(string(raw), "\x00", " "))
}

func (t Table) boot() string {
	raw, _ := t.read("sys/kernel/random/boot_id")
	return strings.TrimSpace(string(raw))
}

func (t Table) read(name string) ([]byte, error) {
	if t.Root == nil {
		return nil, os.ErrNotExist
	}
	return t.Root.ReadFile(name)
}
