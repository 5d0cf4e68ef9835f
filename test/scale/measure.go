package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// run is one world of one size, from an empty cluster on.
type run struct {
	name    string
	world   World
	size    Size
	phases  []Phase
	pace    Pace
	idle    time.Duration
	program Program
	// folder is for what is kept: log and, if they are taken, profiles.
	folder   string
	profiles bool
	// patience with one phase.
	patience time.Duration
	tell     func(format string, args ...any)

	control   *control
	kubelets  *kubelets
	operator  *operator
	processes processes
}

// measure plays the phases and returns what they took.
func (r *run) measure(ctx context.Context) (results []Result, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// Profiles of an earlier, longer run would be read together with those of this one.
	if err := errors.Join(os.RemoveAll(r.folder), os.MkdirAll(r.folder, 0o755)); err != nil {
		return nil, fmt.Errorf("make a folder for the log and profiles: %w", err)
	}
	if r.control, err = startControl(ctx, r.folder); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.control.stop()) }()
	defer cancel() // before the API server goes, so that nobody complains
	if err := r.populate(ctx); err != nil {
		return nil, err
	}
	program := r.program
	if r.phases[0] == phaseFloor {
		if program, err = nullOperator(); err != nil {
			return nil, err
		}
	}
	if r.operator, err = startOperator(ctx, program, r.control.kubeconfig, r.folder); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.operator.stop()) }()
	if err := r.findProcesses(); err != nil {
		return nil, err
	}
	if err := settle(ctx, r.operator.pid()); err != nil {
		return nil, err
	}
	return r.playAll(ctx)
}

func (r *run) playAll(ctx context.Context) (results []Result, err error) {
	skyhooks := r.world.skyhooks(r.size.Packages)
	for _, phase := range r.phases {
		r.tell("%s: %s of %d nodes, %d packages", r.name, phase, r.size.Nodes, r.size.Packages)
		result, err := r.observed(ctx, phase, skyhooks)
		if err != nil {
			return results, fmt.Errorf("%s/%s/%s: %w; the operator's log is %s",
				r.name, phase, r.size, err, filepath.Join(r.folder, "operator.log"))
		}
		if result.folder = r.folder; phase == phaseInstall && len(results) > 0 {
			result.byFloor(results[0])
		}
		results = append(results, result)
	}
	return results, nil
}

func (r *run) observed(ctx context.Context, phase Phase, skyhooks []*v1alpha1.Skyhook) (Result, error) {
	switch phase {
	case phaseFloor:
		return r.measureFloor(ctx, r.world.skyhooks(r.size.Packages)) // others, as the operator is to find none
	case phaseTakeover:
		return r.takeOver(ctx, skyhooks)
	case phaseAdopt:
		return r.adopt(ctx, skyhooks)
	case phaseInstall, phaseEdit, phaseConfig, phaseUpgrade, phaseUninstall:
	}
	seen, err := r.observe(ctx, phase, skyhooks)
	if err != nil {
		return Result{}, err
	}
	return seen.result(r.name, phase, r.size), nil
}

// populate makes the nodes and what serves them.
func (r *run) populate(ctx context.Context) error {
	failing := map[string]bool{}
	for i := range r.size.Nodes {
		failing[nodeName(i)] = r.world.fails(i)
	}
	reboots := r.world.Interrupt == v1alpha1.InterruptReboot
	r.kubelets = newKubelets(r.control.kubelets, r.pace, func(node string) course {
		return course{Fails: failing[node], Reboots: reboots}
	})
	nodes := r.size.Nodes
	if r.phases[0] == phaseAdopt {
		nodes = r.models()
	}
	r.tell("%s: make %d nodes", r.name, nodes)
	if err := r.kubelets.makeNodes(ctx, nodes); err != nil {
		return err
	}
	if r.world.Compartments > 0 {
		if err := r.control.client.Create(ctx, r.world.policy()); err != nil {
			return fmt.Errorf("create the deployment policy: %w", err)
		}
	}
	if err := r.kubelets.start(ctx); err != nil {
		return err
	}
	go r.kubelets.beat(ctx)
	return nil
}

func (r *run) findProcesses() (err error) {
	if r.processes, err = servers(); err == nil {
		r.processes[processOperator] = r.operator.pid()
	}
	return err
}

