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
)

// The files of testdata/takeover are annotations of nodes in the middle of a stage, by the state of that stage: as the
// version before this one wrote them, without the interrupt in flight and with waits that do not say who frees them;
// and as the existing implementation of this API writes them, without times, runs and hashes.
const goldens = "testdata/takeover/*.json"

const (
	// Package b is built on a, and the interrupt of a can be one with that of c.
	takeoverInstall   = "a@1.0 config{k=1} interrupt=service(x) def=old; b@1.0 needs=a@1.0; c@1.0 interrupt=service(y)"
	takeoverUninstall = "a@1.0 uninstall=on,apply config{k=1} interrupt=service(x) def=old; c@1.0 interrupt=service(y)"
	takeoverRetained  = "old=a@1.0 uninstall=on config{k=1} interrupt=service(x); " +
		"new=a@1.0 uninstall=on config{k=2} interrupt=service(x)"
)

// takeoverEdits are what the spec becomes in between.
var takeoverEdits = map[string]*strings.Replacer{
	"no edit":   strings.NewReplacer(),
	"configMap": strings.NewReplacer("config{k=1}", "hash=2 config{k=2}", "def=old", "def=new"),
	"version":   strings.NewReplacer("a@1.0", "a@1.1", "def=old", ""),
	"interrupt": strings.NewReplacer("interrupt=service(x)", "interrupt=restartAllServices"),
	"reboot":    strings.NewReplacer("interrupt=service(x)", "interrupt=reboot"),
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
						if edit == "no edit" && after > 0 {
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
	text := takeoverInstall
	if strings.Contains(file, "uninstall") {
		text = takeoverUninstall
	}
	n := newTakenOver(t, annotations)
	n.spec, n.retained = packages(t, text), kept(t, takeoverRetained)
	edited := edit != "no edit"
	if edited && after == 0 {
		n.edit(packages(t, takeoverEdits[edit].Replace(text)))
	}
	n.believe()
	n.leavePods(pod)
	const bound = 15
	for pass := range bound {
		if edited && after > 0 && pass == after {
			n.edit(packages(t, takeoverEdits[edit].Replace(text)))
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
