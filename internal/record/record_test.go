package record_test

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

const (
	stateKey   = "skyhook.nvidia.com/nodeState_demo"
	statusKey  = "skyhook.nvidia.com/status_demo"
	versionKey = "skyhook.nvidia.com/version_demo"
	permitKey  = "skyhook.nvidia.com/permit_demo"
	cordonKey  = "skyhook.nvidia.com/cordon_demo"
	waitKey    = "skyhook.nvidia.com/wait_demo"
	bootKey    = "skyhook.nvidia.com/boot_demo"
	hostKey    = "skyhook.nvidia.com/host_demo"
)

var since = metav1.NewTime(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))

func full() record.Node {
	e := record.Entry{
		Name: "tuning", Version: "1.2.0", Image: "ghcr.io/a/tuning", ContainerSHA: "sha256:abc", Stage: v1alpha1.StageConfig,
		State: v1alpha1.StateErroring, Restarts: 2, Since: since, Run: "t4x2",
		Config:     map[string]string{"a": "00000001", "b": "00000002"},
		Definition: "d6010942d3", Hash: "9f", Generation: 7, Changed: []string{"a"}, BootID: "boot-1",
		Interrupt: &v1alpha1.Interrupt{Type: v1alpha1.InterruptService, Services: []string{"kubelet"}},
		Reason:    "StepFailed", Message: "container x exited 1",
	}
	return record.Node{
		Status: v1alpha1.StatusErroring, Packages: map[string]record.Entry{e.Key(): e}, FinishedPermit: "4/2",
		OperatorVersion: "v1.2.3",
		Cordoned:        true, BootID: "boot-1", Host: record.Host{MachineID: "machine-1", BootID: "boot-1"}, Wait: &record.Wait{Reason: "ProtectedPod", Message: "pod x/y", Since: since},
	}
}

// apply changes metadata as a merge patch does.
func apply(have map[string]string, changes map[string]*string) map[string]string {
	result := maps.Clone(have)
	if result == nil {
		result = map[string]string{}
	}
	for k, v := range changes {
		if v == nil {
			delete(result, k)
		} else {
			result[k] = *v
		}
	}
	return result
}

