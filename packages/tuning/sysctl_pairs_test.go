//go:build integration

package tuning_test

import (
	"strings"
	"testing"
)

// TestSysctlPairs: the kernel sets the one of a pair to 0 when the other is
// set, and takes no 0 for bytes.
func TestSysctlPairs(t *testing.T) {
	t.Parallel()
	const kernel = `pair() {
  [[ "$3" == "$1=0" && "$1" == *bytes ]] && { echo "Invalid argument" >&2; exit 1; }
  [[ "$3" != "$1="* || "$(cat "/proc/sys/$1")" == "${3#*=}" ]] || echo 0 >"/proc/sys/$2"
}
for kind in vm/dirty vm/dirty_background; do
  pair "${kind}_bytes" "${kind}_ratio" "${!#}"
  pair "${kind}_ratio" "${kind}_bytes" "${!#}"
done
exec /usr/bin/real-sysctl "$@"`
	tests := map[string]struct {
		ratio, bytes string // before
		elsewhere    string
		confs        []string
		want         [2]string // ratio and bytes after the uninstall
	}{
		"bytes for a ratio":          {"20", "0", "", []string{"%bytes=5000000"}, [2]string{"20", "0"}},
		"a ratio for bytes":          {"0", "7000000", "", []string{"%ratio=5"}, [2]string{"0", "7000000"}},
		"another ratio":              {"20", "0", "", []string{"%ratio=5"}, [2]string{"20", "0"}},
		"bytes, then a ratio":        {"20", "0", "", []string{"%bytes=5000000", "%ratio=5"}, [2]string{"20", "0"}},
		"a ratio, then bytes":        {"0", "7000000", "", []string{"%ratio=5", "%bytes=5000000"}, [2]string{"0", "7000000"}},
		"another file has a ratio":   {"20", "0", "%ratio=30", []string{"%bytes=5000000"}, [2]string{"30", "0"}},
		"another's ratio, bytes":     {"0", "7000000", "%ratio=30", []string{"%bytes=5000000"}, [2]string{"30", "0"}},
		"another file has the bytes": {"20", "0", "%bytes=6000000", []string{"%bytes=5000000"}, [2]string{"0", "6000000"}},
		"another has them, a ratio":  {"20", "0", "%bytes=6000000", []string{"%ratio=5"}, [2]string{"0", "6000000"}},
	}
	for name, test := range tests {
		for _, kind := range []string{"dirty_", "dirty_background_"} {
			t.Run(name+", "+kind, func(t *testing.T) {
				t.Parallel()
				h := newDebian(t)
				keys := func(text string) string { return strings.ReplaceAll(text, "%", "vm."+kind) + "\n" }
				h.Write(proc+"vm/"+kind+"ratio", test.ratio+"\n")
				h.Write(proc+"vm/"+kind+"bytes", test.bytes+"\n")
				h.Write("/etc/sysctl.d/50-a.conf", keys(test.elsewhere))
				h.replace("sysctl", kernel)
				for _, conf := range test.confs {
					h.configure(map[string]string{"sysctl.conf": keys(conf)})
					h.succeed("config", "config-check", "post-interrupt-check")
				}
				if said := h.succeed("uninstall", "uninstall-check"); said != "" {
					t.Errorf("said %q", said)
				}
				h.expectLive(map[string]string{"vm/" + kind + "ratio": test.want[0], "vm/" + kind + "bytes": test.want[1]})
			})
		}
	}
}
