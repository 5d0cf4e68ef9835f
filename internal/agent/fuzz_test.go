//go:build integration

package agent

import (
	"slices"
	"strings"
	"testing"

	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

// FuzzArguments: arguments that are no references stay as they are, those that
// are stand for exactly one value each, and a missing variable is named.
func FuzzArguments(f *testing.F) {
	f.Add("plain", "NAME", "value")
	f.Add("env:NAME", "NAME", "line one\nline two")
	f.Add("env:NAMEenv:OTHER", "NAME", "")
	f.Add("env:NONE:-fallback", "NAME", "x")
	f.Add("env:NAME:-", "NAME", "")
	f.Add("env:", "", "x")
	f.Fuzz(func(t *testing.T, argument, name, value string) {
		s := &stage{agent: &agent{env: environ{name: value}}, mode: packagefile.Apply, pkg: &packagefile.Package{}}
		got, secrets, err := s.arguments(packagefile.Step{Path: "s.sh", Arguments: []string{argument, "second"}})
		if err != nil {
			if !strings.HasPrefix(err.Error(), "s.sh: Expected environment variable did not exist: ") || !strings.HasPrefix(argument, "env:") {
				t.Errorf("%q: %v", argument, err)
			}
			return
		}
		if len(got) != 2 || got[1] != "second" {
			t.Fatalf("%q became %q", argument, got)
		}
		reference, isReference := strings.CutPrefix(argument, "env:")
		switch {
		case !isReference && (got[0] != argument || len(secrets) != 0):
			t.Errorf("%q became %q, secrets %q", argument, got[0], secrets)
		case isReference && got[0] != value && !strings.HasSuffix(reference, ":-"+got[0]):
			t.Errorf("%q became %q, with %s=%q", argument, got[0], name, value)
		case isReference && got[0] == value && reference == name && !slices.Contains(secrets, value):
			t.Errorf("%q: its value is not kept secret", argument)
		}
	})
}
