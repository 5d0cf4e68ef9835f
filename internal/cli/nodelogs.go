package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path"
	"slices"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/internal/text"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

const (
	// mostLogNodes is on how many nodes pods are created to read logs.
	mostLogNodes = 10
	// readerPatience is how long such a pod may take to start: it may have to pull the agent's image.
	readerPatience = 2 * time.Minute
	// readerLives is how long it runs at most, whatever becomes of this program.
	readerLives = 5 * time.Minute
	// logsMount is where it has the logs of the Skyhook.
	logsMount = "/logs"
)

// fileLogs are the log files on nodes, which have what steps printed that ended.
type fileLogs struct {
	read  *reader
	write *writer
	core  kubernetes.Interface
	now   func() time.Time
}

// fromNode prints what steps left in the log files of nodes, by a pod on each.
func (l *fileLogs) fromNode(ctx context.Context, o logs) error {
	if o.follow {
		return errors.New("log files on nodes are of stages that ended; leave --follow out")
	}
	if o.fromNode && o.previous {
		return errors.New("log files on nodes have earlier runs, too; leave --previous out")
	}
	nodes, err := l.logNodes(ctx, o)
	if err != nil {
		return err
	}
	switch {
	case len(nodes) == 0:
		fmt.Fprintln(l.write.out, "No nodes matched the specified filters")
		return nil
	case len(nodes) > mostLogNodes:
		return fmt.Errorf("reading logs from nodes creates a pod on each; %d match, but at most %d may, so name some with --node",
			len(nodes), mostLogNodes)
	}
	v := &view{}
	if err := l.read.settings(ctx, v); err != nil {
		return err
	}
	ctx, stop := untilClosed(ctx)
	defer stop()
	errs := []error{l.sweepReaders(ctx)}
	for i := range nodes {
		if ctx.Err() != nil {
			break
		}
		pod := logReader(v.options.Workload, nodes[i].Name, o)
		dry := ""
		if l.write.dryRun != dryRunNone {
			dry = ": not in a dry run"
		}
		fmt.Fprintf(l.write.err, "Reading %s on node %s with a short-lived pod%s\n", pod.Spec.Volumes[0].HostPath.Path, nodes[i].Name, dry)
		if dry != "" {
			continue
		}
		if len(nodes) > 1 {
			fmt.Fprintf(l.write.out, "=== Node: %s ===\n", nodes[i].Name)
		}
		if err := l.readWith(ctx, pod, o.tail); err != nil {
			errs = append(errs, fmt.Errorf("reading logs on node %s: %w", nodes[i].Name, err))
		}
	}
	return errors.Join(errs...)
}

// logNodes are the nodes that are named, else those that have something of the Skyhook.
func (l *fileLogs) logNodes(ctx context.Context, o logs) ([]corev1.Node, error) {
	all, err := l.read.nodes(ctx)
	if err != nil {
		return nil, err
	}
	if o.node != "" {
		return matching(all, []string{o.node})
	}
	var nodes []corev1.Node
	for _, n := range l.read.having(all, o.skyhook) {
		nodes = append(nodes, n.node)
	}
	return nodes, nil
}

// untilClosed ends with the terminal, or when nobody reads what is printed any more, as with head. The program would end
// of it by itself, but leave a pod behind.
func untilClosed(ctx context.Context) (context.Context, context.CancelFunc) {
	signals := []os.Signal{syscall.SIGPIPE}
	if !signal.Ignored(syscall.SIGHUP) { // as with nohup
		signals = append(signals, syscall.SIGHUP)
	}
	return signal.NotifyContext(ctx, signals...)
}

// sweepReaders deletes what programs left that were killed.
func (l *fileLogs) sweepReaders(ctx context.Context) error {
	const forgotten = time.Hour // much longer than any of them is needed
	pods, err := l.read.podsLabelled(ctx, readerLabels)
	if err != nil {
		return err
	}
	old := slices.DeleteFunc(pods, func(p corev1.Pod) bool {
		return p.DeletionTimestamp != nil || l.now().Sub(p.CreationTimestamp.Time) < forgotten
	})
	if l.write.dryRun != dryRunNone {
		return nil
	}
	return l.write.endPods(ctx, old)
}

// readerLabels are those of pods that print log files.
var readerLabels = client.MatchingLabels{"app.kubernetes.io/name": "skyhook-logs", "app.kubernetes.io/managed-by": "kubectl-skyhook"}

