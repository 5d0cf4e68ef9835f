package lifecycle_test

import (
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// The tables of this package are written in a small language of words, so that a row reads as a sentence. An example:
//
//	spec: "a@1.0 config{k=2} def=new uninstall=on,auto; b@1.0 needs=a@1.0"
//	node: "a@1.0 config:complete def=old config{k=1}"
//	want: "a@1.0 config:in_progress run=now changed=k def=new; start a config; is in_progress"
//
// The spec has package a, whose uninstall is enabled and automatic, and b, which depends on it. The record of the node
// says that config of a is complete, with another configMap. So config of a starts again, and the status is
// in_progress.
//
// Items are separated by "; ", the words of an item by blanks. Only the first words are required:
//
//	package  a@1.0 hash=2 config{k=v,l=w} (its configMap) needs=b@1.0 needs=c@2.0 (dependsOn) def=new (its definition)
//	         interrupt=reboot interrupt=service(x,y) on:k=noop on:*.sh=service(x) (configInterrupts)
//	         timeout=5m retries=2 (stageTimeout, maxRetries) refused=why (an image that the cluster does not allow)
//	         uninstall=on,apply,auto (uninstall.enabled, uninstall.apply, uninstall.whenRemoved: Uninstall)
//	kept     old=a@1.0 ... (a retained definition: its name, and a package)
//	entry    a@1.0 apply:erroring run=r1 restarts=2 since=-5s reason=Boom config{k=v} config=unknown hash=1 gen=7
//	         changed=k,l (a change, not an install) changed=none interrupt=service(x) boot=b1
//	         since=never (written by an operator that kept no times)
//	         superseded (another version took its place)
//	         def=old (installed with this definition, whose config it has, too)
//	pod      a@1.0 apply running|done|failing|stuck|lost run=r1 hash=2 gen=7 terminating elsewhere restarts=1 created=-5s reason=X exit=1
//	         retrying shutdown
//	         ends=-5m (being deleted, and when its grace period is over)
//	         repeats=X (that it is retried, without the cause)
//
// An entry has, unless it says otherwise, run r1, the config of the spec, hash 1, generation 7, and came into its state
// an hour ago. A pod has run r1, hash 1 and was created 24 minutes ago; its name is package-stage. The node is ready,
// has boot id b1, takes pods, and holds the permit; see passGate for what else it may be, and describe for what
// follows.

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

// generation of the spec in the tables.
const generation = 7

var permit = v1alpha1.Permit{Node: "node-1", Order: 3, Generation: generation}

func items(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, "; ")
}

func packages(t rapid.TB, text string) lifecycle.Packages {
	t.Helper()
	s := &v1alpha1.Skyhook{Spec: v1alpha1.SkyhookSpec{Packages: map[string]v1alpha1.Package{}}}
	derived := map[string]lifecycle.Derived{}
	for _, item := range items(text) {
		name, pkg, d := onePackage(t, item)
		s.Spec.Packages[name], derived[name] = pkg, d
	}
	return lifecycle.Prepare(s, func(name string) lifecycle.Derived { return derived[name] })
}

// kept reads retained definitions.
func kept(t rapid.TB, text string) lifecycle.Retained {
	t.Helper()
	all := lifecycle.Retained{}
	for _, item := range items(text) {
		definition, item, _ := strings.Cut(item, "=")
		name, pkg, d := onePackage(t, item)
		pkg.Name, d.Definition = name, definition
		all[definition] = lifecycle.PreparePackage(pkg, d)
	}
	return all
}

func onePackage(t rapid.TB, item string) (string, v1alpha1.Package, lifecycle.Derived) {
	t.Helper()
	words := strings.Fields(item)
	name, version := nameVersion(t, words[0])
	pkg, derived := v1alpha1.Package{Image: "img/" + name, Version: version}, lifecycle.Derived{Hash: "1"}
	for _, word := range words[1:] {
		key, value, _ := strings.Cut(word, "=")
		trigger, isTrigger := strings.CutPrefix(key, "on:")
		switch {
		case key == "hash":
			derived.Hash = value
		case key == "def":
			derived.Definition = value
		case key == "refused":
			derived.Refused = value
		case strings.HasPrefix(word, "config{"):
			pkg.ConfigMap = pairs(word)
		case key == "interrupt":
			pkg.Interrupt = interrupt(value)
		case isTrigger:
			pkg.ConfigInterrupts = set(pkg.ConfigInterrupts, trigger, *interrupt(value))
		case key == "timeout":
			pkg.StageTimeout = &metav1.Duration{Duration: duration(t, value)}
		case key == "retries":
			pkg.MaxRetries = new(int32(number(t, value)))
		case key == "needs":
			depName, depVersion := nameVersion(t, value)
			pkg.DependsOn = set(pkg.DependsOn, depName, depVersion)
		case key == "uninstall":
			derived.Uninstallable = uninstall(t, &pkg, value)
		default:
			t.Fatalf("package: what is %q?", word)
		}
	}
	return name, pkg, derived
}

// uninstall sets what a package says about uninstalling, and reports whether it can be uninstalled.
func uninstall(t rapid.TB, pkg *v1alpha1.Package, text string) bool {
	t.Helper()
	enabled := false
	pkg.Uninstall = &v1alpha1.Uninstall{Enabled: &enabled, WhenRemoved: v1alpha1.WhenRemovedRefuse}
	for _, word := range strings.Split(text, ",") {
		switch word {
		case "on":
			enabled = true
		case "apply":
			pkg.Uninstall.Apply = true
		case "auto":
			pkg.Uninstall.WhenRemoved = v1alpha1.WhenRemovedUninstall
		default:
			t.Fatalf("package: what is %q?", word)
		}
	}
	return enabled
}

