package workload_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

const (
	unreported = "the node's kubelet has not reported on the pod yet"
	pending    = `phase: Pending`
	copied     = `{name: tuning-init, state: {terminated: {exitCode: 0}}}`
	applied    = `{name: tuning-apply, state: {terminated: {exitCode: 0}}}`
	checked    = `{name: tuning-applycheck, state: {terminated: {exitCode: 0, reason: Completed}}}`
	mainWaits  = `containerStatuses: [{name: done, state: {waiting: {reason: PodInitializing}}}]`
	notYet     = `{state: {waiting: {reason: PodInitializing}}}`
)

func status(phase string, init ...string) string {
	return phase + "\ninitContainerStatuses: [" + strings.Join(init, ", ") + "]"
}

// TestObserve has one line per shape that the kubelet gives a pod's status: the shape, what it means, why.
func TestObserve(t *testing.T) {
	for _, c := range []struct {
		name     string
		status   string
		want     lifecycle.Outcome
		reason   string
		message  string
		restarts int32
	}{
		{
			name: "copying", status: status(pending, `{name: tuning-init, state: {running: {}}}`, notYet),
			want: lifecycle.Running,
		},
		{name: "copied", status: status(pending, copied, notYet, notYet), want: lifecycle.Running},
		{
			name: "applying", status: status(pending, copied, `{name: tuning-apply, state: {running: {}}}`),
			want: lifecycle.Running,
		},
		{
			name: "checking", status: status(pending, copied, applied, `{name: tuning-applycheck, state: {running: {}}}`),
			want: lifecycle.Running,
		},

		{
			name: "done, main container not yet started", status: status(pending+"\n"+mainWaits, copied, applied, checked),
			want: lifecycle.Done,
		},
		{name: "done, main container cannot be pulled", want: lifecycle.Done, status: status(
			pending+"\ncontainerStatuses: [{name: done, state: {waiting: {reason: ImagePullBackOff}}}]", copied, applied,
			checked)},
		{name: "done and succeeded", status: status("phase: Succeeded", copied, applied, checked), want: lifecycle.Done},
		{
			name: "done, then evicted", status: status("phase: Failed\nreason: Evicted", copied, applied, checked),
			want: lifecycle.Done,
		},
		{name: "done after a failed check", restarts: 1, want: lifecycle.Done, status: status(pending, copied, applied,
			`{name: tuning-applycheck, restartCount: 1, state: {terminated: {exitCode: 0}}, lastState: {terminated: {exitCode: 1}}}`)},
		{
			name: "done, with a container that was injected at the end", want: lifecycle.Done,
			status: status(pending, copied, applied, checked,
				`{name: injected, state: {waiting: {reason: PodInitializing}}}`),
		},
		{name: "only an injected container is done", want: lifecycle.Running, status: status(pending,
			`{name: injected, state: {terminated: {exitCode: 0}}}`, copied, `{name: tuning-apply, state: {running: {}}}`)},
		{
			name: "another stage's check proves nothing", want: lifecycle.Running,
			status: status("phase: Succeeded", copied, applied,
				`{name: tuning-configcheck, state: {terminated: {exitCode: 0}}}`),
		},

		{
			name: "a step failed", want: lifecycle.Failing, reason: "StepFailed",
			message: "container tuning-apply exited 3: apply.sh: no such file",
			status: status(pending, copied,
				`{name: tuning-apply, state: {terminated: {exitCode: 3, reason: Error, message: "apply.sh: no such file\n"}}}`),
		},
		{
			name: "it failed without a word", want: lifecycle.Failing, reason: "StepFailed",
			message: "container tuning-apply exited 3",
			status:  status(pending, copied, `{name: tuning-apply, state: {terminated: {exitCode: 3}}}`),
		},
		{
			name: "CrashLoopBackOff", want: lifecycle.Failing, reason: "StepFailed",
			message: "container tuning-apply exited 1: boom", restarts: 4,
			status: status(pending, copied,
				`{name: tuning-apply, restartCount: 4, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 1, reason: Error, message: boom}}}`),
		},
		{
			name: "it failed and runs again", want: lifecycle.Failing, reason: "StepFailed",
			message: "container tuning-apply exited 1: boom", restarts: 2,
			status: status(pending, copied,
				`{name: tuning-apply, restartCount: 2, state: {running: {}}, lastState: {terminated: {exitCode: 1, message: boom}}}`),
		},
		{
			name: "it failed, then succeeded; the check runs", want: lifecycle.Running, restarts: 2,
			status: status(pending, copied,
				`{name: tuning-apply, restartCount: 2, state: {terminated: {exitCode: 0}}, lastState: {terminated: {exitCode: 1}}}`,
				`{name: tuning-applycheck, state: {running: {}}}`),
		},
		{
			name: "the check failed", want: lifecycle.Failing, reason: "StepFailed",
			message: "container tuning-applycheck exited 1: not applied", restarts: 3,
			status: status(pending, copied, `{name: tuning-apply, restartCount: 2, state: {terminated: {exitCode: 0}}}`,
				`{name: tuning-applycheck, restartCount: 1, state: {terminated: {exitCode: 1, message: not applied}}}`),
		},
		{
			name: "the copy failed", want: lifecycle.Failing, reason: "StepFailed", message: "container tuning-init exited 127",
			status: status(pending, `{name: tuning-init, state: {terminated: {exitCode: 127, reason: Error}}}`, notYet),
		},
		{
			name: "out of memory", want: lifecycle.Failing, reason: "OOMKilled", message: "container tuning-apply exited 137",
			status: status(pending, copied, `{name: tuning-apply, state: {terminated: {exitCode: 137, reason: OOMKilled}}}`),
		},
		{
			name: "cannot start: no such command", want: lifecycle.Failing, reason: "StartError",
			message: "container tuning-init exited 128: exec: sh",
			status:  status(pending, `{name: tuning-init, state: {terminated: {exitCode: 128, reason: StartError, message: "exec: sh"}}}`),
		},

		{
			name: "ImagePullBackOff", want: lifecycle.Stuck, reason: "ImagePullBackOff", message: "Back-off pulling image",
			status: status(pending, `{name: tuning-init, state: {waiting: {reason: ImagePullBackOff, message: Back-off pulling image}}}`, notYet),
		},
		{
			name: "ErrImagePull of the agent", want: lifecycle.Stuck, reason: "ImagePullBackOff", message: "not found",
			status: status(pending, copied,
				`{name: tuning-apply, state: {waiting: {reason: ErrImagePull, message: not found}}}`),
		},
		{
			name: "CreateContainerConfigError", want: lifecycle.Stuck, reason: "CreateContainerConfigError",
			message: `secret "s" not found`,
			status:  status(pending, `{name: tuning-init, state: {waiting: {reason: CreateContainerConfigError, message: 'secret "s" not found'}}}`),
		},
		{
			name: "stuck without a word", want: lifecycle.Stuck, reason: "InvalidImageName",
			message: "container tuning-init cannot be started, and the kubelet does not say why",
			status:  status(pending, `{name: tuning-init, state: {waiting: {reason: InvalidImageName}}}`),
		},
		{
			name: "the image vanished after a failed attempt: the failure tells more", want: lifecycle.Failing,
			reason: "StepFailed", restarts: 1,
			message: "container tuning-init exited 1",
			status:  status(pending, `{name: tuning-init, restartCount: 1, state: {waiting: {reason: ImagePullBackOff}}, lastState: {terminated: {exitCode: 1}}}`),
		},

		{
			name: "evicted", want: lifecycle.Lost, reason: "Evicted", message: "The node was low on resource: memory.",
			status: "phase: Failed\nreason: Evicted\nmessage: 'The node was low on resource: memory.'",
		},
		{
			name: "evicted in the middle of a step", want: lifecycle.Lost, reason: "Evicted", message: "low",
			status: status("phase: Failed\nreason: Evicted\nmessage: low", copied,
				`{name: tuning-apply, state: {terminated: {exitCode: 137}}}`),
		},
		{
			name: "ended by the kubelet for others", want: lifecycle.Lost, reason: "Preempting", message: "Preempted",
			status: "phase: Failed\nreason: Preempting\nmessage: Preempted",
		},
		{
			name: "failed without a word", want: lifecycle.Lost, reason: "PodLost",
			message: "the pod failed, and the kubelet does not say why",
			status:  "phase: Failed",
		},
		{
			name: "the kubelet is away", status: status("phase: Unknown", copied, `{name: tuning-apply, state: {running: {}}}`),
			want: lifecycle.Running,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := build(t, options, task(t, "tuning"))
			pod.Status = *read[corev1.PodStatus](t, c.status)
			got, err := workload.Observe(pod)
			if err != nil {
				t.Fatal(err)
			}
			if got.Outcome != c.want || got.Reason != c.reason || got.Message != c.message || got.Restarts != c.restarts {
				t.Errorf("got outcome %d, %q, %q, %d restarts;\nwant %d, %q, %q, %d",
					got.Outcome, got.Reason, got.Message, got.Restarts, c.want, c.reason, c.message, c.restarts)
			}
		})
	}
}

