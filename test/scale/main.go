package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ctrl.SetLogger(logr.Discard()) // of the library that starts the control plane
	err := start(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

// Which profiles are kept.
const (
	profilesAll    = "all"
	profilesMissed = "missed"
	profilesNone   = "none"
)

// flags of the command line.
type flags struct {
	runs                        []string
	phases, operator, out, json string
	pace                        Pace
	idle, patience              time.Duration
	profiles                    string
}

func parseFlags(args []string) (f flags, err error) {
	set := flag.NewFlagSet("scale", flag.ContinueOnError) // the global ones have flags of libraries
	set.StringVar(&f.phases, "phases", "install,config,upgrade,uninstall", "phases, in their order")
	set.StringVar(&f.operator, "operator", "bin/skyhook-operator", "the operator's program")
	set.StringVar(&f.out, "out", "dist/scale", "folder for logs, and for profiles where a range is missed")
	set.StringVar(&f.json, "json", "", "file for all figures; scale.json in the folder if empty")
	set.DurationVar(&f.pace.Container, "container", 50*time.Millisecond, "how long each container runs")
	set.DurationVar(&f.pace.Backoff, "backoff", time.Second, "how long until a failed container starts again")
	set.DurationVar(&f.pace.Reboot, "reboot", time.Second, "how long a reboot takes")
	set.DurationVar(&f.idle, "idle", 5*time.Second, "how long the idle operator is measured after the install; 0 for not")
	set.DurationVar(&f.patience, "timeout", time.Hour, "how long a phase may take")
	set.StringVar(&f.profiles, "profiles", profilesMissed,
		"which profiles to keep: all; missed, where a range is missed; none, which takes none")
	set.Usage = func() {
		fmt.Fprintf(set.Output(),
			"Usage: scale [flags] WORLD:NODES[xPACKAGES]...\n       scale page REPORTS FOLDER\n\n"+
				"The second writes a page with pictures of all reports in one folder into another.\n\n"+
				"Worlds: %s\nPackages: 2 if not given\n\n",
			strings.Join(worldNames(), ", "))
		set.PrintDefaults()
	}
	err = set.Parse(args)
	f.runs = set.Args()
	return f, err
}

func start(ctx context.Context) error {
	if len(os.Args) == 4 && os.Args[1] == "page" {
		return writePage(os.Args[2], os.Args[3])
	}
	f, err := parseFlags(os.Args[1:])
	switch {
	case errors.Is(err, flag.ErrHelp):
		return nil
	case err != nil:
		return err
	}
	ranges, err := readRanges(rangesFile)
	if err != nil {
		return err
	}
	runs, err := f.plan()
	if err != nil {
		return err
	}
	var all []Result
	for _, r := range runs {
		results, err := r.measure(ctx)
		printTable(os.Stdout, results)
		if all = append(all, results...); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return errors.New("interrupted")
		}
	}
	file := f.json
	if file == "" {
		file = filepath.Join(f.out, "scale.json")
	}
	report, err := newReport(f.pace, all)
	if err := errors.Join(err, report.write(file)); err != nil {
		return err
	}
	fmt.Printf("\nall figures are in %s\n", file)
	return f.judge(ranges.check(all), all)
}

// judge tells what is outside of its range, and keeps the profiles of that alone.
func (f flags) judge(found []missed, all []Result) error {
	keep := map[string]bool{}
	for _, m := range found {
		fmt.Fprintln(os.Stderr, m.Text)
		keep[m.Result.name()] = true
	}
	for _, r := range all {
		pattern := filepath.Join(f.folder(r.World, r.size()), string(r.Phase)+"-*.pb.gz")
		if f.profiles != profilesMissed {
			continue
		}
		if keep[r.name()] {
			fmt.Fprintf(os.Stderr, "its profiles are kept: go tool pprof %s %s\n", f.operator, pattern)
			continue
		}
		files, err := filepath.Glob(pattern)
		if err != nil {
			return fmt.Errorf("look for profiles: %w", err)
		}
		for _, file := range files {
			if err := os.Remove(file); err != nil {
				return fmt.Errorf("remove a profile: %w", err)
			}
		}
	}
	if len(found) > 0 {
		return fmt.Errorf("%d figures are outside of the ranges in test/scale/ranges.yaml", len(found))
	}
	return nil
}

// folder is where a world of a size leaves its log and profiles.
func (f flags) folder(world string, size Size) string {
	return filepath.Join(f.out, world+"-"+size.String())
}

func (f flags) plan() ([]*run, error) {
	chosen, err := choosePhases(f.phases)
	if err != nil {
		return nil, err
	}
	if !slices.Contains([]string{profilesAll, profilesMissed, profilesNone}, f.profiles) {
		return nil, fmt.Errorf("-profiles is %q; it must be all, missed or none", f.profiles)
	}
	if len(f.runs) == 0 {
		return nil, errors.New("say what to measure, such as plain:500x2; -h lists the worlds")
	}
	var all []*run
	for _, text := range f.runs {
		name, size, err := parseRun(text)
		if err != nil {
			return nil, err
		}
		begin := time.Now()
		all = append(all, &run{
			name: name, world: worlds[name], size: size, phases: chosen, pace: f.pace, idle: f.idle, program: f.operator,
			profiles: f.profiles != profilesNone,
			folder:   f.folder(name, size), patience: f.patience,
			tell: func(format string, args ...any) {
				fmt.Printf("%6.0f s  "+format+"\n", append([]any{time.Since(begin).Seconds()}, args...)...)
			},
		})
	}
	return all, nil
}
