package admission

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/text"
)

// maxContradictions is how many are told of one Skyhook.
const maxContradictions = 5

// Contradiction is a setting of hosts that two packages want differently. Key names it, as in "sysctl vm.swappiness".
type Contradiction struct {
	Key string
	// Package of the Skyhook in question, and the Value that it wants.
	Package, Value string
	// Skyhook and OtherPackage want Other.
	Skyhook, Other, OtherPackage string
}

// wish is what a package wants of a host.
type wish struct {
	skyhook, pkg string
	settings     map[string]string
}

// Contradictions are what packages of a Skyhook want differently from each other, and from packages of others that select
// one of its nodes; sorted by package and key. Packages are known by the name of their image, tuning or tuned, from
// whatever registry.
func (c Cluster) Contradictions(s *v1alpha1.Skyhook) []Contradiction {
	own := wishes(s)
	if len(own) == 0 {
		return nil
	}
	var out []Contradiction
	for i, mine := range own {
		for _, other := range own[i+1:] {
			out = append(out, differ(mine, other)...)
		}
	}
	for i := range c.Skyhooks {
		other := &c.Skyhooks[i]
		theirs := wishes(other)
		if other.Name == s.Name || other.DeletionTimestamp != nil || len(theirs) == 0 || !c.meet(s, other) {
			continue
		}
		for _, mine := range own {
			for _, their := range theirs {
				out = append(out, differ(mine, their)...)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Contradiction) int {
		return strings.Compare(a.Package+"\x00"+a.Key, b.Package+"\x00"+b.Key)
	})
	return out
}

// contradictions are the sentences for them. They leave out the values of other Skyhooks, since anybody can ask the webhook.
func (c Cluster) contradictions(s *v1alpha1.Skyhook) []string {
	var out []string
	all := c.Contradictions(s)
	for _, d := range all[:min(len(all), maxContradictions)] {
		whose := ""
		if d.Skyhook != s.Name {
			whose = " of Skyhook " + d.Skyhook
		}
		out = append(out, fmt.Sprintf("spec.packages.%s.configMap: %s is to be %q, and package %s%s wants something else on the same "+
			"nodes; the one that runs last wins, so set it in one of them", d.Package, text.Shorten(d.Key, maxField),
			text.Shorten(d.Value, maxField), d.OtherPackage, whose))
	}
	if more := len(all) - len(out); more > 0 {
		out = append(out, fmt.Sprintf("spec.packages: %s more of hosts that two packages want differently", text.Count(more, "setting")))
	}
	return out
}

// meet reports whether two Skyhooks select a common node, now or with any node that comes.
func (c Cluster) meet(a, b *v1alpha1.Skyhook) bool {
	if equality.Semantic.DeepEqual(a.Spec.NodeSelectors, b.Spec.NodeSelectors) {
		return true
	}
	one, err := Target(a)
	if err != nil {
		return false
	}
	two, err := Target(b)
	if err != nil {
		return false
	}
	for i := range c.Nodes {
		if of := labels.Set(c.Nodes[i].Labels); one.Matches(of) && two.Matches(of) {
			return true
		}
	}
	return false
}

func differ(a, b wish) []Contradiction {
	var out []Contradiction
	for _, key := range slices.Sorted(maps.Keys(a.settings)) {
		if other, both := b.settings[key]; both && other != a.settings[key] {
			out = append(out, Contradiction{
				Key: key, Package: a.pkg, Value: a.settings[key], Skyhook: b.skyhook, OtherPackage: b.pkg, Other: other,
			})
		}
	}
	return out
}

// wishes are those of the packages that are known, sorted by name.
func wishes(s *v1alpha1.Skyhook) []wish {
	var out []wish
	for _, name := range slices.Sorted(maps.Keys(s.Spec.Packages)) {
		pkg := s.Spec.Packages[name]
		read, known := readers[path.Base(pkg.Repository())]
		if !known || pkg.Uninstall.Requested() {
			continue
		}
		settings := map[string]string{}
		read(pkg.ConfigMap, settings)
		if len(settings) > 0 {
			out = append(out, wish{s.Name, name, settings})
		}
	}
	return out
}

// readers read configMaps of packages, by the name of their image. What the keys mean, their READMEs say.
var readers = map[string]func(config, settings map[string]string){"tuning": readTuning, "tuned": readTuned}

func readTuning(config, settings map[string]string) {
	for line := range settingLines(config["sysctl.conf"], "#;") {
		readSysctl(line, settings)
	}
	for line := range settingLines(config["ulimit.conf"], "#;") {
		if name, value, ok := strings.Cut(line, "="); ok {
			if value = strings.TrimSpace(value); value == "infinity" || value == "-1" {
				value = "unlimited"
			}
			settings["the limit "+strings.TrimSpace(name)] = value
		}
	}
	arguments := map[string][]string{}
	for line := range settingLines(config["grub.conf"], "#") {
		for _, argument := range strings.Fields(line) {
			name, value, _ := strings.Cut(argument, "=")
			arguments[name] = append(arguments[name], value)
		}
	}
	for name, values := range arguments { // some are given several times, and all of them count
		settings["the kernel argument "+name] = strings.Join(values, " ")
	}
}

// readTuned reads the profiles that are active, and what of sysctl they set.
func readTuned(config, settings map[string]string) {
	profiles := strings.Fields(config["tuned_profile"])
	if len(profiles) > 0 {
		settings["the TuneD profile"] = strings.Join(profiles, " ")
	}
	for _, profile := range profiles {
		section := ""
		for line := range settingLines(config[profile], "#;") {
			switch {
			case strings.HasPrefix(line, "["):
				section = line
			case section == "[sysctl]":
				readSysctl(line, settings)
			}
		}
	}
}

// readSysctl reads one line as sysctl.d(5) does: the first separator of a key says whether "." or "/" separates.
func readSysctl(line string, settings map[string]string) {
	key, value, ok := strings.Cut(strings.TrimPrefix(line, "-"), "=")
	if !ok {
		return
	}
	key = strings.TrimSpace(key)
	if i := strings.IndexAny(key, "./"); i >= 0 && key[i] == '/' {
		key = strings.NewReplacer("/", ".", ".", "/").Replace(key)
	}
	settings["sysctl "+key] = strings.Join(strings.Fields(value), " ")
}

// settingLines are the lines of a value that are neither empty nor comments.
func settingLines(all, comments string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for line := range strings.Lines(all) {
			if line = strings.TrimSpace(line); line == "" || strings.ContainsRune(comments, rune(line[0])) {
				continue
			}
			if !yield(line) {
				return
			}
		}
	}
}
