//go:build integration

package cli_test

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/skyhook-operator/skyhook/internal/cli"
)

// readers are the pods that read logs and are not on their way out.
func (c *cluster) readers(ctx context.Context) []corev1.Pod {
	var pods corev1.PodList
	if err := c.List(ctx, &pods, client.InNamespace("default"), client.MatchingLabels{"app.kubernetes.io/name": "skyhook-logs"}); err != nil {
		c.t.Error(err)
	}
	var there []corev1.Pod
	for _, p := range pods.Items {
		if p.DeletionTimestamp == nil {
			there = append(there, p)
		}
	}
	return there
}

// reading runs a command until it has created a pod that reads logs, which the test then does something with.
func (c *cluster) reading(then func(*corev1.Pod, context.CancelFunc), args ...string) (string, error) {
	c.t.Helper()
	ctx, cancel := context.WithCancel(c.t.Context())
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		err := wait.PollUntilContextTimeout(c.t.Context(), 20*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
			pods := c.readers(ctx)
			if len(pods) == 1 {
				then(&pods[0], cancel)
			}
			return len(pods) == 1, nil
		})
		if err != nil {
			c.t.Error("no pod comes:", err)
		}
	}()
	var out bytes.Buffer
	root := cli.Root("1.2.3", func() time.Time { return today })
	root.SetOut(&out)
	root.SetErr(&out)
	root.SetArgs(append([]string{"--kubeconfig", c.kubeconfig, "--namespace", "default"}, args...))
	err := root.ExecuteContext(ctx)
	<-done
	return out.String(), err
}

// TestLogsFromNode: the pod may do nothing but read one folder, nothing takes it for the operator's, and it goes however
// the reading ends. There is no kubelet here, so what it prints is for the end-to-end suite.
func TestLogsFromNode(t *testing.T) {
	c := newCluster(t)
	t.Cleanup(c.endReaders)
	c.put(gpu())
	c.put(newNode("worker-1", states("{"+driverDone+"}")))
	c.put(newNode("worker-2", nil))
	const said = "Reading /var/log/skyhook/gpu on node worker-1 with a short-lived pod\n"
	ended := func(p *corev1.Pod, _ context.CancelFunc) {
		raw, err := yaml.Marshal(map[string]any{"labels": p.Labels, "annotations": p.Annotations, "owners": p.OwnerReferences, "spec": p.Spec})
		if err != nil {
			t.Error(err)
		}
		golden(t, "log-reader", string(raw))
		p.Status.Phase = corev1.PodSucceeded
		if err := c.Status().Update(t.Context(), p); err != nil {
			t.Error(err)
		}
	}
	for name, args := range map[string][]string{
		"asked for":       {"logs", "gpu", "--from-node", "--package", "driver"},
		"the pod is gone": {"logs", "gpu", "--node", "worker-1", "--package", "driver", "--previous"},
	} {
		out, err := c.reading(ended, args...)
		if err == nil || !strings.Contains(out, said) { // nobody has the log
			t.Errorf("%s: %v\n%s", name, err, out)
		}
		if told := strings.Contains(out, "The pod of this stage is gone"); told != (name == "the pod is gone") {
			t.Errorf("%s: says that the pod is gone: %t", name, told)
		}
		if left := c.readers(t.Context()); len(left) > 0 {
			t.Errorf("%s: pod %s is left", name, left[0].Name)
		}
	}
	_, err := c.reading(func(_ *corev1.Pod, cancel context.CancelFunc) { cancel() }, "logs", "gpu", "--from-node")
	if left := c.readers(t.Context()); err == nil || len(left) > 0 {
		t.Errorf("interrupted: error %v, %d pods are left", err, len(left))
	}
}

// TestLogsFromNodeInterruptedEarly: a user who has had enough while the pod is being created is left with none.
func TestLogsFromNodeInterruptedEarly(t *testing.T) {
	c := newCluster(t)
	c.put(gpu())
	c.put(newNode("worker-1", states("{"+driverDone+"}")))
	t.Cleanup(c.endReaders)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	server := c.server()
	c.through(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/pods") {
			return false
		}
		created := httptest.NewRecorder()
		server.ServeHTTP(created, r.WithContext(context.WithoutCancel(r.Context())))
		cancel()
		select { // the answer comes after whatever the command does about it
		case <-r.Context().Done():
		case <-time.After(200 * time.Millisecond):
		}
		maps.Copy(w.Header(), created.Header())
		w.WriteHeader(created.Code)
		_, _ = w.Write(created.Body.Bytes())
		return true
	})
	root := cli.Root("1.2.3", func() time.Time { return today })
	root.SetOut(io.Discard)
	root.SetErr(io.Discard)
	root.SetArgs([]string{"--kubeconfig", c.kubeconfig, "logs", "gpu", "--from-node", "--namespace", "default"})
	err := root.ExecuteContext(ctx)
	if left := c.readers(t.Context()); err == nil || len(left) > 0 {
		t.Errorf("interrupted: error %v, %d pods are left", err, len(left))
	}
}

