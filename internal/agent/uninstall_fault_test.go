//go:build integration

package agent_test

import (
	"os"
	"strings"
	"testing"
)

// TestUninstallOfAFaultyPackage: only what an uninstall uses must be right.
func TestUninstallOfAFaultyPackage(t *testing.T) {
	tests := map[string]struct {
		fault func(h *host, modes map[string]any)
		want  string
	}{
		"a script of another mode is missing": {func(h *host, _ map[string]any) {
			h.Must(os.Remove(h.Path(copyDir, "skyhook_dir/a.sh")))
		}, "a.sh does not exist in the package"},
		"a step of another mode is malformed": {func(_ *host, modes map[string]any) {
			modes["config"] = []any{map[string]any{"path": 7, "nonsense": true}}
		}, "/modes/config"},
		"a path of another mode leads out": {func(h *host, modes map[string]any) {
			modes["config"] = []any{h.Script("x.sh", "").With("path", "../../../keep")}
		}, "contains '..'"},
		"another mode has no check": {func(h *host, modes map[string]any) {
			modes["config"] = []any{h.Script("x.sh", "")}
			delete(modes, "config-check")
		}, "nothing checks them"},
		"a mode that nobody knows": {func(_ *host, modes map[string]any) { modes["aply"] = []any{} }, "aply"},
		"a name of a config file":  {func(h *host, _ map[string]any) { h.Config["expected_config_files"] = []any{"../x"} }, "contains '..'"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			h.define("apply", h.Script("a.sh", ""))
			h.define("uninstall", h.Script("u.sh", "echo u >>/ran"))
			h.define("uninstall-check", h.Script("c.sh", "echo c >>/ran"))
			h.succeed("apply")
			test.fault(h, h.Config["modes"].(map[string]any))
			h.fail("apply", test.want)
			h.Must(os.Remove(h.Env["SKYHOOK_AGENT_TERMINATION_LOG"]))
			for _, mode := range []string{"uninstall", "uninstall-check"} {
				if r := h.succeed(mode); !strings.Contains(r.Stderr, test.want) {
					t.Errorf("%s does not warn:\n%s", mode, r.Stderr)
				}
			}
			h.ExpectLines("/ran", "u", "c")
			if h.Has(flagsDir, "a.sh"+flagNoArgs) {
				t.Error("the flag is left")
			}
		})
	}
}

// TestUninstallThatIsFaultyItself fails.
func TestUninstallThatIsFaultyItself(t *testing.T) {
	h := newHost(t)
	h.define("apply", h.Script("a.sh", ""))
	h.define("uninstall", h.Script("u.sh", "echo u >>/ran"))
	h.Must(os.Remove(h.Path(copyDir, "skyhook_dir/u.sh")))
	h.fail("uninstall", "u.sh does not exist in the package")
	h.Config["modes"] = 7
	h.fail("uninstall", "/modes")
	h.Must(os.Remove(h.Path(copyDir, "config.json")))
	if r := h.runArgs("uninstall", h.Root, copyDir); r.Code != 1 || !strings.Contains(r.message, "the file does not exist") {
		t.Errorf("exit %d, message %q", r.Code, r.message)
	}
}
