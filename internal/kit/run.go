package kit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/skyhook-operator/skyhook/internal/kit/tryout"
	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

const runHelp = `Tries a package without a cluster: runs a stage of it and then the stage's check against a root folder,
as on a host of a cluster, and lists the files that changed. Needs root.

PACKAGE is the package's folder. STAGE is one of apply, config, upgrade, post-interrupt and uninstall, or a
check alone, such as apply-check.

Exit codes: 0 stage and check succeeded, 1 they did not, 2 wrong usage.`

const runExample = `  skyhook package run --root / --overlay try --configmap motd.txt=hello.txt ./motd apply
  skyhook package run --root / --overlay try --configmap motd.txt=hello.txt ./motd config
  skyhook package run --root / --overlay try ./motd uninstall
  rm -r try`

// trial is a stage to try, and how to tell of it.
type trial struct {
	tryout.Trial
	format string
	// base is what the package is derived from; empty for nothing.
	base string
}

func runCommand(version string) *cobra.Command {
	t := trial{Trial: tryout.Trial{Version: version, ConfigMap: map[string][]byte{}}}
	c := &cobra.Command{
		Use:     "run --root DIR [options] PACKAGE STAGE",
		Short:   "Try a package without a cluster",
		Long:    runHelp,
		Example: runExample,
		Args:    wants(2, "a package and a stage"),
		RunE: func(c *cobra.Command, args []string) error {
			t.Package, t.Mode = args[0], packagefile.Mode(args[1])
			if err := cmp.Or(checkFormat(t.format), checkTrial(t.Trial)); err != nil {
				return err
			}
			return t.run(c.Context(), c.OutOrStdout(), c.ErrOrStderr())
		},
		DisableFlagsInUseLine: true,
	}
	flags := c.Flags()
	flags.SortFlags = false
	flags.StringVar(&t.Root, "root", "", "the folder `DIR` to take for the host's root (needed)")
	flags.StringVar(&t.Overlay, "overlay", "",
		"leave the root as it is and keep what changes in the folder `DIR`, where the next stage finds it;\n"+
			"with --root / a package is tried on this machine without changing its files")
	flags.StringVar(&t.base, "base", "", baseHelp)
	flags.Func("configmap",
		"the package's configMap: a folder of files, each a key, or one key, as `DIR|KEY=FILE`; may be repeated",
		func(value string) error { return addConfigMap(t.ConfigMap, value) })
	flags.Func("env", "a variable `NAME=VALUE` of the package's env; may be repeated", func(value string) error {
		if name, _, ok := strings.Cut(value, "="); !ok || name == "" {
			return errors.New("want NAME=VALUE")
		}
		t.Env = append(t.Env, value)
		return nil
	})
	flags.StringVar(&t.Name, "name", "",
		"the package's `NAME` in the Skyhook (default its package_name, with - for _ and the like)")
	flags.StringVarP(&t.format, "output", "o", formatText,
		"`FORMAT` of the report: text, or json, with which all other output goes to standard error")
	return c
}

func (t trial) run(ctx context.Context, stdout, stderr io.Writer) error {
	name, remove, err := onBase(ctx, t.base, t.Package)
	if err != nil {
		return FailedError{err}
	}
	defer remove()
	t.Package = name
	output := stdout
	if t.format == formatJSON {
		output = stderr
	}
	report, err := t.Run(ctx, output, stderr)
	if err != nil {
		return FailedError{err}
	}
	if t.format == formatText {
		report.WriteText(stdout)
	} else if err := report.WriteJSON(stdout); err != nil {
		return FailedError{fmt.Errorf("write the report: %w", err)}
	}
	if !report.Succeeded {
		return FailedError{ErrReported}
	}
	return nil
}

var (
	configMapKey  = regexp.MustCompile(`^[-._a-zA-Z0-9]+$`)
	packageNaming = regexp.MustCompile(`^[a-z]([-a-z0-9]{0,41}[a-z0-9])?$`)
)

func checkTrial(t tryout.Trial) error {
	switch {
	case t.Root == "":
		return errors.New("run wants the folder to take for the host's root: --root DIR; with --overlay it stays as it is")
	case t.Name != "" && !packageNaming.MatchString(t.Name):
		return errors.New("--name wants a package's name as in a Skyhook: at most 43 small letters, digits and -, " +
			"beginning with a letter, not " + t.Name)
	case !t.Mode.Known():
		return fmt.Errorf("run knows no stage %q; stages: %s", t.Mode, strings.Join(packagefile.ModeNames(), ", "))
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
		return fmt.Errorf("a ConfigMap's key has only letters, digits, -, _ and ., and does not begin with two dots: not %q",
			key)
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
