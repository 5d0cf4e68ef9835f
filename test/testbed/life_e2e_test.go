//go:build linux && e2e

package testbed

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"

	"golang.org/x/sys/unix"
)

// publicName is an image name as manifests have it; no such image exists outside.
const publicName = "ghcr.io/skyhook-testbed/busybox:1.36.1"

// TestClusterLife takes one cluster through all that the testbed promises. Its steps build on each other.
func TestClusterLife(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	o := e2eOptions(t)
	traces := machineTraces(t)
	t.Cleanup(func() {
		if err := Down(context.Background(), o); err != nil {
			t.Error(err)
		}
	})

	c := mustUp(ctx, t, o)
	cs, err := c.client()
	check(t, err)
	image, err := ProgramImage(map[string]string{"bin/busybox": filepath.Join(c.Rootfs(), "bin", "busybox")}, "/bin/busybox")
	check(t, err)
	check(t, c.Push(ctx, image, publicName))

	t.Run("a pod is pulled under a public name and reached by service address", func(t *testing.T) {
		testServices(ctx, t, cs)
	})
	t.Run("an image is pulled by digest", func(t *testing.T) {
		digest, err := image.Digest()
		check(t, err)
		runPod(ctx, t, cs, pod("by-digest", "node1", "ghcr.io/skyhook-testbed/busybox@"+digest.String(), "true"), corev1.PodSucceeded)
	})
	t.Run("exec", func(t *testing.T) { testExec(ctx, t, c) })
	t.Run("logs", func(t *testing.T) {
		var b strings.Builder
		check(t, c.Logs(ctx, "node1", &b, "-u", "kubelet", "-n", "50"))
		if !strings.Contains(b.String(), "kubelet") || !strings.Contains(b.String(), "boot at") {
			t.Errorf("no kubelet line or boot line in %q", b.String())
		}
	})
	t.Run("writes are audited", func(t *testing.T) {
		log, err := os.ReadFile(c.AuditLog())
		check(t, err)
		if !strings.Contains(string(log), `"verb":"create"`) || strings.Contains(string(log), `"verb":"watch"`) {
			t.Error("the audit log must have writes, and no reads but those of programs in pods")
		}
	})
	t.Run("reboot from a privileged pod", func(t *testing.T) { testPodReboots(ctx, t, c, cs) })
	t.Run("packages are installed", func(t *testing.T) { testPackages(ctx, t, c) })
	t.Run("settings", func(t *testing.T) { testSettings(ctx, t, c) })
	t.Run("power off and on", func(t *testing.T) { testPowerOff(ctx, t, c) })
	t.Run("nodes come and go", func(t *testing.T) { testScale(ctx, t, c, o) })
	t.Run("up again is quick and changes nothing", func(t *testing.T) {
		before, err := c.BootID(ctx, "node1")
		check(t, err)
		again := mustUp(ctx, t, o)
		after, err := again.BootID(ctx, "node1")
		check(t, err)
		if before != after {
			t.Error("the node has booted again")
		}
	})
	t.Run("a killed daemon takes everything with it, and up starts over with the images", func(t *testing.T) {
		killDaemon(t, c)
		if _, err := Open(o.State); !errors.Is(err, ErrNotRunning) {
			t.Fatalf("Open after the daemon died: %v", err)
		}
		o.Nodes = 1
		again := mustUp(ctx, t, o)
		cs, err := again.client()
		check(t, err)
		runPod(ctx, t, cs, pod("kept", "node1", publicName, "true"), corev1.PodSucceeded)
		killDaemon(t, again)
	})
	t.Run("down after a crash leaves nothing", func(t *testing.T) {
		check(t, Down(ctx, o))
		if got := machineTraces(t); got != traces {
			t.Errorf("before:\n%s\nafter:\n%s", traces, got)
		}
		if left := processesOf(t, o); len(left) > 0 {
			t.Errorf("processes left: %v", left)
		}
		check(t, Down(ctx, o)) // again: nothing to do is no error
	})
}

