package kit

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/spf13/cobra"

	"github.com/skyhook-operator/skyhook/pkg/image"
	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

const validateHelp = `Checks a package without running any part of it.

PATH that exists is one of
  a package folder, or the config.json in it
  a folder with an OCI layout
  a docker archive, as docker save writes it

Anything else is the reference of an IMAGE, which is fetched from its registry
with the credentials of docker login. An argument that begins with / or ./ is
always a PATH. An image is checked for each of its platforms; its tag must be
the package_version.

Exit codes: 0 the package is valid, 1 it is not or cannot be read, 2 wrong usage.`

// maxValidate ends the wait for a registry that does not go on, and the work on
// a file that was made to take long.
const maxValidate = 15 * time.Minute

var errTooLong = fmt.Errorf("it takes longer than %s", maxValidate)

// The formats of reports.
const (
	formatText = "text"
	formatJSON = "json"
)

func checkFormat(format string) error {
	if format != formatText && format != formatJSON {
		return errors.New("-o is text or json, not " + format)
	}
	return nil
}

// validation checks a package on this machine or in a registry, and reports for
// people or programs.
type validation struct {
	what   string
	base   string
	format string
	strict bool
	stdout io.Writer
}

func validateCommand() *cobra.Command {
	var v validation
	c := &cobra.Command{
		Use:     "validate [-o text|json] [--strict] [--base PATH|IMAGE] PATH|IMAGE",
		Short:   "Check a package without running anything of it",
		Long:    validateHelp,
		Example: "  kubectl skyhook package validate ./my-package\n  kubectl skyhook package validate -o json registry.example/my-package:1.0.0",
		Args:    wants(1, "one package folder, config.json, OCI layout, docker archive or image"),
		RunE: func(c *cobra.Command, args []string) error {
			v.what, v.stdout = args[0], c.OutOrStdout()
			if err := cmp.Or(checkFormat(v.format), checkName(v.what)); err != nil {
				return err
			}
			return v.run(c.Context())
		},
		DisableFlagsInUseLine: true,
	}
	flags := c.Flags()
	flags.StringVarP(&v.format, "output", "o", formatText, "`FORMAT` of the report: text for people, json for programs")
	flags.BoolVar(&v.strict, "strict", false, "also fail on warnings")
	flags.StringVar(&v.base, "base", "", baseHelp)
	return c
}

const baseHelp = "what the package in a folder is derived FROM: `PATH|IMAGE` of another package, whose files\n" +
	"count as its own"

func checkName(what string) error {
	if what == "" {
		return errors.New("validate wants a name that is not empty")
	}
	return nil
}

func (v validation) run(ctx context.Context) error {
	ctx, stop := context.WithTimeoutCause(ctx, maxValidate, errTooLong)
	defer stop()
	pkg, report, err := lint(ctx, v.what, v.base)
	if err != nil {
		return FailedError{err}
	}
	if v.format == formatText {
		report.WriteText(v.stdout, pkg, v.passes(report))
	} else if err := v.reportJSON(report); err != nil {
		return FailedError{fmt.Errorf("write the report: %w", err)}
	}
	if !v.passes(report) {
		return FailedError{ErrReported}
	}
	return nil
}

// lint checks whatever a name stands for, on its base if there is one.
func lint(ctx context.Context, name, base string) (*packagefile.Package, packagefile.Report, error) {
	found, err := image.Find(ctx, name, authn.DefaultKeychain)
	switch {
	case err != nil:
		return nil, packagefile.Report{}, err
	case found != nil && base != "":
		return nil, packagefile.Report{}, fmt.Errorf(
			"%s is an image, which has its base in it; leave out --base, or name the package's folder", name)
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
	return image.Derive(ctx, base, packagefile.FolderOf(name))
}

func (v validation) passes(report packagefile.Report) bool {
	return len(report.Errors) == 0 && (!v.strict || len(report.Warnings) == 0)
}

func (v validation) reportJSON(report packagefile.Report) error {
	// Programs expect lists, also empty ones.
	report.Errors = append([]packagefile.Problem{}, report.Errors...)
	report.Warnings = append([]packagefile.Problem{}, report.Warnings...)
	encoder := json.NewEncoder(v.stdout)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(struct {
		Valid bool `json:"valid"`
		packagefile.Report
	}{v.passes(report), report})
}
