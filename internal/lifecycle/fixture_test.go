package lifecycle_test

import (
	"fmt"
	"maps"
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
//	entry    a@1.0 apply:erroring run=r1 restarts=2 since=-5s reason=Boom config{k=v} config=unknown
//	pod      a@1.0 apply running|done|failing|stuck|lost run=r1 #2 terminating restarts=1 created=-5s reason=X
//
// An entry has, unless it says otherwise, run r1, the config of the spec, and came into its state an hour ago. A pod has
// run r1, hash 1 and was created an hour ago; its name is package-stage.

// nowRun is the name of a run that begins now: the time of all tests is chosen for it.
const nowRun = "now"

var now = func() time.Time {
	seconds, err := strconv.ParseInt(nowRun, 36, 64)
	if err != nil {
		panic(err)
	}
	return time.Unix(seconds, 0)
}()

var permit = v1alpha1.Permit{Node: "node-1", Order: 3, Generation: 7}

func items(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, "; ")
}

func packages(t rapid.TB, text string) lifecycle.Packages {
	t.Helper()
	s := &v1alpha1.Skyhook{Spec: v1alpha1.SkyhookSpec{Packages: map[string]v1alpha1.Package{}}}
	hashes := map[string]string{}
	for _, item := range items(text) {
		item, deps, _ := strings.Cut(item, "<")
		item, config := configOf(item)
		item, hash, hashed := strings.Cut(item, "#")
		if !hashed {
			hash = "1"
		}
		name, version := nameVersion(t, item)
		pkg := v1alpha1.Package{Image: "img/" + name, Version: version, ConfigMap: config}
		if deps != "" {
			pkg.DependsOn = map[string]string{}
			for _, dep := range strings.Split(deps, "<") {
				depName, depVersion := nameVersion(t, dep)
				pkg.DependsOn[depName] = depVersion
			}
		}
		s.Spec.Packages[name] = pkg
		hashes[name] = hash
	}
	return lifecycle.Prepare(s, func(name string) string { return hashes[name] })
}

// configOf cuts "{k=v,l=w}" off an item.
func configOf(item string) (string, map[string]string) {
	open, end := strings.Index(item, "{"), strings.Index(item, "}")
	if open < 0 {
		return item, nil
	}
	config := map[string]string{}
	for _, pair := range strings.Split(item[open+1:end], ",") {
		if k, v, ok := strings.Cut(pair, "="); ok {
			config[k] = v
		}
	}
	return item[:open] + item[end+1:], config
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
	}
	if e.Config == nil {
		e.Config = map[string]string{}
	}
	for _, word := range words[2:] {
		k, v, _ := strings.Cut(word, "=")
		switch {
		case strings.HasPrefix(word, "config{"):
			_, config := configOf(word)
			e.Config = record.HashConfig(config)
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

// describe writes a decision in the words of the tables, in the order in which it is carried out:
//
//	a@1.0 apply:complete        a transition; its last one for an entry is followed by what the entry holds then
//	forget a@1.0                an entry is removed
//	rename a@1.0                an entry is spelled as in the spec, without a transition
//	delete pod, start pkg stage, wait pkg Reason (or: wait Reason), again after
//	is status; returned         the node's status; the permit is acknowledged
func describe(t rapid.TB, o lifecycle.Observation, d lifecycle.Decision) []string {
	t.Helper()
	lines := describeRecord(o.Record.Packages, d)
	for _, p := range d.Delete {
		lines = append(lines, "delete "+p.Name)
	}
	for _, s := range d.Start {
		lines = append(lines, fmt.Sprintf("start %s %s", s.Package, s.Stage))
		pkg := o.Packages[s.Package]
		if e := d.Record.Packages[record.Key(s.Package, pkg.Version)]; e.Run != s.Run || e.Stage != s.Stage || s.Run == "" {
			t.Errorf("start %+v does not belong to the entry %+v", s, e)
		}
	}
	for _, w := range d.Waits {
		lines = append(lines, strings.Join(strings.Fields("wait "+w.Package+" "+w.Reason), " "))
		if w.Message == "" {
			t.Errorf("wait %+v has no message", w)
		}
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

func describeRecord(before map[string]record.Entry, d lifecycle.Decision) []string {
	var lines []string
	changed := map[string]int{}
	for i, c := range d.Changes {
		changed[record.Key(c.Package, c.Version)] = i
	}
	for i, c := range d.Changes {
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
	if ago := now.Sub(e.Since.Time); ago != 0 && !e.Since.IsZero() {
		fmt.Fprintf(&b, " since=-%s", ago)
	}
	if e.Reason != "" {
		b.WriteString(" reason=" + e.Reason)
	}
	return b.String()
}
