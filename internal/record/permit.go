package record

import (
	"strconv"
	"strings"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// ParsePermitToken reads what PermitToken wrote, without the node's name. False for anything else.
func ParsePermitToken(token string) (v1alpha1.Permit, bool) {
	generation, rest, _ := strings.Cut(token, "/")
	order, round, again := strings.Cut(rest, "/")
	g, errGeneration := strconv.ParseInt(generation, 10, 64)
	o, errOrder := strconv.ParseInt(order, 10, 32)
	if errGeneration != nil || errOrder != nil {
		return v1alpha1.Permit{}, false
	}
	p := v1alpha1.Permit{Generation: g, Order: int32(o)}
	if again {
		r, err := strconv.ParseInt(round, 10, 32)
		p.Round = int32(r)
		if err != nil {
			return v1alpha1.Permit{}, false
		}
	}
	return p, PermitToken(p) == token
}
