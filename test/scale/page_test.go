package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// made is a result whose figures follow from its size.
func made(world string, phase Phase, nodes, packages int) Result {
	load := steady{Result: Result{World: world, Nodes: nodes}}.load()
	f := map[string]float64{
		"seconds": float64(nodes) / 10, "secondsPerNode": 0.1, "nodesPerSecond": 10, "cpuPerNode": 20, "yardstick": 1000,
		"rssPeak": 60 + 8*load, "planP50": 2.5, "planMost": 20, "limitEtcd": 20, "limitOthers": 70,
	}
	if phase == phaseInstall {
		f["rssIdle"] = 50 + 4*load
	}
	return Result{World: world, Phase: phase, Nodes: nodes, Packages: packages, Figures: f}
}

func fleets() []Result {
	return []Result{
		made("plain", phaseInstall, 1000, 2), made("plain", phaseUninstall, 1000, 2),
		made("plain", phaseInstall, 10000, 2), made("five", phaseInstall, 5000, 2), made("twenty", phaseInstall, 500, 3),
	}
}

func reportOf(at int, results ...Result) Report {
	return Report{
		Time: time.Date(2026, 3, at, 0, 0, 0, 0, time.UTC), Machine: Machine{Processors: 2, MemoryGiB: 24},
		Pace: Pace{Container: time.Second}, Results: results,
	}
}

