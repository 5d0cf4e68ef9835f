package record_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

func TestPermitTokenRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := v1alpha1.Permit{
			Generation: rapid.Int64Min(0).Draw(t, "generation"),
			Order:      rapid.Int32Min(0).Draw(t, "order"), Round: rapid.Int32Min(0).Draw(t, "round"),
		}
		if got, ok := record.ParsePermitToken(record.PermitToken(p)); !ok || got != p {
			t.Errorf("%q is read as %+v, %t; want %+v", record.PermitToken(p), got, ok, p)
		}
	})
}

func TestParsePermitToken(t *testing.T) {
	for token, want := range map[string]v1alpha1.Permit{
		"12/3": {Generation: 12, Order: 3}, "12/3/4": {Generation: 12, Order: 3, Round: 4}, "0/0": {},
	} {
		if got, ok := record.ParsePermitToken(token); !ok || got != want {
			t.Errorf("%q is read as %+v, %t; want %+v", token, got, ok, want)
		}
	}
	for _, token := range []string{"", "/", "12", "12/", "/3", "x/3", "12/x", "12/3/", "12/3/x", "12/3/0", "012/3", "12/3/4/5", "12/99999999999", "12/3 "} {
		if got, ok := record.ParsePermitToken(token); ok {
			t.Errorf("%q is read as %+v", token, got)
		}
	}
}
