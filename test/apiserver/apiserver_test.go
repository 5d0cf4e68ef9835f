package apiserver

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestMissingAssetsAreNamed(t *testing.T) {
	partial := t.TempDir()
	if err := os.WriteFile(filepath.Join(partial, "etcd"), nil, 0o700); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct{ dir, want string }{
		"unset":       {"", "KUBEBUILDER_ASSETS is not set: point it to a folder"},
		"no folder":   {filepath.Join(partial, "missing"), "lacks etcd"},
		"one of them": {partial, "lacks kube-apiserver"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if err := checkAssets(tt.dir); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}
