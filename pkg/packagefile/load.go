package packagefile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxConfigSize bounds how much of a config.json is read into memory.
const maxConfigSize = 4 << 20

// Load reads the package at the root of fsys and checks it: JSON, schema,
// the rules that span fields, and the files it names.
//
// The package is nil if the report has errors. The error is for trouble with
// reading, not for faults of the package.
func Load(fsys fs.FS) (*Package, Report, error) {
	raw, err := readConfig(fsys)
	if errors.Is(err, fs.ErrNotExist) {
		var report Report
		report.fail("", "add it: every package has one at its root", "the file does not exist")
		return nil, report, nil
	}
	if err != nil {
		return nil, Report{}, err
	}
	pkg, report := Parse(raw)
	if pkg == nil {
		return nil, report, nil
	}
	checkFiles(fsys, pkg, &report)
	if len(report.Errors) > 0 {
		return nil, report, nil
	}
	return pkg, report, nil
}

func readConfig(fsys fs.FS) ([]byte, error) {
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
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
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
