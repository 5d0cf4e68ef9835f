package faults

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
)

var (
	count   = flag.Int("faults.n", 150, "how many worlds")
	span    = flag.Duration("faults.for", 0, "play as many worlds as fit into this time, instead of a number of them")
	first   = flag.Uint64("faults.seed", 1, "the seed of the first world")
	traced  = flag.Bool("faults.trace", false, "print the whole trace of the first world that has a finding, not shrunk")
	shrunk  = flag.Int("faults.shrink", 2, "how many kinds of findings are shrunk and printed with a trace")
	only    = flag.String("faults.profile", "", "only worlds of this profile")
	wanted  = flag.String("faults.find", "", "only findings whose signature contains one of these, separated by commas")
	stop    = flag.Bool("faults.stop", false, "stop at the first finding")
	keep    = flag.String("faults.keep", "", "a folder to which the smallest world of each kind of finding is written")
	verbose = flag.Duration("faults.progress", 10*time.Second, "how often to tell the progress")
)

func TestMain(m *testing.M) {
	flag.Parse()
	ctrl.SetLogger(logr.Discard())
	debug.SetGCPercent(800) // worlds are small and short
	os.Exit(m.Run())
}

// keptSchedules is in how many orders of events a kept world is played.
const keptSchedules = 10

// kindOfFinding collects what was found of one kind.
type kindOfFinding struct {
	signature string
	first     uint64
	finding   Finding
	seeds     []uint64
}

// TestWorlds plays worlds and fails with each kind of finding.
func TestWorlds(t *testing.T) {
	start := time.Now()
	if *span > 0 {
		*count = math.MaxInt32
	}
	found, worlds := sweep(t, *first, *count)
	took := time.Since(start)
	t.Logf("%d worlds from seed %d in %s: %.0f a minute on %d cores", worlds, *first, took.Round(time.Millisecond), float64(worlds)/took.Minutes(), runtime.GOMAXPROCS(0))
	for i, k := range found {
		t.Errorf("%s: %d of %d worlds, first seed %d (%s, step %d): %s", k.signature, len(k.seeds), worlds, k.first, k.finding.Phase, k.finding.Step,
			cutText(k.finding.Message, 600))
		if i < *shrunk {
			t.Log(explain(k))
		}
	}
}

// explain prints the smallest world that still has a finding.
func explain(k kindOfFinding) string {
	p := Generate(k.first)
	if !*traced {
		p = Shrink(p, k.signature)
	}
	raw, err := json.Marshal(p)
	if err == nil && *keep != "" {
		err = os.WriteFile(filepath.Join(*keep, fileName(k.signature)), append(raw, '\n'), 0o600)
	}
	if err != nil {
		return err.Error()
	}
	lines := Run(p, true).Trace
	for i, line := range lines {
		if strings.Contains(line, "FINDING "+k.signature+":") {
			lines = lines[:i+1] // what follows explains nothing
			break
		}
	}
	return fmt.Sprintf("%s, seed %d:\n%s\n%s", k.signature, k.first, raw, strings.Join(lines, "\n"))
}

// fileName makes a file's name of a signature.
func fileName(signature string) string {
	return strings.Trim(regexp.MustCompile(`[^a-zA-Z0-9]+`).ReplaceAllString(signature, "-"), "-") + ".json"
}

// TestKeptWorlds plays worlds that once had a finding, in several orders of events each.
func TestKeptWorlds(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for i := range uint64(keptSchedules) {
				var p Plan
				if err := json.Unmarshal(raw, &p); err != nil {
					t.Fatal(err)
				}
				p.Schedule += i
				if found := Run(p, false).Findings; len(found) > 0 {
					if *traced {
						t.Log(strings.Join(Run(p, true).Trace, "\n"))
					}
					t.Fatalf("schedule %d: %s: %s", i, found[0].Signature(), cutText(found[0].Message, 600))
				}
			}
		})
	}
}

func cutText(text string, n int) string {
	if len(text) > n {
		return text[:n] + "…"
	}
	return text
}

// sweep plays n worlds on all cores, or as many as there is time for; what it returns depends on their seeds alone.
func sweep(t *testing.T, from uint64, n int) ([]kindOfFinding, int) {
	t.Helper()
	var (
		mu      sync.Mutex
		next    atomic.Uint64
		played  atomic.Int64
		stopped atomic.Bool
		all     = map[string]*kindOfFinding{}
		group   sync.WaitGroup
		start   = time.Now()
		told    = start
	)
	next.Store(from)
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for {
				seed := next.Add(1) - 1
				if seed >= from+uint64(n) || stopped.Load() || *span > 0 && time.Since(start) > *span {
					return
				}
				p := Generate(seed)
				if *only != "" && p.Profile != *only {
					continue
				}
				played.Add(1)
				result := Run(p, false)
				mu.Lock()
				if time.Since(told) > *verbose {
					told = time.Now()
					fmt.Printf("  %d worlds in %s, %d kinds of findings\n", played.Load(), time.Since(start).Round(time.Second), len(all))
				}
				collect(all, seed, result)
				stopped.Store(*stop && len(all) > 0)
				mu.Unlock()
			}
		})
	}
	group.Wait()
	var list []kindOfFinding
	for _, k := range all {
		slices.Sort(k.seeds)
		list = append(list, *k)
	}
	slices.SortFunc(list, func(a, b kindOfFinding) int { return len(b.seeds) - len(a.seeds) })
	return list, int(played.Load())
}

func collect(all map[string]*kindOfFinding, seed uint64, result Result) {
	for _, f := range result.Findings {
		sig := f.Signature()
		if !slices.ContainsFunc(strings.Split(*wanted, ","), func(part string) bool { return strings.Contains(sig, part) }) {
			continue
		}
		k := all[sig]
		if k == nil {
			k = &kindOfFinding{signature: sig, first: seed, finding: f}
			all[sig] = k
			fmt.Printf("  %s: seed %d\n", sig, seed)
		}
		if seed < k.first {
			k.first, k.finding = seed, f
		}
		k.seeds = append(k.seeds, seed)
	}
}

// TestSameSeedSameTrace: a seed is a trace.
func TestSameSeedSameTrace(t *testing.T) {
	for seed := *first; seed < *first+20; seed++ {
		a, b := Run(Generate(seed), true), Run(Generate(seed), true)
		if !slices.Equal(a.Trace, b.Trace) {
			for i := range a.Trace {
				if i >= len(b.Trace) || a.Trace[i] != b.Trace[i] {
					t.Fatalf("seed %d differs at line %d:\n%s\n%s", seed, i, a.Trace[i], b.Trace[min(i, len(b.Trace)-1)])
				}
			}
			t.Fatalf("seed %d: %d and %d lines", seed, len(a.Trace), len(b.Trace))
		}
	}
}

// TestReadsStayAsTheyAre: operators change nothing that their caches gave them, which is shared with the server's
// objects.
func TestReadsStayAsTheyAre(t *testing.T) {
	for seed := *first; seed < *first+30; seed++ {
		p := Generate(seed)
		w := newWorld(&p, false, true)
		w.play()
		if !w.over {
			w.rest()
		}
		if altered := w.audit.altered(); len(altered) > 0 {
			t.Fatalf("seed %d: %v", seed, altered)
		}
	}
}
