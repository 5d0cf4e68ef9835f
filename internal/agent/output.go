package agent

import (
	"io"

	"github.com/skyhook-operator/skyhook/internal/agent/steplog"
)

// output carries the two streams of a command to where they go.
type output struct {
	stdout, stderr io.Writer
	// tail is the end of both, without secrets.
	tail  *steplog.Tail
	files *steplog.Files
	// log is the log on the host of the first stream; nil without.
	log     io.Writer
	closers []io.Closer
	reap    func()
}

// openOutput makes log files below dir, called after name, unless they are
// turned off.
func (a *agent) openOutput(dir, name string, secrets []string) *output {
	out := &output{tail: steplog.NewTail(maxMessageOutput), files: a.openLogs(dir, name), reap: func() {}}
	var outSinks, errSinks []io.Writer
	if out.files != nil {
		out.log = steplog.NewCapped(out.files.Out, a.LogLimit)
		outSinks, errSinks = append(outSinks, out.log), append(errSinks, steplog.NewCapped(out.files.Err, a.LogLimit))
		out.reap = func() {
			if err := out.files.Reap(steplog.Keep); err != nil {
				a.warn("%v", err)
			}
		}
	}
	// Last: the container's output is the one that may make it wait.
	stdout := steplog.NewStream("[out]", a.BufferLimit, a.now, append(outSinks, a.Stdout)...)
	stderr := steplog.NewStream("[err]", a.BufferLimit, a.now, append(errSinks, a.Stderr)...)
	// The message goes further than the logs: it hides arguments as well.
	all := steplog.NewSecrets(append(secrets, a.secretValues()...))
	out.stdout = out.masked(all, out.tail.Writer(), a.secrets, stdout)
	out.stderr = out.masked(all, out.tail.Writer(), a.secrets, stderr)
	return out
}

// masked carries one stream to the tail and to the logs, each without what it
// must not show.
func (o *output) masked(
	inTail steplog.Secrets, tail io.WriteCloser, inLogs steplog.Secrets, logs io.WriteCloser,
) io.Writer {
	toTail, toLogs := inTail.Masking(tail), inLogs.Masking(logs)
	// In this order: what was held back comes before the end of a line.
	o.closers = append(o.closers, toTail, tail, toLogs, logs)
	return io.MultiWriter(toTail, toLogs)
}

// openLogs is nil if there are to be no log files. A host that cannot take a
// log, its disk being full for example, may need the command all the more.
func (a *agent) openLogs(dir, name string) *steplog.Files {
	if !a.WriteLogs {
		return nil
	}
	files, err := steplog.Create(dir, name, a.now())
	if err != nil {
		a.warn("%s runs without log files: %v", name, err)
		return nil
	}
	return files
}

// head puts a line of the agent's own at the start of the log.
func (o *output) head(line string) {
	if o.log != nil {
		_, _ = io.WriteString(o.log, line+"\n")
	}
}

func (o *output) close() {
	for _, c := range o.closers {
		// A full disk must not turn work that is done into a failure.
		_ = c.Close()
	}
	if o.files != nil {
		_ = o.files.Close()
	}
	o.reap()
}
