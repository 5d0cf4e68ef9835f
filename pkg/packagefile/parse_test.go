package packagefile_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

// config builds the JSON of a valid package, changed by the edits.
func config(t testing.TB, edits ...func(map[string]any)) []byte {
	t.Helper()
	document := map[string]any{
		"schema_version":        "v1",
		"package_name":          "tuning",
		"package_version":       "1.2.3",
		"expected_config_files": []any{"sysctl.conf"},
		"modes": map[string]any{
			"apply":       []any{step("run.sh")},
			"apply-check": []any{step("run_check.sh")},
		},
	}
	for _, edit := range edits {
		edit(document)
	}
	raw, err := json.Marshal(document)
	must(t, err)
	return raw
}

func step(path string, edits ...func(map[string]any)) map[string]any {
	s := map[string]any{
		"name": "run", "path": path, "arguments": []any{}, "returncodes": []any{0},
		"on_host": true, "idempotence": false, "upgrade_step": false,
	}
	for _, edit := range edits {
		edit(s)
	}
	return s
}

func set(key string, value any) func(map[string]any) {
	return func(m map[string]any) { m[key] = value }
}

func unset(key string) func(map[string]any) {
	return func(m map[string]any) { delete(m, key) }
}

// firstStep edits the first apply step.
func firstStep(edit func(map[string]any)) func(map[string]any) {
	return func(m map[string]any) {
		edit(m["modes"].(map[string]any)["apply"].([]any)[0].(map[string]any))
	}
}

// modes sets all modes.
func modes(m map[string]any) func(map[string]any) { return set("modes", m) }

func TestParse_ValidPackage(t *testing.T) {
	pkg, report := packagefile.Parse(config(t, firstStep(func(s map[string]any) {
		s["arguments"], s["returncodes"] = []any{"a", "env:B"}, []any{0, 2}
		s["env"], s["idempotence"] = map[string]any{"K": "v"}, true
		s["requires_interrupt"] = true
	})))
	must(t, report.Err())
	if len(report.Warnings) != 0 {
		t.Errorf("warnings: %v", report.Warnings)
	}
	if pkg.Name != "tuning" || pkg.Version != "1.2.3" || pkg.ExpectedConfigFiles[0] != "sysctl.conf" {
		t.Errorf("got %+v", pkg)
	}
	got := pkg.Modes[packagefile.Apply][0]
	if got.Path != "run.sh" || got.Arguments[1] != "env:B" || got.Env["K"] != "v" || !got.AlwaysRun || !got.OnHost || got.UpgradeStep {
		t.Errorf("step: %+v", got)
	}
	for code, want := range map[int]bool{0: true, 1: false, 2: true} {
		if got.Accepts(code) != want {
			t.Errorf("Accepts(%d) = %v", code, !want)
		}
	}
	if got.AcceptedCodes() != "0 or 2" {
		t.Errorf("AcceptedCodes() = %q", got.AcceptedCodes())
	}
}

