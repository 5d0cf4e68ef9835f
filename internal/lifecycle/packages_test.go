package lifecycle_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skyhook-operator/skyhook/internal/record"
)

func TestPrepare(t *testing.T) {
	spec := packages(pkg(a).hash("9").config("k=v").needs("b@2.0"), pkg("b@2.0"))
	a, b := spec["a"], spec["b"]
	if a.Hash != "9" || a.Image != "img/a" || a.Version != "1.0" || a.DependsOn["b"] != "2.0" {
		t.Errorf("a is %+v", a)
	}
	if diff := cmp.Diff(record.HashConfig(map[string]string{"k": "v"}), a.Config); diff != "" {
		t.Errorf("config of a, -want +got\n%s", diff)
	}
	if b.Config == nil || len(b.Config) != 0 {
		t.Errorf("config of b is %v; want empty, not nil, which means unknown", b.Config)
	}
}
