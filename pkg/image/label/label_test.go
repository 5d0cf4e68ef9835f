package label_test

import (
	"testing"

	"github.com/skyhook-operator/skyhook/pkg/image/label"
)

func TestCanUninstall(t *testing.T) {
	for value, want := range map[string][2]bool{
		"true": {true, true}, "false": {false, true}, "": {}, "yes": {}, "True": {}, "unknown": {}, "1": {},
	} {
		can, told := label.CanUninstall(map[string]string{"com.nvidia.skyhook.uninstall": value})
		if got := [2]bool{can, told}; got != want {
			t.Errorf("%q: got %v, want %v", value, got, want)
		}
	}
	if can, told := label.CanUninstall(nil); can || told {
		t.Error("no labels tell something")
	}
}
