package lifecycle_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

// The files of testdata/takeover are annotations of nodes in the middle of a stage, by the state of that stage: as the
// version before this one wrote them, without the interrupt in flight and with waits that do not say who frees them;
// and as the existing implementation of this API writes them, without times, runs and hashes.
const goldens = "testdata/takeover/*.json"

var (
	takenOverA = pkg(a).config("k=1").interrupt(service("x")).def("old")
	takenOverC = pkg(c).interrupt(service("y"))
	// Package b is built on a, and the interrupt of a can be one with that of c.
	takeoverInstall   = []definition{takenOverA, pkg(b).needs(a), takenOverC}
	takeoverUninstall = []definition{takenOverA.uninstall(on, asked), takenOverC}
	takeoverRetained  = retained(takenOverA.uninstall(on), takenOverA.config("k=2").def("new").uninstall(on))
)

const noEdit = "no edit"

// takeoverEdits are what becomes of each package in between.
var takeoverEdits = map[string]func(definition) definition{
	noEdit: func(d definition) definition { return d },
	"configMap": func(d definition) definition {
		if d.Name == "a" {
			return d.hash("2").config("k=2").def("new")
		}
		return d
	},
	"version": func(d definition) definition {
		if d.Name == "a" {
			d.Version = "1.1"
			return d.def("")
		}
		if d.DependsOn != nil {
			return d.needs("a@1.1")
		}
		return d
	},
	"interrupt": instead(restartAllServices),
	"reboot":    instead(reboot),
}

func instead(i v1alpha1.Interrupt) func(definition) definition {
	return func(d definition) definition {
		if d.Name == "a" {
			return d.interrupt(i)
		}
		return d
	}
}

func edited(list []definition, edit string) situation.Packages {
	var all []definition
	for _, d := range list {
		all = append(all, takeoverEdits[edit](d))
	}
	return packages(all...)
}

// TestTakeover: a node that another operator left in the middle of anything comes to its end, with and without its pod,
// and also when the spec is edited meanwhile.
func TestTakeover(t *testing.T) {
	files, err := filepath.Glob(goldens)
	if err != nil || len(files) != 14 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, file := range files {
		for state, annotations := range readGolden(t, file) {
			pods := []string{"gone", "running", "done"}
			if state == "complete" {
				pods = pods[:1]
			}
			for _, pod := range pods {
				for _, edit := range slices.Sorted(maps.Keys(takeoverEdits)) {
					for _, after := range []int{0, 1, 3} {
						if edit == noEdit && after > 0 {
							continue
						}
						name := fmt.Sprintf("%s %s, pod %s, %s after %d", strings.TrimSuffix(filepath.Base(file), ".json"), state, pod,
							edit, after)
						t.Run(name, func(t *testing.T) { takeOver(t, file, annotations, pod, edit, after) })
					}
				}
			}
		}
	}
}

func readGolden(t *testing.T, file string) map[string]map[string]string {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	states := map[string]map[string]string{}
	if err := json.Unmarshal(raw, &states); err != nil || len(states) != 4 {
		t.Fatalf("%s has %d states: %v", file, len(states), err)
	}
	return states
}

// takeOver plays one node: edit is made after that many passes.
func takeOver(t *testing.T, file string, annotations map[string]string, pod, edit string, after int) {
	list := takeoverInstall
	if strings.Contains(file, "uninstall") {
		list = takeoverUninstall
	}
	n := newTakenOver(t, annotations)
	n.spec, n.retained = packages(list...), takeoverRetained
	if edit != noEdit && after == 0 {
		n.edit(edited(list, edit))
	}
	n.believe()
	n.leavePods(pod)
	const bound = 15
	for pass := range bound {
		if edit != noEdit && after > 0 && pass == after {
			n.edit(edited(list, edit))
		}
		n.pass()
		if pass >= after && n.atRest() {
			break
		}
		n.kubelet()
	}
	unknown := edit == "version" && strings.Contains(file, "existing-uninstall") // nobody kept how it was installed
	if w := n.record().Wait; unknown && w != nil && w.Reason == v1alpha1.ReasonDefinitionMissing {
		return
	}
	n.demandEnd(edit)
}
