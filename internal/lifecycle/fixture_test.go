package lifecycle_test

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

// The tables of this package are made of values that read as a sentence. An example:
//
//	when("its configMap was edited: config runs again, with the definition of now",
//		spec(pkg(a).config("k=2").def("new").uninstall(on), pkg(b).needs(a)),
//		node(config.complete(a).config("k=1").def("old")),
//		want(config.inProgress(a).anew().changed("k").def("new"), config.start(a), is(inProgress)))
//
// A package of the spec is pkg(id), a retained definition pkg(id).def(name), an entry of the record a stage and a state,
// a pod a stage and an outcome; what is not usual about them follows. An entry has, unless it says otherwise, run r1, the
// config of the spec (or of the retained definition that it names), hash 1, generation 7, and came into its state an
// hour ago. A pod has run r1, hash 1 and was created 24 minutes ago; its name is package-stage. The node is ready, has
// boot id b1, takes pods, and holds the permit; see observation_test.go for what else it may be, and describe_test.go for
// what follows. Times are told from now on: what is past is negative.

// id is the name and the version of a package.
type id string

const a, b, c id = "a@1.0", "b@1.0", "c@1.0"

func (i id) name() string    { name, _, _ := strings.Cut(string(i), "@"); return name }
func (i id) version() string { _, version, _ := strings.Cut(string(i), "@"); return version }

func idOf(name, version string) id { return id(name + "@" + version) }

// longLook is in how long a pod runs for long that says nothing of its age. That it is looked at then goes without
// saying.
const longLook = 6 * time.Minute

// nowRun is the name of a run that begins now: the time of all tests is chosen for it.
const nowRun = "now"

var now = func() time.Time {
	seconds, err := strconv.ParseInt(nowRun, 36, 64)
	if err != nil {
		panic(err)
	}
	return time.Unix(seconds, 0)
}()

func at(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(d)) }

// generation of the spec in the tables.
const generation = 7

var permit = v1alpha1.Permit{Node: "node-1", Order: 3, Generation: generation}

// message is the sentence that goes with a reason in the tables.
func message(reason string) string { return "because of " + reason }

// definition is a package of the spec, or a retained definition of one.
type definition struct {
	v1alpha1.Package
	derived situation.Derived
}

func pkg(i id) definition {
	return definition{
		v1alpha1.Package{Name: i.name(), Image: "img/" + i.name(), Version: i.version()}, situation.Derived{Hash: "1"},
	}
}

func (d definition) hash(h string) definition                  { d.derived.Hash = h; return d }
func (d definition) def(name string) definition                { d.derived.Definition = name; return d }
func (d definition) refused(why string) definition             { d.derived.Refused = why; return d }
func (d definition) config(pairs ...string) definition         { d.ConfigMap = dataOf(pairs); return d }
func (d definition) retries(n int32) definition                { d.MaxRetries = &n; return d }
func (d definition) interrupt(i v1alpha1.Interrupt) definition { d.Interrupt = &i; return d }

func (d definition) timeout(after time.Duration) definition {
	d.StageTimeout = &metav1.Duration{Duration: after}
	return d
}

// on is an interrupt that a key of the configMap asks for.
func (d definition) on(key string, i v1alpha1.Interrupt) definition {
	d.ConfigInterrupts = with(d.ConfigInterrupts, key, i)
	return d
}

func (d definition) needs(others ...id) definition {
	for _, i := range others {
		d.DependsOn = with(d.DependsOn, i.name(), i.version())
	}
	return d
}

// What a package says of its uninstall: that it can be uninstalled, shall be, and is when it is removed from the spec.
const (
	on = iota
	asked
	auto
)

func (d definition) uninstall(said ...int) definition {
	enabled := slices.Contains(said, on)
	d.derived.Uninstallable = enabled
	d.Uninstall = &v1alpha1.Uninstall{
		Enabled: &enabled, Apply: slices.Contains(said, asked), WhenRemoved: v1alpha1.WhenRemovedRefuse,
	}
	if slices.Contains(said, auto) {
		d.Uninstall.WhenRemoved = v1alpha1.WhenRemovedUninstall
	}
	return d
}

