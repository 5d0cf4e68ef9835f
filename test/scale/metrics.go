package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// families are metrics by name.
type families map[string]*dto.MetricFamily

// scrape reads metrics from a URL.
func scrape(ctx context.Context, client *http.Client, url string) (families, error) {
	body, err := fetch(ctx, client, url)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return parseMetrics(body)
}

// fetch gets what is at a URL; the caller closes it.
func fetch(ctx context.Context, client *http.Client, url string) (io.ReadCloser, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("ask for %s: %w", url, err)
	}
	answer, err := client.Do(r)
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", url, err)
	}
	if answer.StatusCode != http.StatusOK {
		_ = answer.Body.Close() // it is not read
		return nil, fmt.Errorf("get %s: %s", url, answer.Status)
	}
	return answer.Body, nil
}

func parseMetrics(from io.Reader) (families, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	all, err := parser.TextToMetricFamilies(from)
	if err != nil {
		return nil, fmt.Errorf("read metrics: %w", err)
	}
	return all, nil
}

// labels of a metric that a sum or a histogram is taken of.
type labels map[string]string

func label(m *dto.Metric, name string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}

func (f families) each(name string, want labels, do func(*dto.Metric)) {
	for _, m := range f[name].GetMetric() {
		matches := true
		for key, value := range want {
			matches = matches && label(m, key) == value
		}
		if matches {
			do(m)
		}
	}
}

// sum of a counter or a gauge.
func (f families) sum(name string, want labels) float64 {
	var sum float64
	f.each(name, want, func(m *dto.Metric) { sum += m.GetCounter().GetValue() + m.GetGauge().GetValue() })
	return sum
}

// histogram of all series together.
func (f families) histogram(name string, want labels) histogram {
	h := histogram{buckets: map[float64]float64{}}
	f.each(name, want, func(m *dto.Metric) {
		for _, b := range m.GetHistogram().GetBucket() {
			h.buckets[b.GetUpperBound()] += float64(b.GetCumulativeCount())
		}
		h.sum += m.GetHistogram().GetSampleSum()
		if _, told := h.buckets[math.Inf(1)]; !told {
			h.buckets[math.Inf(1)] = float64(m.GetHistogram().GetSampleCount())
		}
	})
	return h
}

// writeVerbs are those of the API server's metrics that change something.
var writeVerbs = []string{"POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION"}

// counts are requests by verb and resource.
type counts map[string]float64

// writes that the API server answered, whoever asked.
func (f families) writes() counts {
	all := counts{}
	f.each("apiserver_request_total", nil, func(m *dto.Metric) {
		if verb := label(m, "verb"); slices.Contains(writeVerbs, verb) {
			all[requestKey(verb, label(m, "resource"), label(m, "subresource"))] += m.GetCounter().GetValue()
		}
	})
	return all
}

// requests that change something, as the operator counts its own, by method and the code of the answer.
func (f families) requests() counts {
	all := counts{}
	f.each("rest_client_requests_total", nil, func(m *dto.Metric) {
		if slices.Contains(writeVerbs, label(m, "method")) {
			all[label(m, "method")+" "+label(m, "code")] += m.GetCounter().GetValue()
		}
	})
	return all
}

// objects that are stored, by resource; only those that matter here.
func (f families) objects() counts {
	all := counts{}
	for _, resource := range []string{"nodes", "pods", "configmaps", "controllerrevisions", "events"} {
		for _, name := range []string{"apiserver_resource_objects", "apiserver_storage_objects"} {
			f.each(name, nil, func(m *dto.Metric) {
				if got, _, _ := strings.Cut(label(m, "resource"), "."); got == resource {
					all[resource] = max(all[resource], m.GetGauge().GetValue())
				}
			})
		}
	}
	return all
}

func requestKey(verb, resource, subresource string) string {
	if subresource != "" {
		resource += "/" + subresource
	}
	return verb + " " + resource
}

// minus leaves out what is zero.
func (c counts) minus(other counts) counts {
	rest := maps.Clone(c)
	for key, n := range other {
		rest[key] -= n
	}
	maps.DeleteFunc(rest, func(_ string, n float64) bool { return n == 0 })
	return rest
}

func (c counts) total() float64 {
	var sum float64
	for _, n := range c {
		sum += n
	}
	return sum
}
