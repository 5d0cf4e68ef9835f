package agent

import (
	"io"

	"github.com/skyhook-operator/skyhook/internal/agent/steplog"
	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

// output carries a step's two streams to where they go.
type output struct {
	stdout, stderr io.Writer
	tail           *steplog.Tail
	closers        []io.Closer
	reap           func()
}

func (s *stage) openOutput(step packagefile.Step, secrets []string) *output {
	tail := steplog.NewTail(maxMessageOutput, secrets)
	outSinks, errSinks := []io.Writer{s.Stdout}, []io.Writer{s.Stderr}
	files := s.openLogs(step)
	if files != nil {
		outSinks, errSinks = append(outSinks, files.Out), append(errSinks, files.Err)
	}
	stdout := steplog.NewStream("[out]", s.BufferLimit, s.now, outSinks...)
	stderr := steplog.NewStream("[err]", s.BufferLimit, s.now, errSinks...)
	outTail, errTail := tail.Writer(), tail.Writer()
	out := &output{
		stdout: io.MultiWriter(stdout, outTail), stderr: io.MultiWriter(stderr, errTail), tail: tail,
		closers: []io.Closer{stdout, stderr, outTail, errTail}, reap: func() {},
	}
	if files != nil {
		out.closers = append(out.closers, files)
		out.reap = func() {
			if err := steplog.Reap(s.logDir(s.pkg), step.Path, steplog.Keep); err != nil {
				s.warn("%v", err)
			}
		}
	}
	return out
}

// openLogs is nil if there are to be no log files. A host that cannot take a
// log, its disk being full for example, may need the step all the more.
func (s *stage) openLogs(step packagefile.Step) *steplog.Files {
	if !s.WriteLogs {
		return nil
	}
	files, err := steplog.Create(s.logDir(s.pkg), step.Path, s.now())
	if err != nil {
		s.warn("step %s runs without log files: %v", step.Path, err)
		return nil
	}
	return files
}

func (o *output) close() {
	for _, c := range o.closers {
		// A full disk must not turn a step that has done its work into a failure.
		_ = c.Close()
	}
	o.reap()
}
