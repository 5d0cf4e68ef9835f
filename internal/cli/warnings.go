package cli

import (
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

// warnings are what the API server warns of. Each is printed once, as kubectl does, unless a command keeps them.
type warnings struct {
	mu sync.Mutex
	// out is nil while they are kept.
	out  io.Writer
	list []string
}

// HandleWarningHeader takes the text of a Warning header.
func (w *warnings) HandleWarningHeader(code int, _, message string) {
	const warn = 299 // the only code that Kubernetes uses
	w.mu.Lock()
	defer w.mu.Unlock()
	if code != warn || message == "" || slices.Contains(w.list, message) {
		return
	}
	w.list = append(w.list, message)
	if w.out != nil {
		fmt.Fprintln(w.out, "Warning: "+packagefile.PrintableLines(message))
	}
}

// during keeps what comes while f runs, and returns it.
func (w *warnings) during(f func()) []string {
	set := func(out io.Writer, list []string) (before io.Writer, kept []string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		before, kept = w.out, w.list
		w.out, w.list = out, list
		return before, kept
	}
	out, list := set(nil, nil)
	f()
	_, kept := set(out, list)
	return kept
}
