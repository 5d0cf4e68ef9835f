package packagefile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// maxConfigSize bounds how much of a config.json is read into memory.
const maxConfigSize = 4 << 20

// Load reads the package at the root of fsys and checks what the agent needs of
// it: JSON, schema, the rules that span fields, and the files it names. It is
// as lenient as hosts can be with packages that exist; [Lint] is for authors.
//
// The package is nil if the report has errors. The error is for trouble with
// reading, not for faults of the package.
func Load(fsys fs.FS) (*Package, Report, error) {
	return load(fsys, func(*Package, *Report) {})
}

// loadFor is Load for a mode that is about to run. What is wrong elsewhere must
// not keep a package on a host: for an uninstall it is a warning.
func loadFor(fsys fs.FS, mode Mode) (*Package, Report, error) {
	return load(fsys, func(pkg *Package, report *Report) {
		if mode.IsUninstall() {
			report.forgive(beyondUninstall)
			pkg.dropUnsafe()
		}
	})
}

func load(fsys fs.FS, judge func(*Package, *Report)) (*Package, Report, error) {
	_, pkg, report, err := parseConfig(fsys)
	if err != nil || pkg == nil {
		return nil, report, err
	}
	checkFiles(fsys, pkg, &report)
	warnOfModes(fsys, pkg, &report)
	judge(pkg, &report)
	if len(report.Errors) > 0 {
		return nil, report, nil
	}
	return pkg, report, nil
}

// parseConfig reads and parses the config.json; that there is none is a fault
// of the package like any other.
func parseConfig(fsys fs.FS) (raw []byte, pkg *Package, report Report, err error) {
	raw, err = readConfig(fsys)
	if errors.Is(err, fs.ErrNotExist) {
		report.fail("", "add it: every package has one at its root", "the file does not exist")
		return nil, nil, report, nil
	}
	if err != nil {
		return nil, nil, report, err
	}
	pkg, report = Parse(raw)
	return raw, pkg, report, nil
}

func readConfig(fsys fs.FS) ([]byte, error) {
	// A named pipe would have us wait for its content.
	if info, err := fs.Stat(fsys, ConfigFile); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file; make it one", ConfigFile)
	}
	file, err := fsys.Open(ConfigFile)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", ConfigFile, err)
	}
	defer func() { _ = file.Close() }()
	raw, err := io.ReadAll(io.LimitReader(file, maxConfigSize+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", ConfigFile, err)
	}
	if len(raw) > maxConfigSize {
		return nil, fmt.Errorf("%s is larger than %d bytes", ConfigFile, maxConfigSize)
	}
	return raw, nil
}

// Parse checks the text of a config.json without looking at any other file.
// The package is returned as far as it could be read, even if the report has
// errors, so that further checks can find more; it is nil if there is none.
func Parse(raw []byte) (*Package, Report) {
	var report Report
	document, err := unmarshal(raw)
	if err != nil {
		report.fail("", "correct the JSON syntax", "not valid JSON%s: %v", positionOf(raw, err), err)
		return nil, report
	}
	if oversized(document) {
		report.fail("", "use whole numbers from 0 to 255", "a number is out of any sensible range")
		return nil, report
	}
	checkSchema(document, &report)
	object, ok := document.(map[string]any)
	if !ok {
		return nil, report
	}
	pkg := decode(object)
	checkNames(pkg, &report)
	checkModes(object, pkg, &report)
	checkSteps(pkg, &report)
	return pkg, report
}

// unmarshal keeps numbers as they are written.
func unmarshal(raw []byte) (document any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if err := decoder.Decode(&document); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("invalid character after top-level value")
	}
	return document, nil
}
