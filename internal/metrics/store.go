package metrics

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// Store has the series of all Skyhooks: each is there from the first pass over its Skyhook until that is gone, and tells
// what the last pass saw. Nil keeps none. It is ready for use, by several goroutines.
type Store struct {
	clock clock.PassiveClock
	build prometheus.Gauge
	// writes are the operator's, and not any Skyhook's.
	writes *prometheus.CounterVec
	// took are how long things took, by Skyhook.
	stage, drain, reboot, permit *prometheus.HistogramVec

	mu       sync.Mutex
	skyhooks map[string]kept
	// early are to be counted once their Skyhooks are planned, at most maxEarly.
	early []early
	// failing are the Skyhooks over which passes fail: what they were to tell nobody knows.
	failing map[string]bool
}

// early is what took how long before a Skyhook was planned: an operator that starts looks at nodes at the same time,
// and finds what ended while there was none.
type early struct {
	skyhook string
	uid     types.UID
	count   func(skyhook string, k kept)
}

const maxEarly = 4096

// kept is the last snapshot of a Skyhook, when it was made, and the seconds for which nodes were cordoned until then.
type kept struct {
	*Snapshot
	at              time.Time
	cordonedSeconds float64
	// measured are the packages whose stages were counted.
	measured map[string]bool
}

// since adds up to a time for how long nodes were cordoned. A clock that was set back takes nothing away.
func (k kept) since(now time.Time) float64 {
	if k.Snapshot == nil {
		return 0
	}
	return k.cordonedSeconds + float64(k.cordoned)*max(0, now.Sub(k.at).Seconds())
}

// NewStore returns an empty one, for this version of the operator.
func NewStore(c clock.PassiveClock, version string) *Store {
	s := &Store{
		clock: c, skyhooks: map[string]kept{}, failing: map[string]bool{},
		build: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "skyhook_build_info", Help: "1, with the version of the operator.",
			ConstLabels: prometheus.Labels{"version": version},
		}),
		writes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "skyhook_api_writes_total",
			Help: "Writes that the operator sent to the API server, by the code of the answer; `error` without one.",
		}, []string{"verb", "resource", "subresource", "code"}),
		stage: histogram("skyhook_stage_duration_seconds",
			"How long stages took that succeeded at the first attempt.",
			[]float64{1, 5, 15, 30, 60, 120, 300, 600, 1800, 3600}, "package_name", "stage"),
		drain: histogram("skyhook_drain_duration_seconds",
			"How long drains took in which pods had to leave, from when no protected pod was left.",
			[]float64{5, 15, 30, 60, 120, 300, 600, 1800, 3600, 4 * 3600, 24 * 3600}),
		reboot: histogram("skyhook_reboot_duration_seconds",
			"How long it took from the begin of a reboot until the node was Ready again.",
			[]float64{30, 60, 120, 180, 300, 450, 600, 900, 1200, 1800, 3600}),
		permit: histogram("skyhook_permit_to_complete_seconds",
			"How long nodes took that became complete, from their permit on.",
			[]float64{5, 15, 30, 60, 120, 300, 600, 1800, 3600, 4 * 3600, 24 * 3600}),
	}
	s.build.Set(1)
	return s
}

func histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets},
		append([]string{labelSkyhook}, labels...))
}

// Register adds the series to a registry, in place of those of an earlier manager of this process.
func (s *Store) Register(to prometheus.Registerer) error {
	to.Unregister(s) // it goes by what is described
	if err := to.Register(s); err != nil {
		return fmt.Errorf("register the series of Skyhooks: %w", err)
	}
	return nil
}

// Set replaces the snapshot of a Skyhook. Another one of its name begins anew.
func (s *Store) Set(skyhook string, snapshot *Snapshot) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now, before := s.clock.Now(), s.skyhooks[skyhook]
	if before.Snapshot == nil || before.uid != snapshot.uid {
		s.forget(skyhook)
		before = kept{measured: map[string]bool{}}
		for _, vec := range s.unlabelled() {
			vec.WithLabelValues(skyhook) // at zero, so that the first one is an increase
		}
	}
	k := kept{snapshot, now, before.since(now), before.measured}
	s.skyhooks[skyhook] = k
	s.early = slices.DeleteFunc(s.early, func(e early) bool {
		if e.skyhook == skyhook && e.uid == k.uid {
			e.count(skyhook, k)
		}
		return e.skyhook == skyhook
	})
}

