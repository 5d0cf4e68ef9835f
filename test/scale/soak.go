package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// soak is one fleet under random edits for a long time.
type soak struct {
	plan      soakPlan
	pace      Pace
	patience  time.Duration
	program   Program
	folder    string
	report    string
	tell      func(format string, args ...any)
	control   *control
	kubelets  *kubelets
	lives     *lives
	processes processes
	log       *journal
	counts    *tally
	begin     time.Time
	samples   []sample
	rests     rests
	// installed is what there was after the install.
	installed counts
}

// soakReport is what is written as JSON.
type soakReport struct {
	Plan        soakPlan     `json:"plan"`
	Events      counts       `json:"events"`
	Rests       rests        `json:"rests"`
	Comparisons []comparison `json:"comparisons"`
	Left        []string     `json:"left"`
	Log         logged       `json:"log"`
	Requests    counts       `json:"requests"`
	Failed      []string     `json:"failed"`
}

// run plays the soak and judges it.
func (s *soak) run(ctx context.Context) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := errors.Join(os.RemoveAll(s.folder), os.MkdirAll(s.folder, 0o755)); err != nil {
		return fmt.Errorf("make a folder for logs and profiles: %w", err)
	}
	if s.log, err = newJournal(s.folder); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.log.close()) }()
	if s.control, err = startControl(ctx, s.folder); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.control.stop()) }()
	defer cancel() // before the API server goes, so that nobody complains
	s.program.Exact = true
	s.lives = newLives(s.program, s.control.kubeconfig, s.folder)
	if err := s.populate(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.lives.stop()) }()
	if err := s.installAll(ctx); err != nil {
		return err
	}
	if err := s.work(ctx); err != nil {
		return err
	}
	return s.judge(ctx)
}

// populate makes the nodes and what serves them, and starts the operator.
func (s *soak) populate(ctx context.Context) error {
	s.tell("soak of %d nodes for %s, seed %d: make the nodes", s.plan.Nodes, s.plan.Length, s.plan.Seed)
	s.kubelets = newKubelets(s.control.kubelets, s.pace, soakCourse)
	if err := s.kubelets.makeNodes(ctx, s.plan.Nodes); err != nil {
		return err
	}
	if err := s.control.client.Create(ctx, World{Compartments: racks}.policy()); err != nil {
		return fmt.Errorf("create the deployment policy: %w", err)
	}
	if err := s.kubelets.start(ctx); err != nil {
		return err
	}
	go s.kubelets.beat(ctx)
	if err := s.lives.begin(ctx); err != nil {
		return err
	}
	var err error
	s.processes, err = servers()
	return err
}

// installAll creates the Skyhooks and waits until they are complete.
func (s *soak) installAll(ctx context.Context) (err error) {
	s.tell("install %d Skyhooks", len(soakParts))
	if err := s.makeWorkloads(ctx); err != nil {
		return fmt.Errorf("make workloads: %w", err)
	}
	for _, p := range soakParts {
		if err := s.control.client.Create(ctx, p.skyhook()); err != nil {
			return fmt.Errorf("create Skyhook %s: %w", p.name, err)
		}
	}
	if err := s.await(ctx, s.incomplete); err != nil {
		return fmt.Errorf("install: %w", err)
	}
	if s.rests.Begin, err = s.restAnew(ctx, "begin"); err != nil {
		return err
	}
	c, err := s.cluster(ctx)
	s.installed = c.objects()
	return err
}

// incomplete says which Skyhooks are not complete. It looks at the nodes only if all say that they are, as it is asked
// every second, and lists of a large fleet would slow down what it waits for.
func (s *soak) incomplete(ctx context.Context) (string, error) {
	var list v1alpha1.SkyhookList
	if err := s.control.client.List(ctx, &list); err != nil {
		return "", fmt.Errorf("list Skyhooks: %w", err)
	}
	now := byName(list.Items)
	for _, p := range soakParts {
		if sk := now[p.name]; sk == nil || sk.Status.Status != v1alpha1.StatusComplete {
			return "not complete: " + p.name + "; " + progress(now), nil
		}
	}
	c, err := s.cluster(ctx)
	return strings.Join(c.incomplete(), "; "), err
}

// work lets both halves happen, with a rest after each.
func (s *soak) work(ctx context.Context) (err error) {
	s.begin, s.counts = time.Now(), &tally{all: counts{}}
	first, second := s.plan.halves()
	s.tell("edits, churn and kills begin")
	if err := s.half(ctx, first); err != nil {
		return err
	}
	if s.rests.Middle, err = s.rest(ctx, "middle"); err != nil {
		return err
	}
	s.tell("the second half begins")
	if err := s.half(ctx, second); err != nil {
		return err
	}
	if s.rests.End, err = s.rest(ctx, "end"); err != nil {
		return err
	}
	s.rests.Anew, err = s.restAnew(ctx, "anew")
	return err
}

