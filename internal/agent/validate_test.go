//go:build integration

package agent_test

import (
	"os"
	"strings"
	"testing"
)

func TestValidate(t *testing.T) {
	h := newHost(t)
	h.define("apply", h.Script("a.sh", "touch /ran"))
	h.define("apply-check", h.Script("a.sh", ""))
	h.Save()
	dir := h.Path(copyDir)
	for _, path := range []string{dir, dir + "/config.json"} {
		r := h.runArgs("validate", path)
		if r.Code != 0 || r.Stderr != "" || r.message != "" {
			t.Errorf("%s: %+v", path, r)
		}
		for _, want := range []string{"a.sh", "\nvalid: 0 errors, ", "skyhook package validate " + path + "\n"} {
			if !strings.Contains(r.Stdout, want) {
				t.Errorf("no %q in\n%s", want, r.Stdout)
			}
		}
	}
	if h.Has("/ran") {
		t.Error("validate ran the package")
	}
	h.Must(os.Remove(h.Path(copyDir, "skyhook_dir/a.sh")))
	r := h.runArgs("validate", dir)
	for _, want := range []string{"error: config.json /modes/apply/0/path: ", "a.sh does not exist", "not valid: ", "skyhook package validate"} {
		if r.Code != 1 || !strings.Contains(r.Stdout, want) {
			t.Errorf("exit %d, no %q in\n%s%s", r.Code, want, r.Stdout, r.Stderr)
		}
	}
	for _, path := range []string{dir + "/nowhere", dir + "/skyhook_dir"} {
		if r := h.runArgs("validate", path); r.Code != 1 {
			t.Errorf("%s: %+v", path, r)
		}
	}
	for _, args := range [][]string{{"validate"}, {"validate", dir, dir}, {"validate", "-o", "json"}, {"validate", "--strict"}} {
		if r := h.runArgs(args...); r.Code != 2 || !strings.Contains(r.Stderr, "skyhook package validate") {
			t.Errorf("%q: %+v", args, r)
		}
	}
}
