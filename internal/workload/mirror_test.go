package workload_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/registry"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

func mirrored(t *testing.T, mirror registry.Mirror, change func(*v1alpha1.Package), pin string) *corev1.Pod {
	t.Helper()
	s := read[v1alpha1.Skyhook](t, skyhookYAML)
	pkg := s.Spec.Packages["tuning"]
	pkg.Image, pkg.ContainerSHA = "ghcr.io/a/tuning", ""
	change(&pkg)
	s.Spec.Packages["tuning"] = pkg
	o := options
	o.Mirror = mirror
	return build(t, o, workload.Task{Skyhook: s, Package: "tuning", Stage: v1alpha1.StageApply, Run: "r1", Node: "node-1", Digest: pin})
}

func keep(*v1alpha1.Package) {}

// TestMirror: nodes pull what a Skyhook names from the mirror, and nothing else; who asks the pod gets the spec's name.
func TestMirror(t *testing.T) {
	const agent = "ghcr.io/b/agent:2"
	for _, c := range []struct {
		name          string
		change        func(*v1alpha1.Package)
		pin           string
		image, agents string
	}{
		{"by version", keep, "", "m.example/a/tuning:1.2.0", options.AgentImage},
		{"pinned", keep, sha, "m.example/a/tuning@" + sha, options.AgentImage},
		{"containerSHA", func(p *v1alpha1.Package) { p.ContainerSHA = sha }, "", "m.example/a/tuning@" + sha, options.AgentImage},
		{"an agent of its own", func(p *v1alpha1.Package) { p.AgentImageOverride = agent }, "", "m.example/a/tuning:1.2.0", "m.example/b/agent:2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := mirrored(t, "m.example", c.change, c.pin)
			plain := mirrored(t, "", c.change, c.pin)
			got := []string{pod.Spec.InitContainers[0].Image, pod.Spec.InitContainers[1].Image, pod.Spec.InitContainers[2].Image, pod.Spec.Containers[0].Image}
			if diff := cmp.Diff([]string{c.image, c.agents, c.agents, c.agents}, got); diff != "" {
				t.Error(diff)
			}
			seen, err := workload.Observe(pod)
			if err != nil || seen.Image != "ghcr.io/a/tuning" {
				t.Errorf("it tells of image %s, %v", seen.Image, err)
			}
			if pod.Name != plain.Name || pod.Annotations[v1alpha1.AnnotationHash] != plain.Annotations[v1alpha1.AnnotationHash] {
				t.Error("the mirror makes it another pod, so that it would replace one that runs")
			}
		})
	}
}

// TestPulledFromAMirror: the digest that a node got there pins the image by the spec's name.
func TestPulledFromAMirror(t *testing.T) {
	for imageID, want := range map[string]string{"m.example/a/tuning@" + sha: sha, "ghcr.io/a/tuning@" + sha: ""} {
		pod := mirrored(t, "m.example", keep, "")
		pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "tuning-init", ImageID: imageID}}
		if seen, err := workload.Observe(pod); err != nil || seen.Digest != want {
			t.Errorf("%s: %q, %v", imageID, seen.Digest, err)
		}
	}
}

// TestPullsElsewhere: only a pod that cannot pull its image is replaced when the mirror changes.
func TestPullsElsewhere(t *testing.T) {
	waiting := func(reason string) corev1.ContainerState {
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}
	}
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	for _, c := range []struct {
		name       string
		was, is    registry.Mirror
		agent      string
		state      corev1.ContainerState
		unreadable bool
		want       bool
	}{
		{"now from a mirror", "", "m.example", "", waiting("ImagePullBackOff"), false, true},
		{"at an attempt", "", "m.example", "", waiting("ErrImagePull"), false, true},
		{"from another mirror", "m.example", "n.example", "", waiting("ImagePullBackOff"), false, true},
		{"no longer from a mirror", "m.example", "", "", waiting("ImagePullBackOff"), false, true},
		{"from the same mirror", "m.example", "m.example", "", waiting("ImagePullBackOff"), false, false},
		{"never from a mirror", "", "", "", waiting("ImagePullBackOff"), false, false},
		{"with another agent", "", "", "ghcr.io/x/agent:v2", waiting("ImagePullBackOff"), false, true},
		{"it runs", "", "m.example", "", running, false, false},
		{"it is about to run", "", "m.example", "", waiting("PodInitializing"), false, false},
		{"it waits for something else", "", "m.example", "", waiting("CreateContainerConfigError"), false, false},
		{"nobody can read what it is", "", "m.example", "", waiting("ImagePullBackOff"), true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := mirrored(t, c.was, keep, "")
			pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "tuning-init", State: c.state}}
			seen, err := workload.Observe(pod)
			if err != nil {
				t.Fatal(err)
			}
			if c.unreadable {
				pod.Annotations = nil
			}
			o := options
			if o.Mirror = c.is; c.agent != "" {
				o.AgentImage = c.agent
			}
			if got := o.PullsElsewhere(pod, seen); got != c.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

// TestTolerationsOfAllPods stand before those of the Skyhook, and are not shared with the options.
func TestTolerationsOfAllPods(t *testing.T) {
	s := read[v1alpha1.Skyhook](t, skyhookYAML)
	task := workload.Task{Skyhook: s, Package: "tuning", Stage: v1alpha1.StageApply, Run: "r1", Node: "node-1"}
	before := build(t, options, task).Spec.Tolerations
	o := options
	o.Tolerations = []corev1.Toleration{{Key: "nvidia.com/gpu", Operator: corev1.TolerationOpExists, TolerationSeconds: new(int64(1))}}
	pod := build(t, o, task)
	own := len(s.Spec.AdditionalTolerations)
	want := append(append(append([]corev1.Toleration{}, before[:len(before)-own]...), o.Tolerations...), before[len(before)-own:]...)
	if diff := cmp.Diff(want, pod.Spec.Tolerations); diff != "" {
		t.Error(diff)
	}
	*pod.Spec.Tolerations[len(before)-own].TolerationSeconds = 2
	if *o.Tolerations[0].TolerationSeconds != 1 {
		t.Error("a pod changes the options")
	}
}
