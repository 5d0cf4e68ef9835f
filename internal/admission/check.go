// Package admission tells what is wrong with a Skyhook. The API server checks static rules by itself (CEL in the CRD);
// this package checks all rules again, so that the operator is safe without them, and those that CEL cannot express.
package admission

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/text"
	"github.com/skyhook-operator/skyhook/internal/version"
)

// MaxName is the longest name of a Skyhook: the annotation key skyhook.nvidia.com/nodeState_<name> allows no more.
const MaxName = 53

// MaxConfigMap is how many bytes the values of a package's configMap may have together: a Kubernetes ConfigMap holds no
// more.
const MaxConfigMap = 1 << 20

// Problem is one thing wrong with a Skyhook.
type Problem struct {
	// Field is the path, such as spec.packages.tuning.version.
	Field string
	// Message says what is wrong and how to fix it.
	Message string
}

func (p Problem) String() string { return p.Field + ": " + p.Message }

// maxJoined is how many problems Join names: the text goes into conditions, which have a bound.
const maxJoined = 3

// Join makes one text of problems, bounded in length; empty when there are none.
func Join(problems []Problem) string {
	var texts []string
	for i, p := range problems {
		if i == maxJoined {
			texts = append(texts, fmt.Sprintf("and %d more", len(problems)-maxJoined))
			break
		}
		texts = append(texts, p.String())
	}
	return strings.Join(texts, "; ")
}

type checker struct{ problems []Problem }

// Check returns all problems of a Skyhook, sorted by field. One that is out of bounds is looked at no further.
func Check(s *v1alpha1.Skyhook, rules ImageRules) []Problem {
	c := &checker{}
	c.bounds(s)
	if len(c.problems) == 0 {
		c.all(s)
		for _, name := range slices.Sorted(maps.Keys(s.Spec.Packages)) {
			c.images(rules, name, s.Spec.Packages[name])
		}
	}
	return c.sorted()
}

func (c *checker) all(s *v1alpha1.Skyhook) {
	if len(s.Name) > MaxName {
		c.add("metadata.name", "is %d characters long; use at most %d", len(s.Name), MaxName)
	}
	c.selector("spec.nodeSelectors", &s.Spec.NodeSelectors)
	c.selector("spec.podNonInterruptLabels", &s.Spec.PodNonInterruptLabels)
	if b := s.Spec.InterruptionBudget; b.Count != nil && b.Percent != nil {
		c.add("spec.interruptionBudget", "has both count and percent; keep one")
	}
	for _, name := range slices.Sorted(maps.Keys(s.Spec.Packages)) {
		c.pkg(name, s.Spec.Packages)
	}
	c.cycles(s.Spec.Packages)
}

func (c *checker) add(field, format string, args ...any) {
	c.problems = append(c.problems, Problem{
		Field: text.Shorten(field, maxField), Message: text.Shorten(fmt.Sprintf(format, args...), maxMessage),
	})
}

func (c *checker) sorted() []Problem {
	slices.SortStableFunc(c.problems, func(a, b Problem) int { return strings.Compare(a.Field, b.Field) })
	return c.problems
}

func (c *checker) selector(field string, s *metav1.LabelSelector) {
	if _, err := Selector(s); err != nil {
		c.add(field, "is not a label selector: %v; correct it", err)
	}
}

// Selector reads a selector up to the first thing wrong with it. Kubernetes joins the errors of all values in a time
// that grows with the square of their number.
func Selector(s *metav1.LabelSelector) (labels.Selector, error) {
	for i := range s.MatchExpressions {
		for _, value := range s.MatchExpressions[i].Values {
			if texts := validation.IsValidLabelValue(value); len(texts) > 0 {
				key := text.Shorten(s.MatchExpressions[i].Key, maxField)
				return nil, fmt.Errorf("value %q of %q: %s", text.Shorten(value, maxField), key, texts[0])
			}
		}
	}
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return nil, err
	}
	return selector, nil
}

func (c *checker) pkg(name string, all map[string]v1alpha1.Package) {
	pkg, field := all[name], "spec.packages."+name
	if pkg.Name != "" && pkg.Name != name {
		c.add(field+".name", "is %q; leave it out or repeat the key %q", pkg.Name, name)
	}
	if _, err := semver.NewVersion(pkg.Version); err != nil {
		c.add(field+".version", "%q is not a semantic version; write it like 1.2.3", pkg.Version)
	}
	for _, why := range validation.IsValidLabelValue(name + "-" + pkg.Version) {
		c.add(field, "name and version joined, %q, must fit into a label value: %s; change the name or the version",
			name+"-"+pkg.Version, why)
	}
	if pkg.Repository() == "" {
		c.add(field+".image", "is empty; name the image's repository")
	}
	c.digest(field+".image", pkg)
	size := 0
	for _, value := range pkg.ConfigMap {
		size += len(value)
	}
	if size > MaxConfigMap {
		c.add(field+".configMap", "holds %d bytes, but a ConfigMap takes at most %d; put the rest into the package's image",
			size, MaxConfigMap)
	}
	if r := pkg.Resources; r != nil {
		c.limit(field+".resources.cpuLimit", r.CPULimit, "cpuRequest", r.CPURequest)
		c.limit(field+".resources.memoryLimit", r.MemoryLimit, "memoryRequest", r.MemoryRequest)
	}
	for _, dep := range slices.Sorted(maps.Keys(pkg.DependsOn)) {
		c.dependency(name, dep, all)
	}
}

// digestForm is that of containerSHA.
var digestForm = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// digest checks the digest in image, which pins it as containerSHA does.
func (c *checker) digest(field string, pkg v1alpha1.Package) {
	_, digest, pinned := strings.Cut(pkg.Image, "@")
	switch {
	case !pinned:
	case !digestForm.MatchString(digest):
		c.add(field, "ends with %q, which is not a digest; write sha256: and 64 lower-case hexadecimal digits after the @, "+
			"or remove it",
			digest)
	case pkg.ContainerSHA != "" && pkg.ContainerSHA != digest:
		c.add(field, "has the digest %q, but containerSHA is %q; remove one of them", digest, pkg.ContainerSHA)
	}
}

// limit checks what CEL could only check at a cost that the API server does not allow.
func (c *checker) limit(field string, limit resource.Quantity, requestName string, request resource.Quantity) {
	if limit.Cmp(request) < 0 {
		c.add(field, "%s is below %s, which is %s; raise the limit or lower the request",
			limit.String(), requestName, request.String())
	}
}

func (c *checker) dependency(name, dep string, all map[string]v1alpha1.Package) {
	field, wanted := "spec.packages."+name+".dependsOn."+dep, all[name].DependsOn[dep]
	other, ok := all[dep]
	switch {
	case dep == name:
		c.add(field, "a package cannot depend on itself; remove the entry")
	case !ok:
		c.add(field, "package %q is not in spec.packages; add it or remove the entry", dep)
	case !version.Same(wanted, other.Version):
		c.add(field, "wants version %q, but spec.packages.%s.version is %q; make them equal", wanted, dep, other.Version)
	}
}
