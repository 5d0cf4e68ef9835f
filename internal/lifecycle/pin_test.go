package lifecycle_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/situation"
)

const (
	first = "sha256:1111111111111111111111111111111111111111111111111111111111111111"
	newer = "sha256:2222222222222222222222222222222222222222222222222222222222222222"
)

func pinFor(scope, digest string) lifecycle.Pin {
	return lifecycle.Pin{
		PinKey: lifecycle.PinKey{Package: "a", Version: "1.0.0", Image: "img/a", Scope: scope},
		Digest: digest,
	}
}

func pinsOf(pins ...lifecycle.Pin) lifecycle.Pins {
	all := lifecycle.Pins{}
	for _, p := range pins {
		all[p.PinKey] = p
	}
	return all
}

// Nodes of the tables: a runtime that says what a tag stands for, one that says what its own platform got, and one of
// which nothing is known.
var (
	resolving = lifecycle.Node{Architecture: "amd64", Resolves: true}
	plain     = lifecycle.Node{Architecture: "amd64"}
	unknownTo = lifecycle.Node{}
)

// pinning is what is observed of a row's package a, whose pods run the image with the digest: by its version, or by the
// digest that is pinned.
func pinning(r row, pins lifecycle.Pins, digest string, byDigest bool) lifecycle.Observation {
	o := observation(r)
	o.Pins, o.Node.Architecture, o.Node.Resolves = pins, resolving.Architecture, resolving.Resolves
	for i := range o.Pods {
		o.Pods[i].Image, o.Pods[i].Digest, o.Pods[i].ByDigest = "img/a", digest, byDigest
	}
	return o
}

var applying = apply.inProgress("a@1.0.0")

// TestPin: package a is pulled by its version, or by the digest that is pinned; the pod tells what it runs.
func TestPin(t *testing.T) {
	of := func(outcome lifecycle.Outcome, digest string, byDigest bool) lifecycle.Pod {
		return lifecycle.Pod{
			Name: "a-apply", Package: "a", Version: "1.0.0", Stage: "apply", Run: "r1", Hash: "1", Created: now,
			Outcome: outcome, Image: "img/a", Digest: digest, ByDigest: byDigest,
		}
	}
	const running, done = lifecycle.Running, lifecycle.Done
	elsewhere := of(running, first, false)
	elsewhere.Image = "other/a"
	ending := of(running, newer, false)
	ending.Terminating = true
	for _, c := range []struct {
		name string
		node lifecycle.Node
		pins lifecycle.Pins
		// sha is the containerSHA of the spec.
		sha string
		pod lifecycle.Pod
		// want are the pins made, tags found moved, pods deleted, and starts with their digests.
		want string
	}{
		{"the first to pull it", resolving, pinsOf(), "", of(running, first, false), "pin for all " + first},
		{
			"the first, and done: the next stage runs the same", resolving, pinsOf(), "", of(done, first, false),
			"pin for all " + first + "; delete a-apply; start config " + first,
		},
		{
			"a runtime that says what its platform got", plain, pinsOf(), "", of(running, first, false),
			"pin for amd64 " + first,
		},
		{"of the node nothing is known", unknownTo, pinsOf(), "", of(running, first, false), ""},
		{"nothing is pulled yet", resolving, pinsOf(), "", of(running, "", false), ""},
		{"images are not pinned", resolving, nil, "", of(done, first, false), "delete a-apply; start config"},
		{"the spec has a digest", resolving, pinsOf(), first, of(running, first, true), ""},
		{
			"the spec has another digest than is pinned", resolving, pinsOf(pinFor("", first)), newer,
			of(done, newer, true), "delete a-apply; start config",
		},
		{"the spec has another image by now", resolving, pinsOf(), "", elsewhere, ""},

		{
			"another node was first with the same", resolving, pinsOf(pinFor("", first)), "", of(done, first, false),
			"delete a-apply; start config " + first,
		},
		{
			"pulled by the pinned digest", resolving, pinsOf(pinFor("", first)), "", of(done, first, true),
			"delete a-apply; start config " + first,
		},
		{
			"the tag moved", resolving, pinsOf(pinFor("", first)), "", of(running, newer, false),
			"moved " + newer + "; delete a-apply; ImageMoved",
		},
		{
			"the tag moved, and the stage is done with it", resolving, pinsOf(pinFor("", first)), "",
			of(done, newer, false), "moved " + newer + "; delete a-apply; ImageMoved",
		},
		{
			"the tag moved, and the pod is going", resolving, pinsOf(pinFor("", first)), "", ending,
			"moved " + newer + "; ImageMoved",
		},
		{
			"a pod by an earlier pin is no moved tag", resolving, pinsOf(pinFor("", first)), "", of(running, newer, true),
			"delete a-apply",
		},

		{
			"what another architecture got is not forced on this one", resolving, pinsOf(pinFor("arm64", newer)), "",
			of(done, first, false), "pin for all " + first + "; delete a-apply; start config " + first,
		},
		{
			"nor on one whose runtime says what its platform got", plain, pinsOf(pinFor("arm64", newer)), "",
			of(running, first, false), "pin for amd64 " + first,
		},
		{
			"what the tag stands for is good for all", plain, pinsOf(pinFor("", first)), "", of(done, newer, false),
			"delete a-apply; start config " + first,
		},
		{
			"its own architecture comes first", plain, pinsOf(pinFor("", newer), pinFor("amd64", first)), "",
			of(done, first, true), "delete a-apply; start config " + first,
		},
		{
			"one of its own came meanwhile: what runs by the other may end", plain,
			pinsOf(pinFor("", newer), pinFor("amd64", first)), "", of(running, newer, true), "",
		},
		{
			"moved for this architecture", plain, pinsOf(pinFor("amd64", first)), "", of(running, newer, false),
			"moved " + newer + "; delete a-apply; ImageMoved",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := observation(see(spec(pkg("a@1.0.0")), node(applying)))
			a := o.Packages["a"]
			a.ContainerSHA = c.sha
			o.Packages["a"], o.Pods, o.Pins = a, []lifecycle.Pod{c.pod}, c.pins
			o.Node.Architecture, o.Node.Resolves = c.node.Architecture, c.node.Resolves
			d := lifecycle.Next(o)
			if got := pinLines(d); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if after := d.Record.Packages["a|1.0.0"]; strings.Contains(c.want, "ImageMoved") && (after.Run == "r1" ||
				after.Stage != "apply" || after.State != "in_progress") {
				t.Errorf("the stage does not run again: %+v", after)
			}
			if c.pins != nil && len(o.Pins) != len(c.pins) {
				t.Error("the decision changed what it was given")
			}
		})
	}
}

