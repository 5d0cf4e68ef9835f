package workload_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

var options = workload.Options{
	Namespace: "skyhook", AgentImage: "ghcr.io/a/agent:1.4.0", CopyDirRoot: "/var/lib/skyhook",
	AgentLogRoot:    "/var/log/skyhook",
	ImagePullSecret: "pull", PriorityClass: "skyhook-packages", InterruptMemory: resource.MustParse("256Mi"),
	RuntimeTaint: corev1.Taint{Key: "skyhook.nvidia.com", Value: "runtime-required", Effect: corev1.TaintEffectNoSchedule},
}

// read decodes YAML strictly: a field that the type does not have fails the test.
func read[T any](t *testing.T, text string) *T {
	t.Helper()
	object := new(T)
	if err := yaml.UnmarshalStrict([]byte(strings.ReplaceAll(text, "\t", "  ")), object); err != nil {
		t.Fatal(err)
	}
	return object
}

const skyhookYAML = `
metadata: {name: demo, uid: 1c5b, generation: 7}
spec:
  additionalTolerations: [{key: gpu, operator: Exists}]
  packages:
    tuning:
      version: 1.2.0
      image: localhost:5000/a/tuning:ignored
      configMap: {apply.sh: echo, level: "3"}
      env: [{name: LEVEL, value: "3"}, {name: SKYHOOK_LOG_DIR, value: mine}]
      gracefulShutdown: 90s500ms
      resources: {cpuRequest: 50m, cpuLimit: 1000m, memoryRequest: 64Mi, memoryLimit: 1Gi}
    base:
      version: 2.0.0
      image: ghcr.io/a/base
`

const podYAML = `
metadata:
  name: demo-tuning-1-2-0-apply-node-1-09c7a8fe
  namespace: skyhook
  labels:
    skyhook.nvidia.com/name: demo
    skyhook.nvidia.com/package: tuning-1.2.0
  annotations:
    skyhook.nvidia.com/package: '{"name":"tuning","version":"1.2.0","skyhook":"demo","stage":"apply","image":"localhost:5000/a/tuning","agent":"ghcr.io/a/agent:1.4.0"}'
    skyhook.nvidia.com/run: t4x2
    skyhook.nvidia.com/hash: HASH
  ownerReferences:
  - {apiVersion: skyhook.nvidia.com/v1alpha1, kind: Skyhook, name: demo, uid: 1c5b, controller: true, blockOwnerDeletion: true}
spec:
  nodeName: node-1
  priorityClassName: skyhook-packages
  restartPolicy: OnFailure
  hostPID: true
  hostNetwork: true
  automountServiceAccountToken: false
  enableServiceLinks: false
  terminationGracePeriodSeconds: 90
  imagePullSecrets: [{name: pull}]
  tolerations:
  - {key: node.kubernetes.io/unschedulable, operator: Exists}
  - {key: skyhook.nvidia.com, operator: Equal, value: runtime-required, effect: NoSchedule}
  - {key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute}
  - {key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute}
  - {key: gpu, operator: Exists}
  volumes:
  - {name: root-mount, hostPath: {path: /}}
  - {name: metadata-node-1-571ea13e, configMap: {name: demo-node-1-metadata-898a45d7}}
  - {name: tuning, configMap: {name: demo-tuning-1.2.0-ed71e38596-0a84eeb985}}
  initContainers:
  - name: tuning-init
    image: localhost:5000/a/tuning:1.2.0
    imagePullPolicy: Always
    command: [/bin/sh, -c, THE-COPY-COMMAND]
    env: [{name: SKYHOOK_DIR, value: /var/lib/skyhook/demo/tuning-1.2.0-1c5b-7}]
    securityContext: {privileged: true}
    volumeMounts:
    - {name: root-mount, mountPath: /root, mountPropagation: HostToContainer}
    - {name: metadata-node-1-571ea13e, mountPath: /skyhook-package/node-metadata}
    - {name: tuning, mountPath: /skyhook-configmap}
    resources: &resources
      requests: {cpu: 50m, memory: 64Mi}
      limits: {cpu: "1", memory: 1Gi}
    terminationMessagePolicy: FallbackToLogsOnError
  - name: tuning-apply
    image: ghcr.io/a/agent:1.4.0
    imagePullPolicy: Always
    args: [apply, /root, /var/lib/skyhook/demo/tuning-1.2.0-1c5b-7]
    env: &env
    - {name: LEVEL, value: "3"}
    - {name: SKYHOOK_LOG_DIR, value: mine}
    - {name: SKYHOOK_LOG_DIR, value: /var/log/skyhook/demo}
    - {name: SKYHOOK_ROOT_DIR, value: /var/lib/skyhook/demo}
    - {name: COPY_RESOLV, value: "false"}
    - {name: SKYHOOK_RESOURCE_ID, value: demo-1c5b-7_tuning_1.2.0}
    - {name: SKYHOOK_NODE_ORDER, value: "12"}
    - {name: SKYHOOK_AGENT_STOP_SECONDS, value: "87"}
    securityContext: {privileged: true}
    volumeMounts: &mounts
    - {name: root-mount, mountPath: /root, mountPropagation: HostToContainer}
    - {name: metadata-node-1-571ea13e, mountPath: /skyhook-package/node-metadata}
    - {name: tuning, mountPath: /skyhook-package/configmaps}
    resources: *resources
    terminationMessagePolicy: FallbackToLogsOnError
  - name: tuning-applycheck
    image: ghcr.io/a/agent:1.4.0
    imagePullPolicy: IfNotPresent
    args: [apply-check, /root, /var/lib/skyhook/demo/tuning-1.2.0-1c5b-7]
    env: *env
    securityContext: {privileged: true}
    volumeMounts: *mounts
    resources: *resources
    terminationMessagePolicy: FallbackToLogsOnError
  containers:
  - name: done
    image: ghcr.io/a/agent:1.4.0
    imagePullPolicy: IfNotPresent
    args: [complete, /root, /var/lib/skyhook/demo/tuning-1.2.0-1c5b-7]
    env:
    - {name: SKYHOOK_LOG_DIR, value: /var/log/skyhook/demo}
    - {name: SKYHOOK_ROOT_DIR, value: /var/lib/skyhook/demo}
    - {name: COPY_RESOLV, value: "false"}
    - {name: SKYHOOK_RESOURCE_ID, value: demo-1c5b-7_tuning_1.2.0}
    - {name: SKYHOOK_NODE_ORDER, value: "12"}
    - {name: SKYHOOK_AGENT_STOP_SECONDS, value: "87"}
`

