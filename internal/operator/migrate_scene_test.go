//go:build integration

package operator_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// prefix of all keys, spelled out: these tests are about what is stored, whatever our constants are called.
const prefix = "skyhook.nvidia.com/"

// taken is a scene that the existing operator of this API left: its operator stands still until start.
type taken struct {
	*scene
	skyhook *v1alpha1.Skyhook
	// did are the stages that ran on each node, those of pods that were left included. begun says that our operator has
	// been started: pods from before go on until endLeft.
	did   map[string][]string
	begun bool
	// several says that packages run side by side.
	several bool
}

// newTaken returns one with a Skyhook as the existing operator stores it: with its finalizer, the names of packages and
// a status of its own.
func newTaken(t *testing.T, nodes int, packages map[string]v1alpha1.Package, change ...func(*v1alpha1.Skyhook)) *taken {
	t.Helper()
	s := alone(t, nodes)
	s.stop()
	s.stop = func() {}
	k := &taken{scene: s, did: map[string][]string{}}
	s.endBy(func(node, what string) int32 {
		k.did[node] = append(k.did[node], strings.TrimPrefix(what, "fw "))
		if k.begun {
			return 0
		}
		return goesOn
	})
	k.skyhook = k.leaveSkyhook("", packages, change...)
	return k
}

func (k *taken) leaveSkyhook(
	suffix string, packages map[string]v1alpha1.Package, change ...func(*v1alpha1.Skyhook),
) *v1alpha1.Skyhook {
	k.t.Helper()
	for name, p := range packages {
		p.Name = name
		packages[name] = p
	}
	x := k.scene.skyhook(suffix, packages)
	x.Annotations = map[string]string{prefix + "version": "v0.15.0"}
	x.Finalizers = []string{prefix + "skyhook"}
	for _, c := range change {
		c(x)
	}
	k.must(k.client.Create(k.t.Context(), x))
	for name, p := range packages {
		k.leaveConfigMap(x, name, p.ConfigMap)
	}
	k.leaveStatus(x)
	return x
}

// leaveStatus stores a status with fields and conditions that only the existing operator writes.
func (k *taken) leaveStatus(x *v1alpha1.Skyhook) {
	k.t.Helper()
	now := metav1.Now().UTC().Format("2006-01-02T15:04:05Z")
	condition := func(kind, status, reason string) map[string]any {
		return map[string]any{
			"type": kind, "status": status, "reason": reason, "message": "Transitioned [waiting] -> [in_progress]",
			"lastTransitionTime": now, "observedGeneration": 0,
		}
	}
	status := map[string]any{
		"status": "in_progress", "observedGeneration": 0, "nodeOrderOffset": 3, "nodesInProgress": 1,
		"completeNodes": fmt.Sprintf("1/%d", len(k.nodes)), "packageList": "fw:1.0.0",
		"nodePriority":  map[string]string{k.nodes[0]: now},
		"nodeBootIds":   map[string]string{k.nodes[0]: "boot-1"},
		"configUpdates": map[string][]string{},
		"compartmentStatuses": map[string]any{"__default__": map[string]any{
			"matched": len(k.nodes), "ceiling": 1, "inProgress": 1, "completed": 1, "progressPercent": 10,
			"batchState": map[string]any{"currentBatch": 2, "completedNodes": 1, "lastBatchSize": 1},
		}},
		"conditions": []any{
			condition("Ready", "False", "Progressing"), condition(prefix+"Ready", "False", "Progressing"),
			condition(prefix+"Transition", "False", "in_progress"), condition("ApplyPackage", "True", "ApplyPackage"),
			condition(prefix+"ApplyPackage", "True", "ApplyPackage"),
		},
	}
	k.patchStatus(x, status)
}

func (k *taken) patchStatus(x *v1alpha1.Skyhook, status map[string]any) {
	k.t.Helper()
	patch, err := json.Marshal(map[string]any{"status": status})
	k.must(err)
	k.must(k.client.Status().Patch(k.t.Context(), x.DeepCopy(), client.RawPatch(types.MergePatchType, patch)))
}

// leaveConfigMap stores the ConfigMap that its pods mount: one per package version, which changes with the spec.
func (k *taken) leaveConfigMap(x *v1alpha1.Skyhook, name string, data map[string]string) {
	k.t.Helper()
	if len(data) == 0 {
		return
	}
	version := x.Spec.Packages[name].Version
	k.must(k.client.Create(k.t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name: strings.ToLower(x.Name + "-" + name + "-" + version), Namespace: k.namespace,
			Labels: map[string]string{prefix + "name": x.Name},
			Annotations: map[string]string{
				prefix + "name": x.Name, prefix + "Package.Name": name, prefix + "Package.Version": version,
			},
			OwnerReferences: ownedBy(x),
		},
		Data: data,
	}))
}

