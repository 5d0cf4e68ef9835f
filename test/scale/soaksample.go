package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// sample is what is seen of the operator and the cluster at a moment.
type sample struct {
	At time.Duration `json:"at"`
	// Life counts the operator's processes.
	Life int `json:"life"`
	process
	// CPU time that each process has used, in seconds.
	CPU map[string]float64 `json:"cpu"`
	// Requests of this operator by method and code, and passes that ended with an error.
	Requests counts  `json:"requests"`
	Errors   float64 `json:"errors"`
	// SkyhookKB by name; Objects by resource, which the API server counts once a minute.
	SkyhookKB map[string]float64 `json:"skyhookKB"`
	Objects   counts             `json:"objects"`
	EtcdMB    float64            `json:"etcdMB"`
	// Complete is how many Skyhooks are.
	Complete int `json:"complete"`
}

// process is what the operator needs: memory as the kernel counts it, heap in use and what of it the last collection
// left, in MiB, and goroutines.
type process struct {
	RSS        float64 `json:"rssMiB"`
	Anonymous  float64 `json:"anonymousMiB"`
	HeapInUse  float64 `json:"heapInUseMiB"`
	HeapLive   float64 `json:"heapLiveMiB"`
	Goroutines float64 `json:"goroutines"`
}

func look(pid int, f families) (process, error) {
	m, err := memory(pid)
	return process{
		RSS: mebibytes(m.resident), Anonymous: mebibytes(m.anonymous),
		HeapInUse:  f.sum("go_memstats_heap_inuse_bytes", nil) / (1 << 20),
		HeapLive:   f.sum("go_gc_heap_live_bytes", nil) / (1 << 20),
		Goroutines: f.sum("go_goroutines", nil),
	}, err
}

// sample looks at everything. It reports false while there is no operator.
func (s *soak) sample(ctx context.Context) (now sample, ok bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute) // a server that hangs must not stop the looking
	defer cancel()
	o, life, err := s.lives.current()
	if o == nil || err != nil {
		return now, false, err
	}
	f, err := o.scrape(ctx)
	if err != nil {
		return now, false, nil // it was killed just now; if it exited by itself, the next look tells
	}
	now = sample{At: time.Since(s.begin), Life: life}
	if now.process, err = look(o.pid(), f); err != nil {
		return now, false, nil
	}
	now.Requests = f.requests()
	now.Errors = f.sum("controller_runtime_reconcile_errors_total", nil)
	if now.CPU, err = s.used(o.pid()); err != nil {
		return now, false, nil
	}
	server, err := s.control.metrics(ctx)
	if err != nil {
		return now, false, err
	}
	now.EtcdMB = server.sum("apiserver_storage_size_bytes", nil) / 1e6
	now.Objects = server.objects()
	now.SkyhookKB, now.Complete, err = s.skyhooks(ctx)
	return now, true, err
}

func (s *soak) used(operator int) (map[string]float64, error) {
	all := maps.Clone(s.processes)
	all[processOperator] = operator
	u, err := all.usage()
	seconds := map[string]float64{}
	for name, d := range u.process {
		seconds[name] = d.Seconds()
	}
	return seconds, err
}

func (s *soak) skyhooks(ctx context.Context) (kb map[string]float64, complete int, err error) {
	var list v1alpha1.SkyhookList
	if err := s.control.client.List(ctx, &list); err != nil {
		return nil, 0, fmt.Errorf("list Skyhooks: %w", err)
	}
	kb = map[string]float64{}
	for i := range list.Items {
		text, err := json.Marshal(&list.Items[i])
		if err != nil {
			return nil, 0, fmt.Errorf("measure a Skyhook: %w", err)
		}
		kb[list.Items[i].Name] = kilobytes(len(text))
		if list.Items[i].Status.Status == v1alpha1.StatusComplete {
			complete++
		}
	}
	return kb, complete, nil
}

// watch takes samples until the context ends.
func (s *soak) watch(ctx context.Context) error {
	for told := time.Now(); ctx.Err() == nil; {
		now, ok, err := s.sample(ctx)
		if err != nil && ctx.Err() == nil {
			return err
		}
		if ok && err == nil {
			s.samples = append(s.samples, now)
			s.log.note("sample", now)
			if time.Since(told) >= time.Minute {
				told = time.Now()
				s.progress(now)
			}
		}
		select {
		case err := <-s.kubelets.failed:
			return fmt.Errorf("the kubelets: %w", err)
		default:
		}
		sleep(ctx, s.every(), nil)
	}
	return nil
}

// every is how long it is between samples: ten seconds in a soak of an hour.
func (s *soak) every() time.Duration { return min(10*time.Second, max(time.Second, s.plan.Length/360)) }

func (s *soak) progress(now sample) {
	s.tell("life %d, %d of %d Skyhooks complete, RSS %.0f MiB, heap %.0f MiB, %.0f goroutines; %s",
		now.Life, now.Complete, len(soakParts), now.RSS, now.HeapLive, now.Goroutines, s.counts)
}

// tally counts what happened, by its kind.
type tally struct {
	mu  sync.Mutex
	all counts
}

func (t *tally) add(kind string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all[kind]++
}

func (t *tally) snapshot() counts {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.all)
}

func (t *tally) String() string {
	all, text := t.snapshot(), "no event yet"
	for i, kind := range slices.Sorted(maps.Keys(all)) {
		if i == 0 {
			text = ""
		} else {
			text += ", "
		}
		text += fmt.Sprintf("%s %.0f", kind, all[kind])
	}
	return text
}

// journal is a file with events and samples, one JSON object a line.
type journal struct {
	mu   sync.Mutex
	file *os.File
	err  error
}

func newJournal(folder string) (*journal, error) {
	f, err := os.Create(filepath.Join(folder, "soak.jsonl"))
	if err != nil {
		return nil, fmt.Errorf("make the soak's journal: %w", err)
	}
	return &journal{file: f}, nil
}

func (j *journal) note(kind string, what any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err == nil {
		j.err = json.NewEncoder(j.file).Encode(map[string]any{kind: what})
	}
}

// close tells the first error as well.
func (j *journal) close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil {
		return fmt.Errorf("write the soak's journal: %w", j.err)
	}
	return j.file.Close()
}
