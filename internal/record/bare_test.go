package record_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// TestBareRecord: where every package is uninstalled, no label and no condition speak of the Skyhook. Annotations do,
// so that the node is known to be complete.
func TestBareRecord(t *testing.T) {
	entry := map[string]record.Entry{"a|1.0": {
		Name: "a", Version: "1.0", Stage: v1alpha1.StageConfig,
		State: v1alpha1.StateComplete,
	}}
	for _, c := range []struct {
		name string
		node record.Node
		bare bool
	}{
		{"complete, and nothing installed", record.Node{Status: v1alpha1.StatusComplete}, true},
		{"complete, and nothing installed, with all else that it remembers", record.Node{
			Status: v1alpha1.StatusComplete, FinishedPermit: "7/1", OperatorVersion: "v1", BootID: "b",
			Packages: map[string]record.Entry{},
		}, true},
		{"complete, with a package", record.Node{Status: v1alpha1.StatusComplete, Packages: entry}, false},
		{"complete by what could be read", record.Node{Status: v1alpha1.StatusComplete, Unreadable: true}, false},
		{"nothing installed yet", record.Node{Status: v1alpha1.StatusInProgress}, false},
		{"paused before anything was installed", record.Node{Status: v1alpha1.StatusPaused}, false},
		{"waiting", record.Node{Status: v1alpha1.StatusWaiting}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, before := range []map[string]string{nil, {statusKey: "in_progress", "other": "x"}, {statusKey: "complete"}} {
				p, err := record.Write("demo", c.node, nil, before)
				if err != nil {
					t.Fatal(err)
				}
				labels := apply(before, p.Labels)
				if label, ok := labels[statusKey]; ok == c.bare || !c.bare && label != string(c.node.Status) {
					t.Errorf("labels %v become %v", before, labels)
				}
				if labels["other"] != before["other"] {
					t.Errorf("another's label is %q", labels["other"])
				}
				annotations := apply(nil, p.Annotations)
				if annotations[statusKey] != string(c.node.Status) || (annotations[stateKey] == "") != c.node.Unreadable {
					t.Errorf("annotations %v do not say what the node is", annotations)
				}
				again, err := record.Write("demo", c.node, annotations, labels)
				if err != nil || !again.Empty() {
					t.Errorf("writing again changes %v %v, error %v", again.Annotations, again.Labels, err)
				}
			}
			if got := record.Conditions("demo", c.node, false, nil, since); (len(got) == 0) != c.bare {
				t.Errorf("conditions %v", got)
			}
		})
	}
}

// TestComesBack: a package that is installed again brings label and conditions back.
func TestComesBack(t *testing.T) {
	p, err := record.Write("demo", record.Node{Status: v1alpha1.StatusComplete}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	annotations := apply(nil, p.Annotations)
	n := full()
	if p, err = record.Write("demo", n, annotations, nil); err != nil {
		t.Fatal(err)
	}
	if got := apply(nil, p.Labels)[statusKey]; got != "erroring" {
		t.Errorf("the label is %q", got)
	}
	if got := record.Conditions("demo", n, false, nil, since); len(got) != 2 {
		t.Errorf("conditions %v", got)
	}
}

// TestClearUnreadable: what cannot be read is never lost, not even when the Skyhook goes.
func TestClearUnreadable(t *testing.T) {
	for _, state := range []string{"{", "[]", `{"a":{"name":"a"}}`, `{"a|1.0":{"name":"b","version":"1.0"}}`} {
		annotations := map[string]string{
			stateKey: state, versionKey: "v1", statusKey: "in_progress", cordonKey: "true",
			waitKey: "{}", bootKey: "b", permitKey: "4/2",
		}
		labels := map[string]string{statusKey: "in_progress"}
		n, err := record.Read("demo", annotations)
		if err == nil || !n.Unreadable {
			t.Fatalf("%s: read as %+v, error %v", state, n, err)
		}
		n.FinishedPermit = ""
		p := record.Clear("demo", n, annotations, labels)
		if diff := cmp.Diff(map[string]string{stateKey: state, versionKey: "v1"},
			apply(annotations, p.Annotations)); diff != "" {
			t.Errorf("%s: -want +got\n%s", state, diff)
		}
		if left := apply(labels, p.Labels); len(left) > 0 {
			t.Errorf("%s: labels %v are left", state, left)
		}
	}
	readable, err := record.Read("demo", map[string]string{stateKey: "{}"})
	if err != nil || readable.Unreadable {
		t.Errorf("an empty state is %+v, error %v", readable, err)
	}
}

// TestSkyhooks: whoever left anything on a node is found.
func TestSkyhooks(t *testing.T) {
	for _, c := range []struct {
		name                string
		annotations, labels map[string]string
		want                []string
	}{
		{name: "nobody"},
		{
			name: "others", annotations: map[string]string{"other": "x", "skyhook.nvidia.com/pause": "true"},
			labels: map[string]string{"skyhook.nvidia.com/ignore": "true"},
		},
		{name: "a state", annotations: map[string]string{stateKey: "{}"}, want: []string{"demo"}},
		{name: "only a label", labels: map[string]string{statusKey: "complete"}, want: []string{"demo"}},
		{name: "only a cordon", annotations: map[string]string{cordonKey: "true"}, want: []string{"demo"}},
		{
			name: "several, each once, sorted",
			annotations: map[string]string{
				"skyhook.nvidia.com/nodeState_b": "{}", "skyhook.nvidia.com/status_b": "x", "skyhook.nvidia.com/wait_a": "{}",
				"skyhook.nvidia.com/boot_c": "x", "skyhook.nvidia.com/permit_with_score": "1/0",
				"skyhook.nvidia.com/version_b": "v",
			},
			labels: map[string]string{"skyhook.nvidia.com/status_b": "x", "skyhook.nvidia.com/status_d": "x"},
			want:   []string{"a", "b", "c", "d", "with_score"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := record.Skyhooks(c.annotations, c.labels)
			if !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
			for _, name := range got {
				if !record.Exists(name, c.annotations, c.labels) {
					t.Errorf("%s has no record", name)
				}
			}
		})
	}
}

// TestLeftIsWhatClearRemoves: of any part of a record, whatever its states are.
func TestLeftIsWhatClearRemoves(t *testing.T) {
	keys := []string{stateKey, versionKey, statusKey, cordonKey, waitKey, bootKey, hostKey, permitKey}
	const entry = `{"a|1.0":{"name":"a","version":"1.0","image":"x","stage":"config","state":"complete"}}`
	for _, state := range []string{"", "{}", "{", entry} {
		for part := range 1 << (len(keys) + 1) {
			annotations, labels := map[string]string{"other": "x"}, map[string]string{"other": "x"}
			for i, key := range keys {
				if part&(1<<i) != 0 {
					annotations[key] = "1"
				}
			}
			if _, ok := annotations[stateKey]; ok {
				annotations[stateKey] = state
			}
			if part&(1<<len(keys)) != 0 {
				labels[statusKey] = "complete"
			}
			n, _ := record.Read("demo", annotations)
			n.FinishedPermit = ""
			want := !record.Clear("demo", n, annotations, labels).Empty()
			if got := record.KeysOf("demo").Left(annotations, labels); got != want {
				t.Errorf("of %v and %v: %t", annotations, labels, got)
			}
		}
	}
}
