package main

import (
	"fmt"
	"strings"
)

// underWay is how many writes may have reached the API server, or be answered, without being counted yet.
const underWay = 10

// crossCheck compares the operator's writes as we count them with what its own client counted, method by method. What
// was written while the counters of a moment were read, and what got no answer, may be on one side only. The lease is
// the operator's or another's.
func (o observation) crossCheck() error {
	all := o.after.server.writes().minus(o.before.server.writes()).byMethod()
	leases := all.leases
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE"} {
		sum := func(c counts) float64 { return c.byMethod().rest[method] }
		told := func(f families) float64 { return f.sum(requestsTold, labels{"method": method}) }
		silent := func(f families) float64 { return f.sum(requestsTold, labels{"method": method, "code": noAnswer}) }
		least := told(o.after.operator) - told(o.before.operatorLater) -
			(silent(o.after.operatorLater) - silent(o.before.operator))
		most := told(o.after.operatorLater) - told(o.before.operator)
		fewest := all.rest[method] - (sum(o.after.own) - sum(o.before.ownEarlier))
		highest := all.rest[method] - (sum(o.after.ownEarlier) - sum(o.before.own)) + leases[method]
		if most < fewest-underWay || least > highest+underWay {
			return fmt.Errorf("the operator says that it wrote %.0f to %.0f times with %s, the API server that it was %.0f to "+
				"%.0f: the count is wrong; answers to the operator: %v; writes without our own: %v",
				least, most, method, fewest, highest, o.after.operator.requests().minus(o.before.operator.requests()),
				o.after.server.writes().minus(o.before.server.writes()).minus(o.after.own.minus(o.before.own)))
		}
	}
	return nil
}

const (
	requestsTold = "rest_client_requests_total"
	// noAnswer is the code of requests that may never have arrived.
	noAnswer = "<error>"
)

// methods are writes by their HTTP method: leases, and what the API server does not write itself.
type methods struct{ leases, rest counts }

func (c counts) byMethod() methods {
	m := methods{leases: counts{}, rest: counts{}}
	of := c.ofOperator()
	for key, n := range c {
		verb, resource, _ := strings.Cut(key, " ")
		method := strings.TrimSuffix(verb, "COLLECTION")
		if verb == "APPLY" {
			method = "PATCH"
		}
		if _, ok := of[key]; ok {
			m.rest[method] += n
		} else if resource == "leases" {
			m.leases[method] += n
		}
	}
	return m
}
