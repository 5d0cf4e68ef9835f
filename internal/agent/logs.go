package agent

import "github.com/skyhook-operator/skyhook/internal/agent/steplog"

// printLogs is logs DIR [PACKAGE].
func (p Program) printLogs(args []string) int {
	const most = 2
	if len(args) == 0 || len(args) > most {
		p.complain(errUsage)
		return exitUsage
	}
	pkg := ""
	if len(args) == most {
		pkg = args[1]
	}
	if err := steplog.Print(p.Stdout, args[0], pkg); err != nil {
		p.complain(err)
		return exitFailed
	}
	return exitDone
}