func pinLines(d lifecycle.Decision) string {
	var lines []string
	for _, p := range d.Pin {
		scope := p.Scope
		if scope == "" {
			scope = "all"
		}
		lines = append(lines, "pin for "+scope+" "+p.Digest)
	}
	for _, p := range d.Moved {
		lines = append(lines, "moved "+p.Moved)
	}
	for _, p := range d.Delete {
		lines = append(lines, "delete "+p.Name)
	}
	for _, s := range d.Start {
		lines = append(lines, strings.TrimSpace("start "+string(s.Stage)+" "+s.Digest))
	}
	for _, c := range d.Changes {
		if c.Reason != "" {
			lines = append(lines, c.Reason)
		}
	}
	return strings.Join(lines, "; ")
}

// TestPinOfARemoval: what is uninstalled runs the image that it was installed with.
func TestPinOfARemoval(t *testing.T) {
	d := lifecycle.Next(pinning(
		see(kept(pkg("a@1.0.0").def("old").uninstall(on, auto)), node(config.complete("a@1.0.0").def("old"))),
		pinsOf(pinFor("", first)), "", false))
	if got, want := pinLines(d), "start uninstall "+first; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestPinnedImageIsGone: who misses the image hears what it is pinned to, and what helps.
func TestPinnedImageIsGone(t *testing.T) {
	for _, c := range []struct {
		name              string
		byDigest, missing bool
		told              bool
	}{
		{"pinned and gone", true, true, true},
		{"pinned, and the registry cannot be reached", true, false, false},
		{"by version", false, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			digest := ""
			if c.byDigest {
				digest = first
			}
			o := pinning(see(spec(pkg("a@1.0.0")), node(applying), pods(apply.stuck("a@1.0.0").reason("ImagePullBackOff"))),
				pinsOf(pinFor("", first)), digest, c.byDigest)
			o.Pods[0].Message, o.Pods[0].Missing = "manifest unknown", c.missing
			d := lifecycle.Next(o)
			message := d.Record.Packages["a|1.0.0"].Message
			if told := strings.Contains(message, "containerSHA"); told != c.told ||
				!strings.HasPrefix(message, "manifest unknown") {
				t.Errorf("message %q", message)
			}
		})
	}
}

