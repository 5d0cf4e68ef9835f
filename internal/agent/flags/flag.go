package flags

import (
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/skyhook-operator/skyhook/internal/agent/hostfs"
)

// packageKey starts a line of ours after the two that agents in the field write.
const packageKey = "package: "

// flag is the content of a flag's file.
type flag struct {
	// lines are those that agents in the field write, too.
	lines []string
	// packages are the names of the packages for which the step is done; none
	// at all means that it is done for every package made from the image.
	packages []string
}

func readFlag(path string) (f flag, found bool, err error) {
	raw, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return flag{}, false, nil
	}
	if err != nil {
		return flag{}, false, err
	}
	for line := range strings.SplitSeq(string(raw), "\n") {
		if name, ok := strings.CutPrefix(line, packageKey); ok {
			f.packages = append(f.packages, name)
		} else {
			f.lines = append(f.lines, line)
		}
	}
	return f, true, nil
}

// claimedBy are the packages of the flag once the step is done for name, too.
// A flag that an older agent has set stays everybody's.
func (f flag) claimedBy(name string, found bool) []string {
	if name == "" || found && len(f.packages) == 0 {
		return nil
	}
	return append(f.without(name).packages, name)
}

func (f flag) countsFor(name string) bool {
	return name == "" || len(f.packages) == 0 || slices.Contains(f.packages, name)
}

func (f flag) without(name string) flag {
	if name == "" {
		return flag{lines: f.lines}
	}
	rest := slices.DeleteFunc(slices.Clone(f.packages), func(p string) bool { return p == name })
	return flag{lines: f.lines, packages: rest}
}

func (f flag) write(path string) error {
	lines := slices.Clone(f.lines)
	for _, name := range f.packages {
		lines = append(lines, packageKey+name)
	}
	return hostfs.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o644)
}
