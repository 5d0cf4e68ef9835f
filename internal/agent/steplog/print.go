package steplog

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Choice says which logs to print.
type Choice struct {
	// Package whose logs are wanted, by its name in its config.json; empty for all.
	Package string
	// Before is how many runs of a step lie between the newest and the one that is wanted.
	Before int
}

// logged is one log file.
type logged struct {
	path     string
	modified time.Time
}

var logName = regexp.MustCompile(`^(.+)-\d{4}-\d{2}-\d{2}-\d{6}(-\d+)?\.log$`)

// Print writes one run of each step that has logs below dir, in the order of time: output, then errors. It follows no
// links out of dir, and reads regular files only.
func Print(out io.Writer, dir string, c Choice) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("open the folder of logs: %w", err)
	}
	defer root.Close()
	wanted, err := find(root.FS(), c)
	if err != nil {
		return fmt.Errorf("look for logs: %w", err)
	}
	if len(wanted) == 0 {
		_, err := fmt.Fprintln(out, "no logs are here")
		return err
	}
	for _, l := range wanted {
		for _, name := range []string{l.path, strings.TrimSuffix(l.path, outSuffix) + errSuffix} {
			if err := printFile(out, root, name); err != nil && !errors.Is(err, fs.ErrNotExist) { // a stage may run meanwhile
				return fmt.Errorf("print a log: %w", err)
			}
		}
	}
	return nil
}

// find returns the chosen run of each step, the oldest first.
func find(logs fs.FS, c Choice) ([]logged, error) {
	runs := map[string][]logged{}
	start := cmp.Or(c.Package, ".")
	err := fs.WalkDir(logs, start, func(name string, d fs.DirEntry, err error) error {
		if name == start && errors.Is(err, fs.ErrNotExist) {
			return nil // the package left none
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		step := logName.FindStringSubmatch(d.Name())
		info, err := d.Info()
		if step == nil || err != nil {
			return nil //nolint:nilerr // it has just gone
		}
		key := path.Join(path.Dir(name), step[1])
		runs[key] = append(runs[key], logged{name, info.ModTime()})
		return nil
	})
	var wanted []logged
	for _, of := range runs {
		slices.SortFunc(of, func(a, b logged) int { return -older(a, b) })
		if c.Before < len(of) {
			wanted = append(wanted, of[c.Before])
		}
	}
	slices.SortFunc(wanted, older)
	return wanted, err
}

func older(a, b logged) int {
	return cmp.Or(a.modified.Compare(b.modified), strings.Compare(a.path, b.path))
}

func printFile(out io.Writer, root *os.Root, name string) error {
	file, err := root.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || info.Size() == 0 || !info.Mode().IsRegular() {
		return err
	}
	if _, err := fmt.Fprintf(out, "==> %s <==\n", name); err != nil {
		return err
	}
	_, err = io.Copy(out, file)
	return err
}