func TestParse_Problems(t *testing.T) {
	tests := map[string]struct {
		raw     []byte
		pointer string
		message string
		fix     string
	}{
		"not JSON":            {[]byte("{\n  \"a\": ]"), "", "line 2, column 8", "JSON syntax"},
		"empty":               {nil, "", "not valid JSON", "JSON syntax"},
		"two documents":       {[]byte("{} {}"), "", "not valid JSON", "JSON syntax"},
		"not an object":       {[]byte("[]"), "", "is a JSON array, not object", "an object"},
		"huge number":         {[]byte(`{"modes": 1e999999999}`), "", "number", "whole numbers"},
		"no schema_version":   {config(t, unset("schema_version")), "/schema_version", "is missing", `"v1"`},
		"bad version":         {config(t, set("schema_version", "v2")), "/schema_version", `"v2"`, `"v1"`},
		"latest":              {config(t, set("schema_version", "latest")), "/schema_version", `"latest"`, `"v1"`},
		"no name":             {config(t, unset("package_name")), "/package_name", "is missing", "name of the package"},
		"empty name":          {config(t, set("package_name", "")), "/package_name", "is empty", "name of the package"},
		"name climbs":         {config(t, set("package_name", "..")), "/package_name", "is not a name", "one path element"},
		"name with slash":     {config(t, set("package_name", "../x")), "/package_name", "contains a slash", "one path element"},
		"name with line":      {config(t, set("package_name", "a\nb")), "/package_name", "control character", "one path element"},
		"name too long":       {config(t, set("package_name", strings.Repeat("x", 201))), "/package_name", "200 bytes", "one path element"},
		"name taken":          {config(t, set("package_name", "START")), "/package_name", "agent uses itself", "one path element"},
		"name looks taken":    {config(t, set("package_name", "apply-check_ALL_CHECKED")), "/package_name", "agent uses itself", ""},
		"name wrong type":     {config(t, set("package_name", 1)), "/package_name", "is a JSON number, not string", "name of the package"},
		"no modes":            {config(t, unset("modes")), "/modes", "is missing", "mode names"},
		"no expected files":   {config(t, unset("expected_config_files")), "/expected_config_files", "is missing", "or []"},
		"expected climbs":     {config(t, set("expected_config_files", []any{"ok", "a/../../b"})), "/expected_config_files/1", "contains '..'", "config map key"},
		"expected absolute":   {config(t, set("expected_config_files", []any{"/etc/passwd"})), "/expected_config_files/0", "absolute", "config map key"},
		"expected empty":      {config(t, set("expected_config_files", []any{""})), "/expected_config_files/0", "is empty", "config map key"},
		"unknown mode":        {config(t, modes(map[string]any{"aply": []any{}, "apply": []any{step("a")}, "apply-check": []any{step("a")}})), "/modes/aply", "not a known key", "apply-check"},
		"mode not a list":     {config(t, modes(map[string]any{"apply": map[string]any{}})), "/modes/apply", "is a JSON object, not array", "list of steps"},
		"step not an object":  {config(t, modes(map[string]any{"apply": []any{"run.sh"}, "apply-check": []any{step("a")}})), "/modes/apply/0", "is a JSON string", "a step"},
		"unknown step key":    {config(t, firstStep(set("return_codes", []any{0}))), "/modes/apply/0/return_codes", "not a known key", "returncodes"},
		"key in another case": {config(t, firstStep(set("Path", "../x"))), "/modes/apply/0/Path", "not a known key", "path"},
		"step name missing":   {config(t, firstStep(unset("name"))), "/modes/apply/0/name", "is missing", "letters, digits"},
		"step name bad":       {config(t, firstStep(set("name", "a b"))), "/modes/apply/0/name", `"a b"`, "letters, digits"},
		"path missing":        {config(t, firstStep(unset("path"))), "/modes/apply/0/path", "is missing", "skyhook_dir"},
		"path empty":          {config(t, firstStep(set("path", ""))), "/modes/apply/0/path", "is empty", "skyhook_dir"},
		"path absolute":       {config(t, firstStep(set("path", "/bin/sh"))), "/modes/apply/0/path", "absolute", "skyhook_dir"},
		"path climbs":         {config(t, firstStep(set("path", "a/../../../bin/sh"))), "/modes/apply/0/path", "contains '..'", "skyhook_dir"},
		"path is the folder":  {config(t, firstStep(set("path", "."))), "/modes/apply/0/path", "is a directory", "skyhook_dir"},
		"path with NUL":       {config(t, firstStep(set("path", "a\x00b"))), "/modes/apply/0/path", "control character", "skyhook_dir"},
		"argument a number":   {config(t, firstStep(set("arguments", []any{"a", 1}))), "/modes/apply/0/arguments/1", "is a JSON number", "a string"},
		"arguments missing":   {config(t, firstStep(unset("arguments"))), "/modes/apply/0/arguments", "is missing", "list of strings"},
		"no return codes":     {config(t, firstStep(set("returncodes", []any{}))), "/modes/apply/0/returncodes", "is empty", "[0]"},
		"broken return code":  {config(t, firstStep(set("returncodes", []any{0.5}))), "/modes/apply/0/returncodes/0", "not integer", "whole number"},
		"not on the host":     {config(t, firstStep(set("on_host", false))), "/modes/apply/0/on_host", "only ever run on the host", "make it true"},
		"on_host missing":     {config(t, firstStep(unset("on_host"))), "/modes/apply/0/on_host", "is missing", "true"},
		"idempotence unknown": {config(t, firstStep(set("idempotence", "auto"))), "/modes/apply/0/idempotence", "is a JSON string", "true if"},
		"env null":            {config(t, firstStep(set("env", nil))), "/modes/apply/0/env", "is a JSON null", "names to strings"},
		"env number":          {config(t, firstStep(set("env", map[string]any{"A": 1}))), "/modes/apply/0/env/A", "is a JSON number", "a string"},
		"env name":            {config(t, firstStep(set("env", map[string]any{"A=B/C~": "x"}))), "/modes/apply/0/env/A=B~1C~0", "not a name", "without '='"},
		"upgrade elsewhere":   {config(t, firstStep(set("upgrade_step", true))), "/modes/apply/0/upgrade_step", "outside the upgrade modes", "upgrade-check"},
		"upgrade with arguments": {config(t, modes(map[string]any{
			"upgrade":       []any{step("a", set("upgrade_step", true), set("arguments", []any{"x"}))},
			"upgrade-check": []any{step("b")},
		})), "/modes/upgrade/0/arguments", "although upgrade_step is true", "make it []"},
		"all lists empty":  {config(t, modes(map[string]any{"apply": []any{}, "apply-check": []any{}})), "/modes", "no mode has any step", "add a step"},
		"no mode at all":   {config(t, modes(map[string]any{})), "/modes", "no mode has any step", "add a step"},
		"only check modes": {config(t, modes(map[string]any{"apply-check": []any{step("a")}})), "/modes", "only check modes", "empty list"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, report := packagefile.Parse(test.raw)
			for _, p := range report.Errors {
				if p.File == packagefile.ConfigFile && p.Pointer == test.pointer &&
					strings.Contains(p.Message, test.message) && strings.Contains(p.Fix, test.fix) {
					return
				}
			}
			t.Errorf("want a problem at %q with %q and the fix %q, got\n%v", test.pointer, test.message, test.fix, report.Err())
		})
	}
}