func ownedBy(x *v1alpha1.Skyhook) []metav1.OwnerReference {
	return []metav1.OwnerReference{{
		APIVersion: "skyhook.nvidia.com/v1alpha1", Kind: "Skyhook", Name: x.Name, UID: x.UID,
		Controller: new(true), BlockOwnerDeletion: new(true),
	}}
}

// leaveNode writes the record of a node: its status, and entries such as "fw|1.0.0 apply:in_progress".
func (k *taken) leaveNode(x *v1alpha1.Skyhook, node, status string, cordoned bool, entries ...string) {
	k.t.Helper()
	states := map[string]map[string]any{}
	for _, text := range entries {
		key, at, _ := strings.Cut(text, " ")
		name, version, _ := strings.Cut(key, "|")
		stage, state, _ := strings.Cut(at, ":")
		states[key] = map[string]any{
			"name": name, "version": version, "image": "registry.example/packages/shellscript", "stage": stage, "state": state,
		}
	}
	raw, err := json.Marshal(states)
	k.must(err)
	k.changeNode(node, func(n *corev1.Node) {
		for key, value := range map[string]string{"nodeState_": string(raw), "status_": status, "version_": "v0.15.0"} {
			metav1.SetMetaDataAnnotation(&n.ObjectMeta, prefix+key+x.Name, value)
		}
		metav1.SetMetaDataLabel(&n.ObjectMeta, prefix+"status_"+x.Name, status)
		if cordoned {
			metav1.SetMetaDataAnnotation(&n.ObjectMeta, prefix+"cordon_"+x.Name, "true")
			n.Spec.Unschedulable = true
		}
	})
	k.leaveConditions(x, node, status == "complete", status == "erroring")
}

// leaveConditions writes the two conditions of a node, which come before all others.
func (k *taken) leaveConditions(x *v1alpha1.Skyhook, node string, complete, erroring bool) {
	k.t.Helper()
	n := k.get(node)
	before := n.DeepCopy()
	condition := func(kind string, is bool, yes, no string) corev1.NodeCondition {
		c := corev1.NodeCondition{
			Type: corev1.NodeConditionType(prefix + x.Name + "/" + kind), Status: corev1.ConditionFalse, Reason: no,
			Message: "Skyhook " + x.Name + " Ready", LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now(),
		}
		if is {
			c.Status, c.Reason = corev1.ConditionTrue, yes
		}
		return c
	}
	n.Status.Conditions = slices.DeleteFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return strings.HasPrefix(string(c.Type), prefix+x.Name+"/")
	})
	n.Status.Conditions = append([]corev1.NodeCondition{
		condition("NotReady", !complete, "Incomplete", "Complete"),
		condition("Erroring", erroring, "Package(s) Erroring or Unknown", "Not Erroring"),
	}, n.Status.Conditions...)
	k.must(k.client.Status().Patch(k.t.Context(), n, client.MergeFrom(before)))
}

// leavePod creates a pod of the existing operator and waits until it is at work.
func (k *taken) leavePod(x *v1alpha1.Skyhook, node, stage string) *corev1.Pod {
	k.t.Helper()
	dir := fmt.Sprintf("/var/lib/skyhook/%s/fw-1.0.0-%s-%d", x.Name, x.UID, x.Generation)
	env := []corev1.EnvVar{
		{Name: "SKYHOOK_LOG_DIR", Value: "/var/log/skyhook/" + x.Name},
		{Name: "SKYHOOK_ROOT_DIR", Value: "/var/lib/skyhook/" + x.Name},
		{Name: "COPY_RESOLV", Value: "false"},
		{Name: "SKYHOOK_RESOURCE_ID", Value: fmt.Sprintf("%s-%s-%d_fw_1.0.0", x.Name, x.UID, x.Generation)},
		{Name: "SKYHOOK_NODE_ORDER", Value: "0"},
	}
	agent := func(name string, args ...string) corev1.Container {
		return corev1.Container{Name: name, Image: "nvcr.io/nvidia/skyhook/agent:v6.4.1", Args: args, Env: env}
	}
	labels := map[string]string{prefix + "name": x.Name, prefix + "package": "fw-1.0.0"}
	containers := []corev1.Container{
		{Name: "fw-init", Image: "registry.example/packages/shellscript:1.0.0", Command: []string{"/bin/sh", "-c", "true"}, Env: []corev1.EnvVar{{Name: "SKYHOOK_DIR", Value: dir}}},
		agent("fw-"+stage, stage, "/root", dir), agent("fw-"+stage+"check", stage+"-check", "/root", dir),
	}
	if stage == "interrupt" {
		labels[prefix+"interrupt"] = "True"
		data := base64.StdEncoding.EncodeToString([]byte(`{"type":"service_restart","services":["x"]}`))
		containers = []corev1.Container{agent("interrupt", "interrupt", "/root", dir, data)}
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("left-%s-%s", stage, node), Namespace: k.namespace, Labels: labels,
			Annotations: map[string]string{prefix + "package": fmt.Sprintf(
				`{"name":"fw","version":"1.0.0","skyhook":%q,"stage":%q,"image":"registry.example/packages/shellscript"}`, x.Name, stage)},
			OwnerReferences: ownedBy(x),
		},
		Spec: corev1.PodSpec{
			NodeName: node, RestartPolicy: corev1.RestartPolicyOnFailure, HostPID: true, HostNetwork: true,
			InitContainers: containers, Containers: []corev1.Container{{Name: "pause", Image: "registry.k8s.io/pause:3.10"}},
		},
	}
	k.must(k.client.Create(k.t.Context(), pod))
	return eventually(k.cluster, &corev1.PodList{}, pod.Name+" is at work", func(p *corev1.Pod) bool {
		return len(p.Status.InitContainerStatuses) > 0
	}, client.InNamespace(k.namespace), client.MatchingFields{"metadata.name": pod.Name})
}

