//go:build integration

package operator_test

import (
	"flag"
	"io"
	"net/http"
	"sync/atomic"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/capability"
	"github.com/skyhook-operator/skyhook/internal/settings"
	"github.com/skyhook-operator/skyhook/pkg/image/label"
	"github.com/skyhook-operator/skyhook/test/registry"
)

// TestFlags: a flag wins over the environment.
func TestFlags(t *testing.T) {
	for _, c := range []struct {
		name        string
		environment bool
		arguments   []string
		want        bool
		fails       bool
	}{
		{name: "neither"},
		{name: "the environment", environment: true, want: true},
		{name: "the flag", arguments: []string{"--discover-uninstall"}, want: true},
		{name: "off by flag", environment: true, arguments: []string{"--discover-uninstall=false"}},
		{name: "no truth", arguments: []string{"--discover-uninstall=maybe"}, fails: true},
		{name: "no such flag", arguments: []string{"--discover"}, fails: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := settings.Options{DiscoverUninstall: c.environment}
			flags := flag.NewFlagSet("test", flag.ContinueOnError)
			flags.SetOutput(io.Discard)
			o.Flags(flags)
			err := flags.Parse(c.arguments)
			if (err != nil) != c.fails || !c.fails && o.DiscoverUninstall != c.want {
				t.Errorf("got %t, error %v", o.DiscoverUninstall, err)
			}
		})
	}
}

// TestDiscoveryIsOffUnlessWanted: the same Skyhook, first with an operator as it comes, then with one that asks images.
func TestDiscoveryIsOffUnlessWanted(t *testing.T) {
	f := newCluster(t, 1)
	var asked atomic.Int32
	repository := registry.Serve(t, func(http.ResponseWriter, *http.Request) bool { asked.Add(1); return false }) + "/packages/tuning"
	img, err := mutate.Config(empty.Image, v1.Config{Labels: map[string]string{label.Uninstall: "true"}})
	f.must(err)
	registry.Push(t, repository+":1.0.0", img)
	asked.Store(0)

	p := pkg("1.0.0", nil)
	p.Image = repository
	s := f.skyhook("discover", map[string]v1alpha1.Package{"tuning": p})
	s = f.createComplete(s)
	if _, found := s.Annotations[v1alpha1.AnnotationUninstallCapability]; found || asked.Load() != 0 {
		t.Errorf("images are asked although nobody wants it: %v", s.Annotations)
	}

	f.stop()
	f.variables = map[string]string{"DISCOVER_UNINSTALL": "true", "IMAGE_PULL_SECRET": pullSecret}
	f.startOperator()
	s = f.until(s, "the image has been asked", func(x *v1alpha1.Skyhook) bool { return capability.Enabled(x, "tuning") })
	if s.Generation != 1 || asked.Load() == 0 {
		t.Errorf("generation %d, asked %d times", s.Generation, asked.Load())
	}

	p.Uninstall = &v1alpha1.Uninstall{Enabled: new(false)}
	s = f.edit(s, func(s *v1alpha1.Skyhook) { s.Spec.Packages["tuning"] = p })
	if s = f.untilStatus(s, v1alpha1.StatusComplete); capability.Enabled(s, "tuning") || s.Annotations[v1alpha1.AnnotationUninstallCapability] == "" {
		t.Errorf("the spec's word does not win over the image's: %v", s.Annotations)
	}
}
