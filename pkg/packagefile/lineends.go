package packagefile

import (
	"io/fs"

	"github.com/skyhook-operator/skyhook/internal/text"
)

// LineEnds adds an error about a script with a [text.CarriageReturn].
func (r *Report) LineEnds(file string, content []byte) {
	if line := text.CarriageReturn(file, content); line > 0 {
		r.failFile(file, text.FixLineEnds, "line %d ends with CR and LF, and the CR counts as part of it", line)
	}
}

// CheckLineEnds adds to a report which scripts that the steps of a package name
// have lines that end with a [text.CarriageReturn]. The package is at a path, as
// [Open] takes it.
func CheckLineEnds(name string) (Report, error) {
	_, report, err := within(name, func(fsys fs.FS) (*Package, Report, error) {
		var report Report
		pkg, _, err := Load(fsys)
		if err != nil || pkg == nil {
			return nil, report, err
		}
		l := linter{fsys: fsys, report: &report, seen: map[string]bool{}}
		pkg.eachScript(func(_, file string, _ Step) {
			if info, err := fs.Stat(fsys, file); err == nil && info.Mode().IsRegular() && !l.seen[file] {
				l.seen[file] = true
				l.lineEnds(file)
			}
		})
		return pkg, report, l.err
	})
	return report, err
}

func (l *linter) lineEnds(file string) {
	content, err := l.beginning(file)
	if err != nil {
		l.err = err
		return
	}
	l.report.LineEnds(file, content)
}
