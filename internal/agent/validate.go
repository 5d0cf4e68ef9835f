package agent

import (
	"errors"
	"strings"

	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

// validatePackage checks a package folder, or the config.json in it, as the agent does
// before each stage, and runs nothing of it. An author needs more checks, for
// which hosts have no use; the report says where they are.
func (p Program) validatePackage(args []string) int {
	if len(args) != 1 || strings.HasPrefix(args[0], "-") {
		p.complain(errors.New("validate wants the path of one package folder, or of its config.json, and no option; " +
			"skyhook package validate takes images and has other formats"))
		return exitUsage
	}
	pkg, report, err := packagefile.Open(args[0])
	if err != nil {
		p.complain(err)
		return exitFailed
	}
	report.WriteText(p.Stdout, pkg, pkg != nil)
	p.say("These are the checks of nodes; for the full report: skyhook package validate %s", args[0])
	if pkg == nil {
		return exitFailed
	}
	return exitDone
}
