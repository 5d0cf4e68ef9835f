package v1alpha1_test

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

func TestPermitTokenRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := v1alpha1.Permit{
			Generation: rapid.Int64Min(0).Draw(t, "generation"),
			Order:      rapid.Int32Min(0).Draw(t, "order"), Round: rapid.Int32Min(0).Draw(t, "round"),
		}
		if got, ok := v1alpha1.ParsePermitToken(p.Token()); !ok || got != p {
			t.Errorf("%q is read as %+v, %t; want %+v", p.Token(), got, ok, p)
		}
	})
}

func TestParsePermitToken(t *testing.T) {
	for token, want := range map[string]v1alpha1.Permit{
		"12/3": {Generation: 12, Order: 3}, "12/3/4": {Generation: 12, Order: 3, Round: 4}, "0/0": {},
	} {
		if got, ok := v1alpha1.ParsePermitToken(token); !ok || got != want {
			t.Errorf("%q is read as %+v, %t; want %+v", token, got, ok, want)
		}
	}
	for _, token := range []string{"", "/", "12", "12/", "/3", "x/3", "12/x", "12/3/", "12/3/x", "12/3/0", "012/3", "12/3/4/5", "12/99999999999", "12/3 "} {
		if got, ok := v1alpha1.ParsePermitToken(token); ok {
			t.Errorf("%q is read as %+v", token, got)
		}
	}
}

func TestPermitIsOneShortText(t *testing.T) {
	for text, want := range map[string]v1alpha1.Permit{
		`"gpu-1=12/3"`:   {Node: "gpu-1", Generation: 12, Order: 3},
		`"gpu-1=12/3/4"`: {Node: "gpu-1", Generation: 12, Order: 3, Round: 4},
		`"gpu-1=12/3!"`:  {Node: "gpu-1", Generation: 12, Order: 3, Revoked: true},
		`"a.b.c=1/0/9!"`: {Node: "a.b.c", Generation: 1, Round: 9, Revoked: true},
	} {
		var got v1alpha1.Permit
		if err := json.Unmarshal([]byte(text), &got); err != nil || got != want {
			t.Errorf("%s is read as %+v, %v", text, got, err)
		}
		if raw, err := json.Marshal(want); err != nil || string(raw) != text {
			t.Errorf("%+v is written as %s, %v", want, raw, err)
		}
	}
	for _, text := range []string{`{}`, `3`, `[]`, `""`, `"gpu-1"`, `"=1/2"`, `"gpu-1=1"`, `"gpu-1=1/2!!"`, `"gpu-1=1/2 "`} {
		got := v1alpha1.Permit{Node: "x"}
		if err := json.Unmarshal([]byte(text), &got); err != nil || got != (v1alpha1.Permit{}) {
			t.Errorf("%s is read as %+v, %v; it is nobody's permit", text, got, err)
		}
	}
	var old v1alpha1.Permit
	if err := json.Unmarshal([]byte(`{"node":"gpu-1","order":3,"generation":12}`), &old); err != nil || old != (v1alpha1.Permit{Node: "gpu-1", Order: 3, Generation: 12}) {
		t.Errorf("the form of versions before is read as %+v, %v", old, err)
	}
}
