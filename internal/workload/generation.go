package workload

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// envResourceID is what the agent knows a package of a Skyhook by:
// "<skyhook>-<uid>-<generation>_<package>_<version>".
const envResourceID = "SKYHOOK_RESOURCE_ID"

// generation is that of the Skyhook which another operator made a pod for; 0 if the pod does not tell. What the package
// sets comes before what the operator sets, and the last counts.
func generation(pod *corev1.Pod) (n int64) {
	for i := range pod.Spec.InitContainers {
		for _, v := range pod.Spec.InitContainers[i].Env {
			if v.Name == envResourceID {
				id, _, _ := strings.Cut(v.Value, "_")
				n, _ = strconv.ParseInt(id[strings.LastIndex(id, "-")+1:], 10, 64) // 0 if it is no number
			}
		}
	}
	return n
}
