package lifecycle_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/skyhook-operator/skyhook/internal/situation"
)

// kinds are the interrupts that a package of the model may have. They stay as they are while versions and config
// change.
var kinds = map[string]func(definition) definition{
	"none":            func(d definition) definition { return d },
	"reboot":          func(d definition) definition { return d.interrupt(reboot) },
	"service":         func(d definition) definition { return d.interrupt(service("x")) },
	"noop":            func(d definition) definition { return d.interrupt(noop) },
	"reboot for k":    func(d definition) definition { return d.on("k", reboot) },
	"service for all": func(d definition) definition { return d.on("*", service("x")) },
}

// specs draws specs, one after the other.
type specs struct {
	a, b                       int
	interruptOfA, interruptOfB string
	// uninstall lets packages leave.
	removals bool
}

func newSpecs(t *rapid.T) *specs {
	names := slices.Sorted(maps.Keys(kinds))
	return &specs{
		interruptOfA: rapid.SampledFrom(names).Draw(t, "interrupt of a"),
		interruptOfB: rapid.SampledFrom(names).Draw(t, "interrupt of b"),
	}
}

func (v *specs) draw(t *rapid.T) situation.Packages {
	v.a = max(0, v.a+rapid.IntRange(-1, 1).Draw(t, "change a"))
	v.b = max(0, v.b+rapid.IntRange(-1, 1).Draw(t, "change b"))
	a, b := id(fmt.Sprintf("a@1.%d", v.a)), id(fmt.Sprintf("b@1.%d", v.b))
	hash := strconv.Itoa(rapid.IntRange(1, 2).Draw(t, "hash"))
	changing := func(i id, kind string) definition {
		d := pkg(i).hash(hash).config(fmt.Sprintf("k=%d", rapid.IntRange(1, 2).Draw(t, "config of "+i.name())))
		return kinds[kind](d)
	}
	smallest := 0
	if v.removals {
		smallest = -2
	}
	shape := rapid.IntRange(smallest, 2).Draw(t, "shape")
	var list []definition
	if shape >= 0 {
		list = append(list, changing(a, v.interruptOfA))
	}
	if shape > 0 {
		list = append(list, changing(b, v.interruptOfB).needs(a))
	}
	if shape > 1 {
		list = append(list, pkg(c).needs(a, b))
	}
	if shape >= -1 {
		list = append(list, pkg("d@1.0").interrupt(noop))
	}
	list = append(list, pkg("e@1.0"))
	if v.removals {
		v.leave(t, list)
	}
	return packages(list...)
}

// leave draws what each package says about uninstalling, and names its definition after what it is.
func (v *specs) leave(t *rapid.T, list []definition) {
	for i, d := range list {
		said := rapid.SampledFrom([][]int{
			nil, {asked}, {on}, {on}, {on, asked}, {on, auto}, {on, auto}, {on, auto, asked},
		}).Draw(t, "uninstall of "+d.Name)
		list[i] = d.def(strings.Join([]string{d.Name, d.Version, d.derived.Hash, d.ConfigMap["k"]}, "-"))
		if said != nil {
			list[i] = list[i].uninstall(said...)
		}
	}
}

func (s *simulated) edit(spec *specs, t *rapid.T) {
	s.spec, s.serial = spec.draw(t), rapid.Bool().Draw(t, "serial")
	s.generation++
	s.now = s.now.Add(time.Second) // the record tells times in seconds
	s.retain()
}