// TestInterruptedUp interrupts a start at several moments; what was begun must not hinder the next.
func TestInterruptedUp(t *testing.T) {
	o := e2eOptions(t)
	o.Nodes = 1
	check(t, Down(t.Context(), o))
	traces := machineTraces(t)
	t.Cleanup(func() { check(t, Down(context.Background(), o)) })
	for _, after := range []time.Duration{100 * time.Millisecond, 400 * time.Millisecond, time.Second, 4 * time.Second} {
		ctx, cancel := context.WithTimeout(t.Context(), after)
		if _, err := Up(ctx, o); err == nil {
			t.Fatalf("up within %s", after)
		}
		cancel()
	}
	mustUp(t.Context(), t, o)
	check(t, Down(t.Context(), o))
	if got := machineTraces(t); got != traces {
		t.Errorf("before:\n%s\nafter:\n%s", traces, got)
	}
}

// e2eOptions keeps these tests away from a cluster that someone uses.
func e2eOptions(t *testing.T) Options {
	o, err := Options{Nodes: 2, Progress: t.Output()}.withDefaults()
	check(t, err)
	o.State = filepath.Join(o.Cache, "testbed-selftest")
	return o
}

func mustUp(ctx context.Context, t *testing.T, o Options) *Cluster {
	t.Helper()
	c, err := Up(ctx, o)
	check(t, err)
	return c
}

func testServices(ctx context.Context, t *testing.T, cs kubernetes.Interface) {
	server := pod("server", "node1", publicName, "httpd", "-f", "-v", "-p", "8080", "-h", "/bin")
	server.Labels = map[string]string{"app": "server"}
	runPod(ctx, t, cs, server, corev1.PodRunning)
	service, err := cs.CoreV1().Services("default").Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "server"},
		Spec:       corev1.ServiceSpec{Selector: server.Labels, Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}}},
	}, metav1.CreateOptions{})
	check(t, err)
	// Not wget: the static one needs the C library's name service files, which the image has not.
	get := `printf 'GET /busybox HTTP/1.0\r\n\r\n' | busybox nc -w 3 ` + service.Spec.ClusterIP + ` 80 | busybox head -n 1 | busybox grep '200 OK'`
	// The rules for a new service need a moment to reach the nodes: the pods retry like any client.
	for _, node := range []string{"node1", "node2"} {
		runPod(ctx, t, cs, pod("client-on-"+node, node, publicName, "sh", "-c", get), corev1.PodSucceeded)
	}
	// The API's own service answers plain HTTP with what is wrong about it.
	plain := `printf 'GET / HTTP/1.0\r\n\r\n' | busybox nc -w 3 ` + kubernetesIP + ` 443 | busybox grep 'HTTPS server'`
	runPod(ctx, t, cs, pod("api-client", "node2", publicName, "sh", "-c", plain), corev1.PodSucceeded)

	// The API server calls the pod at its own address, as it does with webhooks.
	err = poll(ctx, "the API server to reach the pod", func() (bool, error) {
		b, err := cs.CoreV1().RESTClient().Get().AbsPath("/api/v1/namespaces/default/services/server:80/proxy/busybox").DoRaw(ctx)
		return err == nil && len(b) > 1000, err
	})
	check(t, err)
}

func testExec(ctx context.Context, t *testing.T, c *Cluster) {
	out, err := c.Exec(ctx, "node2", "hostname")
	check(t, err)
	if string(out) != "node2\n" {
		t.Errorf("hostname: %q", out)
	}
	_, err = c.Exec(ctx, "node2", "sh", "-c", "echo the reason >&2; exit 7")
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 7 || !strings.Contains(err.Error(), "the reason") {
		t.Errorf("failing command: %v", err)
	}
	short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	if _, err := c.Exec(short, "node2", "sleep", "4711"); err == nil {
		t.Error("a command outlived its context")
	}
	if out, err := c.Exec(ctx, "node2", "pgrep", "-fa", "sleep 4711"); err == nil {
		t.Errorf("it still runs: %s", out)
	}
	if _, err := c.Exec(ctx, "node9", "true"); err == nil || !strings.Contains(err.Error(), "node9") {
		t.Errorf("unknown node: %v", err)
	}
}

