package charts

import (
	"slices"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

func TestDefinitions(t *testing.T) {
	definitions, err := Definitions()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{
		"skyhooks.skyhook.nvidia.com": {
			"Status", "Complete Nodes", "Nodes In-Progress", "Reason", "Age", "Priority", "Packages", "Policy",
		},
		"deploymentpolicies.skyhook.nvidia.com": {"Used By", "Nodes", "Compartments", "Age", "Skyhooks"},
	}
	if len(definitions) != len(want) {
		t.Errorf("got %d definitions, want %d", len(definitions), len(want))
	}
	for _, d := range definitions {
		columns, known := want[d.Name]
		if got := printerColumns(d); !known || !slices.Equal(got, columns) {
			t.Errorf("%s prints the columns %v, want %v", d.Name, got, columns)
		}
	}
}

func printerColumns(d *apiextensionsv1.CustomResourceDefinition) []string {
	var names []string
	for _, column := range d.Spec.Versions[0].AdditionalPrinterColumns {
		names = append(names, column.Name)
	}
	return names
}
