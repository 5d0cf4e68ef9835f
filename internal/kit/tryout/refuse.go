package tryout

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

// beyond are the commands that a trial cannot contain: through what they mount,
// a script has the machine's devices and settings.
var beyond = []struct {
	command *regexp.Regexp
	what    string
}{
	{
		regexp.MustCompile(`\bmount\b.*\s(?:-t|--types)[ =]?(?:devtmpfs|sysfs|debugfs|tracefs|securityfs|configfs|efivarfs|bpf|cgroup2?)\b`),
		"mounts a file system of the kernel",
	},
	{regexp.MustCompile(`\bmount\b.*\bremount\b.*\s/(?:proc|sys|dev)\b`), "makes a folder of the kernel writable"},
}

// uncontained is the first line of a script that has such a command.
func uncontained(content []byte) (line int, what string) {
	lines := bufio.NewScanner(bytes.NewReader(content))
	for number := 1; lines.Scan(); number++ {
		command := strings.TrimSpace(lines.Text())
		if strings.HasPrefix(command, "#") {
			continue
		}
		for _, b := range beyond {
			if b.command.MatchString(command) {
				return number, b.what
			}
		}
	}
	return 0, ""
}

// refuse looks for them in the scripts that would run.
func (t Trial) refuse(pkg *packagefile.Package) error {
	var problems []error
	judge := func(file string, content []byte) {
		if line, what := uncontained(content); line > 0 {
			problems = append(problems, fmt.Errorf("line %d of %s %s, which a trial cannot keep off this machine, so it does "+
				"not begin; try the package in a virtual machine, with --root / and no overlay", line, file, what))
		}
	}
	for _, mode := range t.modes() {
		for _, step := range pkg.Modes[mode] {
			file := filepath.Join(packagefile.StepDir, step.Path)
			content, err := os.ReadFile(filepath.Join(t.Package, file))
			if err != nil {
				return fmt.Errorf("read the package: %w", err)
			}
			judge(file, content)
		}
	}
	for key, content := range t.ConfigMap {
		if filepath.Ext(key) == ".sh" || bytes.HasPrefix(content, []byte("#!")) {
			judge(filepath.Join(packagefile.ConfigMapDir, key), content)
		}
	}
	return errors.Join(problems...)
}