func with[V any](m map[string]V, k string, v V) map[string]V {
	all := map[string]V{}
	maps.Copy(all, m)
	all[k] = v
	return all
}

// dataOf reads pairs k=v.
func dataOf(pairs []string) map[string]string {
	data := map[string]string{}
	for _, pair := range pairs {
		k, v, _ := strings.Cut(pair, "=")
		data[k] = v
	}
	return data
}

func packages(all ...definition) situation.Packages {
	s := &v1alpha1.Skyhook{Spec: v1alpha1.SkyhookSpec{Packages: map[string]v1alpha1.Package{}}}
	derived := map[string]situation.Derived{}
	for _, d := range all {
		name := d.Name
		d.Name = ""
		s.Spec.Packages[name], derived[name] = d.Package, d.derived
	}
	return situation.Prepare(s, situation.Limits{}, func(name string) situation.Derived { return derived[name] })
}

func retained(all ...definition) situation.Retained {
	r := situation.Retained{}
	for _, d := range all {
		r[d.derived.Definition] = situation.PreparePackage(d.Package, d.derived)
	}
	return r
}

// entry is one of the record, or what a transition makes of one.
type entry struct {
	id
	stage stage
	state v1alpha1.State
	set   []func(*record.Entry)
}

func (s stage) in(state v1alpha1.State, i id) entry { return entry{id: i, stage: s, state: state} }
func (s stage) inProgress(i id) entry               { return s.in(v1alpha1.StateInProgress, i) }
func (s stage) erroring(i id) entry                 { return s.in(v1alpha1.StateErroring, i) }
func (s stage) complete(i id) entry                 { return s.in(v1alpha1.StateComplete, i) }
func (s stage) skipped(i id) entry                  { return s.in(v1alpha1.StateSkipped, i) }
func (s stage) unknown(i id) entry                  { return s.in(v1alpha1.StateUnknown, i) }

func (e entry) but(set func(*record.Entry)) entry {
	e.set = append(slices.Clip(e.set), set)
	return e
}

func (e entry) run(r string) entry     { return e.but(func(e *record.Entry) { e.Run = r }) }
func (e entry) anew() entry            { return e.run(nowRun) }
func (e entry) restarts(n int32) entry { return e.but(func(e *record.Entry) { e.Restarts = n }) }
func (e entry) attempts(n int32) entry { return e.but(func(e *record.Entry) { e.Attempts = n }) }
func (e entry) attemptsBefore(n int32) entry {
	return e.but(func(e *record.Entry) { e.AttemptsBefore = n })
}
func (e entry) owes(is bool) entry  { return e.but(func(e *record.Entry) { e.Owes = &is }) }
func (e entry) boot(b string) entry { return e.but(func(e *record.Entry) { e.BootID = b }) }
func (e entry) superseded() entry   { return e.but(func(e *record.Entry) { e.Superseded = true }) }

func (e entry) def(name string) entry { return e.but(func(e *record.Entry) { e.Definition = name }) }
func (e entry) hash(h string) entry   { return e.but(func(e *record.Entry) { e.Hash = h }) }
func (e entry) gen(n int64) entry     { return e.but(func(e *record.Entry) { e.Generation = n }) }
func (e entry) configUnknown() entry  { return e.but(func(e *record.Entry) { e.Config = nil }) }
func (e entry) since(d time.Duration) entry {
	return e.but(func(e *record.Entry) { e.Since = at(d) })
}

// sinceNever: written by an operator that kept no times.
func (e entry) sinceNever() entry { return e.but(func(e *record.Entry) { e.Since = metav1.Time{} }) }

