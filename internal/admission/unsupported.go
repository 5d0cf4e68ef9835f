package admission

import "github.com/skyhook-operator/skyhook/api/v1alpha1"

// unsupported reports fields of the API that this operator does not carry out. Doing the rest and leaving them out
// could disturb a node in a way that the user ruled out, so such a Skyhook is refused as a whole.
func (c *checker) unsupported(s *v1alpha1.Skyhook) {
	spec := &s.Spec
	for _, f := range []struct {
		used  bool
		field string
	}{
		{spec.DeploymentPolicy != "", "spec.deploymentPolicy"},
		{spec.RuntimeRequired, "spec.runtimeRequired"},
		{spec.AutoTaintNewNodes, "spec.autoTaintNewNodes"},
	} {
		c.refuse(f.used, f.field)
	}
}

func (c *checker) refuse(used bool, field string) {
	if used {
		c.add(field, "is not supported by this version of the operator, so nothing of this Skyhook is run; remove the field or upgrade the operator")
	}
}
