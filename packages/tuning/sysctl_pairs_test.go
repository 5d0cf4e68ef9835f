package tuning_test

import "testing"

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
		"bytes for a ratio":          {"20", "0", "", []string{"vm.dirty_bytes=5000000"}, [2]string{"20", "0"}},
		"a ratio for bytes":          {"0", "7000000", "", []string{"vm.dirty_ratio=5"}, [2]string{"0", "7000000"}},
		"another ratio":              {"20", "0", "", []string{"vm.dirty_ratio=5"}, [2]string{"20", "0"}},
		"bytes, then a ratio":        {"20", "0", "", []string{"vm.dirty_bytes=5000000", "vm.dirty_ratio=5"}, [2]string{"20", "0"}},
		"a ratio, then bytes":        {"0", "7000000", "", []string{"vm.dirty_ratio=5", "vm.dirty_bytes=5000000"}, [2]string{"0", "7000000"}},
		"another file has a ratio":   {"20", "0", "vm.dirty_ratio=30", []string{"vm.dirty_bytes=5000000"}, [2]string{"30", "0"}},
		"another file has the bytes": {"20", "0", "vm.dirty_bytes=6000000", []string{"vm.dirty_bytes=5000000"}, [2]string{"0", "6000000"}},
		"another has them, a ratio":  {"20", "0", "vm.dirty_bytes=6000000", []string{"vm.dirty_ratio=5"}, [2]string{"0", "6000000"}},
		"of the background":          {"20", "0", "", []string{"vm.dirty_background_bytes=5000000"}, [2]string{"20", "0"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newDebian(t)
			for key, value := range map[string]string{"ratio": test.ratio, "bytes": test.bytes} {
				h.write(proc+"vm/dirty_"+key, value+"\n")
				h.write(proc+"vm/dirty_background_"+key, value+"\n")
			}
			h.write("/etc/sysctl.d/50-a.conf", test.elsewhere+"\n")
			h.replace("sysctl", kernel)
			for _, conf := range test.confs {
				h.configure(map[string]string{"sysctl.conf": conf})
				h.succeed("config", "config-check", "post-interrupt-check")
			}
			h.uninstall()
			h.expectLive(map[string]string{
				"vm/dirty_ratio": test.want[0], "vm/dirty_bytes": test.want[1],
				"vm/dirty_background_ratio": test.ratio, "vm/dirty_background_bytes": test.bytes,
			})
		})
	}
}
