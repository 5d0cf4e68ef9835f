package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// kubelets are those of all nodes: they share one watch, and write as each of them would.
type kubelets struct {
	client kubernetes.Interface
	pace   Pace
	course func(node string) course
	// seats bound how many of them write at the same time, so that a burst does not open thousands of connections.
	seats chan struct{}

	mu sync.Mutex
	// nodes that exist, by name.
	nodes map[string]bool
	pods  map[types.UID]*running
	boots map[string]int
	// ends is when the last container of a stage ended, by node with Skyhook and by package, until the next stage's pod is
	// there.
	ends     map[string]map[string]time.Time
	handover []time.Duration
	// ended counts pods that the API server has no more.
	ended int
	// failed has the first thing that went wrong: with one, what is measured counts for nothing.
	failed chan error
}

// running is a pod that a kubelet has.
type running struct {
	pod *corev1.Pod
	// deleted is closed when the pod is to end; gone says that the API server has it no more.
	deleted chan struct{}
	once    sync.Once
	gone    atomic.Bool
}

func (r *running) stop() { r.once.Do(func() { close(r.deleted) }) }

const kubeletSeats = 128

func newKubelets(client kubernetes.Interface, pace Pace, course func(string) course) *kubelets {
	return &kubelets{
		client: client, pace: pace, course: course, seats: make(chan struct{}, kubeletSeats),
		nodes: map[string]bool{}, pods: map[types.UID]*running{}, boots: map[string]int{}, ends: map[string]map[string]time.Time{},
		failed: make(chan error, 1),
	}
}

// start watches the pods of all nodes until the context ends.
func (k *kubelets) start(ctx context.Context) error {
	source := cache.NewListWatchFromClient(k.client.CoreV1().RESTClient(), "pods", metav1.NamespaceAll,
		fields.OneTermNotEqualSelector("spec.nodeName", ""))
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: source, ObjectType: &corev1.Pod{}, Transform: slim,
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    func(o any) { k.see(ctx, o) },
			UpdateFunc: func(_, o any) { k.see(ctx, o) },
			DeleteFunc: func(o any) { k.gone(o) },
		},
	})
	go informer.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return errors.New("the kubelets' watch of pods does not begin")
	}
	return nil
}

// slim drops what no kubelet here looks at.
func slim(o any) (any, error) {
	if p, ok := o.(*corev1.Pod); ok {
		p.ManagedFields, p.Spec.Volumes, p.Annotations = nil, nil, nil
	}
	return o, nil
}

func (k *kubelets) see(ctx context.Context, o any) {
	pod, ok := o.(*corev1.Pod)
	if !ok {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.nodes[pod.Spec.NodeName] { // it was created while its node went
		go k.remove(ctx, pod)
		return
	}
	r := k.pods[pod.UID]
	if r == nil {
		r = &running{pod: pod, deleted: make(chan struct{})}
		k.pods[pod.UID] = r
		k.handOver(pod)
		go k.run(ctx, pod, r)
	}
	if pod.DeletionTimestamp != nil {
		r.stop()
	}
}

func (k *kubelets) gone(o any) {
	if last, ok := o.(cache.DeletedFinalStateUnknown); ok {
		o = last.Obj
	}
	pod, ok := o.(*corev1.Pod)
	if !ok {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if r := k.pods[pod.UID]; r != nil {
		r.gone.Store(true)
		r.stop()
		delete(k.pods, pod.UID)
		k.ended++
	}
}

// removed is how many pods have been here and are gone.
func (k *kubelets) removed() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.ended
}

// work names the Skyhook on a node, and the package, that a pod is for; the package is empty if the pod is no stage of
// one package alone.
func work(pod *corev1.Pod) (where, pkg string) {
	where = pod.Spec.NodeName + " " + pod.Labels[v1alpha1.LabelName]
	if pod.Labels[v1alpha1.LabelInterrupt] != "" {
		return where, ""
	}
	return where, pod.Labels[v1alpha1.LabelPackage]
}

// handOver takes the time from the end of a stage to the pod of the next. What follows an interrupt waited for that: for
// other packages, for a drain, for a reboot.
func (k *kubelets) handOver(pod *corev1.Pod) {
	where, pkg := work(pod)
	if pod.Labels[v1alpha1.LabelInterrupt] != "" {
		delete(k.ends, where)
		return
	}
	if ended, ok := k.ends[where][pkg]; ok {
		k.handover = append(k.handover, time.Since(ended))
		delete(k.ends[where], pkg)
	}
}

// takeHandovers returns the times since the last call.
func (k *kubelets) takeHandovers() []time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	all := k.handover
	k.handover = nil
	clear(k.ends) // of stages that none followed
	return all
}

