package steplog

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

const (
	// Keep is how many logs of one step stay on a host.
	Keep = 5

	outSuffix  = ".log"
	errSuffix  = ".err"
	nameFormat = "2006-01-02-150405"
)

// stamp is what follows "<step>-" in the name of a log: a time, and a counter
// if there was more than one log in that second.
var stamp = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}-\d{6}(-\d+)?$`)

// Files are the two log files of one run of a step.
type Files struct {
	Out, Err *os.File
	// step is the name that the logs of all its runs begin with.
	step string
}

// Create makes new log files for the step below dir, and the directories for
// them. The time is UTC, in seconds; a counter keeps names apart.
func Create(dir, step string, now time.Time) (*Files, error) {
	base := filepath.Join(dir, step) + "-" + now.UTC().Format(nameFormat)
	if err := os.MkdirAll(filepath.Dir(base), 0o755); err != nil {
		return nil, fmt.Errorf("create the log directory: %w", err)
	}
	name := base
	for counter := 1; ; counter++ {
		out, err := create(name + outSuffix)
		if errors.Is(err, os.ErrExist) {
			name = fmt.Sprintf("%s-%d", base, counter)
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("create the log: %w", err)
		}
		errFile, err := os.OpenFile(name+errSuffix, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o640)
		if err != nil {
			_ = out.Close()
			return nil, fmt.Errorf("create the log: %w", err)
		}
		return &Files{Out: out, Err: errFile, step: filepath.Base(step)}, nil
	}
}

func create(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o640)
}

// Close closes both files.
func (f *Files) Close() error {
	return errors.Join(f.Out.Close(), f.Err.Close())
}

// Remove removes both files; without files it does nothing.
func (f *Files) Remove() error {
	if f == nil {
		return nil
	}
	for _, file := range []*os.File{f.Out, f.Err} {
		if err := os.Remove(file.Name()); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove a log: %w", err)
		}
	}
	return nil
}

// Reap removes all but the newest logs of the step, each together with its
// error log, and error logs that have lost theirs. Those of this run stay.
func (f *Files) Reap(keep int) error {
	dir, present := filepath.Dir(f.Out.Name()), strings.TrimSuffix(filepath.Base(f.Out.Name()), outSuffix)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("remove old logs: %w", err)
	}
	runs := runsOf(entries, f.step+"-")
	slices.SortFunc(runs, func(a, b run) int {
		if a.name == present || b.name == present {
			return first(a.name == present)
		}
		if byTime := b.modified.Compare(a.modified); byTime != 0 {
			return byTime
		}
		return strings.Compare(b.name, a.name)
	})
	// Without it the step has removed its own log.
	if len(runs) > 0 && runs[0].name == present {
		if err := f.stampAfter(runs[1:]); err != nil {
			return fmt.Errorf("keep the order of logs: %w", err)
		}
	}
	for _, old := range runs[min(keep, len(runs)):] {
		for _, suffix := range []string{outSuffix, errSuffix} {
			if err := os.Remove(filepath.Join(dir, old.name+suffix)); err != nil && !errors.Is(err, os.ErrNotExist) {
				return fmt.Errorf("remove old logs: %w", err)
			}
		}
	}
	return nil
}

func first(isFirst bool) int {
	if isFirst {
		return -1
	}
	return 1
}

// stampAfter makes this run the newest one by the time of its file as well: a
// clock that jumps back would have it removed before older ones.
func (f *Files) stampAfter(others []run) error {
	info, err := os.Stat(f.Out.Name())
	if err != nil || len(others) == 0 || info.ModTime().After(others[0].modified) {
		return err
	}
	after := others[0].modified.Add(time.Microsecond)
	return os.Chtimes(f.Out.Name(), after, after)
}

// run is one run of a step: name is that of its files without the suffix.
type run struct {
	name     string
	modified time.Time
}

// runsOf finds the runs of a step; one with nothing but an error log counts as
// older than any other.
func runsOf(entries []os.DirEntry, prefix string) []run {
	found := map[string]time.Time{}
	for _, entry := range entries {
		name := entry.Name()
		suffix := filepath.Ext(name)
		base := strings.TrimSuffix(name, suffix)
		rest, ours := strings.CutPrefix(base, prefix)
		if !ours || !stamp.MatchString(rest) {
			continue
		}
		switch suffix {
		case outSuffix:
			if info, err := entry.Info(); err == nil {
				found[base] = info.ModTime()
			}
		case errSuffix:
			if _, ok := found[base]; !ok {
				found[base] = time.Time{}
			}
		}
	}
	runs := make([]run, 0, len(found))
	for name, modified := range found {
		runs = append(runs, run{name, modified})
	}
	return runs
}
