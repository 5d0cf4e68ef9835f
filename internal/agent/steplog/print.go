package steplog

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
)

// logged is one log file.
type logged struct {
	path     string
	modified time.Time
}

var logName = regexp.MustCompile(`^.+-\d{4}-\d{2}-\d{2}-\d{6}(-\d+)?\.log$`)

// Print writes the logs below dir of a package, by its name in its config.json, or of all where that is empty: in the
// order of time, each with its errors behind it. It follows no links out of dir, and reads regular files only.
func Print(out io.Writer, dir, pkg string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("open the folder of logs: %w", err)
	}
	defer root.Close()
	wanted, err := find(root.FS(), pkg)
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

// find returns all logs, the oldest first.
func find(logs fs.FS, pkg string) ([]logged, error) {
	var found []logged
	start := cmp.Or(pkg, ".")
	err := fs.WalkDir(logs, start, func(name string, d fs.DirEntry, err error) error {
		if name == start && errors.Is(err, fs.ErrNotExist) {
			return nil // the package left none
		}
		if err != nil || !d.Type().IsRegular() || !logName.MatchString(d.Name()) {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return nil //nolint:nilerr // it has just gone
		}
		found = append(found, logged{name, info.ModTime()})
		return nil
	})
	slices.SortFunc(found, older)
	return found, err
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