// logReader is a pod that prints the log files of a Skyhook on a node. Nothing takes it for a package pod: it has no
// label or owner of those. The files belong to root and are for its group (0640), so it runs in that group, as a user
// that is not root.
func logReader(o workload.Options, node string, l logs) *corev1.Pod {
	const nobody = 65532
	seconds, grace := int64(readerLives.Seconds()), int64(1)
	limits := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("32Mi")}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: "skyhook-logs-", Namespace: o.Namespace,
			Labels: readerLabels,
		},
		Spec: corev1.PodSpec{
			NodeName: node, RestartPolicy: corev1.RestartPolicyNever, ActiveDeadlineSeconds: &seconds, TerminationGracePeriodSeconds: &grace,
			AutomountServiceAccountToken: new(bool), EnableServiceLinks: new(bool),
			Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			SecurityContext: &corev1.PodSecurityContext{
				RunAsUser: new(int64(nobody)), RunAsGroup: new(int64), RunAsNonRoot: new(true),
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Containers: []corev1.Container{{
				Name: "logs", Image: o.AgentImage, Args: []string{"logs", logsMount, l.pkg},
				SecurityContext: &corev1.SecurityContext{
					AllowPrivilegeEscalation: new(bool), ReadOnlyRootFilesystem: new(true),
					Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				},
				Resources:    corev1.ResourceRequirements{Requests: limits, Limits: limits},
				VolumeMounts: []corev1.VolumeMount{{Name: "logs", MountPath: logsMount, ReadOnly: true}},
			}},
			Volumes: []corev1.Volume{{Name: "logs", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{
				Path: path.Join(o.AgentLogRoot, l.skyhook), Type: new(corev1.HostPathDirectory),
			}}}},
		},
	}
	if o.ImagePullSecret != "" {
		pod.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: o.ImagePullSecret}}
	}
	return pod
}

// readWith creates a pod, prints what it prints, and deletes it, also when the user has had enough.
func (l *fileLogs) readWith(ctx context.Context, pod *corev1.Pod, tail int64) (err error) {
	// A request that is cancelled leaves open whether there is a pod, and under which name.
	create, cancel := uncancelled(ctx)
	defer cancel()
	if err := l.write.client.Create(create, pod); err != nil {
		return fmt.Errorf("creating a pod in namespace %q: %w", pod.Namespace, err)
	}
	defer func() {
		ctx, cancel := uncancelled(ctx)
		defer cancel()
		if gone := l.write.client.Delete(ctx, pod, client.Preconditions{UID: &pod.UID}); client.IgnoreNotFound(gone) != nil {
			err = errors.Join(err, fmt.Errorf("deleting pod %s, which has to be done by hand: %w", pod.Name, gone))
		}
	}()
	whole := tail < 0
	if err := l.awaitReader(ctx, pod, whole); err != nil {
		return err
	}
	options := corev1.PodLogOptions{Follow: whole}
	if !whole {
		options.TailLines = &tail
	}
	stream, err := l.core.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &options).Stream(ctx)
	if err != nil {
		return err
	}
	defer stream.Close()
	_, err = io.Copy(l.write.out, stream)
	return err
}

// uncancelled is a context for a request that has to be answered, also for a while after the user has had enough.
func uncancelled(ctx context.Context) (context.Context, context.CancelFunc) {
	const patience = 10 * time.Second
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(patience, cancel) })
	return longer, func() { stop(); cancel() }
}

// awaitReader waits until the pod prints or, if that is not enough, until it has printed all.
func (l *fileLogs) awaitReader(ctx context.Context, pod *corev1.Pod, started bool) error {
	const pause = 200 * time.Millisecond
	err := wait.PollUntilContextTimeout(ctx, pause, readerPatience, true, func(ctx context.Context) (bool, error) {
		if err := l.read.client.Get(ctx, client.ObjectKeyFromObject(pod), pod); err != nil {
			return false, fmt.Errorf("getting pod %s: %w", pod.Name, err)
		}
		p := pod.Status.Phase
		return started && p == corev1.PodRunning || p == corev1.PodSucceeded || p == corev1.PodFailed, nil
	})
	if ctx.Err() == nil && wait.Interrupted(err) {
		return fmt.Errorf("pod %s did not start within %s%s", pod.Name, readerPatience, l.lastWarning(context.WithoutCancel(ctx), pod))
	}
	return err
}

// lastWarning is what events say of a pod that does not start, such as that there is no such folder.
func (l *fileLogs) lastWarning(ctx context.Context, pod *corev1.Pod) string {
	var events corev1.EventList
	err := l.read.client.List(ctx, &events, client.InNamespace(pod.Namespace), client.MatchingFields{"involvedObject.uid": string(pod.UID)})
	said := ""
	for i := range events.Items {
		if e := &events.Items[i]; err == nil && e.Type == corev1.EventTypeWarning {
			said = ": " + text.Shorten(e.Message, maxEvent)
		}
	}
	return said
}

// maxEvent is how much is repeated of an event, in bytes.
const maxEvent = 500