// TestObserveNamesTheContainer that runs, whose log tells more.
func TestObserveNamesTheContainer(t *testing.T) {
	const applying = `{name: tuning-apply, state: {running: {}}}`
	for _, c := range []struct{ name, status, want string }{
		{"none runs yet", status(pending, notYet, notYet), ""},
		{"the first one", status(pending, `{name: tuning-init, state: {running: {}}}`, notYet), "tuning-init"},
		{"the next one", status(pending, copied, applying, notYet), "tuning-apply"},
		{"none between two of them", status(pending, copied, notYet), ""},
		{"none after the last one", status(pending, copied, applied, checked), ""},
	} {
		pod := build(t, options, task(t, "tuning"))
		pod.Status = *read[corev1.PodStatus](t, c.status)
		if got, err := workload.Observe(pod); err != nil || got.Container != c.want {
			t.Errorf("%s: got %q, error %v; want %q", c.name, got.Container, err, c.want)
		}
	}
}

// TestObserveTellsWhyNothingRuns: a pod that nobody starts says so, until its first container runs.
func TestObserveTellsWhyNothingRuns(t *testing.T) {
	const (
		waits    = `{name: tuning-init, state: {waiting: {reason: PodInitializing}}}`
		notReady = "\nconditions: [{type: PodReadyToStartContainers, status: 'False'}]"
		ready    = "\nconditions: [{type: PodReadyToStartContainers, status: 'True'}]"
		setUp    = "container tuning-init has not started: the node has not set up the pod's volumes and network yet"
	)
	for _, c := range []struct{ name, status, reason, message string }{
		{"just created", `{}`, "Pending", unreported},
		{"pending", pending, "Pending", unreported},
		{
			"pending, with conditions that tell nothing",
			pending + "\nconditions: [{type: PodScheduled, status: 'True'}, {type: Initialized, status: 'False'}]", "Pending",
			unreported,
		},
		{
			"the node is away", "phase: Unknown\nreason: NodeLost\nmessage: node-1 is unresponsive", "NodeLost",
			"node-1 is unresponsive",
		},
		{
			"held by a gate", pending +
				"\nconditions: [{type: PodScheduled, status: 'False', reason: SchedulingGated, message: blocked by a gate}]",
			"SchedulingGated", "blocked by a gate",
		},
		{
			"held without a word", pending + "\nconditions: [{type: PodScheduled, status: 'False', reason: SchedulingGated}]",
			"SchedulingGated", "the pod is not scheduled, and its status does not say why",
		},
		{"waiting", status(pending, waits, notYet, notYet), "PodInitializing", "container tuning-init has not started"},
		{"volumes or network are missing", status(pending, waits, notYet) + notReady, "PodInitializing", setUp},
		{
			"pulling", status(pending, waits, notYet) + ready, "PodInitializing",
			"container tuning-init has not started: the node pulls its image or creates it",
		},
		{
			"being created", status(pending, `{name: tuning-init, state: {waiting: {reason: ContainerCreating}}}`),
			"ContainerCreating", "container tuning-init has not started",
		},
		{
			"waiting, with a word",
			status(pending, `{name: tuning-init, state: {waiting: {reason: ContainerCreating, message: no CNI}}}`) + notReady,
			"ContainerCreating", "container tuning-init has not started: no CNI",
		},
		{
			"waiting without a reason", status(pending, `{name: tuning-init, state: {waiting: {}}}`), "Pending",
			"container tuning-init has not started",
		},
		{"in no state", status(pending, `{name: tuning-init}`), "Pending", "container tuning-init has not started"},

		{"the first one runs", status(pending, `{name: tuning-init, state: {running: {}}}`, notYet) + notReady, "", ""},
		{"between two", status(pending, copied, notYet, notYet), "", ""},
		{
			"it ran, and is to run again",
			status(pending, `{name: tuning-init, restartCount: 1, state: {waiting: {reason: PodInitializing}}}`), "", "",
		},
		{"an injected one runs", status(pending, `{name: injected, state: {running: {}}}`, waits), "", ""},
		{"all ran", status("phase: Succeeded", copied), "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := build(t, options, task(t, "tuning"))
			pod.Status = *read[corev1.PodStatus](t, c.status)
			got, err := workload.Observe(pod)
			if err != nil || got.Outcome != lifecycle.Running || got.Reason != c.reason || got.Message != c.message {
				t.Errorf("got outcome %d, %q, %q, error %v;\nwant it running, %q, %q", got.Outcome, got.Reason, got.Message, err,
					c.reason, c.message)
			}
		})
	}
}

