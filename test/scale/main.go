package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/skyhook-operator/skyhook/test/apiserver"
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
	runs                []string
	phases, out, report string
	operator            Program
	pace                Pace
	idle, patience      time.Duration
	profiles            string
	times               bool
	soak                soakPlan
	given               []string
}

// Flags that only one of both modes reads: with the other one they are refused.
var (
	soakFlags    = []string{"seed", "churn", "kills"}
	measureFlags = []string{"phases", "idle", "profiles", "reboot", "times"}
)

func parseFlags(args []string) (f flags, err error) {
	set := flag.NewFlagSet("scale", flag.ContinueOnError) // the global ones have flags of libraries
	set.StringVar(&f.phases, "phases", "floor,install,config,upgrade,uninstall",
		"the `phases` to run, separated by commas, in this order; install, or adopt instead, always; floor before install, "+
			"which plain worlds of up to 1,000 nodes have; edit may come after it, and takeover before uninstall")
	set.StringVar(&f.operator.File, "operator", "bin/skyhook-operator", "the operator's program")
	set.Uint64Var(&f.operator.Memory, "memory", 0,
		"tell the operator's garbage collector of a container with this memory limit, in `MiB`; 0 for none; nothing enforces it")
	set.StringVar(&f.out, "out", "dist/scale", "folder for logs, and for profiles where a range is missed")
	set.StringVar(&f.report, "report", "",
		"the `file` for all figures; if empty, scale.txt in the folder, or soak-NODES/soak.json of a soak")
	set.DurationVar(&f.pace.Container, "container", 50*time.Millisecond, "how long each container runs")
	set.DurationVar(&f.pace.Backoff, "backoff", time.Second, "how long until a failed container starts again")
	set.DurationVar(&f.pace.Reboot, "reboot", time.Second, "how long a reboot takes")
	set.DurationVar(&f.idle, "idle", 5*time.Second, "how long the idle operator is measured after the install; 0 to skip")
	set.DurationVar(&f.patience, "timeout", time.Hour, "how long a phase may take")
	set.StringVar(&f.profiles, "profiles", profilesMissed,
		"which profiles to keep: all; missed, where a range is missed; none, which takes none")
	set.BoolVar(&f.times, "times", true, "check times and CPU against their ranges, too; not where other work runs beside")
	set.DurationVar(&f.soak.Length, "soak", 0, "do not measure; let random edits, churn and kills happen for this long")
	set.Uint64Var(&f.soak.Seed, "seed", 0, "of a soak: what happens in which order; 0 for a random one")
	set.IntVar(&f.soak.Churn, "churn", 10, "of a soak: how many nodes join in a minute; as many leave, and as many move")
	set.IntVar(&f.soak.Kills, "kills", 3, "of a soak: how often the operator is killed")
	set.Usage = func() {
		fmt.Fprintf(set.Output(), "Usage: scale [flags] WORLD:NODES[xPACKAGES]...\n       scale [flags] -soak 1h NODES\n\n"+
			"Worlds: %s\nPackages: 2 if not given\n\n",
			strings.Join(worldNames(), ", "))
		set.PrintDefaults()
	}
	err = set.Parse(args)
	f.runs = set.Args()
	set.Visit(func(g *flag.Flag) { f.given = append(f.given, g.Name) })
	return f, err
}

// check refuses flags that would do nothing.
func (f flags) check() error {
	useless, mode := measureFlags, "with"
	if f.soak.Length == 0 {
		useless, mode = soakFlags, "without"
	}
	for _, name := range f.given {
		if slices.Contains(useless, name) {
			return fmt.Errorf("-%s does nothing %s -soak; leave it out", name, mode)
		}
	}
	for name, d := range map[string]time.Duration{
		"container": f.pace.Container, "backoff": f.pace.Backoff, "reboot": f.pace.Reboot, "idle": f.idle, "soak": f.soak.Length,
	} {
		if d < 0 {
			return fmt.Errorf("-%s is %s; it must not be negative", name, d)
		}
	}
	if f.patience <= 0 {
		return fmt.Errorf("-timeout is %s; it must be more than 0", f.patience)
	}
	const most = 1 << 24
	if f.operator.Memory > most {
		return fmt.Errorf("-memory is %d; it is in MiB, and must be at most %d", f.operator.Memory, most)
	}
	if _, err := exec.LookPath(f.operator.File); err != nil {
		return fmt.Errorf("-operator: %w; build it with tools/compile ./cmd/skyhook-operator bin/skyhook-operator", err)
	}
	return nil
}

