package workload_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

const sha = "sha256:4bcff63911fcb4448bd4fdacec207030997caf25e9bea4045fa6c8c44de311d1"

// TestPulledImage has one line per form in which kubelets report what they pulled.
func TestPulledImage(t *testing.T) {
	for _, c := range []struct{ name, image, imageID, want string }{
		{"containerd and CRI-O", "ghcr.io/a/tuning", "ghcr.io/a/tuning@" + sha, sha},
		{"Docker", "ghcr.io/a/tuning", "docker-pullable://ghcr.io/a/tuning@" + sha, sha},
		{"a registry with a port", "localhost:5000/a/tuning", "localhost:5000/a/tuning@" + sha, sha},
		{"a short name of Docker Hub", "nginx", "docker.io/library/nginx@" + sha, sha},
		{"the id of a configuration", "ghcr.io/a/tuning", sha, ""},
		{"the id of a configuration, by Docker", "ghcr.io/a/tuning", "docker://" + sha, ""},
		{"the digest in another repository", "ghcr.io/a/tuning", "ghcr.io/mirror/tuning@" + sha, ""},
		{"no digest", "ghcr.io/a/tuning", "ghcr.io/a/tuning:1.2.0", ""},
		{"half a digest", "ghcr.io/a/tuning", "ghcr.io/a/tuning@sha256:4bcf", ""},
		{"nothing yet", "ghcr.io/a/tuning", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := read[v1alpha1.Skyhook](t, skyhookYAML)
			pkg := s.Spec.Packages["tuning"]
			pkg.Image, pkg.ContainerSHA = c.image, ""
			s.Spec.Packages["tuning"] = pkg
			pod := build(t, options, workload.Task{
				Skyhook: s, Package: "tuning", Stage: v1alpha1.StageApply, Run: "r1",
				Node: "node-1",
			})
			pod.Status.InitContainerStatuses = []corev1.ContainerStatus{
				{Name: "injected", ImageID: "ghcr.io/a/tuning@" + strings.ReplaceAll(sha, "4", "5")},
				{Name: "tuning-init", ImageID: c.imageID},
				{Name: "tuning-apply", ImageID: "ghcr.io/a/agent@" + strings.ReplaceAll(sha, "4", "6")},
			}
			got, err := workload.Observe(pod)
			if err != nil || got.Digest != c.want || got.ByDigest || got.Image != c.image {
				t.Errorf("got %q of %s, by digest %t, error %v", got.Digest, got.Image, got.ByDigest, err)
			}
		})
	}
}

// TestPinnedPod: a pin replaces the version in the reference and nothing else; a digest of the spec wins; and the pod's
// hash stays, so that a pin replaces no pod that runs.
func TestPinnedPod(t *testing.T) {
	other := strings.ReplaceAll(sha, "4", "5")
	for _, c := range []struct{ name, image, containerSHA, pin, want string }{
		{"not pinned", "localhost:5000/a/tuning", "", "", "localhost:5000/a/tuning:1.2.0"},
		{"pinned", "localhost:5000/a/tuning:1.2.0", "", sha, "localhost:5000/a/tuning@" + sha},
		{"containerSHA wins", "localhost:5000/a/tuning", other, sha, "localhost:5000/a/tuning@" + other},
		{"a digest in image wins", "localhost:5000/a/tuning@" + other, "", sha, "localhost:5000/a/tuning@" + other},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := read[v1alpha1.Skyhook](t, skyhookYAML)
			pkg := s.Spec.Packages["tuning"]
			pkg.Image, pkg.ContainerSHA = c.image, c.containerSHA
			s.Spec.Packages["tuning"] = pkg
			task := workload.Task{
				Skyhook: s, Package: "tuning", Stage: v1alpha1.StageApply, Run: "r1", Node: "node-1",
				Digest: c.pin,
			}
			pod := build(t, options, task)
			if got := pod.Spec.InitContainers[0].Image; got != c.want {
				t.Errorf("it runs %s", got)
			}
			if pod.Annotations[v1alpha1.AnnotationHash] != workload.Hash(s, pkg) {
				t.Error("its hash is not that of the spec")
			}
			_, digest, byDigest := strings.Cut(c.want, "@")
			if got, err := workload.Observe(pod); err != nil || got.ByDigest != byDigest || got.Digest != digest {
				t.Errorf("it tells %q, by digest %t, error %v", got.Digest, got.ByDigest, err)
			}
		})
	}
}