// Fails notes whether passes over a Skyhook fail again and again.
func (s *Store) Fails(skyhook string, fails bool) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.failing, skyhook)
	if fails {
		s.failing[skyhook] = true
	}
}

// Forget drops all series of a Skyhook, which is gone.
func (s *Store) Forget(skyhook string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(skyhook)
}

func (s *Store) forget(skyhook string) {
	delete(s.skyhooks, skyhook)
	delete(s.failing, skyhook)
	for _, vec := range s.vecs() {
		vec.DeletePartialMatch(prometheus.Labels{labelSkyhook: skyhook})
	}
}

// unlabelled are the histograms that have no label but the Skyhook's.
func (s *Store) unlabelled() []*prometheus.HistogramVec {
	return []*prometheus.HistogramVec{s.drain, s.reboot, s.permit}
}

func (s *Store) vecs() []*prometheus.HistogramVec { return append(s.unlabelled(), s.stage) }

// count counts something of a Skyhook, or keeps it until that is planned. What is gone never is: a pass over a node may
// end after it.
func (s *Store) count(of *v1alpha1.Skyhook, how func(skyhook string, k kept)) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if k, known := s.skyhooks[of.Name]; known && k.uid == of.UID {
		how(of.Name, k)
		return
	}
	if len(s.early) == maxEarly {
		s.early = s.early[1:]
	}
	s.early = append(s.early, early{of.Name, of.UID, how})
}

// StageTook counts a stage that is complete.
func (s *Store) StageTook(of *v1alpha1.Skyhook, pkg string, stage v1alpha1.Stage, took time.Duration) {
	s.count(of, func(skyhook string, k kept) {
		room := len(k.measured) < maxPackages && len(pkg) <= maxVersionBytes
		if room || k.measured[pkg] {
			k.measured[pkg] = true
			s.stage.WithLabelValues(skyhook, pkg, string(stage)).Observe(took.Seconds())
		}
	})
}

// DrainTook counts a drain that is over.
func (s *Store) DrainTook(of *v1alpha1.Skyhook, took time.Duration) {
	s.count(of, func(skyhook string, _ kept) { s.drain.WithLabelValues(skyhook).Observe(took.Seconds()) })
}

// RebootTook counts a reboot that is over.
func (s *Store) RebootTook(of *v1alpha1.Skyhook, took time.Duration) {
	s.count(of, func(skyhook string, _ kept) { s.reboot.WithLabelValues(skyhook).Observe(took.Seconds()) })
}

// PermitTook counts a node that became complete with its permit.
func (s *Store) PermitTook(of *v1alpha1.Skyhook, took time.Duration) {
	s.count(of, func(skyhook string, _ kept) { s.permit.WithLabelValues(skyhook).Observe(took.Seconds()) })
}

// Wrote counts a write of the operator.
func (s *Store) Wrote(verb, resource, subresource, code string) {
	s.writes.WithLabelValues(verb, resource, subresource, code).Inc()
}

// Describe implements prometheus.Collector.
func (s *Store) Describe(to chan<- *prometheus.Desc) {
	for _, d := range series {
		to <- d
	}
	for _, vec := range s.vecs() {
		vec.Describe(to)
	}
	s.writes.Describe(to)
	s.build.Describe(to)
}

// Collect implements prometheus.Collector.
func (s *Store) Collect(to chan<- prometheus.Metric) {
	s.mu.Lock()
	skyhooks, failing, now := maps.Clone(s.skyhooks), maps.Clone(s.failing), s.clock.Now()
	s.mu.Unlock()
	for name, k := range skyhooks {
		emit := func(kind prometheus.ValueType, d *prometheus.Desc, value float64, labels ...string) {
			m, err := prometheus.NewConstMetric(d, kind, value, append([]string{name}, labels...)...)
			if err == nil { // a label that is no text must not cost all others
				to <- m
			}
		}
		k.emit(func(d *prometheus.Desc, value float64, labels ...string) {
			emit(prometheus.GaugeValue, d, value, labels...)
		})
		emit(prometheus.CounterValue, cordonedSeconds, k.since(now))
	}
	for name := range failing {
		if m, err := prometheus.NewConstMetric(planFailing, prometheus.GaugeValue, 1, name); err == nil {
			to <- m
		}
	}
	for _, vec := range s.vecs() {
		vec.Collect(to)
	}
	s.writes.Collect(to)
	s.build.Collect(to)
}
