package workload

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/registry"
)

const (
	hostMount  = "/root"
	packageDir = "/skyhook-package"
	rootVolume = "root-mount"
	mainName   = "done"
	// doneMode is no stage: agents exit 0 on a mode that they do not know, ours at once.
	doneMode = "complete"

	// keysDir is where the container that copies the package sees the configMap: beside the image's files, as a mount
	// upon their folder would hide them.
	keysDir = "/skyhook-configmap"

	// copyCommand puts the package on the host: the image's files first, the configMap's keys over them. A ConfigMap mount
	// is a tree of links that a second copy cannot replace, so those of an earlier stage go first, and with them keys that
	// are gone; files that a step wrote beside them stay. The configMap is for root alone, as the agent will have it, and
	// also while nothing runs that agent.
	copyCommand = `set -e
d="/root/${SKYHOOK_DIR}" c="/root/${SKYHOOK_DIR}/configmaps"
mkdir -p "$d"
if [ -L /skyhook-package/configmaps ] || [ -L "$c" ]; then rm -rf "$c"; fi
rm -rf "$c"/..[0-9]* "$c"/..data "$d"/node-metadata
for f in "$c"/* "$c"/.[!.]*; do [ -e "$f" ] || rm -f "$f"; done
if [ -d /skyhook-package/configmaps ] && [ ! -L /skyhook-package/configmaps ]; then mkdir -p -m 700 "$c"; fi
cp -rf /skyhook-package/* "$d"
[ -d ` + keysDir + ` ] || exit 0
[ ! -L "$c" ] || rm -f "$c"
mkdir -p -m 700 "$c"
for f in ` + keysDir + `/* ` + keysDir + `/.[!.]*; do rm -rf "$c/${f##*/}"; done
cp -rf ` + keysDir + `/. "$c"
`
)

// Task is one stage of one package on one node.
type Task struct {
	Skyhook *v1alpha1.Skyhook
	// Package is the key in spec.packages.
	Package string
	Stage   v1alpha1.Stage
	// Run of the stage, as in the node's record.
	Run string
	// Generation of the spec for which the run began: it names the package's copy on the host and, to the agent, the
	// work itself, so it is the same for every pod of the run.
	Generation int64
	// Interrupt to run, in the stages that are interrupts.
	Interrupt *v1alpha1.Interrupt
	// InterruptRun is what the agent knows the interrupt by, where it is not Run. BootID is that of the node when the
	// interrupt began: on any other boot a reboot is done. Both may be empty.
	InterruptRun, BootID string
	// Retained is the definition to take instead of the spec's.
	Retained *v1alpha1.Package
	// Digest that the image is pinned to where its definition names none; empty to pull it by version.
	Digest string
	Node   string
	// Order is the node's place in the rollout.
	Order int32
}

func (t Task) spec() v1alpha1.Package {
	if t.Retained != nil {
		return *t.Retained
	}
	return t.Skyhook.Spec.Packages[t.Package]
}

func (t Task) configMapName() string {
	return MountedConfigMapName(t.Skyhook.Name, t.Package, t.spec().Version, t.spec().ConfigMap)
}

// identity is the value of the package annotation, read by others too.
type identity struct {
	Name         string         `json:"name"`
	Version      string         `json:"version"`
	Skyhook      string         `json:"skyhook"`
	Stage        v1alpha1.Stage `json:"stage"`
	Image        string         `json:"image"`
	ContainerSHA string         `json:"containerSHA,omitempty"`
	// Registry and Agent are the operator's settings that say what the pod pulls beside what the spec names.
	Registry registry.Mirror `json:"registry,omitempty"`
	Agent    string          `json:"agent,omitempty"`
}

// Pod builds the pod that runs a stage. Three init containers do the work, in order: the package copies itself to the
// host, the agent runs the stage, the agent runs its check. The main container ends at once, so that a pod that is left
// behind has succeeded and holds nothing.
func (o Options) Pod(t Task) (*corev1.Pod, error) {
	pod, err := o.stagePod(t)
	if err != nil || !record.IsInterrupt(t.Stage) {
		return pod, err
	}
	return pod, o.makeInterrupt(pod, t)
}

