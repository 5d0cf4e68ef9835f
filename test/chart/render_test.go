package chart

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	root     = "../.."
	chartDir = root + "/charts/skyhook-operator"
)

// helm returns the path of the pinned Helm, which is built if this machine has not got it yet.
func helm(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), root+"/tools/tool", "helm").Output()
	if err != nil {
		t.Fatalf("build helm: %v", err)
	}
	return strings.TrimSpace(string(out))
}

// template runs "helm template" for a release "skyhook" in namespace "skyhook"; args may override.
func template(t *testing.T, args ...string) ([]byte, error) {
	t.Helper()
	args = append([]string{"template", chartDir, "--name-template", "skyhook", "--kube-version", "1.35.0", "--namespace", "skyhook"}, args...)
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), helm(t), args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, stderr.String())
	}
	return out, nil
}

// objects are rendered objects by "Kind/name".
type objects map[string]client.Object

// render decodes what the chart renders: a field that the API does not have, or a field given twice, fails the test.
func render(t *testing.T, args ...string) objects {
	t.Helper()
	out, err := template(t, args...)
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
	all := objects{}
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

// get returns one rendered object as its own type.
func get[T client.Object](t *testing.T, all objects, key string) T {
	t.Helper()
	object, isT := all[key].(T)
	if !isT {
		t.Fatalf("%s was not rendered, or is %T", key, all[key])
	}
	return object
}
