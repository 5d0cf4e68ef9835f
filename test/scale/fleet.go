package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

const (
	workloads = "workloads" // the namespace of what drains evict
	makers    = 32          // how many requests create the fleet at the same time
	// images that each node reports; kubelets report up to 50.
	images = 30
	// heartbeat is how often a kubelet writes the status of a node that does not change. Leases, which nothing of ours
	// reads, are left out: 10,000 nodes renew a thousand of them a second.
	heartbeat = 5 * time.Minute
)

// makeNodes creates the nodes, Ready and without taints.
func (k *kubelets) makeNodes(ctx context.Context, count int) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(makers)
	for i := range count {
		group.Go(func() error { return k.join(ctx, i) })
	}
	return group.Wait()
}

// join creates the i-th node.
func (k *kubelets) join(ctx context.Context, i int) error {
	k.mu.Lock()
	k.nodes[nodeName(i)] = true
	k.mu.Unlock()
	nodes, n := k.client.CoreV1().Nodes(), newNode(i)
	made, err := nodes.Create(ctx, n, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create node: %w", err)
	}
	// The API server taints new nodes as not ready. Of a node that operators see already, others write as well.
	ready := []byte(`{"spec":{"taints":null}}`)
	if _, err = nodes.Patch(ctx, made.Name, types.MergePatchType, ready, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("remove the taint of a new node: %w", err)
	}
	status, err := json.Marshal(map[string]any{"status": n.Status})
	if err != nil {
		return fmt.Errorf("encode the status of a new node: %w", err)
	}
	_, err = nodes.Patch(ctx, made.Name, types.StrategicMergePatchType, status,
		metav1.PatchOptions{}, "status")
	if err != nil {
		return fmt.Errorf("write the status of a new node: %w", err)
	}
	return nil
}

// leave deletes a node, and its pods as the garbage collector of pods does. Its kubelet writes nothing more.
func (k *kubelets) leave(ctx context.Context, node string) error {
	k.mu.Lock()
	delete(k.nodes, node)
	var left []*running
	for _, r := range k.pods {
		if r.pod.Spec.NodeName == node {
			r.gone.Store(true)
			r.stop()
			left = append(left, r)
		}
	}
	k.mu.Unlock()
	if err := k.client.CoreV1().Nodes().Delete(ctx, node, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("delete a node: %w", err)
	}
	for _, r := range left {
		k.remove(ctx, r.pod)
	}
	return nil
}

// present are the names of the nodes, sorted.
func (k *kubelets) present() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Sorted(maps.Keys(k.nodes))
}

// newNode is a node of usual size: some 10 KB with its images.
func newNode(i int) *corev1.Node {
	name := nodeName(i)
	labels := map[string]string{
		"kubernetes.io/hostname": name, "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux", rackLabel: rack(i),
		"node.kubernetes.io/instance-type": "gpu.8x", "topology.kubernetes.io/region": "region-1",
		"topology.kubernetes.io/zone": "zone-" + string(rune('a'+i%3)),
	}
	for j := range 12 {
		labels[fmt.Sprintf("feature.node.kubernetes.io/cpu-flag-%d", j)] = "true"
	}
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: labels,
		Annotations: map[string]string{"volumes.kubernetes.io/controller-managed-attach-detach": "true"},
	}}
	room := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("128"), corev1.ResourceMemory: resource.MustParse("2Ti"),
		corev1.ResourcePods: resource.MustParse("110"),
	}
	n.Status = corev1.NodeStatus{
		Capacity: room, Allocatable: room, Conditions: nodeConditions(true, time.Now()),
		Addresses: []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: name}},
		NodeInfo: corev1.NodeSystemInfo{
			BootID: bootID(name, 0), MachineID: name, SystemUUID: name, KernelVersion: "6.8.0", OSImage: "Debian",
			ContainerRuntimeVersion: "containerd://2.1.4", KubeletVersion: "v1.35.4",
			OperatingSystem: "linux", Architecture: "amd64",
		},
	}
	for j := range images {
		image := fmt.Sprintf("registry.example.com/images/image-%d", j)
		n.Status.Images = append(n.Status.Images, corev1.ContainerImage{
			Names: []string{image + "@sha256:" + strings.Repeat("5c", 32), image + ":1.0.0"}, SizeBytes: 100 << 20,
		})
	}
	return n
}

func nodeConditions(ready bool, now time.Time) []corev1.NodeCondition {
	at := metav1.NewTime(now)
	c := corev1.NodeCondition{
		Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady",
		LastHeartbeatTime: at, LastTransitionTime: at,
	}
	if !ready {
		c.Status, c.Reason = corev1.ConditionFalse, "KubeletNotReady"
	}
	all := []corev1.NodeCondition{c}
	for _, kind := range []corev1.NodeConditionType{
		corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure,
	} {
		all = append(all, corev1.NodeCondition{
			Type: kind, Status: corev1.ConditionFalse, Reason: "KubeletHasEnough", LastHeartbeatTime: at, LastTransitionTime: at,
		})
	}
	return all
}

// nodeReport is the patch with which a kubelet says how its node is; boot is empty while it is the same.
func nodeReport(ready bool, boot string, now time.Time) []byte {
	status := map[string]any{"conditions": nodeConditions(ready, now)}
	if boot != "" {
		status["nodeInfo"] = map[string]any{"bootID": boot}
	}
	body, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		panic(err) // it consists of texts and times
	}
	return body
}

// beat writes the status of one node after another, so that each is written once per heartbeat.
func (k *kubelets) beat(ctx context.Context) {
	for ctx.Err() == nil {
		nodes := k.present()
		for _, node := range nodes {
			if !sleep(ctx, heartbeat/time.Duration(len(nodes)), nil) {
				return
			}
			at, err := json.Marshal(metav1.Now())
			if err != nil {
				panic(err) // a time
			}
			k.report(ctx, node, fmt.Appendf(nil,
				`{"status":{"conditions":[{"type":"Ready","lastHeartbeatTime":%s}]}}`, at))
		}
	}
}

// makeWorkloads puts as many pods on each of the nodes.
func (k *kubelets) makeWorkloads(ctx context.Context, nodes []string, each int) error {
	pods := k.client.CoreV1().Pods(workloads)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(makers)
	for i := range len(nodes) * each {
		group.Go(func() error {
			p := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{
					GenerateName: "workload-",
					OwnerReferences: []metav1.OwnerReference{{
						APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "workload", UID: types.UID("workload"), Controller: ptr.To(true),
					}},
				},
				Spec: corev1.PodSpec{
					NodeName:                      nodes[i/each],
					Containers:                    []corev1.Container{{Name: "main", Image: "registry.example.com/workload:1"}},
					TerminationGracePeriodSeconds: ptr.To[int64](5), AutomountServiceAccountToken: ptr.To(false),
				},
			}
			if _, err := pods.Create(ctx, p, metav1.CreateOptions{}); err != nil {
				return fmt.Errorf("create a workload: %w", err)
			}
			return nil
		})
	}
	return group.Wait()
}

// removeWorkloads deletes what no drain evicted, one by one: a busy API server takes longer for all of them than it has
// for one request.
func (k *kubelets) removeWorkloads(ctx context.Context) error {
	pods := k.client.CoreV1().Pods(workloads)
	all, err := pods.List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list workloads: %w", err)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(makers)
	for i := range all.Items {
		group.Go(func() error {
			err := pods.Delete(ctx, all.Items[i].Name, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)})
			if err != nil && !apierrors.IsNotFound(err) {
				return fmt.Errorf("remove a workload: %w", err)
			}
			return nil
		})
	}
	return group.Wait()
}
