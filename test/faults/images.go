package faults

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

// pull is what a node runs for an image: of a tag, what it stands for at that moment. It is as containerd tells it.
func (w *World) pull(image string) string {
	repository, digest, fixed := strings.Cut(image, "@")
	if !fixed {
		repository = image[:strings.LastIndex(image, ":")]
		digest = fmt.Sprintf("sha256:%x", sha256.Sum256(fmt.Appendf(nil, "%s %d", image, w.moves[repository])))
	}
	return repository + "@" + digest
}

// moveTags has all tags of a package's repository stand for other images from now on.
func (w *World) moveTags(r *rand.Rand) {
	var images []string
	for _, s := range w.cluster.Skyhooks() {
		for _, name := range sortedKeys(s.Spec.Packages) {
			images = append(images, s.Spec.Packages[name].Image)
		}
	}
	if len(images) == 0 {
		return
	}
	image := pick(r, images...)
	if w.moves == nil {
		w.moves = map[string]int{}
	}
	w.moves[image]++
	w.trace.add(w, "the tags of %s move", image)
}

// pins are what the operator keeps of a Skyhook's images.
func (w *World) pins(s *v1alpha1.Skyhook) map[string]lifecycle.Pin {
	pins := map[string]lifecycle.Pin{}
	for _, revision := range w.cluster.Revisions() {
		if workload.IsPin(revision) && metav1.IsControlledBy(revision, s) {
			if p, err := workload.ReadPin(revision); err == nil {
				pins[p.Package+"|"+p.Version] = p
			}
		}
	}
	return pins
}

// checkImage: what was applied on a host since a version was pinned is the pinned image.
func (w *World) checkImage(node string, pin lifecycle.Pin, on *installed) {
	if on.digest != "" && on.digest != pin.Digest {
		w.find("image-mixed", "package %s %s is pinned to %s, but on %s is %s",
			pin.Package, pin.Version, pin.Digest, node, on.digest)
	}
}