func (o Options) stagePod(t Task) (*corev1.Pod, error) {
	spec := t.spec()
	// A copy: what is sent to the API server is also read back into, and must not reach the cached Skyhook.
	pkg := *spec.DeepCopy()
	if pkg.Digest() == "" && !record.IsInterrupt(t.Stage) {
		pkg.ContainerSHA = t.Digest
	}
	id, err := json.Marshal(identity{
		Name: t.Package, Version: pkg.Version, Skyhook: t.Skyhook.Name, Stage: t.Stage,
		Image: pkg.Repository(), ContainerSHA: pkg.Digest(), Registry: o.Mirror, Agent: o.AgentImage,
	})
	if err != nil {
		return nil, fmt.Errorf("encode the identity of package %s: %w", t.Package, err)
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:      PodName(t.Skyhook.Name, t.Package, pkg.Version, t.Stage, t.Node),
			Namespace: o.Namespace,
			Labels: map[string]string{
				v1alpha1.LabelName:    t.Skyhook.Name,
				v1alpha1.LabelPackage: t.Package + "-" + pkg.Version,
			},
			Annotations: map[string]string{
				v1alpha1.AnnotationPackage: string(id),
				v1alpha1.AnnotationRun:     t.Run,
				v1alpha1.AnnotationHash:    Hash(t.Skyhook, spec),
			},
			OwnerReferences: []metav1.OwnerReference{owner(t.Skyhook)},
		},
		Spec: o.podSpec(t, pkg),
	}, nil
}

func (o Options) podSpec(t Task, pkg v1alpha1.Package) corev1.PodSpec {
	spec := corev1.PodSpec{
		NodeName:                      t.Node,
		PriorityClassName:             o.PriorityClass,
		RestartPolicy:                 corev1.RestartPolicyOnFailure,
		HostPID:                       true,
		HostNetwork:                   true,
		AutomountServiceAccountToken:  new(bool),
		EnableServiceLinks:            new(bool),
		Tolerations:                   o.tolerations(t.Skyhook),
		TerminationGracePeriodSeconds: gracePeriod(pkg),
		InitContainers: []corev1.Container{
			o.copyContainer(t, pkg),
			o.stageContainer(t, pkg, containerPrefix(t.Package)+"-"+string(t.Stage), string(t.Stage)),
			o.stageContainer(t, pkg, verdictContainer(t.Package, t.Stage), string(t.Stage)+"-check"),
		},
		Containers: []corev1.Container{{
			Name: mainName, Image: o.agentImage(pkg),
			Args: []string{doneMode, hostMount, o.copyDir(t)}, Env: o.agentEnv(t),
		}},
		Volumes: volumes(t, pkg),
	}
	o.pullAgent(&spec)
	if o.ImagePullSecret != "" {
		spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: o.ImagePullSecret}}
	}
	return spec
}

// verdictContainer is the last init container: when it exits 0 the stage is done.
func verdictContainer(pkg string, stage v1alpha1.Stage) string {
	if record.IsInterrupt(stage) {
		return interruptContainer
	}
	return containerPrefix(pkg) + "-" + string(stage) + "check"
}

// copyName is the name of the container that has the package's image.
func copyName(pkg string) string { return containerPrefix(pkg) + "-init" }

