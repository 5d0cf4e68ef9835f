package agent

import (
	"errors"
	"strconv"

	"github.com/skyhook-operator/skyhook/internal/agent/steplog"
)

// printLogs is logs DIR [PACKAGE [BEFORE]]. An empty PACKAGE stands for all.
func (p Program) printLogs(args []string) int {
	const most = 3
	var c steplog.Choice
	if len(args) == 0 || len(args) > most {
		p.complain(errUsage)
		return exitUsage
	}
	if len(args) > 1 {
		c.Package = args[1]
	}
	if len(args) == most {
		var err error
		if c.Before, err = strconv.Atoi(args[2]); err != nil || c.Before < 0 {
			p.complain(errors.New("BEFORE must be the number of runs to go back"))
			return exitUsage
		}
	}
	if err := steplog.Print(p.Stdout, args[0], c); err != nil {
		p.complain(err)
		return exitFailed
	}
	return exitDone
}
