//go:build integration

package main

import (
	"strings"
	"testing"
)

func TestWrongPlatform(t *testing.T) {
	c := command()
	c.SetArgs([]string{"images", "--platform", "a/b/c/d"})
	if err := c.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), "flag --platform") {
		t.Errorf("got %v", err)
	}
}