func (o Options) copyContainer(t Task, pkg v1alpha1.Package) corev1.Container {
	return corev1.Container{
		Name: copyName(t.Package), Image: o.Mirror.Of(pkg.ImageRef()), ImagePullPolicy: o.pullPolicy(pkg.ImageRef()),
		Command:         []string{"/bin/sh", "-c", copyCommand},
		Env:             []corev1.EnvVar{{Name: "SKYHOOK_DIR", Value: o.copyDir(t)}},
		SecurityContext: privileged(), VolumeMounts: mounts(t, pkg, keysDir), Resources: resources(pkg),
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
}

func (o Options) stageContainer(t Task, pkg v1alpha1.Package, name, mode string) corev1.Container {
	env := append(append([]corev1.EnvVar{}, pkg.Env...), o.agentEnv(t)...)
	env = append(env, secretEnv(pkg)...)
	return corev1.Container{
		Name: name, Image: o.agentImage(pkg),
		Args: []string{mode, hostMount, o.copyDir(t)}, Env: env,
		SecurityContext: privileged(), VolumeMounts: mounts(t, pkg, packageDir+"/configmaps"), Resources: resources(pkg),
		// An agent that writes no message still leaves the end of its output.
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
}

// copyDir is where the package is copied to on the host: one folder per generation of the Skyhook.
func (o Options) copyDir(t Task) string {
	return path.Join(o.CopyDirRoot, t.Skyhook.Name, fmt.Sprintf("%s-%s-%s-%d",
		t.Package, t.spec().Version, t.Skyhook.UID, t.Generation))
}

func (o Options) agentEnv(t Task) []corev1.EnvVar {
	env := []corev1.EnvVar{
		{Name: "SKYHOOK_LOG_DIR", Value: path.Join(o.AgentLogRoot, t.Skyhook.Name)},
		{Name: "SKYHOOK_ROOT_DIR", Value: path.Join(o.CopyDirRoot, t.Skyhook.Name)},
		{Name: "COPY_RESOLV", Value: "false"},
		{Name: envResourceID, Value: fmt.Sprintf("%s-%s-%d_%s_%s",
			t.Skyhook.Name, t.Skyhook.UID, t.Generation, t.Package, t.spec().Version)},
		{Name: "SKYHOOK_NODE_ORDER", Value: strconv.FormatInt(int64(t.Order), 10)},
	}
	if grace := gracePeriod(t.spec()); grace != nil && !record.IsInterrupt(t.Stage) {
		// A step that outlives its time is killed a little before the kubelet kills the agent, which can then tell.
		const margin = 3
		env = append(env, corev1.EnvVar{
			Name:  "SKYHOOK_AGENT_STOP_SECONDS",
			Value: strconv.FormatInt(max(1, *grace-margin), 10),
		})
	}
	return env
}

// secretEnv names the variables whose values come from Secrets: the agent masks them wherever it prints.
func secretEnv(pkg v1alpha1.Package) []corev1.EnvVar {
	var names []string
	for _, v := range pkg.Env {
		if v.ValueFrom != nil && v.ValueFrom.SecretKeyRef != nil && !slices.Contains(names, v.Name) {
			names = append(names, v.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []corev1.EnvVar{{Name: "SKYHOOK_SECRET_ENV", Value: strings.Join(names, ",")}}
}

func (o Options) agentImage(pkg v1alpha1.Package) string {
	return cmp.Or(o.Mirror.Of(pkg.AgentImageOverride), o.AgentImage)
}

// pullAgent has the agent pulled for its first container, and the others run what that one ran: each question to the
// registry takes as long as the stage of a small package, and another answer would make two agents of one stage.
func (o Options) pullAgent(spec *corev1.PodSpec) {
	agents := []*corev1.Container{&spec.InitContainers[1], &spec.InitContainers[2], &spec.Containers[0]}
	for _, c := range agents {
		c.ImagePullPolicy = cmp.Or(o.PullPolicy, corev1.PullIfNotPresent)
	}
	agents[0].ImagePullPolicy = o.pullPolicy(agents[0].Image)
}

// pullPolicy asks the registry again only where it could have another answer. So nodes need no registry for an image
// that they have, be it that it was loaded into them.
func (o Options) pullPolicy(image string) corev1.PullPolicy {
	switch {
	case o.PullPolicy != "":
		return o.PullPolicy
	case strings.Contains(image, "@"):
		return corev1.PullIfNotPresent
	default:
		return corev1.PullAlways
	}
}
