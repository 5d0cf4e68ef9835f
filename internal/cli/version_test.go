package cli

import (
	"bytes"
	"testing"
	"time"
)

// TestVersionNames prints one name in a line, as every read does.
func TestVersionNames(t *testing.T) {
	var out bytes.Buffer
	root := Root("1.2.3", time.Now)
	root.SetOut(&out)
	root.SetArgs([]string{"version", "--client-only", "-o", "name"})
	if err := root.Execute(); err != nil || out.String() != "plugin/1.2.3\n" {
		t.Errorf("error %v, printed %q", err, out.String())
	}
}
