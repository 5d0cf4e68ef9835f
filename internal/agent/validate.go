package agent

import (
	"encoding/json"
	"errors"
	"flag"

	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

// validate checks a package on this machine and reports for people or, with
// -o json, for programs.
func (p Process) validate(args []string) int {
	set := flag.NewFlagSet(modeValidate, flag.ContinueOnError)
	set.SetOutput(p.Stderr)
	format := set.String("o", "text", "output format: text or json")
	paths, err := interleaved(set, args)
	if err != nil {
		return exitUsage
	}
	if len(paths) != 1 || *format != "text" && *format != "json" {
		p.complain(errors.New("validate wants one package folder or its config.json, and -o text or json"))
		p.printUsage(p.Stderr)
		return exitUsage
	}
	pkg, report, err := packagefile.Open(paths[0])
	if err != nil {
		p.complain(err)
		return exitFailed
	}
	if *format == "json" {
		p.reportJSON(report)
	} else {
		p.reportText(pkg, report)
	}
	if len(report.Errors) > 0 {
		return exitFailed
	}
	return exitDone
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

func (p Process) reportJSON(report packagefile.Report) {
	// Programs expect lists, also empty ones.
	report.Errors = append([]packagefile.Problem{}, report.Errors...)
	report.Warnings = append([]packagefile.Problem{}, report.Warnings...)
	encoder := json.NewEncoder(p.Stdout)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	_ = encoder.Encode(struct {
		Valid bool `json:"valid"`
		packagefile.Report
	}{len(report.Errors) == 0, report})
}

func (p Process) reportText(pkg *packagefile.Package, report packagefile.Report) {
	for _, problem := range report.Errors {
		p.say("error: %s", problem)
	}
	for _, problem := range report.Warnings {
		p.say("warning: %s", problem)
	}
	if pkg != nil {
		_ = pkg.Describe(p.Stdout)
		p.say("valid: %d errors, %d warnings", len(report.Errors), len(report.Warnings))
		return
	}
	p.say("not valid: %d errors, %d warnings", len(report.Errors), len(report.Warnings))
}