// TestObserveShutdown: what the node does to pods as it goes down is no failure of theirs.
func TestObserveShutdown(t *testing.T) {
	const (
		failed  = "phase: Failed\nreason: "
		kubelet = "\nconditions: [{type: DisruptionTarget, status: 'True', reason: TerminationByKubelet, message: x}]"
		killed  = "{name: tuning-apply, state: {terminated: {exitCode: 137}}}"
	)
	for _, c := range []struct {
		name, status string
		want         bool
	}{
		{"ended", failed + "Terminated\nmessage: Pod was terminated in response to imminent node shutdown.", true},
		{
			"ended in the middle of a step",
			status(failed+"Terminated\nmessage: Pod was terminated in response to imminent node shutdown.", copied, killed) +
				kubelet,
			true,
		},
		{"refused", failed + "NodeShutdown\nmessage: Pod was rejected as the node is shutting down.", true},
		{"ended by an old kubelet", failed + "Shutdown\nmessage: Node is shutting, evicting pods", true},
		{"only the condition tells", "phase: Failed" + kubelet, true},
		{"only the condition tells, in other words", failed + "Terminated\nmessage: bye" + kubelet, true},
		{
			"the condition is over",
			"phase: Failed\nconditions: [{type: DisruptionTarget, status: 'False', reason: TerminationByKubelet}]", false,
		},
		{"low on memory", failed + "Evicted\nmessage: low" + kubelet, false},
		{"made room for a critical pod", failed + "Preempting\nmessage: x" + kubelet, false},
		{
			"evicted by somebody",
			"phase: Failed\nconditions: [{type: DisruptionTarget, status: 'True', reason: EvictionByEvictionAPI}]", false,
		},
		{"terminated by others", failed + "Terminated\nmessage: by an agent", false},
		{"failed", "phase: Failed", false},
		{"its deadline", failed + "DeadlineExceeded", false},
		{"still runs", status(pending, copied, "{name: tuning-apply, state: {running: {}}}") + kubelet, false},
		{
			"was done before",
			status(failed+"Terminated\nmessage: Pod was terminated in response to imminent node shutdown.", copied, applied,
				checked),
			false,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := build(t, options, task(t, "tuning"))
			pod.Status = *read[corev1.PodStatus](t, c.status)
			if got, err := workload.Observe(pod); err != nil || got.Shutdown != c.want {
				t.Errorf("shutdown %t, outcome %d, error %v; want %t", got.Shutdown, got.Outcome, err, c.want)
			}
		})
	}
}

