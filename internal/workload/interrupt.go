package workload

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// interruptContainer is the only init container of an interrupt pod; when it exits 0 the interrupt is done.
const interruptContainer = "interrupt"

// InterruptPodName is the name of the pod that runs an interrupt on a node for a Skyhook.
func InterruptPodName(skyhook string, stage v1alpha1.Stage, kind v1alpha1.InterruptType, node string) string {
	return safeName(maxPodName, skyhook, string(stage), string(kind), node)
}

// IsInterrupt reports whether a pod runs an interrupt, whoever owns it: it is a Skyhook's pod that says so.
func IsInterrupt(pod *corev1.Pod) bool {
	owner := metav1.GetControllerOfNoCopy(pod)
	return owner != nil && owner.Kind == "Skyhook" && pod.Labels[v1alpha1.LabelInterrupt] != ""
}

// makeInterrupt turns a stage pod into one that runs an interrupt: one init container, which needs the host only.
func (o Options) makeInterrupt(pod *corev1.Pod, t Task) error {
	if t.Interrupt == nil {
		return fmt.Errorf("package %s: stage %s has no interrupt to run", t.Package, t.Stage)
	}
	data, err := encodeInterrupt(*t.Interrupt)
	if err != nil {
		return err
	}
	pod.Name = InterruptPodName(t.Skyhook.Name, t.Stage, t.Interrupt.Type, t.Node)
	pod.Labels[v1alpha1.LabelInterrupt] = "True"
	limits := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("500m"),
		corev1.ResourceMemory: o.InterruptMemory,
	}
	pod.Spec.InitContainers = []corev1.Container{{
		Name: interruptContainer, Image: o.agentImage(t.spec()),
		Args:            []string{interruptContainer, hostMount, o.copyDir(t), data},
		Env:             append(o.agentEnv(t), interruptEnv(t)...),
		SecurityContext: privileged(),
		VolumeMounts: []corev1.VolumeMount{{
			Name: rootVolume, MountPath: hostMount, MountPropagation: new(corev1.MountPropagationHostToContainer),
		}},
		Resources:                corev1.ResourceRequirements{Requests: limits, Limits: limits.DeepCopy()},
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}}
	pod.Spec.Volumes = pod.Spec.Volumes[:1]      // the host's root
	pod.Spec.TerminationGracePeriodSeconds = nil // the package's is meant for its steps
	return nil
}

// interruptEnv tells the agent which interrupt it is. The boot id binds a reboot to the boot that it is meant to end:
// what the agent notes on the host may be gone with that boot, or the node be another one by the same name.
func interruptEnv(t Task) []corev1.EnvVar {
	env := []corev1.EnvVar{{Name: "SKYHOOK_RUN", Value: cmp.Or(t.InterruptRun, t.Run)}}
	if t.BootID != "" {
		env = append(env, corev1.EnvVar{Name: "SKYHOOK_BOOT_ID", Value: t.BootID})
	}
	return env
}

// agentTypes are the agent's names of the API's interrupt types.
var agentTypes = map[v1alpha1.InterruptType]string{
	v1alpha1.InterruptReboot:             "node_restart",
	v1alpha1.InterruptService:            "service_restart",
	v1alpha1.InterruptRestartAllServices: "restart_all_services",
	v1alpha1.InterruptNoop:               "no_op",
}

// encodeInterrupt writes an interrupt as agents read it: base64 of {"type", "services"}. Only a service interrupt
// carries services; agents made by others fail on them elsewhere.
func encodeInterrupt(i v1alpha1.Interrupt) (string, error) {
	kind, ok := agentTypes[i.Type]
	if !ok {
		return "", fmt.Errorf("unknown interrupt type %q", i.Type)
	}
	form := struct {
		Type     string   `json:"type"`
		Services []string `json:"services,omitempty"`
	}{Type: kind}
	if i.Type == v1alpha1.InterruptService {
		form.Services = i.Services
	}
	raw, err := json.Marshal(form)
	if err != nil {
		return "", fmt.Errorf("encode interrupt %s: %w", i.Type, err)
	}
	return base64.StdEncoding.EncodeToString(raw), nil
}
