package state

import (
	"encoding/base64"
	"encoding/json"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

// FuzzMarker: a marker is base64 of printable text, and other arguments have
// another one.
func FuzzMarker(f *testing.F) {
	f.Add("apply", "", 0)
	f.Add("it's", `a"b`, 1)
	f.Add("both'\"", "back\\slash", 255)
	f.Add("new\nline\r\t", "\u200b\x7f\U0001f600", -1)
	f.Add("', '", "a", 0)
	f.Fuzz(func(t *testing.T, one, two string, code int) {
		if !utf8.ValidString(one) || !utf8.ValidString(two) {
			return // JSON holds no such text
		}
		codes := []json.Number{json.Number(strconv.Itoa(code))}
		name := marker(packagefile.Step{Arguments: []string{one, two}, ReturnCodes: codes})
		text, err := base64.StdEncoding.DecodeString(name)
		if err != nil || strings.ContainsAny(string(text), "\n\r\t\x00") || !utf8.Valid(text) {
			t.Errorf("%q, %q: text %q, %v", one, two, text, err)
		}
		for _, other := range [][]string{{two, one}, {one + two}, {one}, {one, two, ""}, {}} {
			same := len(other) == 2 && one == two
			if got := marker(packagefile.Step{Arguments: other, ReturnCodes: codes}); got == name && !same {
				t.Errorf("%q and %q have one marker", []string{one, two}, other)
			}
		}
	})
}

// FuzzPath: whatever package and step passed validation, its flag stays below
// the directory of flags, in names that file systems take.
func FuzzPath(f *testing.F) {
	f.Add("tuning", "run.sh", "apply")
	f.Add("..", "../../etc/passwd", "?>?>?>")
	f.Add("a/b", "/abs", strings.Repeat("x", 300))
	f.Add("START", "sub/./run.sh", "")
	f.Add("tuning", "a//b", "\x00")
	f.Fuzz(func(t *testing.T, name, path, argument string) {
		raw, err := json.Marshal(map[string]any{
			"schema_version": "v1", "package_name": name, "package_version": "1.0.0", "expected_config_files": []string{},
			"modes": map[string]any{"apply": []any{fuzzStep(path, argument)}, "apply-check": []any{fuzzStep("c.sh", "")}},
		})
		must(t, err)
		pkg, report := packagefile.Parse(raw)
		if report.Err() != nil {
			return
		}
		step := pkg.Modes[packagefile.Apply][0]
		flag := Dir{Path: "/h"}.Flag(pkg, step)
		inside, err := filepath.Rel(filepath.Join("/h/flags", pkg.Name, "1.0.0"), flag)
		if err != nil || !filepath.IsLocal(inside) || filepath.Clean(flag) != flag {
			t.Errorf("package %q, step %q: flag %q", name, path, flag)
		}
		for element := range strings.SplitSeq(flag, "/") {
			if len(element) > 255 {
				t.Errorf("package %q, step %q: %d bytes in one element", name, path, len(element))
			}
		}
		if script := filepath.Join("/copy", packagefile.StepDir, step.Path); !strings.HasPrefix(script, "/copy/skyhook_dir/") {
			t.Errorf("step %q is the script %q", path, script)
		}
	})
}

func fuzzStep(path, argument string) map[string]any {
	return map[string]any{
		"name": "s", "path": path, "arguments": []string{argument}, "returncodes": []int{0},
		"on_host": true, "idempotence": false, "upgrade_step": false,
	}
}
