//go:build e2e && nightly

package e2e

import (
	"encoding/json"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// TestDashboard: after a rollout with a failure, drains and reboots, a Prometheus that scraped the operator meanwhile
// has data for each query of each panel, and no alert says that the operator is down.
func TestDashboard(t *testing.T) {
	const name, file = "pictured", "/skyhook-pictured"
	nodes := ownCluster(t)[:2]
	pushLower(t)
	for _, node := range nodes {
		runDeployment(t, "drained-"+node, node)
	}
	p := newPrometheus(t, newScraper(t, name))
	a := scripted(map[string]string{"apply.sh": fmt.Sprintf("echo >> %[1]s; [ $(wc -l < %[1]s) -gt 2 ]", file)}) // fails twice
	a.Interrupt = &v1alpha1.Interrupt{Type: v1alpha1.InterruptReboot}
	w := &wish{
		name: name, nodes: nodes, packages: map[string]v1alpha1.Package{"a": a},
		spec: map[string]any{"interruptionBudget": map[string]any{"count": 1}},
	}
	w.install(t, file)
	// The reboots may have ended each leader after one node, and one value of a histogram is no increase.
	w.change(t, "a", func(p *v1alpha1.Package) { p.ConfigMap["config.sh"] = "true" })
	untilReady(t, name)
	within(t, patience, name, p.missing)
	if firing := p.query(t, `ALERTS{alertstate="firing"}`, ""); len(firing) > 0 {
		t.Errorf("alerts fire: %v", firing)
	}
	if watched := p.query(t, `leader_election_master_status{name="3c22c1ae.nvidia.com"} == 1`, ""); len(watched) == 0 {
		t.Error("the alert for an operator that is down looks for a series that is not there")
	}
}

// prometheus scrapes the operator of the testbed.
type prometheus struct {
	t       *testing.T
	address string
	begin   time.Time
	// queries of the dashboard, by the titles of their panels.
	queries map[string]string
}

// newPrometheus starts one with the chart's alerts.
func newPrometheus(t *testing.T, s *scraper) *prometheus {
	t.Helper()
	program, err := exec.CommandContext(t.Context(), "../../tools/tool", "prometheus").Output()
	if err != nil {
		t.Fatal(err)
	}
	relay := httptest.NewServer(s.relay(t))
	t.Cleanup(relay.Close)
	rules, err := filepath.Abs("../../charts/skyhook-operator/files/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	dir, address := t.TempDir(), freeAddress(t)
	config := filepath.Join(dir, "prometheus.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil, `global: {scrape_interval: 2s, scrape_timeout: 2s, evaluation_interval: 5s}
rule_files: [%q]
scrape_configs:
  - {job_name: skyhook, http_sd_configs: [{url: %q, refresh_interval: 5s}]}
`, rules, relay.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), strings.TrimSpace(string(program)),
		"--config.file="+config, "--storage.tsdb.path="+dir+"/data", "--web.listen-address="+address)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() }) // the end of the test's context ends it
	p := &prometheus{t: t, address: "http://" + address, begin: time.Now(), queries: dashboardQueries(t)}
	within(t, time.Minute, s.skyhook, func() []string {
		if len(p.query(t, `up == 1`, "")) == 0 {
			text, err := os.ReadFile(log.Name())
			return []string{fmt.Sprintf("Prometheus does not scrape: %s %v", text, err)}
		}
		return nil
	})
	return p
}

// relay tells Prometheus which replicas there are, and gets their metrics for it: they can be reached through the API
// server alone.
func (s *scraper) relay(t *testing.T) http.Handler {
	return http.HandlerFunc(func(answer http.ResponseWriter, r *http.Request) {
		if pod := strings.TrimPrefix(r.URL.Path, "/"); pod != "" {
			text, err := s.read(t, pod)
			if err != nil {
				http.Error(answer, err.Error(), http.StatusBadGateway)
				return
			}
			fmt.Fprint(answer, text)
			return
		}
		targets := []map[string]any{}
		names, err := operators(t)
		if err != nil {
			http.Error(answer, err.Error(), http.StatusBadGateway)
			return
		}
		for _, pod := range names {
			targets = append(targets, map[string]any{
				"targets": []string{r.Host}, "labels": map[string]string{"pod": pod, "__metrics_path__": "/" + pod},
			})
		}
		answer.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(answer).Encode(targets); err != nil {
			t.Errorf("name the replicas: %v", err)
		}
	})
}

// freeAddress is one on which nothing listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// dashboardQueries are those of the chart's dashboard, with its variables set.
func dashboardQueries(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../../charts/skyhook-operator/files/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Panels []struct {
			Title   string
			Targets []struct{ RefID, Expr string }
		}
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, p := range d.Panels {
		for _, q := range p.Targets {
			all[p.Title+" "+q.RefID] = strings.NewReplacer("$skyhook", ".*", "$package", ".*", "$__rate_interval", "10s").Replace(q.Expr)
		}
	}
	if len(all) < 40 {
		t.Fatalf("the dashboard has only %d queries", len(all))
	}
	return all
}

// missing are the panels without any number since Prometheus started.
func (p *prometheus) missing() (all []string) {
	for panel, query := range p.queries {
		if len(p.query(p.t, query, "range")) == 0 {
			all = append(all, fmt.Sprintf("no data for %s: %s", panel, query))
		}
	}
	return all
}

// query returns the numbers that Prometheus has, now or, with "range", at any time since it started.
func (p *prometheus) query(t *testing.T, expr, when string) (numbers []float64) {
	t.Helper()
	values, path := url.Values{"query": {expr}}, "/api/v1/query"
	if when == "range" {
		path = "/api/v1/query_range"
		values.Set("start", strconv.FormatInt(p.begin.Unix(), 10))
		values.Set("end", strconv.FormatInt(time.Now().Unix(), 10))
		values.Set("step", "1")
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.address+path+"?"+values.Encode(), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil // it is starting
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusServiceUnavailable {
		return nil // it listens before it is ready
	}
	var answer struct {
		Status, Error string
		Data          struct {
			Result []struct {
				Value  [2]any
				Values [][2]any
			}
		}
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || answer.Status != "success" && answer.Error != "" {
		t.Fatalf("query %s: %s %v", expr, answer.Error, err)
	}
	for _, r := range answer.Data.Result {
		for _, v := range append(r.Values, r.Value) {
			text, _ := v[1].(string)
			if n, err := strconv.ParseFloat(text, 64); err == nil && !math.IsNaN(n) {
				numbers = append(numbers, n)
			}
		}
	}
	return numbers
}
