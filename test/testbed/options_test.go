//go:build linux

package testbed

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOptionDefaults(t *testing.T) {
	cache, state := t.TempDir(), t.TempDir()
	t.Setenv("SKYHOOK_CACHE", cache)
	t.Setenv("TESTBED_STATE", "")
	tests := []struct {
		name, env string
		in        Options
		want      string
	}{
		{"below the cache", "", Options{}, filepath.Join(cache, "testbed-state")},
		{"from the environment", state, Options{}, state},
		{"given", state, Options{State: filepath.Join(cache, "mine")}, filepath.Join(cache, "mine")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("TESTBED_STATE", tt.env)
			got, err := tt.in.withDefaults()
			if err != nil || got.State != tt.want || got.Cache != cache || got.Progress == nil {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

func TestOptionErrors(t *testing.T) {
	for name, o := range map[string]Options{
		"nodes: -1":     {State: "/s", Nodes: -1},
		"nodes: 201":    {State: "/s", Nodes: MaxNodes + 1},
		"TESTBED_STATE": {State: "/" + strings.Repeat("long/", 20)},
	} {
		o.Cache = t.TempDir()
		if _, err := o.withDefaults(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("want an error on %s, got %v", name, err)
		}
	}
}

func TestIDFollowsTheRealFolder(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	id := func(state string) string {
		o := must(Options{State: state, Cache: dir}.withDefaults())(t)
		return o.id()
	}
	// The folder need not exist yet.
	if a, b := id(filepath.Join(dir, "new", "bed")), id(filepath.Join(link, "new", "bed")); a != b {
		t.Errorf("%s and %s for one folder", a, b)
	}
	if a, b := id(filepath.Join(dir, "a")), id(filepath.Join(dir, "b")); a == b {
		t.Errorf("%s for two folders", a)
	}
	if !strings.HasPrefix(id(dir), "skyhook-testbed-") {
		t.Errorf("id %s", id(dir))
	}
}
