//go:build integration

package kit_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/skyhook-operator/skyhook/test/hostroot"
	"github.com/skyhook-operator/skyhook/test/inputs"
)

// These tests drive the compiled program. Trials run against the root folder of a host made from the shell and tools of the
// machine that the tests run on.

var (
	program  string
	template = hostroot.Template{Tools: []string{
		"bash", "sh", "cat", "chmod", "chown", "chroot", "cp", "grep", "head", "ln", "ls", "mkdir", "mount", "mv", "nsenter",
		"readlink", "rm", "sed", "sleep", "sysctl", "touch", "tr",
	}}
)

func TestMain(m *testing.M) {
	os.Exit(template.Main(m, func(work, _ string) error {
		program = filepath.Join(work, "skyhook")
		return inputs.Build("../../cmd/skyhook", program)
	}))
}

// author has the root folder of a host, and a package in it.
type author struct{ *hostroot.Package }

// packageDir is the package's folder below the root.
const packageDir = "/shell"

func newAuthor(t testing.TB) *author {
	t.Helper()
	return &author{template.Host(t, map[string]string{"PATH": "/usr/bin"}).Package(packageDir)}
}

func (a *author) define(mode string, steps ...hostroot.Step) { a.Modes()[mode] = steps }

type result = hostroot.Result

// command prepares `skyhook package`.
func (a *author) command(args ...string) *exec.Cmd {
	cmd := exec.Command(program, append([]string{"package"}, args...)...)
	cmd.Env = a.Environ()
	return cmd
}

func (a *author) run(args ...string) result {
	a.T.Helper()
	return a.End(a.command(args...))
}
