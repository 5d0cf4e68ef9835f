package agent

import (
	"fmt"
	"strings"

	"github.com/skyhook-operator/skyhook/internal/agent/state"
	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

const bannerWidth = 20

// banner tells what a stage works with. The package is nil if it could not be
// read; the directories named are the ones really used.
func (a *agent) banner(pkg *packagefile.Package) {
	if pkg == nil {
		a.printBanner("unknown", "unknown", "unknown")
		return
	}
	kept := a.state()
	a.printBanner(kept.Flags(pkg), a.logDir(pkg), kept.History(pkg))
}

func (a *agent) printBanner(flagDir, logDir, historyFile string) {
	data := a.Data
	if data == "" {
		data = "None"
	}
	rule := strings.Repeat("-", bannerWidth)
	lines := []string{
		rule,
		heading("CLI CONFIGURATION"),
		"mode: " + a.Mode,
		"root_mount: " + a.RootMount,
		"copy_dir: " + a.CopyDir,
		"interrupt_data: " + data,
		"always_run_step: " + state.PythonBool(a.AlwaysRun),
		heading("ENV CONFIGURATION"),
		"COPY_RESOLV: " + state.PythonBool(a.CopyResolv),
		"OVERLAY_ALWAYS_RUN_STEP: " + state.PythonBool(a.AlwaysRun),
		"SKYHOOK_RESOURCE_ID: " + a.ResourceID,
		"SKYHOOK_DATA_DIR: " + a.DataDir,
		"SKYHOOK_ROOT_DIR: " + a.RootDir,
		"SKYHOOK_LOG_DIR: " + a.LogDir,
		fmt.Sprintf("SKYHOOK_AGENT_BUFFER_LIMIT: %d", a.BufferLimit),
		"SKYHOOK_AGENT_WRITE_LOGS: " + state.PythonBool(a.WriteLogs),
		heading("Directory CONFIGURATION"),
		"flag_dir: " + flagDir,
		"log_dir: " + logDir,
		"history_file: " + historyFile,
		rule,
	}
	a.say("%s", strings.Join(lines, "\n"))
}

// heading puts text in the middle, between dashes.
func heading(text string) string {
	space := max(0, bannerWidth-len(text))
	return strings.Repeat("-", space/2) + text + strings.Repeat("-", space-space/2)
}
