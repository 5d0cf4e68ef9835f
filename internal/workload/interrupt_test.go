package workload_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

const interruptPodYAML = `
metadata:
  name: NAME
  namespace: skyhook
  labels:
    skyhook.nvidia.com/name: demo
    skyhook.nvidia.com/package: tuning-1.2.0
    skyhook.nvidia.com/interrupt: "True"
  annotations:
    skyhook.nvidia.com/package: '{"name":"tuning","version":"1.2.0","skyhook":"demo","stage":"interrupt","image":"localhost:5000/a/tuning","agent":"ghcr.io/a/agent:1.4.0"}'
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
  imagePullSecrets: [{name: pull}]
  tolerations:
  - {key: node.kubernetes.io/unschedulable, operator: Exists}
  - {key: skyhook.nvidia.com, operator: Equal, value: runtime-required, effect: NoSchedule}
  - {key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute}
  - {key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute}
  - {key: gpu, operator: Exists}
  volumes:
  - {name: root-mount, hostPath: {path: /}}
  initContainers:
  - name: interrupt
    image: ghcr.io/a/agent:1.4.0
    args: [interrupt, /root, /var/lib/skyhook/demo/tuning-1.2.0-1c5b-7, DATA]
    env:
    - {name: SKYHOOK_LOG_DIR, value: /var/log/skyhook/demo}
    - {name: SKYHOOK_ROOT_DIR, value: /var/lib/skyhook/demo}
    - {name: COPY_RESOLV, value: "false"}
    - {name: SKYHOOK_RESOURCE_ID, value: demo-1c5b-7_tuning_1.2.0}
    - {name: SKYHOOK_NODE_ORDER, value: "12"}
    - {name: SKYHOOK_RUN, value: t4x2}
    securityContext: {privileged: true}
    volumeMounts:
    - {name: root-mount, mountPath: /root, mountPropagation: HostToContainer}
    resources:
      requests: {cpu: 500m, memory: 256Mi}
      limits: {cpu: 500m, memory: 256Mi}
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
`

func interruptTask(t *testing.T, kind v1alpha1.InterruptType, services ...string) workload.Task {
	t.Helper()
	k := task(t, "tuning")
	k.Stage, k.Interrupt = v1alpha1.StageInterrupt, &v1alpha1.Interrupt{Type: kind, Services: services}
	return k
}

// TestInterruptPod pins the whole pod and its argument: agents made by others read them.
func TestInterruptPod(t *testing.T) {
	for _, c := range []struct {
		kind     v1alpha1.InterruptType
		services []string
		name     string
		data     string
	}{
		{kind: v1alpha1.InterruptReboot, name: "demo-interrupt-reboot-node-1-", data: "eyJ0eXBlIjoibm9kZV9yZXN0YXJ0In0="},
		{
			kind: v1alpha1.InterruptService, services: []string{"containerd", "kubelet"}, name: "demo-interrupt-service-node-1-",
			data: "eyJ0eXBlIjoic2VydmljZV9yZXN0YXJ0Iiwic2VydmljZXMiOlsiY29udGFpbmVyZCIsImt1YmVsZXQiXX0=",
		},
		{
			kind: v1alpha1.InterruptRestartAllServices, name: "demo-interrupt-restartallservices-node-1-",
			data: "eyJ0eXBlIjoicmVzdGFydF9hbGxfc2VydmljZXMifQ==",
		},
		{kind: v1alpha1.InterruptNoop, name: "demo-interrupt-noop-node-1-", data: "eyJ0eXBlIjoibm9fb3AifQ=="},
		// Agents in the field fail for ever on services that do not belong to the type.
		{
			kind: v1alpha1.InterruptReboot, services: []string{"kubelet"}, name: "demo-interrupt-reboot-node-1-",
			data: "eyJ0eXBlIjoibm9kZV9yZXN0YXJ0In0=",
		},
		{
			kind: v1alpha1.InterruptNoop, services: []string{"kubelet"}, name: "demo-interrupt-noop-node-1-",
			data: "eyJ0eXBlIjoibm9fb3AifQ==",
		},
	} {
		t.Run(string(c.kind), func(t *testing.T) {
			k := interruptTask(t, c.kind, c.services...)
			pod := build(t, options, k)
			text := strings.NewReplacer("NAME", pod.Name, "DATA", c.data, "HASH",
				workload.Hash(k.Skyhook, k.Skyhook.Spec.Packages["tuning"])).Replace(interruptPodYAML)
			if diff := cmp.Diff(read[corev1.Pod](t, text), pod); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if errs := validation.IsDNS1123Label(pod.Name); len(errs) > 0 || !strings.HasPrefix(pod.Name, c.name) {
				t.Errorf("the name is %s, want %s...: %v", pod.Name, c.name, errs)
			}
			if again := build(t, options, k); again.Name != pod.Name {
				t.Errorf("created again it is named %s, not %s", again.Name, pod.Name)
			}
		})
	}
}

