package workload

import (
	"encoding/json"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	corev1 "k8s.io/api/core/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
)

// PullsElsewhere reports whether a pod waits for an image although the operator's settings about images have changed
// since it was made, so that another pod in its place may get it. What runs is left alone: wherever its image came from,
// it is the same.
func (o Options) PullsElsewhere(pod *corev1.Pod, seen lifecycle.Pod) bool {
	if seen.Outcome != lifecycle.Stuck || seen.Reason != reasonPull {
		return false
	}
	var id identity
	if json.Unmarshal([]byte(pod.Annotations[v1alpha1.AnnotationPackage]), &id) != nil {
		return false
	}
	return id.Registry != o.Mirror || id.Agent != o.AgentImage
}

// pulled is the digest that a package's image had when the node pulled it by its version; empty while that is not
// known.
func pulled(pod *corev1.Pod, id identity) string {
	for i := range pod.Status.InitContainerStatuses {
		if c := &pod.Status.InitContainerStatuses[i]; c.Name == copyName(id.Name) {
			return pullable(c.ImageID, id.Registry.Of(id.Image))
		}
	}
	return ""
}

// pullable is the digest in what a kubelet reports as imageID, if the repository can be asked for it: containerd and
// CRI-O say repository@digest, Docker docker-pullable://repository@digest. An image that was loaded into the node may
// have no more than the id of its configuration, sha256:..., or the digest that it has in another repository; neither
// can be pulled.
func pullable(imageID, repository string) string {
	if _, reference, found := strings.Cut(imageID, "://"); found {
		imageID = reference
	}
	digest, err := name.NewDigest(imageID)
	if err != nil {
		return ""
	}
	asked, err := name.NewRepository(repository)
	if err != nil || digest.Context().Name() != asked.Name() {
		return ""
	}
	return digest.DigestStr()
}

// Resolves reports whether a container runtime reports of a pulled image what its tag stands for: the digest of the
// index, where an image has several architectures. Others, such as CRI-O, report that of the image for their own.
func Resolves(info *corev1.NodeSystemInfo) bool {
	runtime, _, _ := strings.Cut(info.ContainerRuntimeVersion, "://")
	return runtime == "containerd" || runtime == "docker"
}