// reserve takes the folder of logs and profiles for this process, which deletes there what an earlier one left, and
// makes sure that the report can be written: hours later it is too late.
func (f flags) reserve(report string) (release func() error, err error) {
	if err := checkReport(report); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(f.out, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder for logs and profiles: %w", err)
	}
	lock, err := os.Create(filepath.Join(f.out, "lock"))
	if err != nil {
		return nil, fmt.Errorf("lock the folder for logs and profiles: %w", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("another scale uses the folder %s; wait for it, or give this one another with -out",
			f.out), lock.Close())
	}
	return lock.Close, nil
}

func start(ctx context.Context) error {
	if len(os.Args) == 2 && os.Args[1] == nullCommand {
		return runNull(ctx)
	}
	f, err := parseFlags(os.Args[1:])
	switch {
	case errors.Is(err, flag.ErrHelp):
		return nil
	case err != nil:
		return err
	}
	if err := f.check(); err != nil {
		return err
	}
	if f.soak.Length != 0 {
		return f.startSoak(ctx)
	}
	return f.measure(ctx)
}

// measure runs the worlds and checks the ranges. What was measured until something failed is reported as well.
func (f flags) measure(ctx context.Context) (err error) {
	ranges, err := readRanges(rangesFile)
	if err != nil {
		return err
	}
	if !f.times {
		ranges = ranges.untimed()
	}
	runs, err := f.plan()
	if err != nil {
		return err
	}
	file := cmp.Or(f.report, filepath.Join(f.out, "scale.txt"))
	release, err := f.reserve(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	if err := apiserver.CheckAssets(); err != nil { // before an earlier run's files are deleted
		return err
	}
	var all []Result
	var failed error
	for _, r := range runs {
		results, err := r.measure(ctx)
		printTable(os.Stdout, results)
		all, failed = append(all, results...), err
		if ctx.Err() != nil {
			failed = fmt.Errorf("interrupted; the operator's log is in %s", r.folder) // whatever that led to
		}
		if failed != nil {
			break
		}
	}
	if len(all) == 0 {
		return failed
	}
	if err := writeReport(file, benchmarks(f.pace, f.operator, all)); err != nil {
		return errors.Join(failed, err)
	}
	fmt.Printf("\nall figures are in %s\n", file)
	return errors.Join(failed, f.judge(ranges.check(all), all))
}

// judge tells what is outside of its range, and keeps the profiles of that alone.
func (f flags) judge(found []missed, all []Result) error {
	keeps := func(r Result) bool {
		return slices.ContainsFunc(found, func(m missed) bool {
			return m.Result.name() == r.name() && (m.Result.folder == r.folder || m.Result.folder == "") // a mean is of all
		})
	}
	for _, m := range found {
		fmt.Fprintln(os.Stderr, m.Text)
	}
	for _, r := range all {
		pattern := r.profiles()
		if f.profiles != profilesMissed {
			continue
		}
		if keeps(r) {
			fmt.Fprintf(os.Stderr, "its profiles are kept: go tool pprof %s %s\n", f.operator.File, pattern)
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
		return fmt.Errorf("figures outside of the ranges in test/scale/ranges.yaml: %d", len(found))
	}
	return nil
}

func (f flags) plan() ([]*run, error) {
	chosen, err := choosePhases(f.phases)
	if err != nil {
		return nil, err
	}
	if err := playable(chosen); err != nil {
		return nil, err
	}
	if !slices.Contains([]string{profilesAll, profilesMissed, profilesNone}, f.profiles) {
		return nil, fmt.Errorf("-profiles is %q; it must be all, missed or none", f.profiles)
	}
	if len(f.runs) == 0 {
		return nil, errors.New("say what to measure, such as plain:500x2; -h lists the worlds")
	}
	var all []*run
	times := map[string]int{}
	for _, text := range f.runs {
		name, size, err := parseRun(text)
		if err != nil {
			return nil, err
		}
		folder := filepath.Join(f.out, name+"-"+size.String())
		times[folder]++
		if n := times[folder]; n > 1 { // a size that is measured once more
			folder += fmt.Sprintf("-%d", n)
		}
		all = append(all, &run{
			name: name, world: worlds[name], size: size, phases: f.possible(chosen, name, size), pace: f.pace, idle: f.idle, program: f.operator,
			profiles: f.profiles != profilesNone,
			folder:   folder, patience: f.patience,
			tell: teller(),
		})
	}
	return all, nil
}

// possible leaves out the floor where there is none, or where no time counts.
func (f flags) possible(chosen []Phase, world string, size Size) []Phase {
	if chosen[0] == phaseFloor && (!f.times || !hasFloor(world, size)) {
		return chosen[1:]
	}
	return chosen
}

// playable refuses phases that would find nothing to change: each world begins empty.
func playable(chosen []Phase) error {
	if chosen[0] == phaseFloor {
		if len(chosen) < 2 || chosen[1] != phaseInstall {
			return fmt.Errorf("-phases is %v; after floor comes install, which is compared with it", chosen)
		}
		chosen = chosen[1:]
	}
	place := func(p Phase) int { return slices.Index(phases, p) }
	for i, p := range chosen {
		if p.begins() != (i == 0) || i > 0 && place(p) <= place(chosen[i-1]) {
			return fmt.Errorf("-phases is %v; it must begin with either install or adopt, and name each other phase once, in the order %v", chosen, phases)
		}
	}
	return nil
}

// teller prints lines with the time since it was made.
func teller() func(format string, args ...any) {
	begin := time.Now()
	return func(format string, args ...any) {
		fmt.Printf("%6.0f s  "+format+"\n", append([]any{time.Since(begin).Seconds()}, args...)...)
	}
}

// startSoak plays a soak and judges it.
func (f flags) startSoak(ctx context.Context) error {
	plan, err := f.soakPlan()
	if err != nil {
		return err
	}
	folder := filepath.Join(f.out, fmt.Sprintf("soak-%d", plan.Nodes))
	s := &soak{
		plan: plan, pace: f.pace, patience: f.patience, program: f.operator, folder: folder,
		report: cmp.Or(f.report, filepath.Join(folder, "soak.json")), tell: teller(),
	}
	release, err := f.reserve(s.report)
	if err != nil {
		return err
	}
	if err = apiserver.CheckAssets(); err == nil { // before an earlier run's files are deleted
		err = s.run(ctx)
	}
	if ctx.Err() != nil {
		err = fmt.Errorf("interrupted; what happened until then is in %s", folder) // whatever that led to
	}
	return errors.Join(err, release())
}

func (f flags) soakPlan() (soakPlan, error) {
	p := f.soak
	if len(f.runs) != 1 {
		return p, errors.New("say how many nodes the soak has, such as -soak 1h 5000")
	}
	nodes, err := strconv.Atoi(f.runs[0])
	switch {
	case err != nil || nodes < soakNodes:
		return p, fmt.Errorf("a soak needs at least %d nodes, so that each Skyhook has some; got %q", soakNodes, f.runs[0])
	case p.Length < time.Minute:
		return p, fmt.Errorf("-soak is %s; it must be a minute at least", p.Length)
	case p.Churn < 0 || p.Churn > nodes:
		return p, fmt.Errorf("-churn is %d; it must be from 0 to the number of nodes", p.Churn)
	case p.Kills < 0:
		return p, fmt.Errorf("-kills is %d; it must not be negative", p.Kills)
	}
	p.Nodes = nodes
	for p.Seed == 0 {
		p.Seed = uint64(rand.Uint32())
	}
	return p, nil
}