// half lets the events happen, takes samples meanwhile, and waits until every Skyhook is complete.
func (s *soak) half(ctx context.Context, events []event) error {
	watching, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	watched := make(chan error, 1)
	go func() {
		err := s.watch(watching)
		if err != nil {
			stop(err) // what happens meanwhile ends, too
		}
		watched <- err
	}()
	err := s.play(watching, events)
	if err == nil {
		s.tell("no more events for now: wait until every Skyhook is complete")
		if err = s.await(watching, s.incomplete); err != nil {
			err = fmt.Errorf("after the last event: %w", err)
		}
	}
	stop(nil)
	if failed := <-watched; failed != nil {
		return failed
	}
	return err
}

// scavenge is how long the runtime has to give back what a collection freed.
const scavenge = 20 * time.Second

// restAnew is the rest of an operator that has done nothing but read the cluster.
func (s *soak) restAnew(ctx context.Context, when string) (process, error) {
	if err := s.replaceOperator(ctx); err != nil {
		return process{}, err
	}
	return s.rest(ctx, when)
}

// rest waits until the operator has nothing to do, and a while longer, and keeps its profiles.
func (s *soak) rest(ctx context.Context, when string) (p process, err error) {
	o, _, err := s.lives.current()
	if err != nil {
		return p, err
	}
	if err := settle(ctx, o.pid()); err != nil {
		return p, err
	}
	still := s.plan.still()
	s.tell("the operator rests for %s", still)
	if !sleep(ctx, still, nil) {
		return p, ctx.Err()
	}
	heap := filepath.Join(s.folder, when+"-heap.pb.gz")
	for range 2 { // what is in pools survives one collection
		if err := o.save(ctx, "/debug/pprof/heap?gc=1", heap); err != nil {
			return p, err
		}
	}
	if err := o.save(ctx, "/debug/pprof/goroutine", filepath.Join(s.folder, when+"-goroutine.pb.gz")); err != nil {
		return p, err
	}
	if !sleep(ctx, scavenge, nil) {
		return p, ctx.Err()
	}
	f, err := o.scrape(ctx)
	if err != nil {
		return p, err
	}
	if p, err = look(o.pid(), f); err == nil && (p.RSS == 0 || p.HeapLive == 0 || p.Goroutines == 0) {
		err = fmt.Errorf("the operator's memory was not measured: %+v", p)
	}
	return p, err
}

// replaceOperator kills the operator and starts it again a little later.
func (s *soak) replaceOperator(ctx context.Context) error {
	if err := s.lives.kill(); err != nil {
		return err
	}
	if !sleep(ctx, time.Second+rand.N(time.Second), nil) {
		return ctx.Err()
	}
	return s.lives.begin(ctx)
}

// judge writes the report and says what failed.
func (s *soak) judge(ctx context.Context) error {
	c, err := s.cluster(ctx)
	if err != nil {
		return err
	}
	files, err := s.lives.logs()
	if err != nil {
		return fmt.Errorf("find the operator's logs: %w", err)
	}
	r := soakReport{
		Plan: s.plan, Events: s.counts.snapshot(), Rests: s.rests, Left: c.left(), Requests: requestsOf(s.samples),
	}
	if r.Log, err = readLogs(files); err != nil {
		return err
	}
	r.Comparisons = append(append(s.rests.compare(), compareObjects(s.installed, c.objects())...), compareConflicts(r.Requests))
	r.Failed = append(r.failures(), c.incomplete()...)
	s.print(r)
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the report: %w", err)
	}
	if err := writeReport(s.report, append(text, '\n')); err != nil {
		return err
	}
	if len(r.Failed) > 0 {
		return fmt.Errorf("the soak failed: %s; run it again with -seed %d", strings.Join(r.Failed, "; "), s.plan.Seed)
	}
	return nil
}

// failures are what the soak must not show.
func (r soakReport) failures() []string {
	var all []string
	for _, c := range r.Comparisons {
		if !c.ok() {
			all = append(all, c.String())
		}
	}
	const most = 10
	for i, what := range r.Left {
		if i == most {
			all = append(all, fmt.Sprintf("and %d more things that should be gone", len(r.Left)-most))
			break
		}
		all = append(all, "left: "+what)
	}
	for _, p := range r.Log.Panics {
		all = append(all, "panic in "+p)
	}
	return all
}

func (s *soak) print(r soakReport) {
	fmt.Printf("\nevents: %s\n", s.counts)
	for _, c := range r.Comparisons {
		fmt.Println(c)
	}
	fmt.Printf("writes of the operator: %v\n", r.Requests)
	fmt.Printf("errors in its log: %.0f %v\n", r.Log.Errors.total(), r.Log.Errors)
	fmt.Printf("the report is %s; events and samples are %s\n", s.report, s.log.file.Name())
	fmt.Printf("what the heap of the last operator has more than that of one just started: "+
		"go tool pprof -top -base %[1]s/anew-heap.pb.gz %[1]s/end-heap.pb.gz\n", s.folder)
}
