package lifecycle_test

import (
	"testing"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
)

var versionTables = []group{
	{"spellings", spellings},
}

// spellings: which texts mean one version, and which is higher.
var spellings = []row{
	{
		name: "equal versions are one: 1.2 and 1.2.0",
		spec: "a@1.2.0", node: "a@1.2 config:complete", gate: "acknowledged",
		want: "rename a@1.2.0; remove a@1.2; is complete",
	},
	{
		name: "equal versions are one: v1.2.0 and 1.2.0",
		spec: "a@1.2.0", node: "a@v1.2.0 config:complete", gate: "acknowledged",
		want: "rename a@1.2.0; remove a@v1.2.0; is complete",
	},
	{
		name: "equal versions are one, also while a pod of the other spelling runs",
		spec: "a@v1.2", node: "a@1.2.0 apply:in_progress", pods: "a@1.2.0 apply done",
		want: "a@v1.2 apply:complete; a@v1.2 config:in_progress run=now; remove a@1.2.0; delete a-apply; start a config; " +
			"is in_progress",
	},
	{
		name: "a release is higher than its candidate",
		spec: "a@1.2.0", node: "a@1.2.0-rc.1 config:complete",
		want: "a@1.2.0 upgrade:in_progress run=now; start a upgrade; is in_progress",
	},
	{
		name: "numbers, not texts: 1.10 is higher than 1.9",
		spec: "a@1.10", node: "a@1.9 config:complete",
		want: "a@1.10 upgrade:in_progress run=now; start a upgrade; is in_progress",
	},
	{
		name: "equal versions are one, with an interrupt: nothing is pending",
		spec: "a@v1.2 interrupt=reboot", node: "a@1.2.0 post-interrupt:complete", gate: "acknowledged",
		want: "rename a@v1.2; remove a@1.2.0; is complete",
	},
}

// TestVersionsThatAreNone: an empty text and one that is no version are neither older nor newer than a version.
func TestVersionsThatAreNone(t *testing.T) {
	for _, installed := range []string{"", "latest", "1.0.0"} {
		for _, wanted := range []string{"", "latest", "2.0.0"} {
			d := lifecycle.Next(observation(t, row{spec: "a@" + wanted, node: "a@" + installed + " config:complete"}))
			var got v1alpha1.Stage
			if len(d.Start) > 0 {
				got = d.Start[0].Stage
			}
			want := v1alpha1.StageApply
			switch {
			case installed == wanted:
				want = "" // the same text is the same version, whatever it says
			case installed == "1.0.0" && wanted == "2.0.0":
				want = v1alpha1.StageUpgrade
			}
			if got != want {
				t.Errorf("installed %q, wanted %q: starts %q, want %q", installed, wanted, got, want)
			}
		}
	}
}
