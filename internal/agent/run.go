package agent

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/skyhook-operator/skyhook/internal/agent/tryout"
	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

const runUsage = `Tries a package without a cluster: runs a stage of it and then the stage's check against a root folder,
as the operator would have it done on a host, and lists the files that changed. Needs root.

Usage:
  skyhook-agent run [options] PACKAGE STAGE

PACKAGE is the package's folder. STAGE is one of apply, config, upgrade, post-interrupt and uninstall, or a
check alone, such as apply-check.

Options:
  --root DIR              the folder to take for the host's root (needed)
  --base PATH|IMAGE       what the package is derived FROM: a folder, archive or image of another package
  --overlay DIR           leave the root as it is and keep what changes in this folder, where the next stage
                          finds it; with --root / a package is tried on this machine without changing its files
  --configmap DIR         the package's configMap: a folder of files, each a key
  --configmap KEY=FILE    one key of the configMap; both forms may be repeated
  --env NAME=VALUE        a variable of the package's env; may be repeated
  --name NAME             the package's name in the Skyhook (its package_name, with - for _ and the like)
  -o text|json            the report's format; with json, all other output goes to standard error

The exit code is 0 if stage and check succeeded, 1 if not, 2 if the command is wrong.

Example:
  skyhook-agent run --root / --overlay try --configmap motd.txt=hello.txt ./motd apply
  skyhook-agent run --root / --overlay try --configmap motd.txt=hello.txt ./motd config
  skyhook-agent run --root / --overlay try ./motd uninstall
  rm -r try
`

// tryPackage is the run command.
func (p Program) tryPackage(ctx context.Context, args []string) int {
	trial, err := p.parseTrial(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		_, _ = io.WriteString(p.Stdout, runUsage)
		return exitDone
	case err != nil:
		p.complain(err)
		_, _ = fmt.Fprintf(p.Stderr, "See skyhook-agent %s --help.\n", modeRun)
		return exitUsage
	}
	name, remove, err := onBase(ctx, trial.base, trial.Package)
	if err != nil {
		p.complain(err)
		return exitFailed
	}
	defer remove()
	trial.Package = name
	return p.try(ctx, trial)
}

// trialCommand is a parsed command line of run.
type trialCommand struct {
	tryout.Trial
	format string
	// base is what the package is derived from; empty for nothing.
	base string
}

func (p Program) try(ctx context.Context, trial trialCommand) int {
	output := p.Stdout
	if trial.format == "json" {
		output = p.Stderr
	}
	report, err := trial.Run(ctx, output, p.Stderr)
	if err != nil {
		p.complain(err)
		return exitFailed
	}
	if trial.format == "json" {
		if err := report.WriteJSON(p.Stdout); err != nil {
			p.complain(fmt.Errorf("write the report: %w", err))
			return exitFailed
		}
	} else {
		report.WriteText(p.Stdout)
	}
	if !report.Succeeded {
		return exitFailed
	}
	return exitDone
}

// parseTrial reads the command line and the files that it names.
func (p Program) parseTrial(args []string) (trialCommand, error) {
	trial := trialCommand{Trial: tryout.Trial{Version: p.Version, ConfigMap: map[string][]byte{}}}
	set := flag.NewFlagSet(modeRun, flag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.StringVar(&trial.Root, "root", "", "")
	set.StringVar(&trial.Overlay, "overlay", "", "")
	set.StringVar(&trial.Name, "name", "", "")
	set.StringVar(&trial.base, "base", "", "")
	set.StringVar(&trial.format, "o", "text", "")
	set.Func("configmap", "", func(value string) error { return addConfigMap(trial.ConfigMap, value) })
	set.Func("env", "", func(value string) error {
		if name, _, ok := strings.Cut(value, "="); !ok || name == "" {
			return errors.New("want NAME=VALUE")
		}
		trial.Env = append(trial.Env, value)
		return nil
	})
	rest, err := interleaved(set, args)
	if err != nil {
		return trial, err
	}
	if len(rest) != 2 {
		return trial, fmt.Errorf("run wants a package and a stage, not %d arguments", len(rest))
	}
	trial.Package, trial.Mode = rest[0], packagefile.Mode(rest[1])
	return trial, checkTrial(trial.Trial, trial.format)
}

var (
	configMapKey  = regexp.MustCompile(`^[-._a-zA-Z0-9]+$`)
	packageNaming = regexp.MustCompile(`^[a-z]([-a-z0-9]{0,41}[a-z0-9])?$`)
)

func checkTrial(trial tryout.Trial, format string) error {
	switch {
	case trial.Root == "":
		return errors.New("run wants the folder to take for the host's root: --root DIR; with --overlay it stays as it is")
	case format != "text" && format != "json":
		return errors.New("-o is text or json, not " + format)
	case trial.Name != "" && !packageNaming.MatchString(trial.Name):
		return errors.New("--name wants a package's name as in a Skyhook: at most 43 small letters, digits and -, beginning with a letter, not " + trial.Name)
	case !trial.Mode.Known():
		return fmt.Errorf("run knows no stage %q; stages: %s", trial.Mode, strings.Join(stageNames(), ", "))
	}
	return nil
}

// addConfigMap reads a folder of files, or one file under another name.
func addConfigMap(into map[string][]byte, value string) error {
	if info, err := os.Stat(value); err == nil && info.IsDir() {
		return addConfigMapFolder(into, value)
	}
	key, file, ok := strings.Cut(value, "=")
	if !ok {
		return errors.New("want a folder or KEY=FILE")
	}
	if !configMapKey.MatchString(key) || key == "." || strings.HasPrefix(key, "..") {
		return fmt.Errorf("a ConfigMap's key has only letters, digits, -, _ and ., and does not begin with two dots: not %q", key)
	}
	content, err := os.ReadFile(file)
	into[key] = content
	return err
}

func addConfigMapFolder(into map[string][]byte, dir string) error {
	found, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	// Folders are no keys; those of a mounted ConfigMap only hold what its links show.
	files := slices.DeleteFunc(found, func(f os.DirEntry) bool {
		info, err := os.Stat(filepath.Join(dir, f.Name()))
		return err == nil && info.IsDir()
	})
	for _, file := range files {
		if err := addConfigMap(into, file.Name()+"="+filepath.Join(dir, file.Name())); err != nil {
			return err
		}
	}
	return nil
}
