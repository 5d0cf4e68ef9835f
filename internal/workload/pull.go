package workload

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// reasonPull is the one reason of an image that cannot be pulled. The kubelet says it while it pauses, and another one
// at each attempt.
const reasonPull = "ImagePullBackOff"

// pulling are the reasons with which a kubelet tells of one and the same failing pull.
var pulling = []string{reasonPull, reasonAttempt, "RegistryUnavailable", "SignatureValidationFailed"}

// reasonAttempt is that of an attempt which failed for nothing that has a reason of its own.
const reasonAttempt = "ErrImagePull"

// pullFailure tells of an image that cannot be pulled in the same words at the attempt and in the pause after it, so
// that people see one cause and nothing is written for the change; false for any other wait. In its pause the kubelet
// repeats the cause after the name of the image, from Kubernetes 1.32 on. Before that it tells none: repeats says so.
func pullFailure(w *corev1.ContainerStateWaiting) (message string, repeats, ok bool) {
	if !slices.Contains(pulling, w.Reason) {
		return "", false, false
	}
	reason, message := w.Reason, w.Message
	if reason == reasonPull {
		image, cause, found := strings.Cut(strings.TrimPrefix(message, pause), `": `)
		if !found || !strings.HasPrefix(message, pause) || image == "" {
			return message, true, true
		}
		if reason, message, found = strings.Cut(cause, ": "); !found {
			reason, message = "", cause
		}
	}
	if reason != "" && reason != reasonAttempt && message != "" {
		message = reason + ": " + message
	}
	return message, false, true
}

// pause begins what a kubelet says between two attempts, followed by the image and a quotation mark.
const pause = `Back-off pulling image "`

// missing reports whether a failed pull says that the registry does not have the image. Runtimes repeat the registry's
// words.
func missing(message string) bool {
	message = strings.ToLower(message)
	return strings.Contains(message, "not found") || strings.Contains(message, "manifest unknown")
}
