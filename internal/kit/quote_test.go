//go:build integration

package kit_test

import (
	"os"
	"strings"
	"syscall"
	"testing"
)

// TestNamesDoNotCommandTheTerminal: whoever made a package chose the names of its files.
func TestNamesDoNotCommandTheTerminal(t *testing.T) {
	const evil, quoted = "\x1b]0;owned\a\u009b31m\nvalid: 0 errors", `\x1b]0;owned\a\u009b31m\nvalid: 0 errors`
	r := newTrial(t)
	r.stage("config", "echo > /etc/$'\\e[31m'\nexit 1")
	r.save()
	ran := r.run(r.arguments("config")...)
	if ran.Code != 1 || !strings.Contains(ran.Stdout, `/etc/\x1b[31m`) || strings.Contains(ran.Stdout, "\x1b") {
		t.Errorf("run: %q", ran.Stdout)
	}
	r.Must(syscall.Mkfifo(r.file("motd/skyhook_dir", evil), 0o600))
	ran = r.run("validate", r.file("motd"))
	if ran.Code != 1 || !strings.Contains(ran.Stdout, "error: skyhook_dir/"+quoted+": is a named pipe") || strings.Contains(ran.Stdout, "\x1b") {
		t.Errorf("validate: %q", ran.Stdout)
	}
	r.Must(os.Rename(r.file("motd"), r.file(evil)))
	ran = r.run("validate", r.file(evil, "none"))
	if ran.Code != 1 || strings.ContainsAny(ran.Stderr, "\x1b\a\u009b") {
		t.Errorf("no such package: %q", ran.Stderr)
	}
}