func store(t *testing.T, reports map[string]Report) string {
	t.Helper()
	folder := t.TempDir()
	for name, r := range reports {
		if err := writeReport(filepath.Join(folder, name), r); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// TestMerge: reports come back as they were written, and the later of two results counts, whatever its file is called.
func TestMerge(t *testing.T) {
	old, again := made("plain", phaseInstall, 1000, 2), made("plain", phaseInstall, 1000, 2)
	again.Figures["seconds"] = 7
	reports, err := readReports(store(t, map[string]Report{
		"a.json": reportOf(2, again, made("plain", phaseInstall, 500, 2)),
		"b.json": reportOf(1, made("five", phaseInstall, 500, 2), old, made("interrupt", phaseInstall, 500, 2)),
	}))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	merged := merge(reports)
	for _, r := range merged {
		names = append(names, r.name())
	}
	want := []string{"plain/install/500x2", "plain/install/1000x2", "interrupt/install/500x2", "five/install/500x2"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	if got := merged[1].Figures["seconds"]; got != 7 {
		t.Errorf("%v s, want those of the later report", got)
	}
}

func TestUnreadableReports(t *testing.T) {
	for text, want := range map[string]string{
		`{`:                 "read the report",
		`{"cores": 2}`:      `unknown field "cores"`,
		`{"results": [{}]}`: "is no world and phase of today",
		`{"results": [{"world": "plain", "phase": "lunch"}]}`: "is no world and phase of today",
	} {
		folder := t.TempDir()
		if err := os.WriteFile(filepath.Join(folder, "x.json"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := readReports(folder); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if _, err := readReports(t.TempDir()); err == nil || !strings.Contains(err.Error(), "has no report") {
		t.Errorf("%v", err)
	}
}

func TestFit(t *testing.T) {
	line := []point{{1, 54}, {2, 58}, {20, 130}}
	for _, c := range []struct {
		name   string
		points []point
		want   rule
		ok     bool
	}{
		{"a line", line, rule{base: 50, slope: 4}, true},
		{"two sizes", line[1:], rule{}, false},
		{"two sizes, one of them twice", append(slices.Clone(line[1:]), line[1]), rule{}, false},
		{"sizes too much alike", []point{{1, 54}, {2, 58}, {9, 86}}, rule{}, false},
		{"nothing", nil, rule{}, false},
	} {
		got, ok := fit(c.points)
		if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(rule{}), near); diff != "" || ok != c.ok {
			t.Errorf("%s: %t\n%s", c.name, ok, diff)
		}
	}
	got, _ := fit(append(slices.Clone(line), point{2, 70}))
	if got.off < 0.05 || got.off > 0.2 {
		t.Errorf("one point is 20 %% above the others' line, but the rule says it is off by %.3f at most", got.off)
	}
}

// TestPage: the page has what was measured, the bounded ratios, and the rule that the memory follows.
func TestPage(t *testing.T) {
	limited := reportOf(2, made("plain", phaseInstall, 500, 1))
	limited.OperatorMiB = 224
	from, to := store(t, map[string]Report{
		"a.json": limited, "b.json": reportOf(1, made("plain", phaseInstall, 100, 1)), "x.json": reportOf(1, fleets()...),
	}), t.TempDir()
	if err := writePage(from, to); err != nil {
		t.Fatal(err)
	}
	text := read(t, to, "README.md")
	for _, line := range []string{
		"- 2 processors, 24 GiB of memory; 1s per container, 0s per reboot; measured on 2026-03-01\n",
		"0s per reboot; the operator told of a memory limit of 224 MiB; measured on 2026-03-02\n",
		"| plain | install | `cpuPerNode` | 10000x2 | 20 | 1000x2 | 20 | 1.00 | at most 1.2 |",
		"| plain | install | `secondsPerNode` | 10000x2 | 0.1 | 1000x2 | 0.1 | 1.00 | at most 1.2 |",
		"| plain | install | `cpuPerNode by yardstick` | 10000x2 | 20/1000 | 1000x2 | 20/1000 | 1.00 | at most 1.2 |",
		"| plain | install | `secondsPerNode by yardstick` | 10000x2 | 0.1/1000 | 1000x2 | 0.1/1000 | 1.00 | at most 1.2 |",
		"| 500 | 1 | 1 | plain | 224 |", "| 5,000 | 5 | 2 | five | - | 170.0 | 300 | - |",
		"| idle | 50 + 4 × nodes / 1,000 × (1 + Skyhooks) | 0 % |",
		"| peak | 60 + 8 × nodes / 1,000 × (1 + Skyhooks) | 0 % |",
		"| plain | 10,000 | 2 | install | 1000 | 10.0 | - | 20.0 | 220.0 | 2.50 | 20.0 | - | others 70 % |",
		"plain install 100 at 1,000 nodes to 1,000 at 10,000; plain uninstall 100 at 1,000 nodes; five install",
	} {
		if !strings.Contains(text, line) {
			t.Errorf("the page lacks %q:\n%s", line, text)
		}
	}
	if strings.Contains(text, "does not say yet") {
		t.Error("a page of 10,000 nodes says that its fleets are small")
	}
	if err := writePage(store(t, map[string]Report{"x.json": reportOf(1, made("plain", phaseInstall, 50, 2))}), to); err != nil {
		t.Fatal(err)
	}
	small := read(t, to, "README.md")
	for _, part := range []string{"These fleets have 50 nodes at most", "A rule needs at least three sizes"} {
		if !strings.Contains(small, part) {
			t.Errorf("the page of a small fleet lacks %q:\n%s", part, small)
		}
	}
}

// TestPictures: the same reports make the same bytes, with axes, units and a legend.
func TestPictures(t *testing.T) {
	from, first, second := store(t, map[string]Report{"x.json": reportOf(1, fleets()...)}), t.TempDir(), t.TempDir()
	if err := errors.Join(writePage(from, first), writePage(from, second)); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]string{
		timePicture: {
			"nodes", "time in seconds", "plain install", "plain uninstall", "five install", "1,000", "10,000", "500",
		},
		memoryPicture: {"nodes", "memory in MiB", "plain peak", "plain idle", "five peak", "five idle", "100", "200"},
	} {
		drawn := read(t, first, name)
		if drawn != read(t, second, name) {
			t.Errorf("%s differs between two runs", name)
		}
		texts := textsOf(t, drawn)
		for _, text := range want {
			if !slices.Contains(texts, text) {
				t.Errorf("%s lacks %q; it has %q", name, text, texts)
			}
		}
		if slices.Contains(texts, "twenty install") || slices.Contains(texts, "twenty peak") {
			t.Errorf("%s has three packages among two", name)
		}
		if strings.Contains(drawn, measuredFont) {
			t.Errorf("%s needs a font that not everybody has", name)
		}
	}
}

// textsOf are the texts that an SVG shows.
func textsOf(t *testing.T, drawn string) (texts []string) {
	t.Helper()
	for d := xml.NewDecoder(bytes.NewBufferString(drawn)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return texts
		}
		if err != nil {
			t.Fatal(err)
		}
		if part, ok := token.(xml.CharData); ok {
			texts = append(texts, strings.TrimSpace(string(part)))
		}
	}
}

// TestWorldOrder: every world has its place on the page, and a colour; every phase that is drawn its dashes.
func TestWorldOrder(t *testing.T) {
	less := cmpopts.SortSlices(func(a, b string) bool { return a < b })
	if diff := cmp.Diff(worldNames(), worldOrder, less); diff != "" {
		t.Errorf("worlds (-) and their order on the page (+):\n%s", diff)
	}
	if len(colours) < len(worldOrder) || len(dashes) < len(picturedPhases) {
		t.Errorf("%d colours, %d dashes", len(colours), len(dashes))
	}
}

func read(t *testing.T, folder, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestNothingToDraw: a folder without a result that pictures show is refused at once.
func TestNothingToDraw(t *testing.T) {
	for name, report := range map[string]string{
		"none": `{"results": []}`,
		"one package": `{"results": [{"world": "plain", "phase": "install", "nodes": 5, "packages": 1,
			"figures": {"seconds": 3, "rssPeak": 60}}]}`,
	} {
		from := t.TempDir()
		if err := os.WriteFile(filepath.Join(from, "some.json"), []byte(report), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := writePage(from, t.TempDir()); err == nil || !strings.Contains(err.Error(), "no result with 2 packages") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