// run is the life of one pod. Of one that is gone a kubelet writes nothing more.
func (k *kubelets) run(ctx context.Context, pod *corev1.Pod, r *running) {
	over := false
	for _, s := range script(pod, k.course(pod.Spec.NodeName), k.pace, time.Now()) {
		if !sleep(ctx, s.After, r.deleted) {
			break
		}
		if s.Reboot {
			k.reboot(ctx, pod.Spec.NodeName)
			continue
		}
		if s.Through {
			k.noteEnd(pod)
		}
		k.show(ctx, pod, s.Status)
		over = s.Status.Phase == corev1.PodSucceeded
	}
	select {
	case <-r.deleted:
	case <-ctx.Done():
		return
	}
	if !sleep(ctx, k.pace.Container, nil) || r.gone.Load() { // its containers end first
		return
	}
	if !over {
		k.show(ctx, pod, ended(pod, time.Now()))
	}
	k.remove(ctx, pod)
}

// remove deletes a pod at once.
func (k *kubelets) remove(ctx context.Context, pod *corev1.Pod) {
	k.write("delete pod "+pod.Name, func() error {
		return k.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
			GracePeriodSeconds: ptr.To[int64](0), Preconditions: metav1.NewUIDPreconditions(string(pod.UID)),
		})
	})
}

func (k *kubelets) noteEnd(pod *corev1.Pod) {
	where, pkg := work(pod)
	if pkg == "" {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ends[where] == nil {
		k.ends[where] = map[string]time.Time{}
	}
	k.ends[where][pkg] = time.Now()
}

// sleep waits, and reports whether the pod is still wanted.
func sleep(ctx context.Context, d time.Duration, deleted <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-deleted:
	case <-ctx.Done():
	}
	return false
}

func (k *kubelets) show(ctx context.Context, pod *corev1.Pod, status corev1.PodStatus) {
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": pod.UID}, "status": status})
	if err != nil {
		k.fail(err)
		return
	}
	k.write("patch pod "+pod.Name, func() error {
		_, err := k.client.CoreV1().Pods(pod.Namespace).Patch(
			ctx, pod.Name, types.StrategicMergePatchType, body, metav1.PatchOptions{}, "status")
		return err
	})
}

// reboot takes the node away for a while; it comes back with another boot id.
func (k *kubelets) reboot(ctx context.Context, node string) {
	k.mu.Lock()
	k.boots[node]++
	boot := bootID(node, k.boots[node])
	k.mu.Unlock()
	k.report(ctx, node, nodeReport(false, "", time.Now()))
	if sleep(ctx, k.pace.Reboot, nil) {
		k.report(ctx, node, nodeReport(true, boot, time.Now()))
	}
}

// report writes the status of a node.
func (k *kubelets) report(ctx context.Context, node string, body []byte) {
	k.write("patch node "+node, func() error {
		_, err := k.client.CoreV1().Nodes().Patch(
			ctx, node, types.StrategicMergePatchType, body, metav1.PatchOptions{}, "status")
		return err
	})
}

func bootID(node string, boots int) string { return "boot-" + node + "-" + strconv.Itoa(boots) }

// write carries out a write. A pod that is gone, or has a successor of its name, needs none any more.
func (k *kubelets) write(what string, do func() error) {
	k.seats <- struct{}{}
	defer func() { <-k.seats }()
	err := do()
	if err != nil && !superseded(err) && !errors.Is(err, context.Canceled) {
		k.fail(fmt.Errorf("%s: %w", what, err))
	}
}

// superseded says that what was to be written is gone, or that another object has its name. If that one comes while the
// API server carries out the patch, it takes the UID in it for a change.
func superseded(err error) bool {
	invalid, _ := apierrors.StatusCause(err, metav1.CauseTypeFieldValueInvalid)
	return apierrors.IsNotFound(err) || apierrors.IsConflict(err) || invalid.Field == "metadata.uid"
}

func (k *kubelets) fail(err error) {
	select {
	case k.failed <- err:
	default: // the first one tells enough
	}
}
