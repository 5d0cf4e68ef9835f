package main

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// metricsOf are those of an API server or an operator, after so many times as much as at the beginning.
func metricsOf(t *testing.T, times string) families {
	t.Helper()
	f, err := parseMetrics(strings.NewReader(strings.NewReplacer("N", times).Replace(
		`# TYPE apiserver_request_total counter
apiserver_request_total{resource="pods",verb="POST"} N0
apiserver_request_total{resource="pods",verb="GET"} N0
apiserver_request_total{resource="leases",verb="PUT"} N0
# TYPE rest_client_requests_total counter
rest_client_requests_total{code="201",method="POST"} N0
rest_client_requests_total{code="409",method="PATCH"} N
rest_client_requests_total{code="200",method="GET"} N0
# TYPE apiserver_storage_size_bytes gauge
apiserver_storage_size_bytes{storage_cluster_id="etcd-0"} N000000
# TYPE skyhook_plan_duration_seconds histogram
skyhook_plan_duration_seconds_bucket{le="0.02"} N
skyhook_plan_duration_seconds_bucket{le="+Inf"} N
skyhook_plan_duration_seconds_sum N
skyhook_plan_duration_seconds_count N
# TYPE controller_runtime_reconcile_time_seconds histogram
controller_runtime_reconcile_time_seconds_bucket{controller="skyhook",le="0.1"} N
controller_runtime_reconcile_time_seconds_bucket{controller="skyhook",le="+Inf"} N
controller_runtime_reconcile_time_seconds_sum{controller="skyhook"} N
controller_runtime_reconcile_time_seconds_count{controller="skyhook"} N
`)))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func fullObservation(t *testing.T) observation {
	t.Helper()
	now := time.Now()
	used := func(d time.Duration) usage {
		return usage{at: now.Add(d), process: map[string]time.Duration{
			processOperator: d, processServer: d / 2, processEtcd: d / 4,
		}}
	}
	return observation{
		took:      5 * time.Second,
		before:    moment{usage: used(0), server: metricsOf(t, "1"), operator: metricsOf(t, "1"), own: counts{"POST pods": 1}},
		after:     moment{usage: used(4 * time.Second), server: metricsOf(t, "3"), operator: metricsOf(t, "3"), own: counts{"POST pods": 6}},
		handovers: []time.Duration{time.Second},
		peak:      64 << 20, skyhook: 2000, objects: &objects{1000, 2000}, idle: &idleness{millicores: 3, memory: 32 << 20},
	}
}

func TestResult(t *testing.T) {
	r := fullObservation(t).result("plain", phaseInstall, Size{Nodes: 10, Packages: 2})
	r.byFloor(resultOf(10, map[string]float64{"seconds": 4, "cpuAPIServer": 1}))
	want := map[string]float64{
		"seconds": 5, "secondsPerNode": 0.5, "secondsByFloor": 1.25, "handoverP50": 1000, "handoverP99": 1000,
		"writesPerNode": 1.5, "kubeletWritesPerNode": 0.5,
		"cpuOperator": 4, "cpuPerNode": 400, "cpuAPIServer": 2, "cpuAPIServerByFloor": 2, "cpuEtcd": 1,
		"rssPeak": 64, "rssIdle": 32, "idleMillicores": 3, "planP99": 19.8, "planMost": 20, "passesPerNode": 0,
		"skyhookKB": 2, "nodeAnnotationsKB": 1, "configMapKB": 2, "etcdMB": 3,
	}
	if diff := cmp.Diff(want, r.Figures, near); diff != "" {
		t.Errorf("figures (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(counts{"POST pods": 1.5}, r.Writes); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(counts{"POST 201": 20, "PATCH 409": 2}, r.Answers); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	for _, f := range figures {
		if _, ok := r.Figures[f.Name]; !ok && f.Name != "firstPermit" && f.Name != "takeover" {
			t.Errorf("%s is never measured", f.Name)
		}
	}
	var table bytes.Buffer
	printTable(&table, []Result{r})
	for _, line := range []string{
		"plain, 10 nodes, 2 packages\n", " install\n", " handoverP50 ms     1000\n", " operator POST pods     1.50\n",
		" answers PATCH 409     2.00\n",
	} {
		if !strings.Contains(table.String(), line) {
			t.Errorf("the table lacks %q:\n%s", line, &table)
		}
	}
}

// TestFiguresAreExplained: docs/numbers.md has the figures with their units and meanings, in their order.
func TestFiguresAreExplained(t *testing.T) {
	page, err := os.ReadFile("../../docs/numbers.md")
	if err != nil {
		t.Fatal(err)
	}
	var told []figure
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (.*?) \\| (.*) \\|$").FindAllStringSubmatch(string(page), -1) {
		told = append(told, figure{row[1], row[2], row[3]})
	}
	if diff := cmp.Diff(figures, told); diff != "" {
		t.Errorf("figures.go (-) and docs/numbers.md (+):\n%s", diff)
	}
}
