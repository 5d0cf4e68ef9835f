package agent

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

// environ is a process environment by name.
type environ map[string]string

// parseEnviron splits "NAME=value" at the first "=", so that values may hold
// anything, line breaks included.
func parseEnviron(list []string) environ {
	env := make(environ, len(list))
	for _, item := range list {
		if name, value, ok := strings.Cut(item, "="); ok {
			env[name] = value
		}
	}
	return env
}

func (e environ) get(name, fallback string) string {
	if value, given := e[name]; given {
		return value
	}
	return fallback
}

// flag is true for "true" in any case, and false for anything else.
func (e environ) flag(name string, fallback bool) bool {
	if value, given := e[name]; given {
		return strings.EqualFold(value, "true")
	}
	return fallback
}

const envReference = "env:"

// arguments puts the values of variables in place of references to them, and
// adds the versions for an upgrade step. All missing variables are named.
func (s *stage) arguments(step packagefile.Step) (arguments, secrets []string, err error) {
	var missing []error
	for _, argument := range step.Arguments {
		rest, isReference := strings.CutPrefix(argument, envReference)
		if !isReference {
			arguments = append(arguments, argument)
			continue
		}
		// What follows a second "env:" is ignored; packages rely on it.
		name, _, _ := strings.Cut(rest, envReference)
		value, given := s.env[name]
		if !given {
			missing = append(missing, fmt.Errorf("%s: Expected environment variable did not exist: %s", step.Path, name))
			continue
		}
		arguments, secrets = append(arguments, value), append(secrets, value)
	}
	if step.UpgradeStep && s.mode.IsUpgrade() {
		arguments = append(arguments, s.previous, s.pkg.Version)
	}
	return arguments, secrets, errors.Join(missing...)
}

// standardPath is where hosts keep their commands; the container's own PATH
// may know less.
const standardPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// environ is the environment of a step: what fits the host, then the step's
// own, then what the agent promises to every step.
func (s *stage) environ(step packagefile.Step) []string {
	env := s.hostEnviron()
	maps.Copy(env, step.Env)
	if s.mode.IsUpgrade() {
		env["PREVIOUS_VERSION"], env["CURRENT_VERSION"] = s.previous, s.pkg.Version
	}
	env["STEP_ROOT"] = filepath.Join(s.CopyDir, packagefile.StepDir)
	env["SKYHOOK_DIR"] = s.CopyDir
	return env.list()
}

// hostEnviron is the container's environment, made fit for the host.
func (a *agent) hostEnviron() environ {
	env := maps.Clone(a.env)
	env["PATH"] = hostPath(env["PATH"])
	if env["HOME"] == "" || env["HOME"] == "/" {
		// The container runtime sets "/" for an image without users.
		env["HOME"] = a.home
	}
	return env
}

// list is the form that processes take, in a fixed order.
func (e environ) list() []string {
	list := make([]string, 0, len(e))
	for _, name := range slices.Sorted(maps.Keys(e)) {
		list = append(list, name+"="+e[name])
	}
	return list
}

// hostPath adds the standard directories that path does not have.
func hostPath(path string) string {
	dirs := filepath.SplitList(path)
	for _, dir := range filepath.SplitList(standardPath) {
		if !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return strings.Join(dirs, string(filepath.ListSeparator))
}