// servers are all processes but the operator's.
func servers() (processes, error) {
	etcd, err := child("etcd")
	if err != nil {
		return nil, err
	}
	server, err := child("kube-apiserver")
	if err != nil {
		return nil, err
	}
	return processes{processServer: server, processEtcd: etcd, processHarness: os.Getpid()}, nil
}

// observe plays one phase.
func (r *run) observe(ctx context.Context, phase Phase, skyhooks []*v1alpha1.Skyhook) (o observation, err error) {
	if r.world.Workloads > 0 {
		err = errors.Join(r.kubelets.removeWorkloads(ctx),
			r.kubelets.makeWorkloads(ctx, r.kubelets.present(), r.world.Workloads), settle(ctx, r.operator.pid()))
	}
	if phase != phaseAdopt { // which is to have the peak of the start
		err = errors.Join(err, resetPeak(r.operator.pid()))
	}
	if err != nil {
		return o, err
	}
	if o.before, err = r.moment(ctx); err != nil {
		return o, err
	}
	r.kubelets.takeHandovers()
	stopProfile := func() error { return nil }
	if r.profiles {
		stopProfile = r.operator.profile(ctx, filepath.Join(r.folder, string(phase)))
	}
	begin := time.Now()
	o.skyhook, err = r.play(ctx, phase, skyhooks)
	o.took, o.handovers = time.Since(begin), r.kubelets.takeHandovers()
	if err := errors.Join(err, stopProfile(), settle(ctx, r.operator.pid())); err != nil {
		return o, err
	}
	if o.after, err = r.moment(ctx); err != nil {
		return o, err
	}
	m, err := memory(r.operator.pid())
	if err != nil {
		return o, err
	}
	o.peak = m.peak
	err = r.look(ctx, phase, &o)
	return o, err
}

// look adds what can be seen when all is done.
func (r *run) look(ctx context.Context, phase Phase, o *observation) (err error) {
	if phase != phaseUninstall {
		if o.objects, err = r.objects(ctx); err != nil {
			return err
		}
	}
	if phase.begins() && r.idle > 0 {
		o.idle, err = r.beIdle(ctx)
	}
	return err
}

// play makes the change and waits for its end. It returns the largest size of a Skyhook that it saw.
func (r *run) play(ctx context.Context, phase Phase, skyhooks []*v1alpha1.Skyhook) (largest int, err error) {
	ctx, cancel := context.WithTimeout(ctx, r.patience)
	defer cancel()
	if err := r.change(ctx, phase, skyhooks); err != nil {
		return 0, err
	}
	if phase == phaseFloor {
		return 0, r.awaitPods(ctx)
	}
	for {
		done, err := r.watch(ctx, phase, skyhooks, &largest)
		if done || err != nil {
			return largest, err
		}
	}
}

// change makes the edit that a phase begins with.
func (r *run) change(ctx context.Context, phase Phase, skyhooks []*v1alpha1.Skyhook) (err error) {
	if phase == phaseEdit {
		skyhooks = skyhooks[:1]
	}
	for _, s := range skyhooks {
		switch phase {
		case phaseFloor, phaseInstall:
			err = r.control.client.Create(ctx, s)
		case phaseUninstall:
			err = r.control.client.Delete(ctx, s)
		case phaseAdopt: // they are there
		case phaseEdit, phaseConfig, phaseUpgrade, phaseTakeover:
			before := s.DeepCopy()
			phase.change(s)
			err = r.control.client.Patch(ctx, s, client.MergeFrom(before))
		}
		if err != nil {
			return fmt.Errorf("change Skyhook %s: %w", s.Name, err)
		}
	}
	return nil
}

// watch follows the Skyhooks until the phase is over, or the API server ends the watch, as it does now and then.
func (r *run) watch(
	ctx context.Context, phase Phase, skyhooks []*v1alpha1.Skyhook, largest *int,
) (done bool, err error) {
	var list v1alpha1.SkyhookList
	if err := r.control.client.List(ctx, &list); err != nil {
		return false, fmt.Errorf("list Skyhooks: %w", err)
	}
	now := byName(list.Items)
	w, err := r.control.client.Watch(ctx, &v1alpha1.SkyhookList{}, &client.ListOptions{
		Raw: &metav1.ListOptions{ResourceVersion: list.ResourceVersion},
	})
	if err != nil {
		return false, fmt.Errorf("watch Skyhooks: %w", err)
	}
	defer w.Stop()
	for !r.over(phase, skyhooks, now) {
		select {
		case e, open := <-w.ResultChan():
			s, ok := e.Object.(*v1alpha1.Skyhook)
			if !open || !ok {
				return false, nil
			}
			if now[s.Name] = s; e.Type == "DELETED" {
				delete(now, s.Name)
			}
			text, err := json.Marshal(s)
			if err != nil {
				return false, fmt.Errorf("measure a Skyhook: %w", err)
			}
			*largest = max(*largest, len(text))
		case err := <-r.operator.ended:
			r.operator.ended <- err
			return false, fmt.Errorf("the operator ended: %w", err)
		case err := <-r.kubelets.failed:
			return false, fmt.Errorf("the kubelets: %w", err)
		case <-ctx.Done():
			return false, fmt.Errorf("not over within %s, which -timeout sets: %s", r.patience, progress(now))
		}
	}
	return true, nil
}

