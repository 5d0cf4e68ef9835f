package agent

import (
	"cmp"
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

const (
	envReference = "env:"
	// envDefault is followed by what a variable stands for that is not set, or
	// empty, as in a shell.
	envDefault = ":-"
)

// arguments puts the values of variables in place of references to them, and
// adds the versions for an upgrade step. All missing variables are named.
func (s *stage) arguments(step packagefile.Step) (arguments, secrets []string, err error) {
	var missing []error
	for _, argument := range step.Arguments {
		reference, isReference := strings.CutPrefix(argument, envReference)
		if !isReference {
			arguments = append(arguments, argument)
			continue
		}
		value, name, given := s.env.resolve(reference)
		if !given {
			missing = append(missing, fmt.Errorf("%s: Expected environment variable did not exist: %s; add it to "+
				"env of the package in the Skyhook", step.Path, name))
			continue
		}
		arguments = append(arguments, value)
		if value == s.env[name] {
			secrets = append(secrets, value)
		}
	}
	if step.UpgradeStep && s.mode.IsUpgrade() {
		arguments = append(arguments, s.previous, s.pkg.Version)
	}
	return arguments, secrets, errors.Join(missing...)
}

// resolve reads "NAME" or "NAME:-default".
func (e environ) resolve(reference string) (value, name string, given bool) {
	// What follows a second "env:" is ignored; packages rely on it.
	name, _, _ = strings.Cut(reference, envReference)
	if value, given = e[name]; given {
		return value, name, true
	}
	if before, fallback, hasDefault := strings.Cut(reference, envDefault); hasDefault {
		return cmp.Or(e[before], fallback), before, true
	}
	return "", name, false
}

// secretsVariable lists the variables whose values must not be printed,
// separated by commas.
const secretsVariable = "SKYHOOK_SECRET_ENV" //nolint:gosec // G101: it names variables, and holds no secret

// secretValues looks for each variable in the list, instead of splitting that:
// Kubernetes allows commas and blanks in the name of a variable.
func (a *agent) secretValues() (values []string) {
	list := "," + a.env[secretsVariable] + ","
	for _, name := range slices.Sorted(maps.Keys(a.env)) {
		if value := a.env[name]; value != "" && strings.Contains(list, ","+name+",") {
			values = append(values, value)
		}
	}
	return values
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
