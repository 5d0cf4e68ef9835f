//go:build integration

package tuning_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/skyhook-operator/skyhook/test/hostroot"
)

const (
	pamSession  = "/etc/pam.d/common-session"
	pamNonInter = "/etc/pam.d/common-session-noninteractive"
	pamLine     = `session required pam_limits.so # for the Skyhook package "demo/web"`
	header      = "# Written by the Skyhook package \"demo/web\"; changes are lost.\n"
)

func TestLimits(t *testing.T) {
	t.Parallel()
	both := func(limits ...string) string {
		var text strings.Builder
		for _, limit := range limits {
			fmt.Fprintf(&text, "* - %s\nroot - %s\n", limit, limit)
		}
		return header + text.String()
	}
	type row struct{ conf, want string }
	tests := map[string]row{
		"one":            {"nofile=65536\n", both("nofile 65536")},
		"blanks":         {"  nofile\t= 65536  \n", both("nofile 65536")},
		"comments":       {"# a=b\n;c\n\nnofile=65536", both("nofile 65536")},
		"in order":       {"stack=8192\nfsize=5\nmemlock=7\nnproc=3\n", both("fsize 5", "memlock 7", "nproc 3", "stack 8192")},
		"unlimited":      {"memlock=unlimited\nstack=infinity\nnproc=-1\n", both("memlock unlimited", "nproc unlimited", "stack unlimited")},
		"all open files": {"nofile=unlimited\n", both("nofile 1048576")},
		"the last wins":  {"nofile=5\nnofile=6\n", both("nofile 6")},
		"leading zero":   {"nofile=010\n", both("nofile 10")},
		"zero":           {"core=0\n", both("core 0")},
		"nice":           {"nice=-20\nrtprio=99\n", both("nice -20", "rtprio 99")},
		"others":         {"as=1\ncpu=2\ndata=3\nrss=4\nlocks=5\nsigpending=6\nmsgqueue=7", both("as 1", "cpu 2", "data 3", "locks 5", "msgqueue 7", "rss 4", "sigpending 6")},
		"nothing":        {"# none\n", ""},
	}
	hostroot.Each(t, tests, newDebian, func(_ *testing.T, h *host, test row) {
		before := h.Snapshot("/etc")
		h.configure(map[string]string{"ulimit.conf": test.conf})
		h.expect(limitsDropIn, test.want)
		h.uninstall()
		h.ExpectSnapshot(before, "/etc")
	})
}

// TestLimitOfOpenFiles: a login with more than the kernel allows fails.
func TestLimitOfOpenFiles(t *testing.T) {
	t.Parallel()
	h := newDebian(t)
	h.configure(map[string]string{"sysctl.conf": "fs.nr_open=2000000\n", "ulimit.conf": "nofile=unlimited"})
	h.expect(limitsDropIn, header+"* soft nofile 1048576\n* hard nofile 2000000\nroot soft nofile 1048576\nroot hard nofile 2000000\n")
	h.configure(map[string]string{"sysctl.conf": "fs.nr_open=2000000\n", "ulimit.conf": "nofile=1048577"})
	h.expect(limitsDropIn, header+"* soft nofile 1048576\n* hard nofile 1048577\nroot soft nofile 1048576\nroot hard nofile 1048577\n")
	h.configure(map[string]string{"sysctl.conf": "fs.nr_open=2000000\n", "ulimit.conf": "nofile=1048576\nmemlock=2000000"})
	h.expect(limitsDropIn, header+"* - memlock 2000000\nroot - memlock 2000000\n* - nofile 1048576\nroot - nofile 1048576\n")
	h.configMap(map[string]string{"sysctl.conf": "fs.nr_open=1000\n", "ulimit.conf": "nofile=1001"})
	h.fail("config", "ulimit.conf line 1: nofile cannot be 1001: nobody could log in with more than fs.nr_open, which is 1000; raise that in sysctl.conf")
}