func set[V any](m map[string]V, k string, v V) map[string]V {
	if m == nil {
		m = map[string]V{}
	}
	m[k] = v
	return m
}

// interrupt reads "reboot" or "service(x,y)".
func interrupt(text string) *v1alpha1.Interrupt {
	kind, services, ok := strings.Cut(strings.TrimSuffix(text, ")"), "(")
	i := &v1alpha1.Interrupt{Type: v1alpha1.InterruptType(kind)}
	if ok {
		i.Services = strings.Split(services, ",")
	}
	return i
}

func interruptText(i *v1alpha1.Interrupt) string {
	switch {
	case i == nil:
		return "nothing"
	case len(i.Services) == 0:
		return string(i.Type)
	}
	return string(i.Type) + "(" + strings.Join(i.Services, ",") + ")"
}

// pairs reads "config{k=v,l=w}".
func pairs(text string) map[string]string {
	config := map[string]string{}
	text = strings.TrimSuffix(strings.TrimPrefix(text, "config{"), "}")
	for _, pair := range strings.Split(text, ",") {
		if k, v, ok := strings.Cut(pair, "="); ok {
			config[k] = v
		}
	}
	return config
}

func nameVersion(t rapid.TB, text string) (name, version string) {
	t.Helper()
	name, version, ok := strings.Cut(text, "@")
	if !ok {
		t.Fatalf("%q is not name@version", text)
	}
	return name, version
}

func entries(t rapid.TB, text string, w lifecycle.Wanted) map[string]record.Entry {
	t.Helper()
	all := map[string]record.Entry{}
	for _, item := range items(text) {
		e := entry(t, strings.Fields(item), w)
		all[e.Key()] = e
	}
	return all
}

func entry(t rapid.TB, words []string, w lifecycle.Wanted) record.Entry {
	t.Helper()
	name, version := nameVersion(t, words[0])
	stage, state, _ := strings.Cut(words[1], ":")
	config := w.Packages[name].Config
	if config == nil {
		config = map[string]string{}
	}
	e := record.Entry{
		Name: name, Version: version, Image: "img/" + name, Stage: v1alpha1.Stage(stage), State: v1alpha1.State(state),
		Since: metav1.NewTime(now.Add(-time.Hour)), Run: "r1", Config: config,
		Hash: "1", Generation: generation,
	}
	for _, word := range words[2:] {
		k, v, _ := strings.Cut(word, "=")
		switch {
		case strings.HasPrefix(word, "config{"):
			e.Config = record.HashConfig(pairs(word))
		case word == "config=unknown":
			e.Config = nil
		case k == "run":
			e.Run = v
		case k == "restarts":
			e.Restarts = int32(number(t, v))
		case word == "since=never":
			e.Since = metav1.Time{}
		case k == "since":
			e.Since = metav1.NewTime(now.Add(duration(t, v)))
		case k == "reason":
			e.Reason, e.Message = v, message(v)
		case word == "changed=none":
			e.Changed = []string{}
		case k == "changed":
			e.Changed = strings.Split(v, ",")
		case k == "interrupt":
			e.Interrupt = interrupt(v)
		case k == "boot":
			e.BootID = v
		case word == "superseded":
			e.Superseded = true
		case k == "def":
			e.Definition = v
			if pkg, ok := w.Retained[v]; ok {
				e.Config = pkg.Config
			}
		case k == "hash":
			e.Hash = v
		case k == "gen":
			e.Generation = int64(number(t, v))
		default:
			t.Fatalf("entry: what is %q?", word)
		}
	}
	return e
}

func pods(t rapid.TB, text string) []lifecycle.Pod {
	t.Helper()
	all := make([]lifecycle.Pod, 0, len(items(text)))
	for _, item := range items(text) {
		all = append(all, pod(t, strings.Fields(item)))
	}
	return all
}

var outcomes = map[string]lifecycle.Outcome{
	"running": lifecycle.Running, "done": lifecycle.Done, "failing": lifecycle.Failing, "stuck": lifecycle.Stuck,
	"lost": lifecycle.Lost,
}

func pod(t rapid.TB, words []string) lifecycle.Pod {
	t.Helper()
	name, version := nameVersion(t, words[0])
	p := lifecycle.Pod{
		Namespace: "skyhook", Name: name + "-" + words[1], Package: name, Version: version, Stage: v1alpha1.Stage(words[1]),
		Run: "r1", Hash: "1", Created: now.Add(longLook - 30*time.Minute),
	}
	for _, word := range words[2:] {
		k, v, _ := strings.Cut(word, "=")
		outcome, isOutcome := outcomes[word]
		switch {
		case isOutcome:
			p.Outcome = outcome
		case k == "hash":
			p.Hash = v
		case k == "gen":
			p.Generation = int64(number(t, v))
		case word == "terminating":
			p.Terminating = true
		case word == "shutdown":
			p.Shutdown = true
		case k == "run":
			p.Run = v
		case k == "restarts":
			p.Restarts = int32(number(t, v))
		case k == "created":
			p.Created = now.Add(duration(t, v))
		case k == "ends":
			p.Terminating, p.Ends = true, now.Add(duration(t, v))
		case k == "reason":
			p.Reason, p.Message = v, message(v)
		case k == "exit":
			p.ExitCode = int32(number(t, v))
		case word == "retrying":
			p.Retrying = true
		case k == "elsewhere":
			p.Elsewhere = true
		case k == "repeats":
			p.Repeats, p.Reason, p.Message = true, v, "it is retried"
		default:
			t.Fatalf("pod: what is %q?", word)
		}
	}
	return p
}

// message is the sentence that goes with a reason in the tables.
func message(reason string) string { return "because of " + reason }

func number(t rapid.TB, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func duration(t rapid.TB, text string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
