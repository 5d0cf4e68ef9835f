package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/settings"
)

func node(name string, change func(*corev1.Node)) corev1.Node {
	n := corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}, Annotations: map[string]string{}},
		Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
	}
	if change != nil {
		change(&n)
	}
	return n
}

func TestChoose(t *testing.T) {
	nodes := []corev1.Node{
		node("d", nil),
		node("c", nil),
		node("master", func(n *corev1.Node) { n.Labels["node-role.kubernetes.io/control-plane"] = "" }),
		node("cordoned", func(n *corev1.Node) { n.Spec.Unschedulable = true }),
		node("down", func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionUnknown }),
		node("b", nil),
	}
	tests := []struct {
		name   string
		nodes  []corev1.Node
		wanted string
		want   []string
		err    string
	}{
		{"the first two that can work", nodes, "", []string{"b", "c"}, ""},
		{"only one", nodes[:1], "", []string{"d"}, ""},
		{"named", nodes, "d,b,c", []string{"b", "c", "d"}, ""},
		{"named but cordoned", nodes, "b,cordoned", nil, `"cordoned"`},
		{"none can work", nodes[2:5], "", nil, "no node that is ready"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := choose(test.nodes, test.wanted)
			if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Fatalf("got error %v, want %q", err, test.err)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func withState(state string) corev1.Node {
	return node("node1", func(n *corev1.Node) {
		n.Annotations["skyhook.nvidia.com/nodeState_demo"] = state
	})
}

func TestProgressTellsChangesOnce(t *testing.T) {
	skyhook := &v1alpha1.Skyhook{ObjectMeta: metav1.ObjectMeta{Name: skyhookName}}
	var seen progress
	const entry = `{"p|1.0.0":{"name":"p","version":"1.0.0","image":"i","stage":"apply","state":"`
	steps := []struct {
		name   string
		node   corev1.Node
		status v1alpha1.Status
		want   []string
	}{
		{"nothing yet", node("node1", nil), "", nil},
		{"started", withState(entry + `in_progress"}}`), v1alpha1.StatusInProgress, []string{
			"node1    p 1.0.0  apply    in_progress", "Skyhook  in_progress, 0/1 nodes complete",
		}},
		{"the same again", withState(entry + `in_progress"}}`), v1alpha1.StatusInProgress, nil},
		{"failing", withState(entry + `erroring","restarts":2,"reason":"StepFailed","message":"exit code 3"}}`), v1alpha1.StatusInProgress, []string{
			"node1    p 1.0.0  apply    erroring, 2 restarts: StepFailed exit code 3",
		}},
		{"done", withState(entry + `complete","restarts":2}}`), v1alpha1.StatusComplete, []string{
			"node1    p 1.0.0  apply    complete, 2 restarts", "Skyhook  complete, 0/1 nodes complete",
		}},
	}
	for _, step := range steps {
		skyhook.Status.Status, skyhook.Status.CompleteNodes = step.status, "0/1"
		if got := seen.update(skyhook, []corev1.Node{step.node}); !slices.Equal(got, step.want) {
			t.Errorf("%s: got %q, want %q", step.name, got, step.want)
		}
	}
	if got := seen.update(skyhook, []corev1.Node{withState("{")}); len(got) != 1 || !strings.Contains(got[0], "nodeState_demo") {
		t.Errorf("an unreadable record: got %q", got)
	}
}

func TestCompleteIsAboutThePresentSpec(t *testing.T) {
	s := &v1alpha1.Skyhook{ObjectMeta: metav1.ObjectMeta{Generation: 2}}
	s.Status.Status, s.Status.ObservedGeneration = v1alpha1.StatusComplete, 1
	if complete(s) {
		t.Error("the status of an older spec counts")
	}
	s.Status.ObservedGeneration = 2
	if !complete(s) {
		t.Error("the status of the present spec does not count")
	}
}

// fakePlace is a place whose hosts answer with one text, and which remembers what was run.
type fakePlace struct {
	content string
	err     error
	ran     []string
}

func (*fakePlace) connect(context.Context) (access, error)  { return access{}, nil }
func (*fakePlace) manifest(context.Context) ([]byte, error) { return nil, nil }
func (*fakePlace) hint() string                             { return "the hint" }
func (p *fakePlace) onHost(_ context.Context, node string, argv ...string) (string, error) {
	p.ran = append(p.ran, node+": "+strings.Join(argv, " "))
	return p.content, p.err
}

func newDemo(t *testing.T, p *fakePlace, objects ...client.Object) (*demo, *bytes.Buffer, client.Client) {
	t.Helper()
	scheme, err := settings.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
	var printed bytes.Buffer
	return &demo{root: "../..", out: newOutput(&printed), place: p, client: c}, &printed, c
}

func TestResetRemovesAnEarlierRun(t *testing.T) {
	old := node("node1", func(n *corev1.Node) {
		n.Annotations["skyhook.nvidia.com/nodeState_demo"] = "{}"
		n.Annotations["skyhook.nvidia.com/version_demo"] = "v1"
		n.Annotations["skyhook.nvidia.com/nodeState_other"] = "{}"
		n.Annotations["example.com/x_demo"] = "kept"
	})
	place := &fakePlace{}
	d, _, c := newDemo(t, place, &old, &v1alpha1.Skyhook{ObjectMeta: metav1.ObjectMeta{Name: skyhookName}})
	d.nodes = []string{"node1"}
	if err := d.reset(t.Context()); err != nil {
		t.Fatal(err)
	}
	var list v1alpha1.SkyhookList
	if err := c.List(t.Context(), &list); err != nil || len(list.Items) != 0 {
		t.Errorf("left are Skyhooks %v, error %v", list.Items, err)
	}
	var now corev1.Node
	if err := c.Get(t.Context(), client.ObjectKey{Name: "node1"}, &now); err != nil {
		t.Fatal(err)
	}
	if now.Annotations["skyhook.nvidia.com/nodeState_other"] == "" || now.Annotations["example.com/x_demo"] == "" || len(now.Annotations) != 2 {
		t.Errorf("annotations are %v", now.Annotations)
	}
	if want := []string{"node1: rm -rf /skyhook-hello-world /var/lib/skyhook/demo /var/log/skyhook/demo"}; !slices.Equal(place.ran, want) {
		t.Errorf("ran %q, want %q", place.ran, want)
	}
}

func TestChooseNodesMovesTheLabel(t *testing.T) {
	a, b := node("a", nil), node("b", func(n *corev1.Node) { n.Labels[demoLabel] = demoValue })
	t.Setenv("DEMO_NODES", "a")
	d, _, c := newDemo(t, &fakePlace{}, &a, &b)
	if err := d.chooseNodes(t.Context()); err != nil {
		t.Fatal(err)
	}
	var labeled corev1.NodeList
	if err := c.List(t.Context(), &labeled, client.MatchingLabels{demoLabel: demoValue}); err != nil {
		t.Fatal(err)
	}
	if len(labeled.Items) != 1 || labeled.Items[0].Name != "a" {
		t.Errorf("labeled are %v", labeled.Items)
	}
}

func TestApplyUsesTheManifestUnchanged(t *testing.T) {
	d, _, c := newDemo(t, &fakePlace{})
	if err := d.apply(t.Context()); err != nil {
		t.Fatal(err)
	}
	var skyhook v1alpha1.Skyhook
	if err := c.Get(t.Context(), client.ObjectKey{Name: skyhookName}, &skyhook); err != nil {
		t.Fatal(err)
	}
	tuning := skyhook.Spec.Packages["tuning"]
	if tuning.Version != "1.1.0" || tuning.Image != "ghcr.io/nvidia/skyhook-packages/shellscript" || len(tuning.ConfigMap) != 4 {
		t.Errorf("package tuning is %+v", tuning)
	}
	if err := d.apply(t.Context()); err == nil {
		t.Error("applying over an existing Skyhook would show no work, but is not refused")
	}
}

func TestShow(t *testing.T) {
	tests := []struct {
		name    string
		content string
		err     error
		want    string
	}{
		{"both stages", "hello world\na config is run\n", nil, ""},
		{"config did not run", "hello world\n", nil, `lacks the line "a config is run"`},
		{"no file", "", errors.New("no such file"), "no such file"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			d, printed, _ := newDemo(t, &fakePlace{content: test.content, err: test.err})
			d.nodes, d.access.kubectl = []string{"node1"}, "/bin/echo"
			err := d.show(t.Context())
			if test.want != "" {
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("got %v, want %q in it", err, test.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, part := range []string{"    hello world\n    a config is run\n", "    get skyhook demo\n", "Time taken: ", "the hint"} {
				if !strings.Contains(printed.String(), part) {
					t.Errorf("%q is not in the output:\n%s", part, printed)
				}
			}
		})
	}
}

func TestHostPodLeavesNothing(t *testing.T) {
	for _, phase := range []corev1.PodPhase{corev1.PodSucceeded, corev1.PodFailed} {
		t.Run(string(phase), func(t *testing.T) {
			c := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
				Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
					o.(*corev1.Pod).Status.Phase = phase
					return c.Create(ctx, o, opts...)
				},
			}).Build()
			out, err := hostPod{client: c, kubectl: "/bin/echo"}.run(t.Context(), "node1", []string{"cat", helloFile})
			if (err == nil) != (phase == corev1.PodSucceeded) {
				t.Errorf("got error %v", err)
			}
			if !strings.HasPrefix(out, "logs --namespace skyhook demo-host-") {
				t.Errorf("got output %q", out)
			}
			var left corev1.PodList
			if err := c.List(t.Context(), &left); err != nil || len(left.Items) != 0 {
				t.Errorf("left are %d pods, error %v", len(left.Items), err)
			}
		})
	}
}

