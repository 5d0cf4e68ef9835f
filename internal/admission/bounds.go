package admission

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// Bounds of the CRD, which the API server checks before it asks. They are checked again, because others can ask as
// well, and because a Skyhook may have been stored under a CRD without them.
const (
	// MaxPackages is how many packages a Skyhook may have. The record of a node, which is one annotation of at most
	// 256 KiB together with all others, has room for no more.
	MaxPackages = 128
	// MaxDependencies is how many others a package can depend on.
	MaxDependencies = MaxPackages - 1
	// MaxConfigKeys is how many bytes the names of all keys of all configMaps may have together, with what is noted of
	// each key. The record of a node has them once, and those that change once more, beside what it notes of the packages.
	MaxConfigKeys = 64 << 10
	// MaxPackageName and MaxVersion are bytes.
	MaxPackageName, MaxVersion = 43, 63
)

// A selector is matched against every node, requirement by requirement and value by value.
const (
	// MaxRequirements is how many labels and expressions a selector may have.
	MaxRequirements = 256
	// MaxValues is how many values its expressions may have together: enough to name the nodes of a large fleet.
	MaxValues = 10_000
)

// MaxCompartments is how many compartments the CRD lets a DeploymentPolicy have.
const MaxCompartments = 64

// Texts are cut: they go into answers, conditions and events, and hold what somebody else wrote.
const (
	maxField   = 256
	maxMessage = 1024
)

// Bounds returns what makes a Skyhook too large to be looked at any further, sorted by field. It costs next to nothing,
// whatever is in the Skyhook.
func Bounds(s *v1alpha1.Skyhook) []Problem {
	c := &checker{}
	c.bounds(s)
	return c.sorted()
}

func (c *checker) bounds(s *v1alpha1.Skyhook) {
	c.requirements("spec.nodeSelectors", &s.Spec.NodeSelectors)
	c.requirements("spec.podNonInterruptLabels", &s.Spec.PodNonInterruptLabels)
	if n := len(s.Spec.Packages); n > MaxPackages {
		c.add("spec.packages", "has %d packages; use at most %d, and another Skyhook for the rest", n, MaxPackages)
		return // one problem each would be as many
	}
	keys := 0
	for name := range s.Spec.Packages {
		pkg := s.Spec.Packages[name]
		c.packageBounds(name, pkg)
		for key := range pkg.ConfigMap {
			keys += len(key) + noted
		}
	}
	if keys > MaxConfigKeys {
		c.add("spec.packages", "the names of the keys of all configMaps have %d bytes, with %d more for each key; "+
			"use at most %d: shorten the names, or put some packages into another Skyhook", keys, noted, MaxConfigKeys)
	}
}

// noted is what a record has of a config key beside its name: a hash.
const noted = 14

func (c *checker) packageBounds(name string, pkg v1alpha1.Package) {
	field := "spec.packages." + name
	if len(name) > MaxPackageName {
		c.add(field, "the name is longer than %d characters; rename the package", MaxPackageName)
	}
	if len(pkg.Version) > MaxVersion {
		c.add(field+".version", "is longer than %d characters; shorten it", MaxVersion)
	}
	if n := len(pkg.DependsOn); n > MaxDependencies {
		c.add(field+".dependsOn", "has %d entries, but a Skyhook has at most %d other packages; "+
			"remove those that do not exist", n, MaxDependencies)
	}
}

func (c *checker) requirements(field string, s *metav1.LabelSelector) {
	values := 0
	for i := range s.MatchExpressions {
		values += len(s.MatchExpressions[i].Values)
	}
	if n := len(s.MatchLabels) + len(s.MatchExpressions); n > MaxRequirements {
		c.add(field, "has %d requirements; use at most %d, such as one label that the nodes have in common", n,
			MaxRequirements)
	}
	if values > MaxValues {
		c.add(field, "has %d values; use at most %d, such as one label that the nodes have in common", values, MaxValues)
	}
}

// maxNamed is how many problems Report names.
const maxNamed = 20

// Report makes one text of problems for the person who asked, a line each, bounded in length; empty when there are
// none.
func Report(problems []Problem) string {
	if len(problems) == 1 {
		return problems[0].String()
	}
	var text strings.Builder
	for i, p := range problems {
		switch i {
		case 0:
			fmt.Fprintf(&text, "%d problems", len(problems))
		case maxNamed:
			fmt.Fprintf(&text, "\n- and %d more", len(problems)-maxNamed)
			return text.String()
		}
		text.WriteString("\n- " + p.String())
	}
	return text.String()
}