func (e entry) reason(r string) entry {
	return e.but(func(e *record.Entry) {
		e.Reason, e.Message = r, message(r)
		if r == stepFailed { // for the first time, and again after each restart
			e.Attempts = max(e.Attempts, e.Restarts+1)
		}
	})
}

func (e entry) config(pairs ...string) entry {
	return e.but(func(e *record.Entry) { e.Config = record.HashConfig(dataOf(pairs)) })
}

// changed: it is a change of these keys, not an install.
func (e entry) changed(keys ...string) entry {
	return e.but(func(e *record.Entry) { e.Changed = append([]string{}, keys...) })
}

// by is its interrupt, which began in boot b1.
func (e entry) by(i v1alpha1.Interrupt) entry {
	return e.but(func(e *record.Entry) { e.Interrupt, e.BootID = &i, "b1" })
}

func (e entry) record(w situation.Wanted) record.Entry {
	r := record.Entry{
		Name: e.name(), Version: e.version(), Image: "img/" + e.name(), Stage: v1alpha1.Stage(e.stage), State: e.state,
		Since: at(-time.Hour), Run: "r1", Hash: "1", Generation: generation,
	}
	for _, set := range e.set {
		set(&r)
	}
	// Its config may be what one of the two says, or its own.
	r.Config = w.Packages[e.name()].Config
	if r.Config == nil {
		r.Config = map[string]string{}
	}
	if kept, ok := w.Retained[r.Definition]; ok {
		r.Config = kept.Config
	}
	for _, set := range e.set {
		set(&r)
	}
	return r
}

func entries(w situation.Wanted, list ...entry) map[string]record.Entry {
	all := map[string]record.Entry{}
	for _, e := range list {
		r := e.record(w)
		all[r.Key()] = r
	}
	return all
}

type pod lifecycle.Pod

func (s stage) pod(o lifecycle.Outcome, i id) pod {
	return pod{
		Namespace: "skyhook", Name: i.name() + "-" + string(s), Package: i.name(), Version: i.version(),
		Stage: v1alpha1.Stage(s), Run: "r1", Hash: "1", Created: now.Add(longLook - 30*time.Minute), Outcome: o,
	}
}

func (s stage) running(i id) pod { return s.pod(lifecycle.Running, i) }
func (s stage) done(i id) pod    { return s.pod(lifecycle.Done, i) }
func (s stage) failing(i id) pod { return s.pod(lifecycle.Failing, i) }
func (s stage) stuck(i id) pod   { return s.pod(lifecycle.Stuck, i) }
func (s stage) lost(i id) pod    { return s.pod(lifecycle.Lost, i) }

func (p pod) run(r string) pod            { p.Run = r; return p }
func (p pod) hash(h string) pod           { p.Hash = h; return p }
func (p pod) gen(n int64) pod             { p.Generation = n; return p }
func (p pod) restarts(n int32) pod        { p.Restarts = n; return p }
func (p pod) created(d time.Duration) pod { p.Created = now.Add(d); return p }
func (p pod) reason(r string) pod         { p.Reason, p.Message = r, message(r); return p }
func (p pod) exit(code int32) pod         { p.ExitCode = code; return p }
func (p pod) terminating() pod            { p.Terminating = true; return p }
func (p pod) retrying() pod               { p.Retrying = true; return p }
func (p pod) shutdown() pod               { p.Shutdown = true; return p }
func (p pod) elsewhere() pod              { p.Elsewhere = true; return p }

// ends: it is being deleted, and when its grace period is over.
func (p pod) ends(d time.Duration) pod { p.Terminating, p.Ends = true, now.Add(d); return p }

// repeats: it is retried, without the cause.
func (p pod) repeats(r string) pod {
	p.Repeats, p.Reason, p.Message = true, r, "it is retried"
	return p
}

func livePods(list ...pod) []lifecycle.Pod {
	all := make([]lifecycle.Pod, 0, len(list))
	for _, p := range list {
		all = append(all, lifecycle.Pod(p))
	}
	return all
}
