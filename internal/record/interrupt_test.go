package record_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// TestReadInterrupt: what cannot be read tells nothing; the entries of the records do then.
func TestReadInterrupt(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       *record.Interrupt
	}{
		{"none", "", nil},
		{"no JSON", "{", nil},
		{"nobody's", `{"type":"reboot","packages":["a|1.0"]}`, nil},
		{"of an unknown type", `{"skyhook":"demo","type":"explode"}`, nil},
		{
			"another operator began it, which kept no type", `{"skyhook":"demo","packages":["a|1.0"]}`,
			&record.Interrupt{Skyhook: "demo", Packages: []string{"a|1.0"}},
		},
		{
			"whole", `{"skyhook":"demo","packages":["a|1.0","b|2.0"],"type":"service","services":["x"],"bootID":"b1","run":"r1","since":"2026-01-02T03:04:05Z"}`,
			&record.Interrupt{
				Skyhook: "demo", Packages: []string{"a|1.0", "b|2.0"}, Type: v1alpha1.InterruptService, Services: []string{"x"},
				BootID: "b1", Run: "r1", Since: metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)),
			},
		},
		{
			"with a key of a later version", `{"skyhook":"demo","packages":null,"type":"noop","later":1}`,
			&record.Interrupt{Skyhook: "demo", Type: v1alpha1.InterruptNoop},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := record.ReadInterrupt(map[string]string{v1alpha1.AnnotationInterrupt: c.text})
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// TestWriteInterrupt: what was read is written as it is, so that nothing is patched in vain.
func TestWriteInterrupt(t *testing.T) {
	i := &record.Interrupt{
		Skyhook: "demo", Packages: []string{"a|1.0"}, Type: v1alpha1.InterruptReboot, BootID: "b1", Run: "r1",
		Since: metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)),
	}
	annotations := map[string]string{}
	write := func(i *record.Interrupt) record.Patch {
		t.Helper()
		p, err := record.WriteInterrupt(i, annotations)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	if p := write(nil); !p.Empty() {
		t.Errorf("nothing in flight, and nothing written: %+v", p)
	}
	text := write(i).Annotations[v1alpha1.AnnotationInterrupt]
	if text == nil {
		t.Fatal("nothing is written")
	}
	annotations[v1alpha1.AnnotationInterrupt] = *text
	if diff := cmp.Diff(i, record.ReadInterrupt(annotations)); diff != "" {
		t.Errorf("-written +read\n%s", diff)
	}
	if p := write(i.Clone()); !p.Empty() {
		t.Errorf("the same is written again: %+v", p)
	}
	if p := write(nil); len(p.Annotations) != 1 || p.Annotations[v1alpha1.AnnotationInterrupt] != nil {
		t.Errorf("released, but not removed: %+v", p)
	}
	if !record.Owns(v1alpha1.AnnotationInterrupt) {
		t.Error("the annotation counts as a user's")
	}
}

func TestInterruptClone(t *testing.T) {
	var none *record.Interrupt
	if none.Clone() != nil || none.OwnedBy("demo") || none.OwnedBy("") || none.IsReboot() {
		t.Error("no interrupt is something")
	}
	i := &record.Interrupt{Skyhook: "demo", Packages: []string{"a|1.0", "b-c|v2.0"}, Services: []string{"x"}}
	c := i.Clone()
	c.Packages[0], c.Services[0] = "z|1.0", "z"
	if diff := cmp.Diff([]string{"a", "b-c"}, i.Names()); diff != "" || i.Services[0] != "x" {
		t.Errorf("the copy shares with the original, or the names are wrong: %s", diff)
	}
}

// TestAcceptBoot: a reboot that one Skyhook asked for is accepted for all that remember a boot id, and for no other.
func TestAcceptBoot(t *testing.T) {
	annotations := map[string]string{
		"skyhook.nvidia.com/boot_a": "b1", "skyhook.nvidia.com/boot_b": "b2",
		"skyhook.nvidia.com/status_c": "complete", "boot_d": "b1",
	}
	p := record.AcceptBoot("b2", annotations)
	if len(p.Annotations) != 1 || p.Annotations["skyhook.nvidia.com/boot_a"] == nil ||
		*p.Annotations["skyhook.nvidia.com/boot_a"] != "b2" || len(p.Labels) > 0 {
		t.Errorf("got %+v", p)
	}
	if p = record.AcceptBoot("b1", map[string]string{}); !p.Empty() {
		t.Errorf("nobody remembers a boot id: %+v", p)
	}
}
