//go:build integration

package tuning_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/skyhook-operator/skyhook/test/hostroot"
)

// TestUndoKeepsChangedDropIns aside, where nothing reads them.
func TestUndoKeepsChangedDropIns(t *testing.T) {
	t.Parallel()
	const theirs = "# an administrator's\n"
	for key, file := range map[string]string{
		"sysctl.conf": sysctlDropIn, "ulimit.conf": limitsDropIn, "service_cron.conf": cronDropIn, "grub.conf": grubDropIn,
	} {
		for _, undo := range []string{"uninstall", "config"} {
			t.Run(key+", "+undo, func(t *testing.T) {
				t.Parallel()
				h := newDebian(t)
				for range 2 {
					h.configure(everything)
					h.Write(file, theirs)
					h.configMap(nil)
					said := h.succeed(undo, undo+"-check")
					if want := "tuning: " + file + " was changed since this package wrote it; it is kept as " + file + ".kept, which nothing reads\n"; said != want {
						t.Errorf("said %q, want %q", said, want)
					}
				}
				h.expect(file, "")
				h.expect(file+".kept", theirs)
				h.expect(file+".kept.~1~", theirs)
				for _, other := range []string{sysctlDropIn, limitsDropIn, cronDropIn, grubDropIn} {
					if other != file && h.Has(other+".kept") {
						t.Errorf("%s.kept is there", other)
					}
				}
				if strings.Contains(h.Read(grubConfig), "hugepages") {
					t.Error("update-grub was not run")
				}
			})
		}
	}
}

// TestUndoRemovesItsOwnDropIns: also one that a crash has kept from being
// replaced, and one that somebody has removed and put back.
func TestUndoRemovesItsOwnDropIns(t *testing.T) {
	t.Parallel()
	h := newDebian(t)
	before := h.Snapshot(watched...)
	h.configure(everything)
	old := h.Read(limitsDropIn)
	h.replace("mv", `[[ "$*" != *limits.d* ]] || exit 1; exec /usr/bin/real-mv "$@"`)
	h.configMap(everythingElse)
	h.fail("config", "cannot write "+limitsDropIn)
	h.expect(limitsDropIn, old)
	h.tool("real-mv", "/usr/bin/real-mv", "/usr/bin/mv")
	h.Must(os.Remove(h.Path(cronDropIn)))
	h.Write(cronDropIn, everything["service_cron.conf"])
	h.uninstall()
	h.ExpectSnapshot(before, watched...)
}

// TestConfigReplacesChangedDropIns: the host becomes what the configMap says.
func TestConfigReplacesChangedDropIns(t *testing.T) {
	t.Parallel()
	h := newDebian(t)
	before := h.Snapshot(watched...)
	h.configure(everything)
	for _, file := range []string{sysctlDropIn, limitsDropIn, cronDropIn, grubDropIn} {
		h.Write(file, "")
	}
	h.succeed("config", "config-check")
	h.uninstall()
	h.ExpectSnapshot(before, watched...)
}

// TestPAMLineThatWasChanged is somebody's own now: it stays, and counts.
func TestPAMLineThatWasChanged(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ changed, again, want string }{
		"another control":   {strings.Replace(pamLine, "required", "optional", 1) + "\n", "", ""},
		"a longer comment":  {pamLine + " and ours\n", "", ""},
		"commented out":     {"#" + pamLine + "\n", "#" + pamLine + "\n" + pamLine + "\n", ""},
		"and one as it was": {pamLine + " and ours\n" + pamLine + "\nlast\n", "", pamLine + " and ours\nlast\n"},
		"twice":             {pamLine + "\n" + pamLine + "\n", "", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newDebian(t)
			h.configure(map[string]string{"ulimit.conf": "nofile=5"})
			h.Write(pamSession, test.changed)
			h.succeed("config", "config-check")
			if test.again == "" {
				test.again = test.changed
			}
			h.expect(pamSession, test.again)
			want, said := test.changed, "tuning: "+pamSession+" has the line of this package, but changed: it is left as it is\n"
			if test.want != "" {
				want = test.want
			}
			if name == "twice" {
				want, said = "", ""
			}
			if got := h.succeed("uninstall", "uninstall-check"); got != said {
				t.Errorf("said %q, want %q", got, said)
			}
			h.expect(pamSession, want)
		})
	}
}

// TestGrubbyLeavesChangedArguments: of one name, all or none are put back.
func TestGrubbyLeavesChangedArguments(t *testing.T) {
	t.Parallel()
	type row struct{ before, conf, changed, after, said string }
	tests := map[string]row{
		"another number": {
			"ro hugepages=2", "hugepagesz=1G\nhugepages=16", "ro hugepagesz=1G hugepages=8", "",
			`the boot entries have "hugepagesz=1G hugepages=8", which somebody has changed since this package set "hugepagesz=1G hugepages=16"; they are left as they are`,
		},
		"one more": {
			"ro", "console=tty0", "ro console=tty0 console=ttyS1", "",
			`the boot entries have "console=tty0 console=ttyS1", which somebody has changed since this package set "console=tty0"; they are left as they are`,
		},
		"taken out":         {"ro hugepages=2", "hugepages=16", "ro", "", ""},
		"another":           {"ro a=1", "a=2", "ro a=3", "", ""},
		"put back":          {"ro a=1", "a=2", "ro a=1", "", ""},
		"others of them":    {"ro a=1", "a=2\nb=3", "ro a=9 b=3", "ro a=9", ""},
		"one that was ours": {"ro a=1", "a=2", "ro a=2 c", "ro a=1 c", ""},
	}
	hostroot.Each(t, tests, newRHEL, func(t *testing.T, h *host, test row) {
		write := func(text string) {
			for _, entry := range []string{"1", "2"} {
				h.Write("/boot/loader/entries/"+entry+".conf", strings.ReplaceAll(text, " ", "\n")+"\n")
			}
		}
		write(test.before)
		h.configure(map[string]string{"grub.conf": test.conf})
		write(test.changed)
		want := ""
		if test.said != "" {
			want = "tuning: " + test.said + "\n"
		}
		if said := h.succeed("uninstall", "uninstall-check"); said != want {
			t.Errorf("said %q, want %q", said, want)
		}
		if test.after == "" {
			test.after = test.changed
		}
		if got := sorted(h.entries()[0]); !slices.Equal(got, sorted(test.after)) {
			t.Errorf("got %q, want %q", got, test.after)
		}
	})
}

func sorted(text string) []string {
	return slices.Sorted(strings.FieldsSeq(text))
}
