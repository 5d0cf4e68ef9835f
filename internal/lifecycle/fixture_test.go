package lifecycle_test

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// The tables of this package are written in a small language, so that a row reads like a line of the specification.
// Items are separated by "; ", the words of an item by blanks.
//
//	package  a@1.0  a@1.0#2 (hash of its pod, else 1)  a@1.0{k=v,l=w} (configMap)  a@1.0<b@1.0<c@2.0 (dependsOn)
//	         a@1.0!reboot a@1.0!service(x,y) (interrupt)  a@1.0{k=v}?k:noop?*.sh:service(x) (configInterrupts)
//	         a@1.0~timeout=5m~retries=2 (stageTimeout, maxRetries)
//	entry    a@1.0 apply:erroring run=r1 restarts=2 since=-5s reason=Boom config{k=v} config=unknown hash=1 gen=7
//	         changed=k,l (a change, not an install) changed=none interrupt=service(x) boot=b1
//	pod      a@1.0 apply running|done|failing|stuck|lost run=r1 #2 terminating restarts=1 created=-5s reason=X exit=1 retrying
//
// An entry has, unless it says otherwise, run r1, the config of the spec, hash 1, generation 7, and came into its state
// an hour ago. A pod has run r1, hash 1 and was created an hour ago; its name is package-stage. The node is ready, has
// boot id b1, takes pods, and holds the permit; see gates for what else it may be.

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

// packageParts are the marked parts of a package in the tables.
var packageParts = regexp.MustCompile(`[#{!?~<][^#{!?~<]*`)

