//go:build integration

package v1alpha1_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/test/apiserver"
)

// TestPolicyStatusIsKept as large as it gets, through changes of the spec, and printed by kubectl.
func TestPolicyStatusIsKept(t *testing.T) {
	c := typedClient(t)
	one := v1alpha1.Budget{Count: new(1)}
	p := &v1alpha1.DeploymentPolicy{ObjectMeta: metav1.ObjectMeta{Name: "status"}, Spec: v1alpha1.DeploymentPolicySpec{
		Default: v1alpha1.PolicyDefault{Budget: one, Strategy: v1alpha1.Strategy{Fixed: &v1alpha1.FixedStrategy{}}},
	}}
	if err := c.Create(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	deleteAfter(t, c, p)
	if !reflect.ValueOf(p.Status).IsZero() {
		t.Errorf("a new policy has the status %+v", p.Status)
	}
	if got := cells(t, p.Name); !slices.Equal(got[:4], []string{"status", "<nil>", "<nil>", "<nil>"}) {
		t.Errorf("a new policy prints %q", got)
	}
	now := metav1.NewTime(time.Date(2025, 1, 2, 3, 4, 5, 0, time.UTC).Local())
	want := v1alpha1.DeploymentPolicyStatus{
		ObservedGeneration: 1, Skyhooks: 300, Nodes: 10_000, CompartmentList: strings.Repeat("c", 512),
		Conditions: []metav1.Condition{{Type: "CompartmentEmpty", Status: metav1.ConditionTrue, Reason: "CompartmentEmpty", LastTransitionTime: now}},
	}
	for i := range 100 {
		want.UsedBy = append(want.UsedBy, fmt.Sprintf("%0253d", i))
	}
	for i := range 65 {
		want.Compartments = append(want.Compartments, v1alpha1.CompartmentNodes{Name: fmt.Sprintf("%0253d", i), Nodes: i})
	}
	p.Status = want
	if err := c.Status().Update(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	p.Status = v1alpha1.DeploymentPolicyStatus{} // what a manifest says
	p.Spec.Default.Budget = v1alpha1.Budget{Count: new(2)}
	if err := c.Update(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(p.Status, want) || p.Generation != 2 {
		t.Errorf("generation %d\ngot  %+v\nwant %+v", p.Generation, p.Status, want)
	}
	p.Status = v1alpha1.DeploymentPolicyStatus{
		Skyhooks: 2, Nodes: 5, UsedBy: []string{"a", "b"}, CompartmentList: "canary:1, __default__:4",
	}
	if err := c.Status().Update(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if got := cells(t, p.Name); !slices.Equal(got[:4], []string{"status", "2", "5", "canary:1, __default__:4"}) || got[5] != `["a","b"]` {
		t.Errorf("it prints %q", got)
	}
}

// cells are what kubectl prints of a policy.
func cells(t *testing.T, name string) []string {
	t.Helper()
	c, err := kubernetes.NewForConfig(apiserver.Start(t))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := c.RESTClient().Get().AbsPath("/apis/skyhook.nvidia.com/v1alpha1/deploymentpolicies/"+name).
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var table metav1.Table
	if err := json.Unmarshal(raw, &table); err != nil || len(table.Rows) != 1 {
		t.Fatalf("%v: %s", err, raw)
	}
	var all []string
	for _, cell := range table.Rows[0].Cells {
		all = append(all, fmt.Sprint(cell))
	}
	return all
}
