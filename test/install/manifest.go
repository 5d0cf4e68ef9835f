package install

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Manifest applies every object of a manifest on the server, as "kubectl apply --server-side" does, or brings those
// that are there up to date. It does not wait for the operator: see Available.
func Manifest(ctx context.Context, c client.Client, manifest []byte) error {
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifest), 4096)
	for {
		object := &unstructured.Unstructured{}
		switch err := decoder.Decode(object); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read the manifest: %w", err)
		case len(object.Object) == 0: // nothing but comments
			continue
		}
		// Fields that Helm or an older demo owns are ours now.
		err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("skyhook-install"),
			client.ForceOwnership)
		if err != nil {
			return fmt.Errorf("apply %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
}
