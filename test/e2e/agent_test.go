//go:build e2e

package e2e

import (
	"context"
	"strings"
	"testing"
)

// TestAgentOnTheHost looks at what stages and an interrupt leave on a real host,
// and that a step in the host's mount namespace can mount for the host.
func TestAgentOnTheHost(t *testing.T) {
	const mount = "/mnt/skyhook-e2e"
	node := ownNode(t)
	t.Cleanup(func() {
		if _, err := here(t).Exec(context.WithoutCancel(t.Context()), node, "umount", mount); err != nil {
			t.Error(err)
		}
	})
	scripts := map[string]string{
		"apply.sh":       "mkdir -p " + mount + "\nmountpoint -q " + mount + " || mount -t tmpfs skyhook " + mount + "\necho data: $(cat $SKYHOOK_DIR/configmaps/data.txt)",
		"apply_check.sh": "mountpoint " + mount,
		"data.txt":       "from the configMap",
	}
	mounting := with(skyhook("mounting", scripts), "", "env: [{name: SKYHOOK_HOST_NAMESPACES, value: mount}]")
	applyTo(t, []string{node}, "mounting", mounting)
	waitReady(t, "mounting")
	onHost(t, node, "mountpoint", mount)
	logs := onHost(t, node, "sh", "-c", "cat /var/log/skyhook/mounting/shellscript/1.1.0/*.log")
	if !strings.Contains(logs, "Z data: from the configMap\n") || !strings.Contains(logs, mount+" is a mountpoint\n") {
		t.Errorf("logs are\n%s", logs)
	}
	flags := onHost(t, node, "sh", "-c", "cd /var/lib/skyhook/mounting; ls flags/START flags/shellscript/1.1.0/shellscript_run.sh_* history/shellscript.json")
	if len(strings.Fields(flags)) != 4 { // apply and config
		t.Errorf("flags and history: %s", flags)
	}

	quiet := with(skyhook("quiet", map[string]string{"apply.sh": "echo a line"}), "",
		"env: [{name: SKYHOOK_AGENT_WRITE_LOGS, value: 'false'}]\ninterrupt: {type: noop}")
	applyTo(t, []string{node}, "quiet", quiet)
	waitReady(t, "quiet")
	absent(t, node, "/var/log/skyhook/quiet")
	onHost(t, node, "sh", "-c", "test -f /var/lib/skyhook/quiet/interrupts/flags/quiet-*_scripts_1.1.0/no_op.complete")
}
