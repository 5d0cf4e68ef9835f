package state

import (
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/skyhook-operator/skyhook/internal/agent/hostfs"
)

// claimKey starts a line of ours after the two that agents in the field write:
// the name of a package and, if known, the copy that the step ran from.
const claimKey = "package: "

// everybody is the name in a claim that counts for each package of the image.
const everybody = "*"

// claim says that the step is done for a package.
type claim struct {
	name string
	// copy is the name of the copy of the package; empty if not known.
	copy string
}

// flag is the content of a flag's file.
type flag struct {
	// lines are those that agents in the field write, too.
	lines  []string
	claims []claim
}

// readFlag reads a flag. One that an agent in the field has set makes no
// claim, and so counts for everybody.
func readFlag(path string) (f flag, found bool, err error) {
	raw, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return flag{}, false, nil
	}
	if err != nil {
		return flag{}, false, err
	}
	for line := range strings.SplitSeq(string(raw), "\n") {
		if text, ok := strings.CutPrefix(line, claimKey); ok {
			name, from, _ := strings.Cut(text, " ")
			f.claims = append(f.claims, claim{name, from})
		} else {
			f.lines = append(f.lines, line)
		}
	}
	if len(f.claims) == 0 {
		f.claims = []claim{{name: everybody}}
	}
	return f, true, nil
}

func (f flag) countsFor(name string) bool {
	return name == "" || slices.ContainsFunc(f.claims, func(c claim) bool {
		return c.name == name || c.name == everybody
	})
}

// claimedBy adds or renews a claim.
func (f flag) claimedBy(c claim) []claim {
	if c.name == "" {
		c.name = everybody
	}
	return append(f.without(c.name), c)
}

func (f flag) without(name string) []claim {
	return slices.DeleteFunc(slices.Clone(f.claims), func(c claim) bool { return c.name == name })
}

// released are the claims of other packages. One for everybody may be
// anybody's, and goes.
func (f flag) released(name string) []claim {
	if name == "" {
		return nil
	}
	return slices.DeleteFunc(f.without(name), func(c claim) bool { return c.name == everybody })
}

func (f flag) write(path string) error {
	lines := slices.Clone(f.lines)
	for _, c := range f.claims {
		if c != (claim{name: everybody}) {
			lines = append(lines, strings.TrimSuffix(claimKey+c.name+" "+c.copy, " "))
		} else if len(f.claims) > 1 {
			lines = append(lines, claimKey+everybody)
		}
	}
	return hostfs.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o644)
}
