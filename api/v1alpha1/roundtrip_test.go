package v1alpha1_test

import (
	"fmt"
	"math/rand"
	"reflect"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	"k8s.io/apimachinery/pkg/api/apitesting/roundtrip"
	"k8s.io/apimachinery/pkg/api/resource"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/randfill"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// What a user wrote must come out of the types as it went in: no names filled in, no tags cut off.
func TestDecodingKeepsWhatUsersWrote(t *testing.T) {
	for _, m := range readManifests(t, validManifests, 10) {
		t.Run(m.name, func(t *testing.T) {
			after := throughTypes(t, m.object)
			for _, problem := range lost("", m.object.Object, after.Object) {
				t.Error(problem)
			}
			if name, ok := nameThatWasFilledIn(m.object, after); ok {
				t.Errorf("name of package %s was filled in", name)
			}
		})
	}
}

func TestJSONRoundTrip(t *testing.T) {
	scheme := newScheme(t)
	codecs := serializer.NewCodecFactory(scheme)
	funcs := fuzzer.MergeFuzzerFuncs(metafuzzer.Funcs, func(serializer.CodecFactory) []any { return []any{fillPermit} })
	f := fuzzer.FuzzerFor(funcs, rand.NewSource(1), codecs)
	roundtrip.RoundTripExternalTypesWithoutProtobuf(t, scheme, codecs, f, nil)
}

// fillPermit makes permits that can be: others are not kept, see Permit.UnmarshalJSON.
func fillPermit(p *v1alpha1.Permit, c randfill.Continue) {
	*p = v1alpha1.Permit{
		Node: fmt.Sprintf("node-%d", c.Uint32()), Order: c.Int31(), Generation: c.Int63(), Round: c.Int31(), Revoked: c.Bool(),
	}
}

func newScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return scheme
}

// throughTypes decodes an object into its Go type and encodes it again.
func throughTypes(t *testing.T, u *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	typed, err := newScheme(t).New(u.GroupVersionKind())
	if err != nil {
		t.Fatal(err)
	}
	convert := runtime.DefaultUnstructuredConverter
	if err := convert.FromUnstructuredWithValidation(u.Object, typed, true); err != nil {
		t.Fatal(err)
	}
	object, err := convert.ToUnstructured(typed)
	if err != nil {
		t.Fatal(err)
	}
	return &unstructured.Unstructured{Object: object}
}

// lost lists what is in before but not, with the same meaning, in after. Zero values may be left out.
func lost(path string, before, after any) []string {
	switch b := before.(type) {
	case map[string]any:
		a, _ := after.(map[string]any)
		var problems []string
		for key, value := range b {
			problems = append(problems, lost(path+"."+key, value, a[key])...)
		}
		return problems
	case []any:
		a, _ := after.([]any)
		if len(a) != len(b) {
			return []string{fmt.Sprintf("%s has %d items, want %d", path, len(a), len(b))}
		}
		var problems []string
		for i := range b {
			problems = append(problems, lost(fmt.Sprintf("%s[%d]", path, i), b[i], a[i])...)
		}
		return problems
	default:
		if same(path, before, after) {
			return nil
		}
		return []string{fmt.Sprintf("%s is %v, want %v", path, after, before)}
	}
}

func same(path string, before, after any) bool {
	if after == nil {
		return before == nil || before == "0" || reflect.ValueOf(before).IsZero()
	}
	b, a := fmt.Sprint(before), fmt.Sprint(after)
	switch {
	case strings.HasSuffix(path, ".gracefulShutdown"):
		return sameDuration(b, a)
	case strings.Contains(path, ".resources."):
		return sameQuantity(b, a)
	default:
		return b == a
	}
}

func sameDuration(before, after string) bool {
	b, errBefore := time.ParseDuration(before)
	a, errAfter := time.ParseDuration(after)
	return errBefore == nil && errAfter == nil && a == b
}

func sameQuantity(before, after string) bool {
	b, errBefore := resource.ParseQuantity(before)
	a, errAfter := resource.ParseQuantity(after)
	return errBefore == nil && errAfter == nil && a.Cmp(b) == 0
}

func nameThatWasFilledIn(before, after *unstructured.Unstructured) (string, bool) {
	packages, _, _ := unstructured.NestedMap(after.Object, "spec", "packages")
	for key := range packages {
		_, was, _ := unstructured.NestedString(before.Object, "spec", "packages", key, "name")
		_, is, _ := unstructured.NestedString(after.Object, "spec", "packages", key, "name")
		if is && !was {
			return key, true
		}
	}
	return "", false
}