func task(t *testing.T, pkg string) workload.Task {
	t.Helper()
	return workload.Task{
		Skyhook: read[v1alpha1.Skyhook](t, skyhookYAML), Package: pkg, Stage: v1alpha1.StageApply, Run: "t4x2", Generation: 7,
		Node: "node-1", Order: 12,
	}
}

func build(t *testing.T, o workload.Options, task workload.Task) *corev1.Pod {
	t.Helper()
	pod, err := o.Pod(task)
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

// TestPod pins the whole pod: packages and agents made by others depend on its shape.
func TestPod(t *testing.T) {
	k := task(t, "tuning")
	pod := build(t, options, k)
	want := read[corev1.Pod](t,
		strings.ReplaceAll(podYAML, "HASH", workload.Hash(k.Skyhook, k.Skyhook.Spec.Packages["tuning"])))
	want.Spec.InitContainers[0].Command[2] = pod.Spec.InitContainers[0].Command[2] // what it does is tested by running it
	if diff := cmp.Diff(want, pod); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestPodPlain is a package with nothing optional.
func TestPodPlain(t *testing.T) {
	o := options
	o.ImagePullSecret, o.PriorityClass = "", ""
	k := task(t, "base")
	k.Skyhook.Spec.AdditionalTolerations = nil
	spec := build(t, o, k).Spec
	if spec.TerminationGracePeriodSeconds != nil || spec.ImagePullSecrets != nil || len(spec.Volumes) != 2 ||
		len(spec.Tolerations) != 4 {
		t.Errorf("grace period, pull secrets, volumes or tolerations: %+v", spec)
	}
	if spec.ServiceAccountName != "" || spec.PriorityClassName != "" || spec.ActiveDeadlineSeconds != nil ||
		spec.Affinity != nil {
		t.Errorf("a field is set that others expect to be unset: %+v", spec)
	}
	for _, c := range spec.InitContainers {
		if len(c.VolumeMounts) != 2 || c.Resources.Requests != nil || c.Resources.Limits != nil {
			t.Errorf("%s: mounts %v, resources %v", c.Name, c.VolumeMounts, c.Resources)
		}
	}
	if got := len(spec.InitContainers[1].Env); got != 5 {
		t.Errorf("%d variables, want the operator's 5", got)
	}
}

func TestPodImages(t *testing.T) {
	const digest = "sha256:0000000000000000000000000000000000000000000000000000000000000001"
	for _, c := range []struct {
		name                     string
		image, sha, override     string
		wantImage, wantID, agent string
	}{
		{"tag by version", "a/b", "", "", "a/b:1.2.0", "a/b", options.AgentImage},
		{"a tag in image is passed over", "a/b:9", "", "", "a/b:1.2.0", "a/b", options.AgentImage},
		{
			"a registry's port is no tag", "localhost:5000/b", "", "", "localhost:5000/b:1.2.0", "localhost:5000/b",
			options.AgentImage,
		},
		{"digest", "a/b:9", digest, "", "a/b@" + digest, "a/b", options.AgentImage},
		{"a digest in image", "a/b@" + digest, "", "", "a/b@" + digest, "a/b", options.AgentImage},
		{"a digest in image after a tag", "a/b:9@" + digest, "", "", "a/b@" + digest, "a/b", options.AgentImage},
		{"the same digest twice", "a/b@" + digest, digest, "", "a/b@" + digest, "a/b", options.AgentImage},
		{"another agent", "a/b", "", "x/agent:2", "a/b:1.2.0", "a/b", "x/agent:2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := task(t, "tuning")
			pkg := k.Skyhook.Spec.Packages["tuning"]
			pkg.Image, pkg.ContainerSHA, pkg.AgentImageOverride = c.image, c.sha, c.override
			k.Skyhook.Spec.Packages["tuning"] = pkg
			pod := build(t, options, k)
			var got []string
			for _, x := range append(pod.Spec.InitContainers, pod.Spec.Containers...) {
				got = append(got, x.Image)
			}
			if diff := cmp.Diff([]string{c.wantImage, c.agent, c.agent, c.agent}, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			id := pod.Annotations["skyhook.nvidia.com/package"]
			if !strings.Contains(id, `"image":"`+c.wantID+`"`) ||
				strings.Contains(id, `"containerSHA":"`+digest) != strings.Contains(c.wantImage, digest) {
				t.Errorf("identity %s", id)
			}
		})
	}
}

// TestPodContainerNames: with the longest names, every container name is one that the API server takes.
func TestPodContainerNames(t *testing.T) {
	long := strings.Repeat("p", 50)
	k := task(t, "tuning")
	k.Skyhook.Spec.Packages[long] = k.Skyhook.Spec.Packages["tuning"]
	for _, c := range []struct {
		pkg   string
		stage v1alpha1.Stage
		want  string
	}{
		{"tuning", v1alpha1.StageConfig, "tuning-init tuning-config tuning-configcheck"},
		{
			long, v1alpha1.StagePostInterrupt,
			strings.ReplaceAll("P-init P-post-interrupt P-post-interruptcheck", "P", strings.Repeat("p", 43)),
		},
	} {
		k.Package, k.Stage = c.pkg, c.stage
		var names []string
		for _, x := range build(t, options, k).Spec.InitContainers {
			names = append(names, x.Name)
			if errs := validation.IsDNS1123Label(x.Name); len(errs) > 0 {
				t.Errorf("%s: %v", x.Name, errs)
			}
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

// TestPodOfEveryRun: the name tells stage and version but not the run, so that creating a pod twice is harmless.
func TestPodOfEveryRun(t *testing.T) {
	k := task(t, "tuning")
	first := build(t, options, k)
	k.Run, k.Order = "t4x3", 13
	second := build(t, options, k)
	if first.Name != second.Name {
		t.Errorf("another run is named %s, not %s", second.Name, first.Name)
	}
	if second.Annotations["skyhook.nvidia.com/run"] != "t4x3" {
		t.Errorf("annotations %v", second.Annotations)
	}
	k.Stage = v1alpha1.StageConfig
	if third := build(t, options, k); third.Name == first.Name {
		t.Error("another stage has the same name")
	}
}

func TestGracePeriod(t *testing.T) {
	for _, c := range []struct {
		set  *metav1.Duration
		want *int64
		stop string
	}{
		{nil, nil, ""},
		{&metav1.Duration{Duration: 0}, new(int64(0)), "1"},
		{&metav1.Duration{Duration: 1999 * time.Millisecond}, new(int64(1)), "1"},
		{&metav1.Duration{Duration: time.Hour + 30*time.Minute}, new(int64(5400)), "5397"},
	} {
		k := task(t, "base")
		pkg := k.Skyhook.Spec.Packages["base"]
		pkg.GracefulShutdown = c.set
		k.Skyhook.Spec.Packages["base"] = pkg
		pod := build(t, options, k)
		if diff := cmp.Diff(c.want, pod.Spec.TerminationGracePeriodSeconds); diff != "" {
			t.Errorf("%v: -want +got\n%s", c.set, diff)
		}
		if got := agentStop(pod); got != c.stop {
			t.Errorf("%v: the agent stops a step after %q s, want %q", c.set, got, c.stop)
		}
	}
}

func agentStop(pod *corev1.Pod) string {
	for _, v := range pod.Spec.InitContainers[1].Env {
		if v.Name == "SKYHOOK_AGENT_STOP_SECONDS" {
			return v.Value
		}
	}
	return ""
}

// TestHash: what a pod takes from the spec changes the hash; nothing else does.
func TestHash(t *testing.T) {
	pkgOf := func(s *v1alpha1.Skyhook, change func(*v1alpha1.Package)) {
		pkg := s.Spec.Packages["tuning"]
		change(&pkg)
		s.Spec.Packages["tuning"] = pkg
	}
	for _, c := range []struct {
		name   string
		change func(*v1alpha1.Skyhook)
		same   bool
	}{
		{"nothing", func(*v1alpha1.Skyhook) {}, true},
		{"image", func(s *v1alpha1.Skyhook) { pkgOf(s, func(p *v1alpha1.Package) { p.Image = "x/y" }) }, false},
		{"a tag in image", func(s *v1alpha1.Skyhook) {
			pkgOf(s, func(p *v1alpha1.Package) { p.Image = "localhost:5000/a/tuning:other" })
		}, true},
		{"version", func(s *v1alpha1.Skyhook) { pkgOf(s, func(p *v1alpha1.Package) { p.Version = "1.2.1" }) }, false},
		{
			"containerSHA", func(s *v1alpha1.Skyhook) { pkgOf(s, func(p *v1alpha1.Package) { p.ContainerSHA = "sha256:1" }) },
			false,
		},
		{
			"a digest in image", func(s *v1alpha1.Skyhook) { pkgOf(s, func(p *v1alpha1.Package) { p.Image += "@sha256:1" }) },
			false,
		},
		{"agent", func(s *v1alpha1.Skyhook) { pkgOf(s, func(p *v1alpha1.Package) { p.AgentImageOverride = "x:1" }) }, false},
		{
			"a config value", func(s *v1alpha1.Skyhook) { pkgOf(s, func(p *v1alpha1.Package) { p.ConfigMap["level"] = "4" }) },
			false,
		},
		{
			"a config key", func(s *v1alpha1.Skyhook) { pkgOf(s, func(p *v1alpha1.Package) { p.ConfigMap["new"] = "" }) }, false,
		},
		{"no config", func(s *v1alpha1.Skyhook) { pkgOf(s, func(p *v1alpha1.Package) { p.ConfigMap = nil }) }, false},
		{"an env value", func(s *v1alpha1.Skyhook) { pkgOf(s, func(p *v1alpha1.Package) { p.Env[0].Value = "4" }) }, false},
		{"the order of env", func(s *v1alpha1.Skyhook) {
			pkgOf(s, func(p *v1alpha1.Package) { p.Env[0], p.Env[1] = p.Env[1], p.Env[0] })
		}, false},
		{"a resource", func(s *v1alpha1.Skyhook) {
			pkgOf(s, func(p *v1alpha1.Package) { p.Resources.MemoryLimit = resource.MustParse("2Gi") })
		}, false},
		{"a resource, written otherwise", func(s *v1alpha1.Skyhook) {
			pkgOf(s, func(p *v1alpha1.Package) {
				p.Resources.CPULimit, p.Resources.MemoryLimit = resource.MustParse("1"), resource.MustParse("1024Mi")
			})
		}, true},
		{"no resources", func(s *v1alpha1.Skyhook) { pkgOf(s, func(p *v1alpha1.Package) { p.Resources = nil }) }, false},
		{"grace period", func(s *v1alpha1.Skyhook) {
			pkgOf(s, func(p *v1alpha1.Package) { p.GracefulShutdown.Duration = time.Minute })
		}, false},
		{"grace period, less than a second", func(s *v1alpha1.Skyhook) {
			pkgOf(s, func(p *v1alpha1.Package) { p.GracefulShutdown.Duration = 90 * time.Second })
		}, true},
		{"tolerations", func(s *v1alpha1.Skyhook) { s.Spec.AdditionalTolerations = nil }, false},

		{"generation", func(s *v1alpha1.Skyhook) { s.Generation++ }, true},
		{
			"another package",
			func(s *v1alpha1.Skyhook) { s.Spec.Packages["base"] = v1alpha1.Package{Image: "z", Version: "9.0.0"} }, true,
		},
		{"budget", func(s *v1alpha1.Skyhook) { s.Spec.InterruptionBudget.Count = new(1) }, true},
		{"dependencies", func(s *v1alpha1.Skyhook) {
			pkgOf(s, func(p *v1alpha1.Package) { p.DependsOn = map[string]string{"base": "2.0.0"} })
		}, true},
		{"interrupt", func(s *v1alpha1.Skyhook) {
			pkgOf(s, func(p *v1alpha1.Package) { p.Interrupt = &v1alpha1.Interrupt{Type: v1alpha1.InterruptReboot} })
		}, true},
		{"labels and annotations", func(s *v1alpha1.Skyhook) {
			s.Labels, s.Annotations = map[string]string{"a": "b"}, map[string]string{"a": "b"}
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := read[v1alpha1.Skyhook](t, skyhookYAML)
			before := workload.Hash(s, s.Spec.Packages["tuning"])
			c.change(s)
			if after := workload.Hash(s, s.Spec.Packages["tuning"]); (after == before) != c.same {
				t.Errorf("before %s, after %s", before, after)
			}
		})
	}
}

// TestHashOfAllUnsetResources: an object of zeros, as decoding and encoding leaves it behind, is the same as none.
func TestHashOfAllUnsetResources(t *testing.T) {
	s := read[v1alpha1.Skyhook](t, skyhookYAML)
	before := workload.Hash(s, s.Spec.Packages["base"])
	pkg := s.Spec.Packages["base"]
	pkg.Resources = &v1alpha1.ResourceRequirements{}
	s.Spec.Packages["base"] = pkg
	if after := workload.Hash(s, s.Spec.Packages["base"]); after != before {
		t.Errorf("before %s, after %s", before, after)
	}
}

// TestPodNamesSecretVariables: the agent learns which values it must not print, and so does nobody else.
func TestPodNamesSecretVariables(t *testing.T) {
	k := task(t, "tuning")
	pkg := k.Skyhook.Spec.Packages["tuning"]
	pkg.Env = *read[[]corev1.EnvVar](t, `
- {name: PLAIN, value: "1"}
- {name: TOKEN, valueFrom: {secretKeyRef: {name: s, key: token}}}
- {name: LEVEL, valueFrom: {configMapKeyRef: {name: c, key: level}}}
- {name: KEY, valueFrom: {secretKeyRef: {name: s, key: key}}}
- {name: TOKEN, valueFrom: {secretKeyRef: {name: other, key: token}}}
- {name: URL, value: "https://$(TOKEN)@host"}
`)
	k.Skyhook.Spec.Packages["tuning"] = pkg
	spec := build(t, options, k).Spec
	for i, want := range []string{"", "TOKEN,KEY", "TOKEN,KEY"} {
		got := ""
		for _, v := range spec.InitContainers[i].Env {
			if v.Name == "SKYHOOK_SECRET_ENV" {
				got = v.Value
			}
		}
		if got != want {
			t.Errorf("%s: %q, want %q", spec.InitContainers[i].Name, got, want)
		}
	}
}
