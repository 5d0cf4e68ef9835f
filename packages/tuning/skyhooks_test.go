//go:build integration

package tuning_test

import (
	"maps"
	"strings"
	"testing"
)

// inAnother is the package of the same name in another Skyhook.
func (h *host) inAnother() *host {
	other := h.second()
	other.Env = maps.Clone(h.Env)
	other.Env["SKYHOOK_ROOT_DIR"] = "/var/lib/skyhook/other"
	other.Env["SKYHOOK_DIR"] = "/var/lib/skyhook/other/web-1.3.0"
	other.Env["SKYHOOK_RESOURCE_ID"] = "other-uid-1_web_1.3.0"
	return other
}

var otherKeys = map[string]string{
	"sysctl.conf":       "net.ipv4.tcp_rmem=1 2 3\n",
	"ulimit.conf":       "nproc=5\n",
	"service_cron.conf": "[Service]\nNice=5\n",
	"grub.conf":         "a=1\n",
}

// TestPackagesOfOneName of two Skyhooks tune one host, and are removed in both orders.
func TestPackagesOfOneName(t *testing.T) {
	t.Parallel()
	eachHost(t, func(_ *testing.T, mine *host) {
		theirs := mine.inAnother()
		pristine := mine.Snapshot(watched...)
		mine.configure(everything)
		onlyMine := mine.Snapshot(watched...)
		theirs.configure(otherKeys)
		mine.succeed("config-check")
		theirs.uninstall()
		mine.ExpectSnapshot(onlyMine, watched...)

		theirs.configure(otherKeys)
		both := mine.Snapshot(watched...)
		mine.configure(everything)
		mine.ExpectSnapshot(both, watched...)
		mine.uninstall()
		theirs.succeed("config-check")
		theirs.uninstall()
		mine.ExpectSnapshot(pristine, watched...)
	})
}

// asNamedBefore gives the files of a package, and what it remembers of them, the names that version 1.2 gave them.
func (h *host) asNamedBefore(skyhook string) {
	h.T.Helper()
	rename := strings.NewReplacer("999-"+skyhook+"_", "999-", `"`+skyhook+`/web"`, `"web"`)
	state := h.Env["SKYHOOK_ROOT_DIR"] + "/tuning/web/written"
	for line := range strings.Lines(h.Read(state)) {
		file, _, _ := strings.Cut(line, " ")
		content := h.Read(file)
		h.Remove(file)
		h.Write(rename.Replace(file), content)
	}
	h.Write(state, rename.Replace(h.Read(state)))
	for _, file := range []string{pamSession, pamNonInter} {
		if h.Has(file) {
			h.Write(file, rename.Replace(h.Read(file)))
		}
	}
	h.tool("systemctl", "daemon-reload")
}

// TestFilesOfVersion12: they are renamed, and all else stays as it is.
func TestFilesOfVersion12(t *testing.T) {
	t.Parallel()
	eachHost(t, func(_ *testing.T, h *host) {
		pristine := h.Snapshot(watched...)
		h.configure(everything)
		installed := h.Snapshot(watched...)
		for _, mode := range []string{"config", "uninstall"} {
			h.asNamedBefore("demo")
			h.succeed(mode)
			h.succeed(mode + "-check")
			if mode == "config" {
				h.ExpectSnapshot(installed, watched...)
			}
		}
		h.ExpectSnapshot(pristine, watched...)
	})
}

// TestFileThatTwoWrote: version 1.2 of two Skyhooks wrote one file. Whoever wrote it last has it; the other one writes its
// own, and removes nothing.
func TestFileThatTwoWrote(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]string{"its writer first": "theirs", "the other one first": "mine"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mine := newDebian(t)
			theirs := mine.inAnother()
			pristine := mine.Snapshot(watched...)
			mine.configure(everything)
			mine.asNamedBefore("demo")
			theirs.configure(otherKeys)
			theirs.asNamedBefore("other")
			order := []*host{mine, theirs}
			if first == "theirs" {
				order = []*host{theirs, mine}
			}
			for _, h := range order {
				h.succeed("config")
				h.succeed("config-check")
			}
			mine.succeed("config-check")
			for _, file := range []string{sysctlDropIn, limitsDropIn, cronDropIn, grubDropIn} {
				mine.expect(named(file), "")
			}
			mine.uninstall()
			theirs.succeed("config-check")
			theirs.uninstall()
			mine.ExpectSnapshot(pristine, watched...)
		})
	}
}

// TestCrashOfTakingOver: at any moment of it the next run ends what was begun.
func TestCrashOfTakingOver(t *testing.T) {
	t.Parallel()
	h := newDebian(t)
	h.configure(everything)
	installed := h.Snapshot(watched...)
	moment := 1
	for crashed := true; crashed && !t.Failed(); moment++ {
		h.asNamedBefore("demo")
		crashed = h.crash("config", moment)
		h.succeed("config")
		h.succeed("config-check")
		h.ExpectSnapshot(installed, watched...)
	}
	if moment < 10 {
		t.Errorf("until the change %d", moment)
	}
}