// notFound is as containerd says it.
const notFound = `NotFound: failed to pull and unpack image "registry.example.com/group/packages/a@` + first +
	`": failed to resolve reference "registry.example.com/group/packages/a@` + first +
	`": registry.example.com/group/packages/a@` + first + `: not found`

// TestPinnedImageOfARemovalIsGone: what is not in the spec any more cannot be changed there before it is put back.
func TestPinnedImageOfARemovalIsGone(t *testing.T) {
	o := pinning(see(
		kept(pkg("a@1.0.0").def("old").uninstall(on, auto)), node(uninstall.inProgress("a@1.0.0").def("old")),
		pods(uninstall.stuck("a@1.0.0").reason("ImagePullBackOff"))), pinsOf(pinFor("", first)), first, true)
	o.Pods[0].Message, o.Pods[0].Missing = notFound, true
	d := lifecycle.Next(o)
	message := d.Record.Packages["a|1.0.0"].Message
	for _, part := range []string{
		"failed to pull", "put version 1.0.0 back", "uninstall.apply", "containerSHA",
		v1alpha1.AnnotationAbandonUninstall,
	} {
		if !strings.Contains(message, part) {
			t.Errorf("%q is not in %q", part, message)
		}
	}
	if strings.Contains(message, "raise") {
		t.Errorf("nothing is there to be raised: %q", message)
	}
	a := packages(pkg("a@1.0.0").hash("2").uninstall(on, asked))["a"]
	a.ContainerSHA = newer
	o.Record, o.Generation, o.Packages = d.Record, generation+1, situation.Packages{"a": a}
	d = lifecycle.Next(o)
	if e := d.Record.Packages["a|1.0.0"]; len(d.Delete) != 1 || e.Stage != "uninstall" || e.State != "in_progress" ||
		e.ContainerSHA != newer {
		t.Errorf("put back, it is %+v; deleted %v", e, d.Delete)
	}
}

// TestMovedIsNotedOnce: the pin keeps the first node that found the tag moved; every node has its event.
func TestMovedIsNotedOnce(t *testing.T) {
	pin := pinFor("", first)
	pin.Moved, pin.Node = newer, "node-9"
	d := lifecycle.Next(pinning(see(spec(pkg("a@1.0.0")), node(applying), pods(apply.running("a@1.0.0"))),
		pinsOf(pin), newer, false))
	if len(d.Moved) != 0 || !slices.ContainsFunc(d.Changes,
		func(c lifecycle.Change) bool { return c.Reason == v1alpha1.ReasonImageMoved }) {
		t.Errorf("noted %v, told %v", d.Moved, d.Changes)
	}
}

// TestImageNotAllowed: no image that the cluster does not allow uninstalls a package, and who waits for it hears what
// helps.
func TestImageNotAllowed(t *testing.T) {
	for _, c := range []struct {
		name    string
		derived situation.Derived
		pins    lifecycle.Pins
		starts  bool
	}{
		{"allowed", situation.Derived{}, nil, true},
		{
			"of a registry that is not",
			situation.Derived{Refused: "spec.packages.a.image: not from there"},
			pinsOf(pinFor("", first)), false,
		},
		{
			"without the digest that is demanded",
			situation.Derived{Undigested: "spec.packages.a.containerSHA: is missing"},
			pinsOf(), false,
		},
		{
			"the same, and images are not pinned",
			situation.Derived{Undigested: "spec.packages.a.containerSHA: is missing"},
			nil, false,
		},
		{
			"without it, but it is pinned",
			situation.Derived{Undigested: "spec.packages.a.containerSHA: is missing"},
			pinsOf(pinFor("", first)), true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.derived.Hash, c.derived.Definition, c.derived.Uninstallable = "1", "old", true
			r := see(kept(pkg("a@1.0.0").def("old")), node(config.complete("a@1.0.0").def("old")), deleting)
			o := pinning(r, c.pins, "", false)
			o.Retained["old"] = situation.PreparePackage(o.Retained["old"].Package, c.derived)
			d := lifecycle.Next(o)
			if (len(d.Start) == 1) != c.starts {
				t.Errorf("starts %+v", d.Start)
			}
			if c.starts {
				return
			}
			w := d.Record.Wait
			if w == nil || w.Reason != v1alpha1.ReasonImageNotAllowed || w.Frees != record.FreesAuthor ||
				!strings.Contains(w.Message, "spec.packages.a.") || !strings.Contains(w.Message, "put version 1.0.0 back") ||
				!strings.Contains(w.Message, v1alpha1.AnnotationAbandonUninstall) {
				t.Errorf("it waits for %+v", w)
			}
		})
	}
}