// TestObserveReadsBackWhatPodWrites: a pod tells everything that it was built for.
func TestObserveReadsBackWhatPodWrites(t *testing.T) {
	k := task(t, "tuning")
	k.Stage = v1alpha1.StageUpgrade
	pod := build(t, options, k)
	pod.UID = "u-1"
	pod.CreationTimestamp = metav1.NewTime(time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC))
	want := lifecycle.Pod{
		Namespace: pod.Namespace, Name: pod.Name, UID: "u-1", Package: "tuning", Version: "1.2.0",
		Stage: v1alpha1.StageUpgrade, Run: "t4x2",
		Hash: workload.Hash(k.Skyhook, k.Skyhook.Spec.Packages["tuning"]), Created: pod.CreationTimestamp.Time,
		Reason: "Pending", Message: unreported, Image: "localhost:5000/a/tuning",
	}
	got, err := workload.Observe(pod)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("error %v, -want +got\n%s", err, diff)
	}
	pod.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	if got, err := workload.Observe(pod); err != nil || !got.Terminating {
		t.Errorf("terminating is %t, error %v", got.Terminating, err)
	}
}

// TestBegun: from when the agent runs on, something of the stage may be on the host; the copy of the package is not.
func TestBegun(t *testing.T) {
	for init, want := range map[string]bool{
		notYet: false,
		`{name: tuning-init, state: {waiting: {reason: ImagePullBackOff}}}`:                                                false,
		`{name: tuning-init, state: {running: {}}}`:                                                                        false,
		copied + ", {name: tuning-apply, state: {waiting: {reason: ImagePullBackOff}}}":                                    false,
		copied + ", {name: tuning-apply, state: {running: {}}}":                                                            true,
		copied + ", {name: tuning-apply, restartCount: 1, state: {waiting: {reason: CrashLoopBackOff}}}":                   true,
		copied + ", {name: tuning-apply, state: {waiting: {reason: x}}, lastState: {terminated: {exitCode: 1}}}":           true,
		copied + ", {name: tuning-apply, state: {terminated: {exitCode: 137, reason: ContainerStatusUnknown}}}, " + notYet: true,
	} {
		pod := build(t, options, task(t, "tuning"))
		if err := yaml.Unmarshal([]byte(status(pending, init)), &pod.Status); err != nil {
			t.Fatal(err)
		}
		if got, err := workload.Observe(pod); err != nil || got.Begun != want {
			t.Errorf("%s: begun is %t, %v", init, got.Begun, err)
		}
	}
}

func TestObserveForeignPod(t *testing.T) {
	for _, annotation := range []string{"", "x", "[]", `{"name":1}`} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Name: "stray", Annotations: map[string]string{"skyhook.nvidia.com/package": annotation},
			Labels: map[string]string{"skyhook.nvidia.com/name": "demo", "skyhook.nvidia.com/package": "tuning-1.2.0"},
		}}
		_, err := workload.Observe(pod)
		if err == nil || !strings.Contains(err.Error(), "stray") ||
			!strings.Contains(err.Error(), "skyhook.nvidia.com/package") {
			t.Errorf("annotation %q: error %v", annotation, err)
		}
	}
}
