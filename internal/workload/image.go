package workload

import (
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	corev1 "k8s.io/api/core/v1"
)

// pulled is the digest that a package's image had when the node pulled it by its version; empty while that is not
// known.
func pulled(pod *corev1.Pod, id identity) string {
	for i := range pod.Status.InitContainerStatuses {
		if c := &pod.Status.InitContainerStatuses[i]; c.Name == copyName(id.Name) {
			return pullable(c.ImageID, id.Image)
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
