package cli

import (
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

// warned are what the API server warns of, each once.
type warned struct {
	mu sync.Mutex
	// out is where they are told at once; nil for nowhere.
	out io.Writer
	all []string
}

// HandleWarningHeader implements rest.WarningHandler.
func (w *warned) HandleWarningHeader(code int, _ string, sentence string) {
	const miscellaneous = 299 // the only code that an API server sends
	w.mu.Lock()
	defer w.mu.Unlock()
	if code != miscellaneous || sentence == "" || slices.Contains(w.all, sentence) {
		return
	}
	w.all = append(w.all, sentence)
	if w.out != nil {
		fmt.Fprintln(w.out, "Warning: "+packagefile.PrintableLines(sentence))
	}
}
