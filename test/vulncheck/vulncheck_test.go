//go:build integration

package vulncheck

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// module has a program that calls strings.Repeat, and does not call strings.Title.
var module = map[string]string{
	"go.mod":          "module example.test/m\n\ngo 1.26\n",
	"cmd/say/main.go": "package main\n\nimport \"strings\"\n\nfunc main() { println(strings.Repeat(\"a\", 2)) }\n",
}

// database of one vulnerability, in one function of the standard library: https://go.dev/doc/security/vuln/database
func database(function string) map[string]string {
	return map[string]string{
		"index/db.json":      `{"modified": "2026-01-01T00:00:00Z"}`,
		"index/modules.json": `[{"path": "stdlib", "vulns": [{"id": "GO-2026-9999", "modified": "2026-01-01T00:00:00Z"}]}]`,
		"ID/GO-2026-9999.json": `{"schema_version": "1.3.1", "id": "GO-2026-9999", "modified": "2026-01-01T00:00:00Z", "published": "2026-01-01T00:00:00Z",
			"summary": "made up", "details": "made up", "database_specific": {"url": "https://example.test/GO-2026-9999"}, "affected": [{"package": {"name": "stdlib", "ecosystem": "Go"},
			"ranges": [{"type": "SEMVER", "events": [{"introduced": "0"}]}],
			"ecosystem_specific": {"imports": [{"path": "strings", "symbols": ["` + function + `"]}]}}]}`,
	}
}

func TestVulncheck(t *testing.T) {
	closed := httptest.NewServer(nil)
	closed.Close()
	for _, test := range []struct {
		name     string
		database string
		code     int
		want     string
	}{
		{"the program calls it", "file://" + write(t, database("Repeat")), 3, "affected by 1 vulnerability"},
		{"the program does not call it", "file://" + write(t, database("Title")), 0, "affected by 0 vulnerabilities"},
		{"no database", closed.URL, 0, "the database " + closed.URL + " cannot be had here"},
	} {
		t.Run(test.name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "../../tools/vulncheck", write(t, module))
			cmd.Env = append(os.Environ(), "GOVULNDB="+test.database, "GOFLAGS=", "GOWORK=off")
			out, err := cmd.CombinedOutput()
			if code := cmd.ProcessState.ExitCode(); code != test.code {
				t.Errorf("exit code %d (%v), want %d\n%s", code, err, test.code, out)
			}
			if !strings.Contains(string(out), test.want) {
				t.Errorf("no %q in\n%s", test.want, out)
			}
		})
	}
}

// write writes files into a folder and returns it.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