// TestLogsFromNodeIntoAClosedPipe: head, which has seen enough, leaves no pod behind.
func TestLogsFromNodeIntoAClosedPipe(t *testing.T) {
	c := newCluster(t)
	c.put(gpu())
	c.put(newNode("worker-1", states("{"+driverDone+"}")))
	t.Cleanup(c.endReaders)
	c.through(func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/log") {
			return false
		}
		for range 1000 {
			_, _ = w.Write(bytes.Repeat([]byte("a line\n"), 1000))
		}
		return true
	})
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), asProgram+"=logs gpu --from-node --namespace default")
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	err = wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		pods := c.readers(ctx)
		if len(pods) == 0 {
			return false, nil
		}
		pods[0].Status.Phase = corev1.PodRunning
		return c.Status().Update(ctx, &pods[0]) == nil, nil
	})
	if err != nil {
		t.Error("no pod comes:", err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Error(err)
	}
	_ = out.Close()
	if err := command.Wait(); err == nil || command.ProcessState.ExitCode() != 1 {
		t.Errorf("it ended with %v", err)
	}
	if left := c.readers(t.Context()); len(left) > 0 {
		t.Errorf("pod %s is left", left[0].Name)
	}
}

// TestLogsFromNodeSweeps: what a program left that was killed goes with the next call, and nobody else's pod does.
func TestLogsFromNodeSweeps(t *testing.T) {
	c := newCluster(t)
	c.put(gpu())
	c.put(newNode("worker-1", states("{"+driverDone+"}")))
	t.Cleanup(c.endReaders)
	left, other := newReader("left"), newReader("other")
	other.Labels["app.kubernetes.io/managed-by"] = "somebody"
	c.put(left)
	c.put(other)
	c.through(func(w http.ResponseWriter, r *http.Request) bool {
		create := r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/pods")
		if create {
			fails(w, http.StatusForbidden, metav1.StatusReasonForbidden, "no more pods")
		}
		return create
	})
	for _, step := range []struct {
		after time.Duration
		left  int
	}{{time.Minute, 2}, {2 * time.Hour, 1}} {
		root := cli.Root("1.2.3", func() time.Time { return left.CreationTimestamp.Add(step.after) })
		root.SetOut(io.Discard)
		root.SetErr(io.Discard)
		root.SetArgs([]string{"logs", "gpu", "--from-node", "--namespace", "default"})
		if err := root.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), "no more pods") {
			t.Errorf("after %s: %v", step.after, err)
		}
		if there := c.readers(t.Context()); len(there) != step.left {
			t.Errorf("after %s %d pods are there, not %d", step.after, len(there), step.left)
		}
	}
}

// newReader is a pod that reads logs, or somebody's who uses part of its labels.
func newReader(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name,
			Labels: map[string]string{"app.kubernetes.io/name": "skyhook-logs", "app.kubernetes.io/managed-by": "kubectl-skyhook"},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "logs", Image: "agent"}}},
	}
}

// endReaders plays the kubelet for pods that read logs.
func (c *cluster) endReaders() {
	err := c.DeleteAllOf(context.Background(), &corev1.Pod{}, client.InNamespace("default"),
		client.MatchingLabels{"app.kubernetes.io/name": "skyhook-logs"}, client.GracePeriodSeconds(0))
	if err != nil {
		c.t.Error(err)
	}
}

// TestLogsFromNodeRefuses what it cannot do, or should not.
func TestLogsFromNodeRefuses(t *testing.T) {
	c := newCluster(t)
	c.put(gpu())
	for _, name := range strings.Fields("a b c d e f g h i j k") {
		c.put(newNode(name, states("{"+driverDone+"}")))
	}
	for args, want := range map[string]string{
		"logs gpu --from-node -f": "log files on nodes are of stages that ended; leave --follow out",
		"logs gpu --from-node -p": "log files on nodes have earlier runs, too; leave --previous out",
		"logs gpu --from-node":    "reading logs from nodes creates a pod on each; 11 match, but at most 10 may, so name some with --node",
	} {
		if _, _, err := c.run("", append(strings.Fields(args), "--namespace", "default")...); err == nil || err.Error() != want {
			t.Errorf("%s: %v", args, err)
		}
	}
	out, told, err := c.run("", "logs", "gpu", "--from-node", "--node", "a", "--namespace", "default", "--dry-run")
	if err != nil || !strings.Contains(out+told, "not in a dry run") || len(c.readers(t.Context())) > 0 {
		t.Errorf("dry run: %v\n%s%s", err, out, told)
	}
}
