// Package helm renders the Helm chart for tests, with the pinned Helm and strict decoding.
package helm

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/test/inputs"
)

// chartDir is the chart's folder in the repository.
const chartDir = "charts/skyhook-operator"

// Inputs names what the result of a test depends on that has the chart rendered, as the functions below do by
// themselves.
func Inputs(t testing.TB, root string) {
	t.Helper()
	for _, name := range []string{chartDir, "tools/helm", "tools/tool"} {
		if err := inputs.Files(filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
}

// binary returns the path of the pinned Helm, which is built if this machine has not got it yet.
func binary(t testing.TB, root string) string {
	t.Helper()
	Inputs(t, root)
	out, err := exec.CommandContext(t.Context(), filepath.Join(root, "tools/tool"), "helm").Output()
	if err != nil {
		t.Fatalf("build helm: %v", err)
	}
	return strings.TrimSpace(string(out))
}

// Template runs "helm template" for a release "skyhook" in namespace "skyhook"; args may override. root is the
// repository's folder.
func Template(t testing.TB, root string, args ...string) ([]byte, error) {
	t.Helper()
	return Run(t, root, append([]string{"template", filepath.Join(root, chartDir), "--name-template", "skyhook", "--kube-version", "1.35.0", "--namespace", "skyhook"}, args...)...)
}

// Run runs Helm and returns its output.
func Run(t testing.TB, root string, args ...string) ([]byte, error) {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), binary(t, root), args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, stderr.String())
	}
	return out, nil
}

// Objects are rendered objects by "Kind/name".
type Objects map[string]client.Object

// Render decodes what the chart renders: a field that the API does not have, or a field given twice, fails the test.
func Render(t testing.TB, root string, args ...string) Objects {
	t.Helper()
	out, err := Template(t, root, args...)
	if err != nil {
		t.Fatal(err)
	}
	types := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(types); err != nil {
			t.Fatal(err)
		}
	}
	decoder := serializer.NewCodecFactory(types, serializer.EnableStrict).UniversalDeserializer()
	documents := yaml.NewDocumentDecoder(io.NopCloser(bytes.NewReader(out)))
	all := Objects{}
	for {
		document, err := readDocument(documents)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if isEmpty(document) {
			continue
		}
		object, kind, err := decoder.Decode(document, nil, nil)
		if err != nil {
			t.Fatalf("decode: %v\n%s", err, document)
		}
		all[kind.Kind+"/"+object.(client.Object).GetName()] = object.(client.Object)
	}
}

func readDocument(documents io.Reader) ([]byte, error) {
	document := make([]byte, 1<<20)
	n, err := documents.Read(document)
	return document[:n], err
}

// isEmpty says whether a document has nothing but comments.
func isEmpty(document []byte) bool {
	for line := range strings.Lines(string(document)) {
		if line = strings.TrimSpace(line); line != "" && line != "---" && !strings.HasPrefix(line, "#") {
			return false
		}
	}
	return true
}

// Get returns one rendered object as its own type.
func Get[T client.Object](t testing.TB, all Objects, key string) T {
	t.Helper()
	object, isT := all[key].(T)
	if !isT {
		t.Fatalf("%s was not rendered, or is %T", key, all[key])
	}
	return object
}