func TestHostPodRunsInTheRootOfItsNode(t *testing.T) {
	spec := newHostPod("node1", []string{"cat", "/x"}).Spec
	if spec.NodeName != "node1" || spec.Volumes[0].HostPath.Path != "/" || spec.RestartPolicy != corev1.RestartPolicyNever {
		t.Errorf("spec is %+v", spec)
	}
	if want := []string{"chroot", "/host", "cat", "/x"}; !slices.Equal(spec.Containers[0].Command, want) {
		t.Errorf("command is %v, want %v", spec.Containers[0].Command, want)
	}
}

func TestOutputHasOneClock(t *testing.T) {
	var printed bytes.Buffer
	o := newOutput(&printed)
	o.start = o.start.Add(-time.Minute)
	if _, err := o.Write([]byte("testbed   12.3 s  start the daemon ...\ncompiling\n")); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(printed.String(), "\n")
	if len(lines) != 3 || !strings.HasSuffix(lines[0], " s  start the daemon ...") || strings.Count(lines[0], " s ") != 1 || !strings.HasSuffix(lines[1], " s  compiling") {
		t.Errorf("got %q", lines)
	}
}

func TestForeignNeedsKubectl(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := newForeign("../.."); err == nil || !strings.Contains(err.Error(), "kubectl") {
		t.Errorf("got %v, want a sentence on kubectl", err)
	}
}

func TestForeignSaysWhichFileItCannotRead(t *testing.T) {
	t.Setenv("KUBECONFIG", os.DevNull+"/none")
	if _, err := (&foreign{}).connect(t.Context()); err == nil || !strings.Contains(err.Error(), "/none") {
		t.Errorf("got %v", err)
	}
}