func TestPAM(t *testing.T) {
	t.Parallel()
	limits := "session required pam_limits.so\n"
	type row struct{ before, after string }
	tests := map[string]row{
		"a line is added":      {"session required pam_unix.so\n", "session required pam_unix.so\n" + pamLine + "\n"},
		"without a newline":    {"session required pam_unix.so", "session required pam_unix.so\n" + pamLine},
		"blank lines":          {"\n\nsession required pam_unix.so\n\n\n", "\n\nsession required pam_unix.so\n\n\n" + pamLine + "\n"},
		"empty":                {"", pamLine + "\n"},
		"there already":        {"a\n" + limits + "b\n", "a\n" + limits + "b\n"},
		"in another form":      {"session\t[default=ignore]  /lib/security/pam_limits.so conf=/x\n", "session\t[default=ignore]  /lib/security/pam_limits.so conf=/x\n"},
		"in a comment":         {"# " + limits, "# " + limits + pamLine + "\n"},
		"of another package":   {strings.Replace(pamLine, "web", "we", 1) + "\n", strings.Replace(pamLine, "web", "we", 1) + "\n" + pamLine + "\n"},
		"of a longer name":     {strings.Replace(pamLine, "web", "web2", 1), strings.Replace(pamLine, "web", "web2", 1) + "\n" + pamLine},
		"an earlier version's": {"a\n" + limits, "a\n" + limits},
	}
	hostroot.Each(t, tests, newDebian, func(t *testing.T, h *host, test row) {
		h.Write(pamSession, test.before)
		h.Must(os.Chmod(h.Path(pamSession), 0o640))
		h.Must(os.Chown(h.Path(pamSession), 7, 8))
		before := h.Snapshot("/etc")
		for range 2 {
			h.configure(map[string]string{"ulimit.conf": "nofile=5"})
			if got := h.Read(pamSession); got != test.after {
				t.Errorf("got %q, want %q", got, test.after)
			}
		}
		h.uninstall()
		h.ExpectSnapshot(before, "/etc")
	})
}

// TestPAMLineIsRemovedFromTheMiddle: others may have added lines since.
func TestPAMLineIsRemovedFromTheMiddle(t *testing.T) {
	t.Parallel()
	h := newDebian(t)
	h.Write(pamSession, "one")
	h.configure(map[string]string{"ulimit.conf": "nofile=5"})
	h.Write(pamSession, h.Read(pamSession)+"\ntwo")
	h.uninstall()
	h.expect(pamSession, "one\ntwo")
}

func TestPAMOfLinks(t *testing.T) {
	t.Parallel()
	h := newDebian(t)
	h.Write(pamSession+"-pc", "session required pam_unix.so\n")
	h.Must(os.Remove(h.Path(pamSession)))
	h.Must(os.Symlink("common-session-pc", h.Path(pamSession)))
	before := h.Snapshot("/etc")
	h.configure(map[string]string{"ulimit.conf": "nofile=5"})
	h.expect(pamSession+"-pc", "session required pam_unix.so\n"+pamLine+"\n")
	h.uninstall()
	h.ExpectSnapshot(before, "/etc")
}

func TestPAMFilesThatAreNotIncluded(t *testing.T) {
	t.Parallel()
	h := newDebian(t)
	h.Write(pamSession+".dpkg-old", "old\n")
	h.Must(os.Remove(h.Path(pamNonInter)))
	h.configure(map[string]string{"ulimit.conf": "nofile=5"})
	h.expect(pamSession+".dpkg-old", "old\n")
	h.expect(pamNonInter, "")
}

func TestPAMOnRHEL(t *testing.T) {
	t.Parallel()
	h := newRHEL(t)
	before := h.Snapshot("/etc/pam.d")
	h.configure(map[string]string{"ulimit.conf": "nofile=5"})
	h.expect(limitsDropIn, header+"* - nofile 5\nroot - nofile 5\n")
	h.ExpectSnapshot(before, "/etc/pam.d")
	for _, name := range []string{"system-auth", "password-auth"} {
		h.Write("/etc/pam.d/"+name, "# session required pam_limits.so\n")
	}
	h.fail("config-check", `nothing in /etc/pam.d uses pam_limits.so, so that ulimit.conf has no effect; add "session required pam_limits.so" to the services that log in`)
	h.Write("/usr/lib/pam.d/login", "session required pam_limits.so\n")
	h.succeed("config-check")
	h.uninstall()
}

func TestLimitsCheck(t *testing.T) {
	t.Parallel()
	h := newDebian(t)
	h.configure(map[string]string{"ulimit.conf": "nofile=5"})
	session := h.Read(pamSession)
	h.Write(pamSession, "session required pam_unix.so\n")
	h.fail("config-check", pamSession+" does not use pam_limits.so, so that ulimit.conf has no effect")
	h.Write(pamSession, session)
	h.Write(limitsDropIn, header+"* - nofile 5\n")
	h.fail("config-check", limitsDropIn+" is not what ulimit.conf wants")
	h.succeed("config", "config-check")
	h.configMap(nil)
	if r := h.run("config-check"); r.Code != 1 || !strings.Contains(r.Stderr, limitsDropIn+" is left") || !strings.Contains(r.Stderr, pamSession+" still has the line of this package") {
		t.Errorf("%+v", r)
	}
}

func TestLimitsOfTheScriptStay(t *testing.T) {
	t.Parallel()
	h := newDebian(t)
	h.configure(map[string]string{"ulimit.conf": "fsize=0\nnofile=3\nstack=1\nas=1\n"})
	h.uninstall()
}
