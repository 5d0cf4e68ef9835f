package apiserver

import (
	"os"
	"testing"
)

// TestClosed: only what nobody reads any more ends the tests.
func TestClosed(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if closed(w) {
		t.Error("a pipe that is read is taken for closed")
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if !closed(w) {
		t.Error("a pipe that nobody reads is taken for open")
	}
}
