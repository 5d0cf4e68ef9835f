package workload

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

func volumes(t Task, pkg v1alpha1.Package) []corev1.Volume {
	v := []corev1.Volume{
		{Name: rootVolume, VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}},
		configMapVolume(metaVolume(t), NodeMetaName(t.Skyhook.Name, t.Node)),
	}
	if len(pkg.ConfigMap) > 0 {
		v = append(v, configMapVolume(configVolume(t), t.configMapName()))
	}
	return v
}

// mounts are those of a container that sees the package's configMap in keys.
func mounts(t Task, pkg v1alpha1.Package, keys string) []corev1.VolumeMount {
	m := []corev1.VolumeMount{
		{Name: rootVolume, MountPath: hostMount, MountPropagation: new(corev1.MountPropagationHostToContainer)},
		{Name: metaVolume(t), MountPath: packageDir + "/node-metadata"},
	}
	if len(pkg.ConfigMap) > 0 {
		m = append(m, corev1.VolumeMount{Name: configVolume(t), MountPath: keys})
	}
	return m
}

func metaVolume(t Task) string { return safeName(maxPodName, "metadata", t.Node) }

// configVolume is the name of the volume with the package's configMap: the package's, by which people know it, unless
// another volume of the pod has that name.
func configVolume(t Task) string {
	if t.Package == rootVolume || t.Package == metaVolume(t) {
		return safeName(maxPodName, "configmap", t.Package)
	}
	return t.Package
}

func configMapVolume(name, configMap string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: configMap},
	}}}
}

// tolerations let the pod run on a cordoned node and on one that still has the runtime taint. It can run nowhere else, so
// it stays as long as its node is away: without the two last ones of ours, the API server gives it five minutes.
func (o Options) tolerations(s *v1alpha1.Skyhook) []corev1.Toleration {
	t := []corev1.Toleration{
		{Key: corev1.TaintNodeUnschedulable, Operator: corev1.TolerationOpExists},
		{
			Key: o.RuntimeTaint.Key, Operator: corev1.TolerationOpEqual, Value: o.RuntimeTaint.Value,
			Effect: o.RuntimeTaint.Effect,
		},
		{Key: corev1.TaintNodeNotReady, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute},
		{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute},
	}
	for i := range o.Tolerations {
		t = append(t, *o.Tolerations[i].DeepCopy())
	}
	for i := range s.Spec.AdditionalTolerations {
		t = append(t, *s.Spec.AdditionalTolerations[i].DeepCopy())
	}
	return t
}

func resources(pkg v1alpha1.Package) corev1.ResourceRequirements {
	r := pkg.Resources
	if r == nil || (r.CPURequest.IsZero() && r.CPULimit.IsZero() && r.MemoryRequest.IsZero() && r.MemoryLimit.IsZero()) {
		return corev1.ResourceRequirements{}
	}
	return corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: r.CPURequest, corev1.ResourceMemory: r.MemoryRequest},
		Limits:   corev1.ResourceList{corev1.ResourceCPU: r.CPULimit, corev1.ResourceMemory: r.MemoryLimit},
	}
}

func gracePeriod(pkg v1alpha1.Package) *int64 {
	if pkg.GracefulShutdown == nil {
		return nil
	}
	return new(int64(pkg.GracefulShutdown.Seconds()))
}

func privileged() *corev1.SecurityContext {
	return &corev1.SecurityContext{Privileged: new(true)}
}

// owner makes the object go with its Skyhook, and a deletion in the foreground wait until it is gone.
func owner(s *v1alpha1.Skyhook) metav1.OwnerReference {
	return *metav1.NewControllerRef(s, v1alpha1.GroupVersion.WithKind("Skyhook"))
}
