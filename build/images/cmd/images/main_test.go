//go:build integration

package main

import (
	"strings"
	"testing"
)

func TestWrongPlatform(t *testing.T) {
	if err := run(t.Context(), []string{"-platform", "a/b/c/d"}, t.Output(), t.Output()); err == nil || !strings.Contains(err.Error(), "flag -platform") {
		t.Errorf("got %v", err)
	}
}
