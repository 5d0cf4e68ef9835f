package agent

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/skyhook-operator/skyhook/internal/agent/steplog"
	"github.com/skyhook-operator/skyhook/internal/text"
)

const (
	// maxMessageOutput bounds the output in a message, in bytes. The kubelet
	// takes 4 KiB per container and 12 KiB per pod.
	maxMessageOutput = 2 << 10
	maxSentence      = 1 << 10
)

// stepError is a command that ran and did not succeed.
type stepError struct {
	sentence string
	code     int
	// output is the end of what the step printed, without secrets.
	output string
	cause  error
	// logs are the log files of the run; nil without.
	logs *steplog.Files
}

func (e *stepError) Error() string { return e.sentence }
func (e *stepError) Unwrap() error { return e.cause }

// checksError are several checks that failed in one mode.
type checksError struct {
	failures []error
}

func (e *checksError) Error() string {
	sentences := make([]string, len(e.failures))
	for i, failure := range e.failures {
		sentences[i] = failure.Error()
	}
	return fmt.Sprintf("%d checks failed: %s", len(e.failures), strings.Join(sentences, "; "))
}

func (e *checksError) Unwrap() []error { return e.failures }

// maskedError is an error whose text may hold a secret, such as the command
// line of a process.
type maskedError struct {
	error
	secrets steplog.Secrets
}

func (e maskedError) Error() string { return e.secrets.Mask(e.error.Error()) }
func (e maskedError) Unwrap() error { return e.error }

// outputOf collects the last lines that explain an error.
func outputOf(err error) string {
	var several *checksError
	if errors.As(err, &several) {
		var parts []string
		for _, failure := range several.failures {
			if part := outputOf(failure); part != "" {
				parts = append(parts, part)
			}
		}
		return strings.Join(parts, "\n")
	}
	var failed *stepError
	if errors.As(err, &failed) {
		return failed.output
	}
	return ""
}

// messageFile is where Kubernetes looks for a container's last words; nil
// inside means there is none.
type messageFile struct {
	file *os.File
}

// openMessage opens the file. The default one is made by the kubelet, so that
// outside a pod none appears; one that was asked for is created.
func openMessage(name string) messageFile {
	mode := os.O_WRONLY | os.O_TRUNC
	if name != defaultMessageFile {
		mode |= os.O_CREATE
	}
	file, err := os.OpenFile(name, mode, 0o644)
	if err != nil {
		return messageFile{}
	}
	return messageFile{file}
}

// write puts one sentence first, then the last lines of output.
func (m messageFile) write(err error) {
	if m.file == nil {
		return
	}
	message := strings.ToValidUTF8(err.Error(), "\uFFFD")
	if len(message) > maxSentence {
		message = text.Prefix(message, maxSentence) + " [...]"
	}
	if output := outputOf(err); output != "" {
		message += "\n" + steplog.LastBytes(output, maxMessageOutput)
	}
	// The same text has gone to the container's log.
	_, _ = m.file.WriteString(message)
}

func (m messageFile) close() {
	if m.file != nil {
		_ = m.file.Close()
	}
}