func TestResolves(t *testing.T) {
	for runtime, want := range map[string]bool{
		"containerd://2.1.4": true, "docker://27.0.1": true, "cri-o://1.33.0": false, "": false, "containerd": true,
	} {
		if got := workload.Resolves(&corev1.NodeSystemInfo{ContainerRuntimeVersion: runtime}); got != want {
			t.Errorf("%q: %t", runtime, got)
		}
	}
}

// TestPinRevision: the name is the same for whatever a node pulled, so that only one can be kept, and another for
// anything else that is pinned.
func TestPinRevision(t *testing.T) {
	s := read[v1alpha1.Skyhook](t, skyhookYAML)
	pin := lifecycle.Pin{
		PinKey: lifecycle.PinKey{Package: "tuning", Version: "1.2.0", Image: "x/tuning", Scope: "arm64"}, Digest: sha,
		Moved: "sha256:2", Node: "node-7",
	}
	named := func(change func(*lifecycle.Pin)) string {
		other := pin
		change(&other)
		r, err := options.PinRevision(s, other)
		if err != nil {
			t.Fatal(err)
		}
		return r.Name
	}
	r, err := options.PinRevision(s, pin)
	if err != nil {
		t.Fatal(err)
	}
	if r.Annotations[v1alpha1.AnnotationMoved], err = workload.Moved(pin); err != nil {
		t.Fatal(err)
	}
	if got, err := workload.ReadPin(r); err != nil || got != pin || !workload.IsPin(r) {
		t.Errorf("read %+v, error %v", got, err)
	}
	if named(func(p *lifecycle.Pin) { p.Digest, p.Moved = "sha256:3", "" }) != r.Name {
		t.Error("two digests could be kept for one tag")
	}
	for _, change := range []func(*lifecycle.Pin){
		func(p *lifecycle.Pin) { p.Package = "other" }, func(p *lifecycle.Pin) { p.Version = "1.2.1" },
		func(p *lifecycle.Pin) { p.Image = "y/tuning" }, func(p *lifecycle.Pin) { p.Scope = "" },
	} {
		if named(change) == r.Name {
			t.Error("what is pinned is not told apart")
		}
	}
	r.Data.Raw = []byte(`{"package":"tuning"}`)
	if _, err := workload.ReadPin(r); err == nil || !strings.Contains(err.Error(), r.Name) {
		t.Errorf("error %v", err)
	}
	if _, _, err := workload.ReadRevision(r); err == nil {
		t.Error("a pin is taken for a definition")
	}
}

// TestPullPolicy: what cannot change is not asked for again, and the agent once for a pod.
func TestPullPolicy(t *testing.T) {
	const always, present = corev1.PullAlways, corev1.PullIfNotPresent
	for _, c := range []struct {
		name                string
		option              corev1.PullPolicy
		pin, agent          string
		pkgs, stage, others corev1.PullPolicy
	}{
		{"by tag", "", "", "x/agent:1", always, always, present},
		{"pinned", "", sha, "x/agent:1", present, always, present},
		{"pinned, and the agent by digest", "", sha, "x/agent@" + sha, present, present, present},
		{"always", always, sha, "x/agent@" + sha, always, always, always},
		{"what was loaded into nodes", present, "", "x/agent:1", present, present, present},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := options
			o.PullPolicy, o.AgentImage = c.option, c.agent
			pod := build(t, o, workload.Task{
				Skyhook: read[v1alpha1.Skyhook](t, skyhookYAML), Package: "tuning", Stage: v1alpha1.StageApply, Run: "r1",
				Node: "node-1", Digest: c.pin,
			})
			want := []corev1.PullPolicy{c.pkgs, c.stage, c.others, c.others}
			for i, container := range append(pod.Spec.InitContainers, pod.Spec.Containers...) {
				if container.ImagePullPolicy != want[i] {
					t.Errorf("that of %s is %s, want %s", container.Name, container.ImagePullPolicy, want[i])
				}
			}
		})
	}
}