// TestInterruptPodOfAnotherGeneration: the agent knows an interrupt by the run's generation, not by the Skyhook's.
func TestInterruptPodOfAnotherGeneration(t *testing.T) {
	k := interruptTask(t, v1alpha1.InterruptReboot)
	before := build(t, options, k)
	k.Skyhook.Generation++
	if diff := cmp.Diff(before, build(t, options, k)); diff != "" {
		t.Errorf("an edit elsewhere in the spec changes the pod:\n%s", diff)
	}
	k.Generation++
	if after := build(t, options, k); after.Name != before.Name ||
		cmp.Equal(before.Spec.InitContainers, after.Spec.InitContainers) {
		t.Error("another run's pod needs the same name and another resource id")
	}
}

// TestInterruptPodSaysWhichInterruptItIs: the agent can tell a reboot that is over, also where it finds none of its
// flags.
func TestInterruptPodSaysWhichInterruptItIs(t *testing.T) {
	for _, c := range []struct{ name, run, boot, want string }{
		{"the stage's run", "", "", "SKYHOOK_RUN=t4x2"},
		{"a run of its own", "i7", "", "SKYHOOK_RUN=i7"},
		{"the boot that it ends", "", "boot-1", "SKYHOOK_RUN=t4x2 SKYHOOK_BOOT_ID=boot-1"},
		{"both", "i7", "boot-1", "SKYHOOK_RUN=i7 SKYHOOK_BOOT_ID=boot-1"},
	} {
		for _, kind := range []v1alpha1.InterruptType{
			v1alpha1.InterruptReboot, v1alpha1.InterruptService, v1alpha1.InterruptRestartAllServices, v1alpha1.InterruptNoop,
		} {
			t.Run(c.name+" "+string(kind), func(t *testing.T) {
				k := interruptTask(t, kind)
				k.InterruptRun, k.BootID = c.run, c.boot
				pod := build(t, options, k)
				env := pod.Spec.InitContainers[0].Env
				var got []string
				for _, e := range env[len(env)-len(strings.Fields(c.want)):] {
					got = append(got, e.Name+"="+e.Value)
				}
				if text := strings.Join(got, " "); text != c.want {
					t.Errorf("the last variables are %s, want %s", text, c.want)
				}
				if run := pod.Annotations["skyhook.nvidia.com/run"]; run != "t4x2" {
					t.Errorf("the pod is of run %s; that is the stage's", run)
				}
			})
		}
	}
}

func TestInterruptPodWithAnotherAgent(t *testing.T) {
	k := interruptTask(t, v1alpha1.InterruptNoop)
	pkg := k.Skyhook.Spec.Packages["tuning"]
	pkg.AgentImageOverride = "x/agent:2"
	k.Skyhook.Spec.Packages["tuning"] = pkg
	if got := build(t, options, k).Spec.InitContainers[0].Image; got != "x/agent:2" {
		t.Errorf("the image is %s", got)
	}
}

func TestInterruptPodErrors(t *testing.T) {
	none := interruptTask(t, v1alpha1.InterruptReboot)
	none.Interrupt = nil
	for _, c := range []struct {
		task workload.Task
		want string
	}{
		{none, "package tuning: stage interrupt has no interrupt to run"},
		{interruptTask(t, "poweroff"), `unknown interrupt type "poweroff"`},
	} {
		if _, err := options.Pod(c.task); err == nil || err.Error() != c.want {
			t.Errorf("got error %v, want %s", err, c.want)
		}
	}
}

// TestObserveInterrupt: an interrupt pod has one init container, which decides.
func TestObserveInterrupt(t *testing.T) {
	for _, c := range []struct {
		name     string
		status   string
		want     lifecycle.Outcome
		exitCode int32
		retrying bool
	}{
		{name: "just created", status: `{}`, want: lifecycle.Running},
		{name: "runs", status: status(pending, `{name: interrupt, state: {running: {}}}`), want: lifecycle.Running},
		{
			name: "done", status: status(pending, `{name: interrupt, state: {terminated: {exitCode: 0}}}`), want: lifecycle.Done,
		},
		{name: "a package's check proves nothing", status: status(pending, checked), want: lifecycle.Running},
		{
			name: "killed as the node goes down", want: lifecycle.Failing, exitCode: 143,
			status: status(pending, `{name: interrupt, state: {terminated: {exitCode: 143, reason: Error}}}`),
		},
		{
			name: "failed, and retried", want: lifecycle.Failing, exitCode: 1, retrying: true,
			status: status(pending, `{name: interrupt, restartCount: 1, state: {running: {}}, lastState: {terminated: {exitCode: 1}}}`),
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := build(t, options, interruptTask(t, v1alpha1.InterruptReboot))
			pod.Status = *read[corev1.PodStatus](t, c.status)
			p, err := workload.Observe(pod)
			if err != nil {
				t.Fatal(err)
			}
			if p.Outcome != c.want || p.ExitCode != c.exitCode || p.Retrying != c.retrying {
				t.Errorf("got %+v", p)
			}
			if p.Package != "tuning" || p.Version != "1.2.0" || p.Stage != v1alpha1.StageInterrupt || p.Run != "t4x2" {
				t.Errorf("identity is %+v", p)
			}
		})
	}
}