func byName(list []v1alpha1.Skyhook) map[string]*v1alpha1.Skyhook {
	all := map[string]*v1alpha1.Skyhook{}
	for i := range list {
		all[list[i].Name] = &list[i]
	}
	return all
}

func (r *run) over(phase Phase, wanted []*v1alpha1.Skyhook, now map[string]*v1alpha1.Skyhook) bool {
	if phase == phaseUninstall {
		return len(now) == 0
	}
	for _, w := range wanted {
		s := now[w.Name]
		if s == nil || s.Generation < w.Generation || s.Status.ObservedGeneration != s.Generation ||
			s.Status.Status != v1alpha1.StatusComplete || s.Status.Nodes.Complete != r.size.Nodes {
			return false
		}
	}
	return true
}

func progress(now map[string]*v1alpha1.Skyhook) string {
	var all []string
	for name, s := range now {
		all = append(all, fmt.Sprintf("%s is %s with %+v, attention %+v",
			name, s.Status.Status, s.Status.Nodes, s.Status.Attention))
	}
	return strings.Join(all, "; ")
}

// quiet is how much CPU the operator may use within a second while there is nothing to do.
const quiet = 50 * time.Millisecond

// settle waits until the operator has nothing more to do, as far as its CPU shows; but not forever, as that it never
// rests is for the figures to tell.
func settle(ctx context.Context, pid int) error {
	for range 30 {
		before, err := cpu(pid)
		if err != nil {
			return err
		}
		if !sleep(ctx, time.Second, nil) {
			return ctx.Err()
		}
		after, err := cpu(pid)
		if err != nil || after-before < quiet {
			return err
		}
	}
	return nil
}

func (r *run) moment(ctx context.Context) (m moment, err error) {
	if m.usage, err = r.processes.usage(); err != nil {
		return m, err
	}
	if m.operator, err = r.operator.scrape(ctx); err != nil {
		return m, err
	}
	if m.server, err = r.control.metrics(ctx); err != nil {
		return m, err
	}
	m.own = r.control.counter.snapshot()
	return m, nil
}

func (r *run) beIdle(ctx context.Context) (*idleness, error) {
	before, err := cpu(r.operator.pid())
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	if !sleep(ctx, r.idle, nil) {
		return nil, ctx.Err()
	}
	after, err := cpu(r.operator.pid())
	if err != nil {
		return nil, err
	}
	millicores := 1000 * (after - before).Seconds() / time.Since(begin).Seconds()
	m, err := memory(r.operator.pid())
	return &idleness{millicores: millicores, memory: m.resident}, err
}

// objects measures what the operator left on nodes and in its namespace.
func (r *run) objects(ctx context.Context) (*objects, error) {
	var o objects
	nodes := &metav1.PartialObjectMetadataList{}
	nodes.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NodeList"))
	if err := r.control.client.List(ctx, nodes); err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	for i := range nodes.Items {
		bytes := 0
		for key, value := range nodes.Items[i].Annotations {
			if strings.HasPrefix(key, v1alpha1.KeyPrefix) {
				bytes += len(key) + len(value)
			}
		}
		o.nodeAnnotations = max(o.nodeAnnotations, bytes)
	}
	var maps corev1.ConfigMapList
	if err := r.control.client.List(ctx, &maps, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("list ConfigMaps: %w", err)
	}
	for i := range maps.Items {
		bytes := 0
		for key, value := range maps.Items[i].Data {
			bytes += len(key) + len(value)
		}
		o.configMap = max(o.configMap, bytes)
	}
	return &o, nil
}
