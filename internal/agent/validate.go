package agent

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"

	"github.com/skyhook-operator/skyhook/pkg/image"
	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

const validateUsage = `Checks a package without running anything of it.

Usage:
  skyhook-agent validate [-o text|json] [--strict] [--base PATH|IMAGE] PATH|IMAGE

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
  --base WHAT    what the package in a folder is derived FROM: a folder, archive
                 or image of another package, whose files count as its own

Exit codes: 0 the package is valid, 1 it is not or cannot be read, 2 wrong usage.
`

// maxValidate ends the wait for a registry that does not go on, and the work on
// a file that was made to take long.
const maxValidate = 15 * time.Minute

var errTooLong = fmt.Errorf("gave up after %s", maxValidate)

var errValidateUsage = errors.New("validate wants one package folder, config.json, OCI layout, docker archive or image, and -o text or json")

// validation is a parsed command line of validate.
type validation struct {
	Program
	what   string
	base   string
	json   bool
	strict bool
}

// validate checks a package on this machine or in a registry and reports for
// people or, with -o json, for programs.
func (p Program) validate(ctx context.Context, args []string) int {
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
	pkg, report, err := lint(ctx, v.what, v.base)
	if err != nil {
		p.complain(err)
		return exitFailed
	}
	if !v.json {
		v.reportText(pkg, report)
	} else if err := v.reportJSON(report); err != nil {
		p.complain(fmt.Errorf("write the report: %w", err))
		return exitFailed
	}
	if !v.passes(report) {
		return exitFailed
	}
	return exitDone
}

func (p Program) parseValidation(args []string) (validation, error) {
	v := validation{Program: p}
	set := flag.NewFlagSet(modeValidate, flag.ContinueOnError)
	set.SetOutput(p.Stderr)
	// The caller prints it once, and to where it belongs.
	set.Usage = func() {}
	format := set.String("o", "text", "")
	set.BoolVar(&v.strict, "strict", false, "")
	set.StringVar(&v.base, "base", "", "")
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

// lint checks whatever a name stands for, on its base if there is one.
func lint(ctx context.Context, name, base string) (*packagefile.Package, packagefile.Report, error) {
	found, err := image.Find(ctx, name, authn.DefaultKeychain)
	switch {
	case err != nil:
		return nil, packagefile.Report{}, err
	case found != nil && base != "":
		return nil, packagefile.Report{}, fmt.Errorf("%s is an image, which has its base in it; leave out --base, or name the package's folder", name)
	case found != nil:
		return found.Lint(ctx)
	}
	name, remove, err := onBase(ctx, base, name)
	if err != nil {
		return nil, packagefile.Report{}, err
	}
	defer remove()
	return packagefile.LintPath(ctx, name)
}

// onBase is a package folder with what it has from the image that it is derived
// from; the folder itself without one.
func onBase(ctx context.Context, base, name string) (joined string, remove func(), err error) {
	if base == "" {
		return name, func() {}, nil
	}
	if filepath.Base(name) == packagefile.ConfigFile {
		name = filepath.Dir(name)
	}
	return image.Derive(ctx, base, name)
}

func (v validation) passes(report packagefile.Report) bool {
	return len(report.Errors) == 0 && (!v.strict || len(report.Warnings) == 0)
}

func (v validation) reportJSON(report packagefile.Report) error {
	// Programs expect lists, also empty ones.
	report.Errors = append([]packagefile.Problem{}, report.Errors...)
	report.Warnings = append([]packagefile.Problem{}, report.Warnings...)
	encoder := json.NewEncoder(v.Stdout)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(struct {
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