// TestGolden pins what others read: the keys, and the JSON of PackageStatus in the API.
func TestGolden(t *testing.T) {
	p, err := record.Write("demo", full(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	wantState := `{"tuning|1.2.0":{"name":"tuning","version":"1.2.0","image":"ghcr.io/a/tuning","containerSHA":"sha256:abc",` +
		`"stage":"config","state":"erroring","restarts":2,"since":"2026-03-01T12:00:00Z","run":"t4x2",` +
		`"config":{"a":"00000001","b":"00000002"},"definition":"d6010942d3","hash":"9f","generation":7,"changed":["a"],` +
		`"interrupt":{"type":"service","services":["kubelet"]},"bootID":"boot-1","reason":"StepFailed","message":"container x exited 1"}}`
	want := map[string]string{
		stateKey: wantState, statusKey: "erroring", versionKey: "v1.2.3", permitKey: "4/2", cordonKey: "true",
		bootKey: "boot-1", hostKey: "machine-1/boot-1",
		waitKey: `{"reason":"ProtectedPod","message":"pod x/y","since":"2026-03-01T12:00:00Z"}`,
	}
	if diff := cmp.Diff(want, apply(nil, p.Annotations)); diff != "" {
		t.Errorf("annotations, -want +got\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{statusKey: "erroring"}, apply(nil, p.Labels)); diff != "" {
		t.Errorf("labels, -want +got\n%s", diff)
	}
}

// TestPackageStatus: what other readers decode is the API's PackageStatus, field by field.
func TestPackageStatus(t *testing.T) {
	p, err := record.Write("demo", full(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]v1alpha1.PackageStatus
	if err := json.Unmarshal([]byte(*p.Annotations[stateKey]), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]v1alpha1.PackageStatus{"tuning|1.2.0": {
		Name: "tuning", Version: "1.2.0", Image: "ghcr.io/a/tuning", ContainerSHA: "sha256:abc",
		Stage: v1alpha1.StageConfig, State: v1alpha1.StateErroring, Restarts: 2,
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestWriteMinimal(t *testing.T) {
	small := record.Entry{
		Name: "a", Version: "1.0", Image: "i", Stage: v1alpha1.StageApply,
		State: v1alpha1.StateInProgress,
	}
	for _, c := range []struct {
		name string
		node record.Node
		want map[string]string
	}{
		{
			"an empty map stays a map",
			record.Node{Status: v1alpha1.StatusComplete},
			map[string]string{stateKey: "{}", statusKey: "complete"},
		},
		{
			"an entry of another operator gains nothing",
			record.Node{Packages: map[string]record.Entry{small.Key(): small}},
			map[string]string{stateKey: `{"a|1.0":{"name":"a","version":"1.0","image":"i","stage":"apply","state":"in_progress"}}`},
		},
		{
			"no config differs from unknown config",
			record.Node{Packages: map[string]record.Entry{"a|1.0": {
				Name: "a", Version: "1.0", Stage: v1alpha1.StageApply, State: v1alpha1.StateInProgress, Config: map[string]string{},
			}}},
			map[string]string{stateKey: `{"a|1.0":{"name":"a","version":"1.0","image":"","stage":"apply","state":"in_progress","config":{}}}`},
		},
		{
			"nothing changed differs from an install",
			record.Node{Packages: map[string]record.Entry{"a|1.0": {
				Name: "a", Version: "1.0", Stage: v1alpha1.StageConfig, State: v1alpha1.StateComplete, Changed: []string{},
			}}},
			map[string]string{stateKey: `{"a|1.0":{"name":"a","version":"1.0","image":"","stage":"config","state":"complete","changed":[]}}`},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := record.Write("demo", c.node, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, apply(nil, p.Annotations)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestRead(t *testing.T) {
	entry := record.Entry{
		Name: "a", Version: "1.0", Image: "i", Stage: v1alpha1.StageConfig,
		State: v1alpha1.StateComplete,
	}
	for _, c := range []struct {
		name        string
		annotations map[string]string
		want        record.Node
	}{
		{"nothing", nil, record.Node{Packages: map[string]record.Entry{}}},
		{
			"another Skyhook's",
			map[string]string{"skyhook.nvidia.com/status_demo2": "complete", "status_demo": "x"},
			record.Node{Packages: map[string]record.Entry{}},
		},
		{"empty state", map[string]string{stateKey: ""}, record.Node{Packages: map[string]record.Entry{}}},
		{"empty map", map[string]string{stateKey: "{}"}, record.Node{Packages: map[string]record.Entry{}}},
		{"null", map[string]string{stateKey: "null"}, record.Node{Packages: map[string]record.Entry{}}},
		{
			"written by another operator: config is unknown, unknown fields are passed over",
			map[string]string{stateKey: `{"a|1.0":{"name":"a","version":"1.0","image":"i","stage":"config","state":"complete","new":1}}`, statusKey: "complete"},
			record.Node{Status: v1alpha1.StatusComplete, Packages: map[string]record.Entry{"a|1.0": entry}},
		},
		{
			"the rest without the state",
			map[string]string{statusKey: "waiting", permitKey: "1/2", versionKey: "v1"},
			record.Node{
				Status: v1alpha1.StatusWaiting, FinishedPermit: "1/2", OperatorVersion: "v1",
				Packages: map[string]record.Entry{},
			},
		},
		{
			"cordon, wait and boot id",
			map[string]string{
				cordonKey: "true", bootKey: "b",
				waitKey: `{"reason":"R","message":"m","since":"2026-03-01T12:00:00Z","frees":"time"}`,
			},
			record.Node{
				Cordoned: true, BootID: "b",
				Wait:     &record.Wait{Reason: "R", Message: "m", Since: since, Frees: record.FreesTime},
				Packages: map[string]record.Entry{},
			},
		},
		{"a cordon is only \"true\"", map[string]string{cordonKey: "yes"}, record.Node{Packages: map[string]record.Entry{}}},
		{
			"a wait that cannot be read is none",
			map[string]string{waitKey: "{"},
			record.Node{Packages: map[string]record.Entry{}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := record.Read("demo", c.annotations)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestReadMalformed(t *testing.T) {
	for _, c := range []struct {
		name, state, want string
	}{
		{"no JSON", "{", "unexpected end"},
		{"a list", "[]", "cannot unmarshal array"},
		{"an entry that is a text", `{"a|1.0":"x"}`, "cannot unmarshal string"},
		{"a number for a text", `{"a|1.0":{"name":1}}`, "cannot unmarshal number"},
		{"a time that is none", `{"a|1.0":{"name":"a","version":"1.0","since":"yesterday"}}`, "yesterday"},
		{"a key without version", `{"a":{"name":"a"}}`, `key "a" is not name|version`},
		{"a key with an empty version", `{"a|":{"name":"a"}}`, `key "a|" is not name|version`},
		{"a key with an empty name", `{"|1.0":{"version":"1.0"}}`, `key "|1.0" is not name|version`},
		{"another name inside", `{"a|1.0":{"name":"b","version":"1.0"}}`, `holds package "b" version "1.0"`},
		{"another version inside", `{"a|1.0":{"name":"a","version":"2.0"}}`, `holds package "a" version "2.0"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			n, err := record.Read("demo", map[string]string{stateKey: c.state, statusKey: "complete", permitKey: "3/1"})
			malformed := (*record.MalformedError)(nil)
			if !errors.As(err, &malformed) {
				t.Fatalf("got error %v, want a MalformedError", err)
			}
			if malformed.Annotation != stateKey || !strings.Contains(err.Error(), stateKey) ||
				!strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %q; want it to name the annotation and %q", err, c.want)
			}
			if !errors.Is(err, malformed.Err) {
				t.Error("the cause cannot be unwrapped")
			}
			if n.FinishedPermit != "3/1" || n.Status != v1alpha1.StatusComplete {
				t.Errorf("the other annotations are lost: %+v", n)
			}
		})
	}
}

// TestRoundTrip: what is written is read back, and then there is nothing left to write.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := drawNode(t)
		foreign := map[string]string{"other": "x", "skyhook.nvidia.com/status_demo2": "complete"}
		p, err := record.Write("demo", n, foreign, nil)
		if err != nil {
			t.Fatal(err)
		}
		annotations, labels := apply(foreign, p.Annotations), apply(nil, p.Labels)
		got, err := record.Read("demo", annotations)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(n, got); diff != "" {
			t.Fatalf("-written +read\n%s", diff)
		}
		again, err := record.Write("demo", got, annotations, labels)
		if err != nil || !again.Empty() {
			t.Fatalf("writing the same again changes %v %v, error %v", again.Annotations, again.Labels, err)
		}
		if annotations["other"] != "x" || annotations["skyhook.nvidia.com/status_demo2"] != "complete" {
			t.Fatalf("what belongs to others was changed: %v", annotations)
		}
	})
}

func drawNode(t *rapid.T) record.Node {
	n := record.Node{
		Status:          v1alpha1.Status(rapid.SampledFrom([]string{"", "complete", "in_progress"}).Draw(t, "status")),
		FinishedPermit:  rapid.SampledFrom([]string{"", "1/0", "7/999"}).Draw(t, "done"),
		OperatorVersion: rapid.SampledFrom([]string{"", "v1"}).Draw(t, "version"),
		Packages:        map[string]record.Entry{}, Cordoned: rapid.Bool().Draw(t, "cordoned"),
		BootID: rapid.SampledFrom([]string{"", "boot-1"}).Draw(t, "boot"),
		Host:   rapid.SampledFrom([]record.Host{{}, {MachineID: "m"}, {MachineID: "m", BootID: "boot-1"}}).Draw(t, "host"),
	}
	if rapid.Bool().Draw(t, "waits") {
		n.Wait = &record.Wait{Reason: "R", Message: rapid.String().Draw(t, "wait"), Since: since, Frees: record.FreesNode}
	}
	for range rapid.IntRange(0, 3).Draw(t, "entries") {
		e := record.Entry{
			Name:    rapid.StringMatching(`[a-z][-a-z0-9]{0,5}`).Draw(t, "name"),
			Version: rapid.StringMatching(`v?[0-9]\.[0-9](-rc\|1)?`).Draw(t, "version"),
			Image:   rapid.String().Draw(t, "image"), Stage: v1alpha1.StageUpgrade, State: v1alpha1.StateInProgress,
			Restarts: rapid.Int32Min(0).Draw(t, "restarts"), Run: rapid.String().Draw(t, "run"),
			Message:    record.TrimMessage(rapid.String().Draw(t, "message")),
			Definition: rapid.StringMatching(`([0-9a-f]{10})?`).Draw(t, "definition"),
		}
		if rapid.Bool().Draw(t, "changed") {
			e.Changed = rapid.SliceOf(rapid.String()).Draw(t, "keys")
		}
		if rapid.Bool().Draw(t, "interrupted") {
			e.Interrupt, e.BootID = &v1alpha1.Interrupt{Type: v1alpha1.InterruptReboot}, rapid.String().Draw(t, "boot id")
			e.Hash, e.Generation = rapid.String().Draw(t, "hash"), rapid.Int64Min(0).Draw(t, "generation")
		}
		if rapid.Bool().Draw(t, "since known") {
			e.Since = metav1.NewTime(time.Unix(rapid.Int64Range(0, 4_000_000_000).Draw(t, "since"), 0))
		}
		if rapid.Bool().Draw(t, "config known") {
			e.Config = record.HashConfig(rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "config"))
		}
		n.Packages[e.Key()] = e
	}
	return n
}

// TestWriteIsMinimal: each change of a record changes only its own key.
func TestWriteIsMinimal(t *testing.T) {
	p, err := record.Write("demo", full(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	annotations, labels := apply(nil, p.Annotations), apply(nil, p.Labels)
	for _, c := range []struct {
		name        string
		change      func(*record.Node)
		annotations string
		labels      string
	}{
		{"nothing", func(*record.Node) {}, "", ""},
		{"the status", func(n *record.Node) { n.Status = v1alpha1.StatusPaused }, statusKey, statusKey},
		{"the permit", func(n *record.Node) { n.FinishedPermit = "4/3" }, permitKey, ""},
		{"the operator", func(n *record.Node) { n.OperatorVersion = "v2" }, versionKey, ""},
		{"a package", func(n *record.Node) { n.Packages = nil }, stateKey, ""},
		{"no cordon any more", func(n *record.Node) { n.Cordoned = false }, cordonKey + " removed", ""},
		{
			"it waits for something else", func(n *record.Node) { n.Wait = &record.Wait{Reason: "Evicting", Since: since} },
			waitKey, "",
		},
		{"it waits no more", func(n *record.Node) { n.Wait = nil }, waitKey + " removed", ""},
		{"the boot", func(n *record.Node) { n.BootID = "boot-2" }, bootKey, ""},
		{"the host", func(n *record.Node) { n.Host.MachineID = "machine-2" }, hostKey, ""},
		{"no permit any more", func(n *record.Node) { n.FinishedPermit = "" }, permitKey + " removed", ""},
		{"no status any more", func(n *record.Node) { n.Status = "" }, statusKey + " removed", statusKey + " removed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := full()
			c.change(&n)
			p, err := record.Write("demo", n, annotations, labels)
			if err != nil {
				t.Fatal(err)
			}
			if got := keys(p.Annotations); got != c.annotations {
				t.Errorf("annotations: got %q, want %q", got, c.annotations)
			}
			if got := keys(p.Labels); got != c.labels {
				t.Errorf("labels: got %q, want %q", got, c.labels)
			}
			if p.Empty() != (c.annotations == "") {
				t.Errorf("Empty is %t", p.Empty())
			}
		})
	}
}

func keys(changes map[string]*string) string {
	var list []string
	for _, k := range slices.Sorted(maps.Keys(changes)) {
		if changes[k] == nil {
			k += " removed"
		}
		list = append(list, k)
	}
	return strings.Join(list, " ")
}

func TestClear(t *testing.T) {
	written := map[string]string{
		stateKey: "{}", statusKey: "complete", versionKey: "v1", permitKey: "4/2",
		cordonKey: "true", waitKey: "{}", bootKey: "b", "other": "x",
	}
	label := map[string]string{statusKey: "complete", "other": "x"}
	for _, c := range []struct {
		name        string
		node        record.Node
		annotations map[string]string
		labels      map[string]string
		want        map[string]string
	}{
		{"all of it", record.Node{}, written, label, map[string]string{"other": "x"}},
		{
			"package states stay, and who wrote them", full(), written, label,
			map[string]string{stateKey: "{}", versionKey: "v1", permitKey: "4/2", "other": "x"},
		},
		{
			"a permit that is acknowledged stays",
			record.Node{FinishedPermit: "4/3"},
			written, label,
			map[string]string{permitKey: "4/3", "other": "x"},
		},
		{"nothing there", record.Node{}, map[string]string{"other": "x"}, nil, map[string]string{"other": "x"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := record.Clear("demo", c.node, c.annotations, c.labels)
			got := apply(c.annotations, p.Annotations)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("annotations, -want +got\n%s", diff)
			}
			if _, ok := apply(c.labels, p.Labels)[statusKey]; ok {
				t.Error("the label is still there")
			}
			if again := record.Clear("demo", c.node, got, apply(c.labels, p.Labels)); !again.Empty() {
				t.Errorf("clearing again changes %v %v", again.Annotations, again.Labels)
			}
		})
	}
}

func TestMerge(t *testing.T) {
	var p record.Patch
	if !p.Empty() {
		t.Error("a new patch is not empty")
	}
	p.Merge(record.Patch{})
	p.Merge(record.Patch{Annotations: map[string]*string{"a": new("1")}, Labels: map[string]*string{"l": nil}})
	p.Merge(record.Patch{Annotations: map[string]*string{"b": nil, "a": new("2")}})
	want := record.Patch{Annotations: map[string]*string{"a": new("2"), "b": nil}, Labels: map[string]*string{"l": nil}}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestOwnership(t *testing.T) {
	for key, want := range map[string]bool{
		stateKey: true, statusKey: true, versionKey: true, permitKey: true,
		"skyhook.nvidia.com/nodeState_": true, "skyhook.nvidia.com/pause": false, "skyhook.nvidia.com/ignore": false,
		"skyhook.nvidia.com/cordon_demo": true, "skyhook.nvidia.com/wait_demo": true, "skyhook.nvidia.com/boot_demo": true,
		"status_demo": false, "example.com/skyhook.nvidia.com/status_demo": false,
	} {
		if got := record.Owns(key); got != want {
			t.Errorf("Owns(%q) is %t", key, got)
		}
	}
	for _, c := range []struct {
		annotations, labels map[string]string
		want                bool
	}{
		{nil, nil, false},
		{map[string]string{"skyhook.nvidia.com/status_demo2": "x"}, map[string]string{"other": "x"}, false},
		{map[string]string{stateKey: ""}, nil, true},
		{map[string]string{permitKey: "1/0"}, nil, true},
		{nil, map[string]string{statusKey: "complete"}, true},
	} {
		if got := record.Exists("demo", c.annotations, c.labels); got != c.want {
			t.Errorf("Exists(%v, %v) is %t", c.annotations, c.labels, got)
		}
	}
}

func TestRaw(t *testing.T) {
	all := map[string]string{
		stateKey: "{}", statusKey: "complete", versionKey: "v1", permitKey: "4/2", cordonKey: "true",
		waitKey: "{}", bootKey: "b", hostKey: "m", "skyhook.nvidia.com/begun_demo": "true",
	}
	if len(all) != record.AnnotationCount {
		t.Errorf("a record has %d annotations, not %d", record.AnnotationCount, len(all))
	}
	base := record.KeysOf("demo").Raw(all)
	if again := record.KeysOf("demo").Raw(maps.Clone(all)); again != base {
		t.Error("equal annotations differ")
	}
	for key := range all {
		changed := maps.Clone(all)
		changed[key] += "x"
		if record.KeysOf("demo").Raw(changed) == base {
			t.Errorf("a change of %s is not seen", key)
		}
	}
	changed := maps.Clone(all)
	changed["skyhook.nvidia.com/status_other"] = "x"
	if record.KeysOf("demo").Raw(changed) != base {
		t.Error("another Skyhook's record counts")
	}
}