func testPodReboots(ctx context.Context, t *testing.T, c *Cluster, cs kubernetes.Interface) {
	before, err := c.BootID(ctx, "node2")
	check(t, err)
	runPod(ctx, t, cs, pod("stubborn", "node2", publicName, "sh", "-c", "trap '' TERM; while :; do busybox sleep 1; done"), corev1.PodRunning)
	asked := time.Now()
	p := pod("rebooter", "node2", publicName, "chroot", "/host", "systemctl", "reboot")
	privileged := true
	p.Spec.HostPID = true
	p.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{Privileged: &privileged}
	p.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "host", MountPath: "/host"}}
	p.Spec.Volumes = []corev1.Volume{{Name: "host", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}}}
	_, err = cs.CoreV1().Pods("default").Create(ctx, p, metav1.CreateOptions{})
	check(t, err)
	var after string
	check(t, poll(ctx, "a new boot id", func() (bool, error) {
		after, err = c.BootID(ctx, "node2")
		return err == nil && after != before, err
	}))
	start := time.Now()
	check(t, waitRebooted(ctx, cs, "node2", after))
	t.Logf("booted after %.1f s, ready %.1f s later", start.Sub(asked).Seconds(), time.Since(start).Seconds())
}

func testPowerOff(ctx context.Context, t *testing.T, c *Cluster) {
	before, err := c.BootID(ctx, "node1")
	check(t, err)
	// The command may be killed by what it asks for.
	_, _ = c.Exec(ctx, "node1", "systemctl", "poweroff")
	check(t, poll(ctx, "node1 to be off", func() (bool, error) {
		pid, err := c.initPID("node1")
		return pid == 0, err
	}))
	check(t, c.Reboot(ctx, "node1"))
	after, err := c.BootID(ctx, "node1")
	check(t, err)
	if before == after {
		t.Error("the node has its old boot id")
	}
}

func testScale(ctx context.Context, t *testing.T, c *Cluster, o Options) {
	name, err := c.JoinNode(ctx, Join{})
	check(t, err)
	if name != "node3" || len(c.Nodes()) != 3 {
		t.Fatalf("added %s: %v", name, c.Nodes())
	}
	check(t, c.RemoveNode(ctx, "node1"))
	if _, err := os.Stat(filepath.Join(o.State, dirNodes, "node1")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("node1's folder: %v", err)
	}
	if name, err = c.JoinNode(ctx, Join{Labels: []string{"pool=gpu"}, Taints: []string{"setup=pending:NoSchedule"}}); err != nil || name != "node1" {
		t.Fatalf("added %q: %v", name, err)
	}
	cs, err := c.client()
	check(t, err)
	node, err := cs.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	check(t, err)
	taint := corev1.Taint{Key: "setup", Value: "pending", Effect: corev1.TaintEffectNoSchedule}
	if node.Labels["pool"] != "gpu" || len(node.Spec.Taints) != 1 || node.Spec.Taints[0] != taint {
		t.Errorf("node1 has labels %v and taints %v", node.Labels, node.Spec.Taints)
	}
	o.Nodes = 2
	if got := mustUp(ctx, t, o).Nodes(); len(got) != 2 {
		t.Errorf("nodes after scaling down: %v", got)
	}
}

// killDaemon ends the daemon without warning and waits until all that it ran is gone.
func killDaemon(t *testing.T, c *Cluster) {
	t.Helper()
	for _, p := range c.group.child(daemonGroup).pids() {
		if exe, _ := os.Readlink("/proc/" + itoa(p) + "/exe"); exe == filepath.Join(c.dir, fileProgram) {
			check(t, unix.Kill(p, unix.SIGKILL))
		}
	}
	check(t, poll(t.Context(), "the cluster to be gone", func() (bool, error) { return len(c.group.pids()) == 0, nil }))
}

// pod runs one container from an image that is pulled each time.
func pod(name, node, image string, args ...string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{
			NodeName: node, RestartPolicy: corev1.RestartPolicyOnFailure,
			TerminationGracePeriodSeconds: new(int64),
			Containers:                    []corev1.Container{{Name: "main", Image: image, ImagePullPolicy: corev1.PullAlways, Args: args}},
		},
	}
}

func runPod(ctx context.Context, t *testing.T, cs kubernetes.Interface, p *corev1.Pod, want corev1.PodPhase) {
	t.Helper()
	_, err := cs.CoreV1().Pods("default").Create(ctx, p, metav1.CreateOptions{})
	check(t, err)
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var now *corev1.Pod
	err = poll(ctx, "pod "+p.Name+" to be "+string(want), func() (bool, error) {
		now, err = cs.CoreV1().Pods("default").Get(ctx, p.Name, metav1.GetOptions{})
		return err == nil && now.Status.Phase == want, err
	})
	if err != nil {
		t.Fatalf("%v: %+v", err, now.Status.ContainerStatuses)
	}
}
