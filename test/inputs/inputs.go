// Package inputs tells the go command which files of the repository the programs read that a test runs. It takes the
// result of a test from its cache as long as all files are the same that the test itself opened, while tests run: what
// TestMain opens before counts for nothing.
package inputs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Files names files, and all that is in folders.
func Files(names ...string) error {
	for _, name := range names {
		err := filepath.WalkDir(name, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() {
				return err
			}
			file, err := os.Open(path)
			if err != nil {
				return err
			}
			return file.Close()
		})
		if err != nil {
			return fmt.Errorf("name the inputs of a test: %w", err)
		}
	}
	return nil
}

// Build compiles a program of cmd/ as a release does, and names its sources. Its version is 1.2.3-test.
func Build(folder, target string, options ...string) error {
	if err := sources(folder, options); err != nil {
		return err
	}
	const flags = "-ldflags=-s -w -X github.com/skyhook-operator/skyhook.linked=1.2.3-test"
	args := append([]string{"build", "-trimpath", "-buildvcs=false", flags, "-o", target}, options...)
	_, err := run(append(args, folder))
	return err
}

// sources names what a program is compiled of, without what other modules have: go.sum says what that is.
func sources(folder string, options []string) error {
	const fields = "-json=Dir,Module,GoFiles,IgnoredGoFiles,SFiles,EmbedFiles"
	out, err := run(append(append([]string{"list", "-deps", fields}, options...), folder))
	if err != nil {
		return err
	}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			Dir    string
			Module struct {
				Main bool
				Dir  string
			}
			// The build constraint of an ignored file may be edited.
			GoFiles, IgnoredGoFiles, SFiles, EmbedFiles []string
		}
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("list the sources of %s: %w", folder, err)
		}
		if !p.Module.Main {
			continue
		}
		tests := func(name string) bool { return strings.HasSuffix(name, "_test.go") }
		names := slices.Concat(p.GoFiles, slices.DeleteFunc(p.IgnoredGoFiles, tests), p.SFiles, p.EmbedFiles)
		if err := read(p.Dir, names); err != nil {
			return err
		}
		if err := read(p.Module.Dir, []string{"go.mod", "go.sum"}); err != nil {
			return err
		}
	}
}

// read names files, and their folders: a file that is added or removed changes the time of its folder.
func read(dir string, names []string) error {
	for _, name := range names {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(filepath.Dir(path)); err != nil {
			return fmt.Errorf("name the inputs of a test: %w", err)
		}
		if err := Files(path); err != nil {
			return err
		}
	}
	return nil
}

func run(args []string) ([]byte, error) {
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w\n%s", args[0], err, stderr.Bytes())
	}
	return out, nil
}