func packages(t rapid.TB, text string) lifecycle.Packages {
	t.Helper()
	s := &v1alpha1.Skyhook{Spec: v1alpha1.SkyhookSpec{Packages: map[string]v1alpha1.Package{}}}
	hashes := map[string]string{}
	for _, item := range items(text) {
		head := item
		if i := strings.IndexAny(item, "#{!?~<"); i >= 0 {
			head = item[:i]
		}
		name, version := nameVersion(t, head)
		pkg := v1alpha1.Package{Image: "img/" + name, Version: version}
		hashes[name] = "1"
		for _, part := range packageParts.FindAllString(item[len(head):], -1) {
			switch value := part[1:]; part[0] {
			case '#':
				hashes[name] = value
			case '{':
				pkg.ConfigMap = pairs(strings.TrimSuffix(value, "}"))
			case '!':
				pkg.Interrupt = interrupt(value)
			case '?':
				pattern, i, _ := strings.Cut(value, ":")
				pkg.ConfigInterrupts = set(pkg.ConfigInterrupts, pattern, *interrupt(i))
			case '~':
				limit(t, &pkg, value)
			case '<':
				depName, depVersion := nameVersion(t, value)
				pkg.DependsOn = set(pkg.DependsOn, depName, depVersion)
			}
		}
		s.Spec.Packages[name] = pkg
	}
	return lifecycle.Prepare(s, func(name string) lifecycle.Derived { return lifecycle.Derived{Hash: hashes[name]} })
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

func limit(t rapid.TB, pkg *v1alpha1.Package, text string) {
	t.Helper()
	switch k, v, _ := strings.Cut(text, "="); k {
	case "timeout":
		pkg.StageTimeout = &metav1.Duration{Duration: duration(t, v)}
	case "retries":
		pkg.MaxRetries = new(int32(number(t, v)))
	default:
		t.Fatalf("package: what is %q?", text)
	}
}

func pairs(text string) map[string]string {
	config := map[string]string{}
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

func entries(t rapid.TB, text string, spec lifecycle.Packages) map[string]record.Entry {
	t.Helper()
	all := map[string]record.Entry{}
	for _, item := range items(text) {
		e := entry(t, strings.Fields(item), spec)
		all[e.Key()] = e
	}
	return all
}

func entry(t rapid.TB, words []string, spec lifecycle.Packages) record.Entry {
	t.Helper()
	name, version := nameVersion(t, words[0])
	stage, state, _ := strings.Cut(words[1], ":")
	e := record.Entry{
		Name: name, Version: version, Image: "img/" + name, Stage: v1alpha1.Stage(stage), State: v1alpha1.State(state),
		Since: metav1.NewTime(now.Add(-time.Hour)), Run: "r1", Config: spec[name].Config,
		Hash: "1", Generation: generation,
	}
	if e.Config == nil {
		e.Config = map[string]string{}
	}
	for _, word := range words[2:] {
		k, v, _ := strings.Cut(word, "=")
		switch {
		case strings.HasPrefix(word, "config{"):
			e.Config = record.HashConfig(pairs(strings.TrimSuffix(strings.TrimPrefix(word, "config{"), "}")))
		case word == "config=unknown":
			e.Config = nil
		case k == "run":
			e.Run = v
		case k == "restarts":
			e.Restarts = int32(number(t, v))
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
	"running": lifecycle.Running, "done": lifecycle.Done, "failing": lifecycle.Failing, "stuck": lifecycle.Stuck, "lost": lifecycle.Lost,
}

func pod(t rapid.TB, words []string) lifecycle.Pod {
	t.Helper()
	name, version := nameVersion(t, words[0])
	p := lifecycle.Pod{
		Name: name + "-" + words[1], Package: name, Version: version, Stage: v1alpha1.Stage(words[1]),
		Run: "r1", Hash: "1", Created: now.Add(-time.Hour),
	}
	for _, word := range words[2:] {
		k, v, _ := strings.Cut(word, "=")
		outcome, isOutcome := outcomes[word]
		switch {
		case isOutcome:
			p.Outcome = outcome
		case strings.HasPrefix(word, "#"):
			p.Hash = word[1:]
		case word == "terminating":
			p.Terminating = true
		case k == "run":
			p.Run = v
		case k == "restarts":
			p.Restarts = int32(number(t, v))
		case k == "created":
			p.Created = now.Add(duration(t, v))
		case k == "reason":
			p.Reason, p.Message = v, message(v)
		case k == "exit":
			p.ExitCode = int32(number(t, v))
		case word == "retrying":
			p.Retrying = true
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

// describe writes a decision in the words of the tables:
//
//	a@1.0 apply:complete        a transition; its last one for an entry is followed by what the entry holds then
//	forget a@1.0                an entry is removed
//	rename a@1.0                an entry is spelled as in the spec, without a transition
//	own cordon, disown cordon   what the record says of it;  cordon, uncordon: what the node's spec becomes
//	delete pod, start pkg stage [interrupt]
//	wait pkg Reason (or: wait Reason);  tell Reason since=-5s: the wait that the record shows
//	look-drain, evict, again after
//	is status; returned         the node's status; the permit is acknowledged
func describe(t rapid.TB, o lifecycle.Observation, d lifecycle.Decision) []string {
	t.Helper()
	lines := describeRecord(o.Record.Packages, d)
	lines = append(lines, describeNode(o, d)...)
	for _, p := range d.Delete {
		lines = append(lines, "delete "+p.Name)
	}
	for _, s := range d.Start {
		lines = append(lines, describeStart(t, o, d, s))
	}
	for _, w := range d.Waits {
		lines = append(lines, strings.Join(strings.Fields("wait "+w.Package+" "+w.Reason), " "))
		if w.Message == "" {
			t.Errorf("wait %+v has no message", w)
		}
	}
	if w := d.Record.Wait; w != nil {
		lines = append(lines, "tell "+w.Reason+ago(w.Since))
		if w.Message == "" {
			t.Errorf("the node waits for %s without a message", w.Reason)
		}
	}
	if d.LookDrain {
		lines = append(lines, "look-drain")
	}
	if d.Evict {
		lines = append(lines, "evict")
	}
	if d.After > 0 {
		lines = append(lines, "again "+d.After.String())
	}
	if d.Record.Status != "" {
		lines = append(lines, "is "+string(d.Record.Status))
	}
	if d.Record.Done != o.Record.Done {
		lines = append(lines, "returned")
	}
	return lines
}

// describeStart demands that a pod is one that the record asks for.
func describeStart(t rapid.TB, o lifecycle.Observation, d lifecycle.Decision, s lifecycle.Start) string {
	t.Helper()
	line := fmt.Sprintf("start %s %s", s.Package, s.Stage)
	e := d.Record.Packages[record.Key(s.Package, o.Packages[s.Package].Version)]
	if e.Run != s.Run || e.Stage != s.Stage || s.Run == "" || s.Generation != e.Generation {
		t.Errorf("start %+v does not belong to the entry %+v", s, e)
	}
	if s.Stage == v1alpha1.StageInterrupt {
		line += " " + interruptText(s.Interrupt)
		if !reflect.DeepEqual(s.Interrupt, e.Interrupt) {
			t.Errorf("start %+v has another interrupt than the entry %+v", s, e)
		}
	}
	return line
}

func describeNode(o lifecycle.Observation, d lifecycle.Decision) []string {
	var lines []string
	if d.Record.Cordoned != o.Record.Cordoned {
		lines = append(lines, map[bool]string{true: "own cordon", false: "disown cordon"}[d.Record.Cordoned])
	}
	if d.Unschedulable != nil {
		lines = append(lines, map[bool]string{true: "cordon", false: "uncordon"}[*d.Unschedulable])
	}
	if d.Record.BootID != o.Record.BootID {
		lines = append(lines, "boot "+d.Record.BootID)
	}
	return lines
}

func describeRecord(before map[string]record.Entry, d lifecycle.Decision) []string {
	var lines []string
	changed := map[string]int{}
	for i, c := range d.Changes {
		changed[record.Key(c.Package, c.Version)] = i
	}
	for i, c := range d.Changes {
		if c.Reason != "" {
			lines = append(lines, c.Reason)
			continue
		}
		line := fmt.Sprintf("%s@%s %s:%s", c.Package, c.Version, c.Stage, c.State)
		key := record.Key(c.Package, c.Version)
		if changed[key] == i {
			line += details(d.Record.Packages[key])
		}
		lines = append(lines, line)
	}
	for _, key := range slices.Sorted(maps.Keys(d.Record.Packages)) {
		if _, told := changed[key]; !told && details(before[key]) != details(d.Record.Packages[key]) {
			lines = append(lines, "rename "+strings.Replace(key, "|", "@", 1))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(before)) {
		if _, kept := d.Record.Packages[key]; !kept {
			lines = append(lines, "forget "+strings.Replace(key, "|", "@", 1))
		}
	}
	return lines
}

func details(e record.Entry) string {
	var b strings.Builder
	if e.Run != "" {
		b.WriteString(" run=" + e.Run)
	}
	if e.Restarts > 0 {
		fmt.Fprintf(&b, " restarts=%d", e.Restarts)
	}
	b.WriteString(ago(e.Since))
	if e.Reason != "" {
		b.WriteString(" reason=" + e.Reason)
	}
	switch {
	case len(e.Changed) > 0:
		b.WriteString(" changed=" + strings.Join(e.Changed, ","))
	case e.Changed != nil:
		b.WriteString(" changed=none")
	}
	if e.Stage == v1alpha1.StageInterrupt && e.State != v1alpha1.StateComplete {
		b.WriteString(" by " + interruptText(e.Interrupt) + " boot=" + e.BootID)
	}
	if e.Generation != generation {
		fmt.Fprintf(&b, " gen=%d", e.Generation)
	}
	return b.String()
}

func ago(t metav1.Time) string {
	if d := now.Sub(t.Time); d != 0 && !t.IsZero() {
		return " since=-" + d.String()
	}
	return ""
}
