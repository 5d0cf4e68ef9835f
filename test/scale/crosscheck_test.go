package main

import (
	"fmt"
	"strings"
	"testing"
)

// serverWrote are metrics of an API server that answered so many writes.
func serverWrote(t *testing.T, pods, applied, leases int) families {
	t.Helper()
	f, err := parseMetrics(strings.NewReader(fmt.Sprintf(`# TYPE apiserver_request_total counter
apiserver_request_total{resource="pods",verb="POST"} %d
apiserver_request_total{resource="configmaps",verb="APPLY"} %d
apiserver_request_total{resource="leases",verb="PUT"} %d
`, pods, applied, leases)))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// operatorWrote are metrics of an operator whose client sent so many.
func operatorWrote(t *testing.T, posted, unanswered, patched, put int) families {
	t.Helper()
	f, err := parseMetrics(strings.NewReader(fmt.Sprintf(`# TYPE rest_client_requests_total counter
rest_client_requests_total{code="201",method="POST"} %d
rest_client_requests_total{code="<error>",method="POST"} %d
rest_client_requests_total{code="200",method="PATCH"} %d
rest_client_requests_total{code="200",method="PUT"} %d
`, posted, unanswered, patched, put)))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestCrossCheck: what the operator says of itself has to be what is left without the harness's writes, but for what
// nobody can know.
func TestCrossCheck(t *testing.T) {
	quiet := moment{
		server: serverWrote(t, 0, 0, 0), operator: operatorWrote(t, 0, 0, 0, 0), operatorLater: operatorWrote(t, 0, 0, 0, 0),
	}
	for name, c := range map[string]struct {
		server          families
		operator, later families
		ownEarlier, own counts
		wanted          string
	}{
		"the same": {
			server: serverWrote(t, 700, 100, 30), operator: operatorWrote(t, 500, 0, 100, 30),
			ownEarlier: counts{"POST pods": 200}, own: counts{"POST pods": 200},
		},
		"requests that never arrived": {
			server: serverWrote(t, 700, 0, 0), operator: operatorWrote(t, 500, 150, 0, 0),
			ownEarlier: counts{"POST pods": 200}, own: counts{"POST pods": 200},
		},
		"kubelets that wrote while the counters were read": {
			server: serverWrote(t, 700, 0, 0), operator: operatorWrote(t, 500, 0, 0, 0),
			ownEarlier: counts{"POST pods": 190}, own: counts{"POST pods": 330},
		},
		"an operator that wrote while the counters were read": {
			server: serverWrote(t, 700, 0, 0), operator: operatorWrote(t, 400, 0, 0, 0), later: operatorWrote(t, 520, 0, 0, 0),
			ownEarlier: counts{"POST pods": 200}, own: counts{"POST pods": 200},
		},
		"leases of another": {server: serverWrote(t, 0, 0, 40), operator: operatorWrote(t, 0, 0, 0, 0)},
		"too many": {
			server: serverWrote(t, 700, 0, 0), operator: operatorWrote(t, 540, 0, 0, 0),
			ownEarlier: counts{"POST pods": 200}, own: counts{"POST pods": 200}, wanted: "540 to 540 times with POST",
		},
		"too few":             {server: serverWrote(t, 700, 0, 0), operator: operatorWrote(t, 600, 0, 0, 0), wanted: "700 to 700"},
		"one for the other":   {server: serverWrote(t, 100, 50, 0), operator: operatorWrote(t, 50, 0, 100, 0), wanted: "with POST"},
		"more puts than that": {server: serverWrote(t, 0, 0, 20), operator: operatorWrote(t, 0, 0, 0, 40), wanted: "with PUT"},
	} {
		if c.later == nil {
			c.later = c.operator
		}
		err := observation{before: quiet, after: moment{
			server: c.server, operator: c.operator, operatorLater: c.later, ownEarlier: c.ownEarlier, own: c.own,
		}}.crossCheck()
		if (err != nil) != (c.wanted != "") || err != nil && !strings.Contains(err.Error(), c.wanted) {
			t.Errorf("%s: got %v, want %q", name, err, c.wanted)
		}
	}
}
