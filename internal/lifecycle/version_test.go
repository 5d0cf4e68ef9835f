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
	when("equal versions are one: 1.2 and 1.2.0",
		spec(pkg("a@1.2.0")), node(config.complete("a@1.2")), acknowledged,
		want(rename("a@1.2.0"), remove("a@1.2"), is(complete))),
	when("equal versions are one: v1.2.0 and 1.2.0",
		spec(pkg("a@1.2.0")), node(config.complete("a@v1.2.0")), acknowledged,
		want(rename("a@1.2.0"), remove("a@v1.2.0"), is(complete))),
	when("equal versions are one, also while a pod of the other spelling runs",
		spec(pkg("a@v1.2")), node(apply.inProgress("a@1.2.0")), pods(apply.done("a@1.2.0")),
		want(apply.complete("a@v1.2"), config.inProgress("a@v1.2").anew(), remove("a@1.2.0"), apply.delete("a@1.2.0"),
			config.start("a@v1.2"), is(inProgress))),
	when("a release is higher than its candidate",
		spec(pkg("a@1.2.0")), node(config.complete("a@1.2.0-rc.1")),
		want(upgrade.inProgress("a@1.2.0").anew(), upgrade.start("a@1.2.0"), is(inProgress))),
	when("numbers, not texts: 1.10 is higher than 1.9",
		spec(pkg("a@1.10")), node(config.complete("a@1.9")),
		want(upgrade.inProgress("a@1.10").anew(), upgrade.start("a@1.10"), is(inProgress))),
	when("equal versions are one, with an interrupt: nothing is pending",
		spec(pkg("a@v1.2").interrupt(reboot)), node(postInterrupt.complete("a@1.2.0")), acknowledged,
		want(rename("a@v1.2"), remove("a@1.2.0"), is(complete))),
}

// TestVersionsThatAreNone: an empty text and one that is no version are neither older nor newer than a version.
func TestVersionsThatAreNone(t *testing.T) {
	for _, installed := range []string{"", "latest", "1.0.0"} {
		for _, wanted := range []string{"", "latest", "2.0.0"} {
			d := lifecycle.Next(observation(see(spec(pkg(idOf("a", wanted))), node(config.complete(idOf("a", installed))))))
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
