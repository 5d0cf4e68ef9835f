package record_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

func TestHashConfig(t *testing.T) {
	got := record.HashConfig(map[string]string{"a": "", "b": "hello"})
	// The first 8 hex digits of SHA-256, by sha256sum.
	if diff := cmp.Diff(map[string]string{"a": "e3b0c442", "b": "2cf24dba"}, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if got := record.HashConfig(nil); got == nil || len(got) != 0 {
		t.Errorf("no config gives %v; nil would mean unknown", got)
	}
}

func TestChangedKeys(t *testing.T) {
	for _, c := range []struct {
		name            string
		applied, wanted map[string]string
		want            []string
	}{
		{"none", nil, nil, nil},
		{"the same", map[string]string{"a": "1"}, map[string]string{"a": "1"}, nil},
		{"added", nil, map[string]string{"b": "1", "a": "1"}, []string{"a", "b"}},
		{"removed", map[string]string{"b": "1", "a": "1"}, nil, []string{"a", "b"}},
		{"changed", map[string]string{"a": "1", "b": "1"}, map[string]string{"a": "1", "b": "2"}, []string{"b"}},
		{"an empty hash is not absence", map[string]string{}, map[string]string{"a": ""}, []string{"a"}},
		{
			"all at once, sorted",
			map[string]string{"removed": "1", "changed": "1", "same": "1"},
			map[string]string{"same": "1", "changed": "2", "added": "1"},
			[]string{"added", "changed", "removed"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, record.ChangedKeys(c.applied, c.wanted)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestTrimMessage(t *testing.T) {
	long := "step apply.sh exited 1\n" + strings.Repeat("noise\n", 100) + "the cause"
	for _, c := range []struct {
		name, text, head, tail string
	}{
		{"empty", "", "", ""},
		{"short", "  all of it\n", "all of it", "all of it"},
		{"exactly as long as allowed", strings.Repeat("x", record.MaxMessage), strings.Repeat("x", record.MaxMessage), ""},
		{"long: the first line and the end", long, "step apply.sh exited 1\n...\n", "noise\nthe cause"},
		{"a long first line is cut", strings.Repeat("h", 300) + "\nend", strings.Repeat("h", 100) + "\n...\n", "\nend"},
		{"invalid UTF-8", "a\xffb", "a?b", "a?b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := record.TrimMessage(c.text)
			if !strings.HasPrefix(got, c.head) || !strings.HasSuffix(got, c.tail) {
				t.Errorf("got %q", got)
			}
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Repeat(rapid.StringOfN(rapid.Rune(), 1, 40, -1).Draw(t, "text"),
			rapid.IntRange(1, 40).Draw(t, "times"))
		got := record.TrimMessage(text)
		if len(got) > record.MaxMessage || !utf8.ValidString(got) {
			t.Fatalf("%d bytes, valid %t: %q", len(got), utf8.ValidString(got), got)
		}
		if again := record.TrimMessage(got); again != got {
			t.Fatalf("trimming twice changes %q to %q", got, again)
		}
	})
}

func TestEntry(t *testing.T) {
	e := record.Entry{Name: "a", Version: "1.0"}
	if e.Key() != "a|1.0" || e.Key() != record.Key("a", "1.0") {
		t.Errorf("key is %q", e.Key())
	}
	for state, want := range map[v1alpha1.State]bool{
		v1alpha1.StateInProgress: true, v1alpha1.StateErroring: true, v1alpha1.StateComplete: false,
		v1alpha1.StateSkipped: false, v1alpha1.StateUnknown: false, "": false,
	} {
		e.State = state
		if e.Active() != want {
			t.Errorf("%q: active is %t", state, e.Active())
		}
	}
}
