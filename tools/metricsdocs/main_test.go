package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"github.com/skyhook-operator/skyhook/internal/metrics"
)

// TestEverything: the table lacks none of the series that are described.
func TestEverything(t *testing.T) {
	families, err := everything()
	if err != nil {
		t.Fatal(err)
	}
	rows := table(families)
	described := make(chan *prometheus.Desc, 100)
	metrics.NewStore(clock.RealClock{}, "v1").Describe(described)
	metrics.PlanSeconds.Describe(described)
	metrics.CertificateEnd.Describe(described)
	close(described)
	n := 0
	for d := range described {
		n++
		name := regexp.MustCompile(`fqName: "([^"]+)"`).FindStringSubmatch(d.String())[1]
		if strings.Count(rows, "| `"+name+"` |") != 1 {
			t.Errorf("the table has no row of %s, or several", name)
		}
	}
	if n < 30 || len(families) != n {
		t.Errorf("%d rows of %d series", len(families), n)
	}
}

func TestRun(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	for text, want := range map[string]string{
		"# Page\n\n" + begin + "a stale row\n" + end + "\nrest\n": "",
		"# Page\n\n" + begin + "a stale row\n":                    "has no lines",
	} {
		if err := os.WriteFile(page, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		err := run([]string{page}, &out)
		if want != "" {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want one with %q", err, want)
			}
			continue
		}
		got := out.String()
		if err != nil || !strings.HasPrefix(got, "# Page\n\n"+begin+"\n| series |") || !strings.HasSuffix(got, "|\n\n"+end+"\nrest\n") ||
			strings.Contains(got, "stale") {
			t.Errorf("error %v, page:\n%s", err, got)
		}
	}
	if err := run(nil, &strings.Builder{}); err == nil {
		t.Error("no page, no error")
	}
}
