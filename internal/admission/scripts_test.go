package admission_test

import (
	"strings"
	"testing"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/admission"
)

func TestScripts(t *testing.T) {
	with := func(keys map[string]string) *v1alpha1.Skyhook {
		s := &v1alpha1.Skyhook{}
		s.Spec.Packages = map[string]v1alpha1.Package{"scripts": {ConfigMap: keys}}
		return s
	}
	const bad, worse, good = "true\ntouch /etc/a\r\n", "true\r\n", "true\n"
	for name, c := range map[string]struct {
		old, now map[string]string
		want     string
	}{
		"a new Skyhook":      {nil, map[string]string{"apply.sh": bad, "data": bad}, "spec.packages.scripts.configMap.apply.sh: line 2 ends with CR"},
		"a new key":          {map[string]string{"apply.sh": good}, map[string]string{"apply.sh": good, "config.sh": worse}, "configMap.config.sh: line 1"},
		"a changed key":      {map[string]string{"apply.sh": worse}, map[string]string{"apply.sh": bad}, "line 2"},
		"a corrected key":    {map[string]string{"apply.sh": bad}, map[string]string{"apply.sh": good}, ""},
		"what was there":     {map[string]string{"apply.sh": bad}, map[string]string{"apply.sh": bad, "data": "x"}, ""},
		"nothing of scripts": {nil, map[string]string{"apply.sh": good, "motd.txt": worse}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var old *v1alpha1.Skyhook
			if c.old != nil {
				old = with(c.old)
			}
			got := admission.Join(admission.Scripts(old, with(c.now)))
			if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if strings.Contains(got, "data") {
				t.Errorf("data is no script: %s", got)
			}
		})
	}
}
