package workload_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

// TestDefaultsNeverReplaceAPod: a pod whose spec the API server completed or spelled differently never equalled what
// was wanted, and was replaced for ever.
func TestDefaultsNeverReplaceAPod(t *testing.T) {
	s := read[v1alpha1.Skyhook](t, `
metadata: {name: demo, uid: 1c5b, generation: 7}
spec:
  packages:
    tuning:
      version: 1.2.0
      image: a/tuning
      env: [{name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}]
      resources: {cpuRequest: "0.5", cpuLimit: 1000m, memoryRequest: 1024Ki, memoryLimit: 1Gi}
`)
	pod := build(t, options, workload.Task{
		Skyhook: s, Package: "tuning", Stage: v1alpha1.StageApply, Run: "r1",
		Generation: 7, Node: "node-1",
	})
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		c.TerminationMessagePath = "/dev/termination-log"
		for k := range c.Env {
			if from := c.Env[k].ValueFrom; from != nil {
				from.FieldRef.APIVersion = "v1"
			}
		}
	}
	observed, err := workload.Observe(pod)
	if err != nil {
		t.Fatal(err)
	}
	respelled := s.DeepCopy()
	r := respelled.Spec.Packages["tuning"].Resources
	r.CPURequest, r.CPULimit, r.MemoryRequest = resource.MustParse("500m"), resource.MustParse("1"),
		resource.MustParse("1Mi")
	for name, spec := range map[string]*v1alpha1.Skyhook{"as written": s, "as the API server spells it": respelled} {
		if want := workload.Hash(spec, spec.Spec.Packages["tuning"]); observed.Hash != want {
			t.Errorf("%s: the pod has hash %s, the spec %s", name, observed.Hash, want)
		}
	}
}
