package agent

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// settings are the variables that steer the agent.
type settings struct {
	CopyResolv bool
	AlwaysRun  bool
	ResourceID string
	// Run is the operator's name for one interrupt, new for each.
	Run string
	// EndsBoot is the host's boot id when that interrupt began; empty if the operator does not tell.
	EndsBoot    string
	DataDir     string
	RootDir     string
	LogDir      string
	BufferLimit int
	// LogLimit is how large one log on the host may get, in bytes.
	LogLimit    int64
	WriteLogs   bool
	MessageFile string
	// StopPatience is the time between SIGTERM and SIGKILL for a command.
	StopPatience time.Duration
	// RebootPatience is how long to wait for the end after a reboot was asked for.
	RebootPatience time.Duration
	// StepLimit is how long a step may take; zero is for ever.
	StepLimit time.Duration
	// InterruptLimit is how long one command of an interrupt may take; zero is for ever.
	InterruptLimit time.Duration
	// CheckPatience is how long a check that fails is tried again.
	CheckPatience time.Duration
	// Namespaces names those of the host that steps run in, beside its root.
	Namespaces   string
	badVariables []string
}

const (
	namespacesVariable = "SKYHOOK_HOST_NAMESPACES"
	// mountNamespace is its only value: all others of the host the pod has.
	mountNamespace = "mount"

	defaultBufferLimit = 8192
	// The agent shares its memory limit with the steps, and keeps two lines.
	maxBufferLimit = 1 << 20
	// Five runs of a script with two logs each take 100 MiB at most.
	defaultLogLimit = 10 << 20
	minLogLimit     = 64 << 10
	// Below the kubelet's default of 30 s, so that a step which ignores SIGTERM
	// is reported as stopped before the agent itself is killed.
	defaultStopPatience = 25 * time.Second
	// A host may take long to stop its services.
	defaultRebootPatience = 10 * time.Minute
	// systemd gives a service 90 s to stop and 90 s to start unless it says
	// otherwise, and a service may wait for others.
	defaultInterruptLimit = 10 * time.Minute
	defaultMessageFile    = "/dev/termination-log"
)

func readSettings(env environ) settings {
	s := settings{
		ResourceID:  env["SKYHOOK_RESOURCE_ID"],
		Run:         env["SKYHOOK_RUN"],
		EndsBoot:    env["SKYHOOK_BOOT_ID"],
		DataDir:     env.get("SKYHOOK_DATA_DIR", "/skyhook-package"),
		RootDir:     env.get("SKYHOOK_ROOT_DIR", "/etc/skyhook"),
		LogDir:      env.get("SKYHOOK_LOG_DIR", "/var/log/skyhook"),
		MessageFile: env.get("SKYHOOK_AGENT_TERMINATION_LOG", defaultMessageFile),
	}
	s.CopyResolv = s.flag(env, "COPY_RESOLV", true)
	s.AlwaysRun = s.flag(env, "OVERLAY_ALWAYS_RUN_STEP", false)
	s.WriteLogs = s.flag(env, "SKYHOOK_AGENT_WRITE_LOGS", true)
	s.BufferLimit = int(s.bytes(env, "SKYHOOK_AGENT_BUFFER_LIMIT", defaultBufferLimit, 1, maxBufferLimit))
	s.LogLimit = s.bytes(env, "SKYHOOK_AGENT_LOG_LIMIT", defaultLogLimit, minLogLimit, math.MaxInt32)
	s.StopPatience = s.seconds(env, "SKYHOOK_AGENT_STOP_SECONDS", defaultStopPatience)
	s.RebootPatience = s.seconds(env, "SKYHOOK_AGENT_REBOOT_SECONDS", defaultRebootPatience)
	s.StepLimit = s.seconds(env, "SKYHOOK_AGENT_STEP_SECONDS", 0)
	s.InterruptLimit = s.seconds(env, "SKYHOOK_AGENT_INTERRUPT_SECONDS", defaultInterruptLimit)
	s.CheckPatience = s.seconds(env, "SKYHOOK_AGENT_CHECK_SECONDS", 0)
	s.Namespaces = env[namespacesVariable]
	return s
}

// flag is true for "true" in any case, and false for anything else.
func (s *settings) flag(env environ, name string, fallback bool) bool {
	text, given := env[name]
	if !given {
		return fallback
	}
	if !strings.EqualFold(text, "true") && !strings.EqualFold(text, "false") {
		s.badVariables = append(s.badVariables, fmt.Sprintf("%s=%q is neither true nor false, using false", name, text))
	}
	return strings.EqualFold(text, "true")
}

// bytes reads a size. One that is out of range becomes the nearest that is not.
func (s *settings) bytes(env environ, name string, fallback, least, most int64) int64 {
	text, given := env[name]
	if !given {
		return fallback
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if (err != nil && !errors.Is(err, strconv.ErrRange)) || n <= 0 {
		s.badVariables = append(s.badVariables, fmt.Sprintf("%s=%q is not a number of bytes, using %d",
			name, text, fallback))
		return fallback
	}
	if within := min(max(n, least), most); within != n {
		s.badVariables = append(s.badVariables, fmt.Sprintf("%s=%s is not between %d and %d bytes, using %d",
			name, text, least, most, within))
		return within
	}
	return n
}

func (s *settings) seconds(env environ, name string, fallback time.Duration) time.Duration {
	text, given := env[name]
	if !given {
		return fallback
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n >= 0 && n <= math.MaxInt32) {
		s.badVariables = append(s.badVariables, fmt.Sprintf("%s=%q is not a number of seconds, using %v",
			name, text, fallback))
		return fallback
	}
	return time.Duration(n * float64(time.Second))
}
