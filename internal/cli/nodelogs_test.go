//go:build integration

package cli_test

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
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
	t.Cleanup(func() { // no kubelet ends what was interrupted
		err := c.DeleteAllOf(context.Background(), &corev1.Pod{}, client.InNamespace("default"),
			client.MatchingLabels{"app.kubernetes.io/name": "skyhook-logs"}, client.GracePeriodSeconds(0))
		if err != nil {
			t.Error(err)
		}
	})
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
