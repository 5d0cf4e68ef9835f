//go:build integration

package chart

import (
	"context"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/settings"
	"github.com/skyhook-operator/skyhook/test/apiserver"
)

const (
	booleansPolicy  = "ValidatingAdmissionPolicy/skyhook-operator-booleans"
	booleansBinding = "ValidatingAdmissionPolicyBinding/skyhook-operator-booleans"
)

// heard are the warnings of the API server since it was asked last.
type heard struct{ list []string }

func (h *heard) HandleWarningHeader(_ int, _, text string) { h.list = append(h.list, text) }

func (h *heard) take() string {
	all := strings.Join(h.list, "\n")
	h.list = nil
	return all
}

// TestWrongBooleansAreWarnedOf, and stored: pause=ja pauses nothing, and nobody else says so.
func TestWrongBooleansAreWarnedOf(t *testing.T) {
	config := rest.CopyConfig(apiserver.Start(t))
	told := &heard{}
	config.WarningHandler = told
	scheme, err := settings.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	all := render(t)
	must(c.Create(t.Context(), get[*admissionregistrationv1.ValidatingAdmissionPolicy](t, all, booleansPolicy)))
	must(c.Create(t.Context(), get[*admissionregistrationv1.ValidatingAdmissionPolicyBinding](t, all, booleansBinding)))
	s := &v1alpha1.Skyhook{ObjectMeta: metav1.ObjectMeta{Name: "demo"}, Spec: v1alpha1.SkyhookSpec{Serial: true}}
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node1"}}
	must(c.Create(t.Context(), s))
	must(c.Create(t.Context(), n))
	annotate := func(text string) { must(c.Patch(t.Context(), s, jsonPatch(`{"metadata":{"annotations":`+text+`}}`))) }
	label := func(text string) { must(c.Patch(t.Context(), n, jsonPatch(`{"metadata":{"labels":`+text+`}}`))) }
	must(wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		annotate(`{"skyhook.nvidia.com/pause":"ja"}`)
		annotate(`{"skyhook.nvidia.com/pause":null}`)
		return told.take() != "", nil
	}))
	const nothing = " is neither true nor false, so it does nothing"
	for _, x := range []struct {
		name, change string
		do           func(string)
		want         string
	}{
		{"true", `{"skyhook.nvidia.com/pause":"True","skyhook.nvidia.com/disable":"0"}`, annotate, ""},
		{"no boolean", `{"skyhook.nvidia.com/pause":"ja"}`, annotate, "metadata.annotations: the value of skyhook.nvidia.com/pause" + nothing},
		{"it was there before", `{"other":"x"}`, annotate, ""},
		{"another one", `{"skyhook.nvidia.com/disable":""}`, annotate, "metadata.annotations: the value of skyhook.nvidia.com/disable" + nothing},
		{"both", `{"skyhook.nvidia.com/disable":"on","skyhook.nvidia.com/pause":"on"}`, annotate, "skyhook.nvidia.com/pause and skyhook.nvidia.com/disable" + nothing},
		{"removed", `null`, annotate, ""},
		{"a node's other label", `{"pool":"gpu"}`, label, ""},
		{"a node is ignored", `{"skyhook.nvidia.com/ignore":"true"}`, label, ""},
		{"a node's label", `{"skyhook.nvidia.com/ignore":"yes"}`, label, "metadata.labels: the value of skyhook.nvidia.com/ignore" + nothing},
		{"a node's labels are removed", `null`, label, ""},
	} {
		x.do(x.change)
		if got := told.take(); !strings.Contains(got, x.want) || x.want == "" && got != "" {
			t.Errorf("%s: %q, want %q", x.name, got, x.want)
		}
	}
	// With another spec the webhook warns, and once is enough.
	must(c.Patch(t.Context(), s, jsonPatch(`{"metadata":{"annotations":{"skyhook.nvidia.com/pause":"ja"}},"spec":{"serial":false}}`)))
	if got := told.take(); got != "" {
		t.Errorf("a change of the spec: %q", got)
	}
	n = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node2", Labels: map[string]string{"skyhook.nvidia.com/ignore": "ja"}}}
	must(c.Create(t.Context(), n))
	if got := told.take(); !strings.Contains(got, nothing) {
		t.Errorf("a new node: %q", got)
	}
}