func TestParse_EveryModeWithStepsNeedsItsCheck(t *testing.T) {
	for _, mode := range packagefile.Modes() {
		if mode.IsCheck() {
			continue
		}
		t.Run(string(mode), func(t *testing.T) {
			alone := map[string]any{string(mode): []any{step("a")}}
			_, report := packagefile.Parse(config(t, modes(alone)))
			if len(report.Errors) != 1 || report.Errors[0].Pointer != "/modes/"+string(mode) {
				t.Errorf("without a check: %v", report.Err())
			}
			alone[string(mode.Check())] = []any{step("b")}
			if _, report := packagefile.Parse(config(t, modes(alone))); report.Err() != nil {
				t.Errorf("with a check: %v", report.Err())
			}
		})
	}
}

func TestParse_CheckWithoutStepsIsFine(t *testing.T) {
	_, report := packagefile.Parse(config(t, modes(map[string]any{"post-interrupt-check": []any{step("a")}, "config": []any{}})))
	if err := report.Err(); err != nil {
		t.Error(err)
	}
}

func TestParse_UpgradeStep(t *testing.T) {
	raw := config(t, modes(map[string]any{
		"upgrade":       []any{step("a", set("upgrade_step", true))},
		"upgrade-check": []any{step("b", set("upgrade_step", true))},
	}))
	if _, report := packagefile.Parse(raw); report.Err() != nil {
		t.Error(report.Err())
	}
}

func TestParse_PackageVersion(t *testing.T) {
	tests := map[string]bool{
		"1.0.0": true, "1.0.0-dev": true, "1.0.0+build1": true, "2024.12.19": true, "1.0.0-rc.1+b.2": true, "0.0.0": true,
		"1.0": false, "a": false, "1.0.0-": false, "1.0.0_": false, "2024.01.01": false, "v1.0.0": false,
		"1.0.0\n": false, "": false, "1.0.0-01": false, "../1.0.0": false, "1.0.0/..": false,
	}
	for version, valid := range tests {
		t.Run(version, func(t *testing.T) {
			_, report := packagefile.Parse(config(t, set("package_version", version)))
			if (report.Err() == nil) != valid {
				t.Errorf("valid = %v, want %v: %v", !valid, valid, report.Err())
			}
		})
	}
}

func TestParse_AllErrorsAtOnce(t *testing.T) {
	raw := config(t, unset("expected_config_files"), set("package_name", "a/b"), set("package_version", "1"), firstStep(func(s map[string]any) {
		s["path"], s["on_host"], s["arguments"] = "../x", false, "none"
		delete(s, "name")
	}))
	_, report := packagefile.Parse(raw)
	want := []string{
		"/expected_config_files", "/modes/apply/0/arguments", "/modes/apply/0/name", "/package_version",
		"/package_name", "/modes/apply/0/path", "/modes/apply/0/on_host",
	}
	var got []string
	for _, p := range report.Errors {
		got = append(got, p.Pointer)
		if p.Fix == "" {
			t.Errorf("no fix: %v", p)
		}
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	message := report.Err().Error()
	if lines := strings.Split(message, "\n"); len(lines) != 1+len(want) || !strings.Contains(lines[0], "7 problems") {
		t.Errorf("one line for each problem: %s", message)
	}
}

func TestParse_InterruptModeIsNotedAndIgnored(t *testing.T) {
	pkg, report := packagefile.Parse(config(t, func(m map[string]any) {
		m["modes"].(map[string]any)["interrupt"] = []any{step("x")}
	}))
	if report.Err() != nil || len(report.Warnings) != 1 || report.Warnings[0].Pointer != "/modes/interrupt" {
		t.Errorf("report: %+v", report)
	}
	if len(pkg.Modes) != 2 {
		t.Errorf("modes: %v", pkg.Modes)
	}
}

func TestParse_UnknownTopLevelKeysAreFine(t *testing.T) {
	pkg, report := packagefile.Parse(config(t, set("root_dir", nil), set("Package_Name", "../evil")))
	if report.Err() != nil || pkg.Name != "tuning" {
		t.Errorf("name %q: %v", pkg.Name, report.Err())
	}
}