// start starts our operator over what was left, and lets all that is at work end.
func (k *taken) start() {
	k.t.Helper()
	k.begin()
	k.untilSeen(k.skyhook)
	k.endLeft()
}

func (k *taken) begin() {
	k.t.Helper()
	k.mu.Lock()
	k.begun = true
	k.mu.Unlock()
	k.startOperator()
}

// endLeft lets pods end that were at work when our operator was started.
func (k *taken) endLeft() {
	k.t.Helper()
	for _, p := range k.pods() {
		if len(p.Status.InitContainerStatuses) > 0 {
			k.kubelet.end(k.t, &p)
		}
	}
}

// untilSeen waits until our operator has planned the Skyhook and come to every node that has a record.
func (k *taken) untilSeen(x *v1alpha1.Skyhook) {
	k.t.Helper()
	k.until(x, "planned", func(x *v1alpha1.Skyhook) bool { return x.Annotations[prefix+"version"] == "v0.0.1-test" })
	for _, node := range k.nodes {
		k.becomes("node "+node+" is looked at", func() bool {
			v, ok := k.get(node).Annotations[prefix+"version_"+x.Name]
			return !ok || v == "v0.0.1-test"
		})
	}
}

// expect waits until the Skyhook is complete, and checks what ran on each node, in order; what was left at work counts.
// Of several packages what ran is sorted.
func (k *taken) expect(want ...string) {
	k.t.Helper()
	k.untilStatus(k.skyhook, v1alpha1.StatusComplete)
	k.expectDid(want...)
}

func (k *taken) expectDid(want ...string) {
	k.t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	for i, w := range want {
		did := slices.Clone(k.did[k.nodes[i]])
		if k.several {
			slices.Sort(did)
		}
		if got := strings.Join(did, ", "); got != w {
			k.t.Errorf("on node %d ran %q, want %q", i, got, w)
		}
	}
}

// readsAsBefore checks what readers of the existing operator's records find on a node that is complete with fw.
func (k *taken) readsAsBefore(x *v1alpha1.Skyhook, node, stage string) {
	k.t.Helper()
	n := k.get(node)
	var states map[string]struct{ Name, Version, Image, Stage, State string }
	k.must(json.Unmarshal([]byte(n.Annotations[prefix+"nodeState_"+x.Name]), &states))
	if e := states["fw|1.0.0"]; len(states) != 1 || e.Name != "fw" || e.Version != "1.0.0" || e.Stage != stage ||
		e.State != "complete" || e.Image != "registry.example/packages/shellscript" {
		k.t.Errorf("node %s: package states are %+v", node, states)
	}
	for _, have := range []string{n.Annotations[prefix+"status_"+x.Name], n.Labels[prefix+"status_"+x.Name]} {
		if have != "complete" {
			k.t.Errorf("node %s: status is %q", node, have)
		}
	}
	if v := n.Annotations[prefix+"version_"+x.Name]; len(v) < 6 {
		k.t.Errorf("node %s: version is %q", node, v)
	}
	for kind, reason := range map[string]string{"NotReady": "Complete", "Erroring": "Not Erroring"} {
		of := slices.DeleteFunc(slices.Clone(n.Status.Conditions), func(c corev1.NodeCondition) bool {
			return string(c.Type) != prefix+x.Name+"/"+kind
		})
		if len(of) != 1 || of[0].Status != corev1.ConditionFalse || of[0].Reason != reason {
			k.t.Errorf("node %s: conditions %s are %+v", node, kind, of)
		}
	}
}
