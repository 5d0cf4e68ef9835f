package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// manifest is an object of a file.
type manifest struct {
	// object is what this program reads of it, written all that is there.
	object  client.Object
	written *unstructured.Unstructured
}

// String names it, such as Skyhook gpu.
func (m manifest) String() string { return m.written.GetKind() + " " + m.written.GetName() }

func (m manifest) resource() string {
	if _, ok := m.object.(*v1alpha1.Skyhook); ok {
		return "skyhooks"
	}
	return "deploymentpolicies"
}

// typed is an answer of the API server about it.
func (m manifest) typed(answer *unstructured.Unstructured) (client.Object, error) {
	out := m.object.DeepCopyObject().(client.Object)
	return out, runtime.DefaultUnstructuredConverter.FromUnstructured(answer.Object, out)
}

// readFiles decodes the Skyhooks and DeploymentPolicies of files.
func readFiles(in io.Reader, files []string) ([]manifest, error) {
	var all []manifest
	for _, name := range files {
		found, err := readFile(in, name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, found...)
	}
	if len(files) > 0 && len(all) == 0 {
		return nil, fmt.Errorf("%s: no Skyhook and no DeploymentPolicy of %s is there, so there is nothing to plan",
			strings.Join(files, ", "), v1alpha1.GroupVersion)
	}
	return all, nil
}

func readFile(in io.Reader, name string) ([]manifest, error) {
	if name == "-" {
		return decode(in)
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return decode(file)
}

func decode(r io.Reader) ([]manifest, error) {
	const buffer = 4096
	d := utilyaml.NewYAMLOrJSONDecoder(r, buffer)
	var all []manifest
	for {
		var raw json.RawMessage
		if err := d.Decode(&raw); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		if len(raw) == 0 || string(raw) == "null" {
			continue
		}
		found, err := manifestsOf(raw)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
}

// manifestsOf reads one document, which may be a list. What is of another kind is left out: a manifest may have a
// namespace or a Secret beside it.
func manifestsOf(raw json.RawMessage) ([]manifest, error) {
	var kind struct {
		APIVersion string            `json:"apiVersion"`
		Kind       string            `json:"kind"`
		Items      []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(raw, &kind); err != nil {
		return nil, fmt.Errorf("a document is no object of Kubernetes: %w", err)
	}
	if strings.HasSuffix(kind.Kind, "List") {
		var all []manifest
		for _, item := range kind.Items {
			found, err := manifestsOf(item)
			if err != nil {
				return nil, err
			}
			all = append(all, found...)
		}
		return all, nil
	}
	var o client.Object
	switch schema.FromAPIVersionAndKind(kind.APIVersion, kind.Kind) {
	case v1alpha1.GroupVersion.WithKind("Skyhook"):
		o = &v1alpha1.Skyhook{}
	case v1alpha1.GroupVersion.WithKind("DeploymentPolicy"):
		o = &v1alpha1.DeploymentPolicy{}
	default:
		return nil, nil
	}
	if err := yaml.UnmarshalStrict(raw, o); err != nil {
		return nil, fmt.Errorf("%s: %w", kind.Kind, err)
	}
	if o.GetName() == "" {
		return nil, fmt.Errorf("%s: it has no metadata.name; give it one", kind.Kind)
	}
	written := &unstructured.Unstructured{}
	if err := written.UnmarshalJSON(raw); err != nil {
		return nil, fmt.Errorf("%s: %w", kind.Kind, err)
	}
	return []manifest{{o, written}}, nil
}
