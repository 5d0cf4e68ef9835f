//go:build integration

package cli_test

import (
	"maps"
	"strings"
	"testing"
)

// TestLogsOfNothing: names that nobody has are refused, with those that there are; a package or a Skyhook that only a node
// remembers is none of them.
func TestLogsOfNothing(t *testing.T) {
	c := newCluster(t)
	c.put(gpu())
	n := newNode("worker-1", states("{"+driverDone+"}"))
	failed("left", "StepFailed", "exited 3")(n)
	maps.Copy(n.Annotations, states("{"+driverDone+"}"))
	c.put(n)
	for command, want := range map[string]string{
		"logs gpuu":                                  `"gpuu" not found; kubectl get skyhooks lists those that exist`,
		"logs gpuu --from-node":                      `"gpuu" not found; kubectl get skyhooks lists those that exist`,
		"logs gpu --package drver":                   `package "drver" not found in skyhook "gpu"; it has driver`,
		"package logs drver --skyhook gpu":           `package "drver" not found in skyhook "gpu"; it has driver`,
		"logs gpu --stage aply":                      `invalid stage "aply": must be one of apply, upgrade, config, interrupt, post-interrupt, uninstall, uninstall-interrupt`,
		"logs gpu --stage aply --from-node":          `invalid stage "aply": must be one of apply, `,
		"logs gpu --stage apply":                     "",
		"logs left":                                  "",
		"logs left --package tuning":                 "",
		"logs left --package tuning --stage upgrade": "",
	} {
		out, _, err := c.run("", strings.Fields(command)...)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q; printed\n%s", command, err, want, out)
		}
	}
}
