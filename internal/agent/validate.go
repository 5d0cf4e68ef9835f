package agent

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"

	"github.com/skyhook-operator/skyhook/pkg/packagefile"
	"github.com/skyhook-operator/skyhook/pkg/packagefile/image"
)

const validateUsage = `Checks a package without running anything of it.

Usage:
  skyhook-agent validate [-o text|json] [--strict] PATH|IMAGE

PATH that exists is one of
  a package folder, or the config.json in it
  a folder with an OCI layout
  a docker archive, as docker save writes it

Anything else is the reference of an IMAGE, which is fetched from its registry
with the credentials of docker login. For a path write / or ./ before it: it is
then never taken for an image. An image is checked for each of its platforms;
its tag must be the package_version.

Options:
  -o text|json   print for people (default) or for programs
  --strict       fail on warnings, too

Exit codes: 0 the package is valid, 1 it is not or cannot be read, 2 wrong usage.
`

// maxValidate ends the wait for a registry that does not go on, and the work on
// a file that was made to take long.
const maxValidate = 15 * time.Minute

var errTooLong = fmt.Errorf("gave up after %s", maxValidate)

var errValidateUsage = errors.New("validate wants one package folder, config.json, OCI layout, docker archive or image, and -o text or json")

// validation is a parsed command line of validate.
type validation struct {
	Process
	what   string
	json   bool
	strict bool
}

// validate checks a package on this machine or in a registry and reports for
// people or, with -o json, for programs.
func (p Process) validate(ctx context.Context, args []string) int {
	v, err := p.parseValidation(args)
	if errors.Is(err, flag.ErrHelp) {
		_, _ = fmt.Fprint(p.Stdout, validateUsage)
		return exitDone
	}
	if err != nil {
		p.complain(err)
		_, _ = fmt.Fprint(p.Stderr, validateUsage)
		return exitUsage
	}
	ctx, stop := context.WithTimeoutCause(ctx, maxValidate, errTooLong)
	defer stop()
	pkg, report, err := lint(ctx, v.what)
	if err != nil {
		p.complain(err)
		return exitFailed
	}
	if v.json {
		v.reportJSON(report)
	} else {
		v.reportText(pkg, report)
	}
	if !v.passes(report) {
		return exitFailed
	}
	return exitDone
}

func (p Process) parseValidation(args []string) (validation, error) {
	v := validation{Process: p}
	set := flag.NewFlagSet(modeValidate, flag.ContinueOnError)
	set.SetOutput(p.Stderr)
	// The caller prints it once, and to where it belongs.
	set.Usage = func() {}
	format := set.String("o", "text", "")
	set.BoolVar(&v.strict, "strict", false, "")
	names, err := interleaved(set, args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return v, err
	case err != nil || len(names) != 1 || names[0] == "" || *format != "text" && *format != "json":
		return v, errValidateUsage
	}
	v.what, v.json = names[0], *format == "json"
	return v, nil
}

// interleaved parses options before and after the other arguments.
func interleaved(set *flag.FlagSet, args []string) (rest []string, err error) {
	for {
		if err := set.Parse(args); err != nil {
			return nil, err
		}
		if set.NArg() == 0 {
			return rest, nil
		}
		rest, args = append(rest, set.Arg(0)), set.Args()[1:]
	}
}

// lint checks whatever a name stands for.
func lint(ctx context.Context, name string) (*packagefile.Package, packagefile.Report, error) {
	found, err := locate(ctx, name)
	if err != nil {
		return nil, packagefile.Report{}, err
	}
	if found == nil {
		return packagefile.LintPath(ctx, name)
	}
	return found.Lint(ctx)
}

// locate finds an image; there is none if the name is that of a package's own
// folder or file.
func locate(ctx context.Context, name string) (*image.Image, error) {
	info, err := os.Stat(name)
	switch {
	case err != nil && isPath(name):
		return nil, fmt.Errorf("find the package: %w", err)
	case err != nil:
		found, err := image.FromRegistry(ctx, name, authn.DefaultKeychain)
		if err != nil {
			return nil, fmt.Errorf("there is no file or folder %s here; taken for an image: %w", name, err)
		}
		return found, nil
	case info.IsDir() && image.IsLayout(name):
		return image.FromLayout(ctx, name)
	case info.IsDir() || filepath.Base(name) == packagefile.ConfigFile:
		return nil, nil //nolint:nilnil // No image is an answer here.
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is neither a folder nor a file; give it as a file", name)
	}
	return image.FromArchive(ctx, name)
}

// isPath reports whether a name can only be meant as a path.
func isPath(name string) bool {
	return name == "." || name == ".." ||
		slices.ContainsFunc([]string{"/", "./", "../"}, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

func (v validation) passes(report packagefile.Report) bool {
	return len(report.Errors) == 0 && (!v.strict || len(report.Warnings) == 0)
}

func (v validation) reportJSON(report packagefile.Report) {
	// Programs expect lists, also empty ones.
	report.Errors = append([]packagefile.Problem{}, report.Errors...)
	report.Warnings = append([]packagefile.Problem{}, report.Warnings...)
	encoder := json.NewEncoder(v.Stdout)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	_ = encoder.Encode(struct {
		Valid bool `json:"valid"`
		packagefile.Report
	}{v.passes(report), report})
}

func (v validation) reportText(pkg *packagefile.Package, report packagefile.Report) {
	for _, problem := range report.Errors {
		v.say("error: %s", problem)
	}
	for _, problem := range report.Warnings {
		v.say("warning: %s", problem)
	}
	verdict := "not valid"
	if v.passes(report) {
		verdict = "valid"
		_ = pkg.Describe(v.Stdout)
	}
	v.say("%s: %d errors, %d warnings", verdict, len(report.Errors), len(report.Warnings))
}
