package lifecycle_test

import (
	"fmt"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/skyhook-operator/skyhook/internal/lifecycle"
)

// kinds are the interrupts that a package of the model may have. They stay as they are while versions and config
// change.
var kinds = []string{
	"", " interrupt=reboot", " interrupt=service(x)", " interrupt=noop", " on:k=reboot", " on:*=service(x)",
}

// specs draws specs, one after the other.
type specs struct {
	a, b                       int
	interruptOfA, interruptOfB string
	// uninstall lets packages leave.
	removals bool
}

func newSpecs(t *rapid.T) *specs {
	return &specs{
		interruptOfA: rapid.SampledFrom(kinds).Draw(t, "interrupt of a"),
		interruptOfB: rapid.SampledFrom(kinds).Draw(t, "interrupt of b"),
	}
}

func (v *specs) draw(t *rapid.T) lifecycle.Packages {
	v.a = max(0, v.a+rapid.IntRange(-1, 1).Draw(t, "change a"))
	v.b = max(0, v.b+rapid.IntRange(-1, 1).Draw(t, "change b"))
	a := fmt.Sprintf("a@1.%d", v.a)
	hash := rapid.IntRange(1, 2).Draw(t, "hash")
	smallest := 0
	if v.removals {
		smallest = -2
	}
	shape := rapid.IntRange(smallest, 2).Draw(t, "shape")
	var list []string
	if shape >= 0 {
		list = append(list, fmt.Sprintf("%s hash=%d config{k=%d}%s", a, hash, rapid.IntRange(1, 2).Draw(t, "config of a"),
			v.interruptOfA))
	}
	if shape > 0 {
		list = append(list, fmt.Sprintf("b@1.%d hash=%d config{k=%d}%s needs=%s", v.b, hash,
			rapid.IntRange(1, 2).Draw(t, "config of b"), v.interruptOfB, a))
	}
	if shape > 1 {
		list = append(list, fmt.Sprintf("c@1.0 needs=%s needs=b@1.%d", a, v.b))
	}
	if shape >= -1 {
		list = append(list, "d@1.0 interrupt=noop")
	}
	list = append(list, "e@1.0")
	if v.removals {
		v.leave(t, list)
	}
	return packages(t, strings.Join(list, "; "))
}

// leave draws what each package says about uninstalling, and names its definition.
func (v *specs) leave(t *rapid.T, list []string) {
	plain := strings.NewReplacer(" ", "-", "{", "", "}", "", "=", "-")
	for i, item := range list {
		said := rapid.SampledFrom([]string{
			"", "apply", "on", "on", "on,apply", "on,auto", "on,auto", "on,auto,apply",
		}).Draw(t, "uninstall of "+item[:1])
		list[i] += " def=" + plain.Replace(item)
		if said != "" {
			list[i] += " uninstall=" + said
		}
	}
}

func (s *simulated) edit(spec *specs, t *rapid.T) {
	s.spec, s.serial = spec.draw(t), rapid.Bool().Draw(t, "serial")
	s.generation++
	s.now = s.now.Add(time.Second) // the record tells times in seconds
	s.retain()
}
