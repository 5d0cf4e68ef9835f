package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skyhook-operator/skyhook/internal/cli"
)

// TestNames runs the program under each name that it is installed by.
func TestNames(t *testing.T) {
	for _, tt := range []struct {
		program string
		args    []string
		printed string
	}{
		{"/usr/bin/skyhook", []string{"why", "--help"}, "Usage:\n  skyhook why [SKYHOOK]"},
		{"/usr/bin/kubectl-skyhook", []string{"why", "--help"}, "Usage:\n  kubectl skyhook why [SKYHOOK]"},
		{`kubectl-skyhook.exe`, []string{"help", "node", "safe"}, "Usage:\n  kubectl skyhook node safe NODE"},
		{"kubectl_complete-skyhook", []string{"unins"}, "uninstall\tUninstall a package"},
	} {
		root := cli.Root("1.2.3", time.Now)
		root.SetArgs(asCalled(root, tt.program, slices.Clone(tt.args)))
		var out bytes.Buffer
		root.SetOut(&out)
		root.SetErr(&out)
		if err := root.Execute(); err != nil || !strings.Contains(out.String(), tt.printed) {
			t.Errorf("%s %v: error %v; want %q in\n%s", tt.program, tt.args, err, tt.printed, out.String())
		}
	}
}
