package node

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/controller/state"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/workload"
	"github.com/skyhook-operator/skyhook/test/registry"
)

// pinning is a fleet whose kubelets pull from a registry in memory.
type pinning struct {
	*world
	registry string
	infos    map[string]corev1.NodeSystemInfo
	// ran are the images that nodes ran, in order, by node.
	ran map[string][]string
}

func newPinning(t *testing.T, nodes map[string]corev1.NodeSystemInfo) *pinning {
	t.Helper()
	p := &pinning{registry: registry.Serve(t), infos: nodes, ran: map[string][]string{}}
	s := newSkyhook("demo")
	s.Spec.Packages["a"] = v1alpha1.Package{Version: "1.0.0", Image: p.registry + "/a"}
	s.Status.Permits = nil
	objects := make([]client.Object, 0, len(nodes)+1)
	for k, name := range slices.Sorted(maps.Keys(nodes)) {
		n := newNode()
		n.Name, n.UID, n.Status.NodeInfo = name, types.UID("uid-"+name), nodes[name]
		objects = append(objects, n)
		s.Status.Permits = append(s.Status.Permits, v1alpha1.Permit{Node: name, Order: int32(k), Generation: 1})
	}
	p.world = newWorld(t, append(objects, s)...)
	p.Workload.PinImages = true
	return p
}

// push has the tag stand for another image from now on, with so many architectures, and returns its digest.
func (p *pinning) push(architectures int64) string {
	p.t.Helper()
	index, err := random.Index(64, 1, architectures)
	p.must(err)
	return registry.Push(p.t, p.registry+"/a:1.0.0", index)
}

func (p *pinning) pass1(node string) error {
	p.t.Helper()
	// The API server in memory forgets it when conditions are applied.
	n := p.nodeNamed(node)
	n.Status.NodeInfo = p.infos[node]
	p.must(p.Client.Status().Update(p.t.Context(), n))
	result, err := p.Reconcile(p.t.Context(), request(node))
	if err == nil && result.RequeueAfter == conflictRetry {
		return errors.New("the cache was behind")
	}
	return err
}

func (p *pinning) pass(node string) {
	p.t.Helper()
	p.must(p.pass1(node))
}

// pull is what a kubelet does first: it resolves the reference, and reports what that is. A runtime that does not say
// what the tag stands for says which image of the index it took, the one at the given place.
func (p *pinning) pull(node string, platform int) string {
	p.t.Helper()
	pod := p.podOn(node)
	ref, err := name.ParseReference(pod.Spec.InitContainers[0].Image)
	p.must(err)
	got, err := remote.Get(ref)
	p.must(err)
	digest := got.Digest
	if platform >= 0 && got.MediaType.IsIndex() {
		digest = p.platform(got, platform)
	}
	pod.Status.Phase = corev1.PodPending
	pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{
		Name: "a-init", ImageID: ref.Context().Name() + "@" + digest.String(),
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
	}}
	p.must(p.Client.Status().Update(p.t.Context(), pod))
	p.ran[node] = append(p.ran[node], digest.String())
	return digest.String()
}

func (p *pinning) platform(got *remote.Descriptor, at int) v1.Hash {
	p.t.Helper()
	index, err := got.ImageIndex()
	p.must(err)
	manifest, err := index.IndexManifest()
	p.must(err)
	return manifest.Manifests[at].Digest
}

func (p *pinning) podsOn(node string) []corev1.Pod {
	p.t.Helper()
	return p.pods(client.MatchingFields{state.PodsByNode: node})
}

func (p *pinning) podOn(node string) *corev1.Pod {
	p.t.Helper()
	pods := p.podsOn(node)
	if len(pods) != 1 {
		p.t.Fatalf("%d pods on %s", len(pods), node)
	}
	return &pods[0]
}

// finish ends the stage of the pod on a node.
func (p *pinning) finish(node string) {
	p.t.Helper()
	pod := p.podOn(node)
	for i := range pod.Status.InitContainerStatuses {
		pod.Status.InitContainerStatuses[i].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}
	}
	for _, c := range pod.Spec.InitContainers[len(pod.Status.InitContainerStatuses):] {
		pod.Status.InitContainerStatuses = append(pod.Status.InitContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}},
		})
	}
	p.must(p.Client.Status().Update(p.t.Context(), pod))
}

// pullFirst has a node be the first to pull the package's image, up to the end of its stage, which no pass has seen
// yet.
func (p *pinning) pullFirst(node string) {
	p.t.Helper()
	p.push(1)
	p.pass(node)
	p.pull(node, -1)
	p.finish(node)
}

// complete works on a node until it is.
func (p *pinning) complete(node string, platform int) {
	p.t.Helper()
	for range 10 {
		p.pass(node)
		pods := p.podsOn(node)
		if len(pods) == 0 && p.status(node) == v1alpha1.StatusComplete {
			return
		}
		if len(pods) == 1 {
			p.pull(node, platform)
			p.finish(node)
		}
	}
	p.t.Fatalf("%s does not get complete", node)
}

func (p *pinning) status(node string) v1alpha1.Status {
	p.t.Helper()
	r, err := record.Read("demo", p.nodeNamed(node).Annotations)
	p.must(err)
	return r.Status
}

func (p *pinning) pins() []string {
	p.t.Helper()
	var list appsv1.ControllerRevisionList
	p.must(p.Client.List(p.t.Context(), &list))
	var all []string
	for i := range list.Items {
		pin, err := workload.ReadPin(&list.Items[i])
		p.must(err)
		all = append(all, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", pin.Scope, pin.Digest, pin.Moved, pin.Node)))
	}
	slices.Sort(all)
	return all
}

var containerd = corev1.NodeSystemInfo{Architecture: "amd64", ContainerRuntimeVersion: "containerd://2.1.4"}

// TestTagMovesMidRollout: what the first node pulled is what all get, whatever the tag stands for later; also to
// uninstall it.
func TestTagMovesMidRollout(t *testing.T) {
	arm := containerd
	arm.Architecture = "arm64"
	p := newPinning(t, map[string]corev1.NodeSystemInfo{"n1": containerd, "n2": containerd, "n3": arm})
	first := p.push(2)
	p.complete("n1", -1)
	moved := p.push(2)
	p.complete("n2", -1)
	p.complete("n3", -1)
	for node, ran := range p.ran {
		if slices.ContainsFunc(ran, func(digest string) bool { return digest != first }) {
			t.Errorf("%s ran %v; first was %s, then %s", node, ran, first, moved)
		}
	}
	if got := p.pins(); len(got) != 1 || got[0] != first {
		t.Errorf("pinned: %v", got)
	}
}

// TestNotPinned: with the option off the tag counts at each pull, as it did before.
func TestNotPinned(t *testing.T) {
	p := newPinning(t, map[string]corev1.NodeSystemInfo{"n1": containerd, "n2": containerd})
	p.Workload.PinImages = false
	p.push(1)
	p.complete("n1", -1)
	second := p.push(1)
	p.complete("n2", -1)
	if got := p.ran["n2"]; got[0] != second || len(p.pins()) > 0 {
		t.Errorf("n2 ran %v, the tag is %s; pinned: %v", got, second, p.pins())
	}
}

// TestTwoNodesPullAtOnce: the tag moves between their pulls. One of them says what counts; the other is told, and runs
// the stage again.
func TestTwoNodesPullAtOnce(t *testing.T) {
	p := newPinning(t, map[string]corev1.NodeSystemInfo{"n1": containerd, "n2": containerd})
	p.pass("n1")
	p.pass("n2")
	first := p.push(1)
	p.pull("n1", -1)
	second := p.push(1)
	p.pull("n2", -1)
	p.finish("n2") // it is even done with it
	p.pass("n1")
	p.told("")
	p.Transitions.Take("demo")
	p.pass("n2")
	if noted := p.Transitions.Take("demo"); len(p.told("ImageMoved")) != 1 || !slices.ContainsFunc(noted, func(told state.Told) bool {
		return told.Reason == v1alpha1.ReasonImageMoved && told.Type == corev1.EventTypeWarning && slices.Equal(told.Nodes, []string{"n2"})
	}) {
		t.Errorf("node and Skyhook are not told: %+v", noted)
	}
	if got := p.pins(); len(got) != 1 || got[0] != first+" "+second+" n2" {
		t.Errorf("pinned: %v; first %s, then %s", got, first, second)
	}
	p.complete("n2", -1)
	p.complete("n1", -1)
	for node, ran := range p.ran {
		if last := ran[len(ran)-1]; last != first {
			t.Errorf("%s ran %s last", node, last)
		}
	}
}

// TestPinBehindTheCache: a node that does not see yet what another one pinned writes nothing.
func TestPinBehindTheCache(t *testing.T) {
	for _, c := range []struct {
		name  string
		same  bool
		works bool
	}{{"the same image", true, true}, {"another image", false, false}} {
		t.Run(c.name, func(t *testing.T) {
			p := newPinning(t, map[string]corev1.NodeSystemInfo{"n1": containerd, "n2": containerd})
			p.pass("n1")
			p.pass("n2")
			p.push(1)
			p.pull("n1", -1)
			p.pass("n1")
			if !c.same {
				p.push(1)
			}
			p.pull("n2", -1)
			p.finish("n2")
			p.Client = behind{p.Client}
			if err := p.pass1("n2"); (err == nil) != c.works {
				t.Fatalf("error %v", err)
			}
			pods := p.podsOn("n2")
			if moved := len(pods) != 1 || !strings.Contains(pods[0].Name, "apply"); moved != c.works {
				t.Errorf("it went on: %t", moved)
			}
		})
	}
}

// behind is a cache that shows no ControllerRevision.
type behind struct{ client.Client }

func (b behind) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if _, ok := list.(*appsv1.ControllerRevisionList); ok {
		return nil
	}
	return b.Client.List(ctx, list, options...)
}

// TestTwoArchitectures: a runtime that reports the image of its platform pins that for its own architecture alone.
func TestTwoArchitectures(t *testing.T) {
	amd := corev1.NodeSystemInfo{Architecture: "amd64", ContainerRuntimeVersion: "cri-o://1.33.0"}
	arm := corev1.NodeSystemInfo{Architecture: "arm64", ContainerRuntimeVersion: "cri-o://1.33.0"}
	p := newPinning(t, map[string]corev1.NodeSystemInfo{"n1": amd, "n2": arm, "n3": amd, "n4": arm})
	p.push(2)
	p.complete("n1", 0)
	p.complete("n2", 1)
	p.push(2)
	p.complete("n3", 0)
	p.complete("n4", 1)
	for later, earlier := range map[string]string{"n3": "n1", "n4": "n2"} {
		if p.ran[later][0] != p.ran[earlier][0] {
			t.Errorf("%s ran %v, %s before it %v", later, p.ran[later], earlier, p.ran[earlier])
		}
	}
	if p.ran["n1"][0] == p.ran["n2"][0] || len(p.pins()) != 2 || len(p.told("ImageMoved")) > 0 {
		t.Errorf("ran %v; pinned: %v", p.ran, p.pins())
	}
}

// TestForeignPin: an object of somebody else by the name of a pin keeps nobody from working.
func TestForeignPin(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*appsv1.ControllerRevision)
	}{
		{"nobody's", func(r *appsv1.ControllerRevision) { r.OwnerReferences = nil }},
		{"that cannot be read", func(r *appsv1.ControllerRevision) { r.Data.Raw = []byte("{}") }},
		{"that no cache shows", func(r *appsv1.ControllerRevision) {
			r.Labels, r.Data.Raw = nil, []byte(strings.ReplaceAll(string(r.Data.Raw), "sha256:", "sha256:0"))
		}},
		{"that is taken for a definition", func(r *appsv1.ControllerRevision) { delete(r.Labels, v1alpha1.LabelPin) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPinning(t, map[string]corev1.NodeSystemInfo{"n1": containerd})
			p.pass("n1")
			digest := p.push(1)
			foreign, err := p.Workload.PinRevision(newSkyhook("demo"), lifecycle.Pin{
				PinKey: lifecycle.PinKey{Package: "a", Version: "1.0.0", Image: p.registry + "/a"}, Digest: digest,
			})
			p.must(err)
			c.change(foreign)
			p.must(p.Client.Create(t.Context(), foreign))
			p.pull("n1", -1)
			p.finish("n1")
			p.pass("n1")
			if !strings.Contains(p.podOn("n1").Name, "config") {
				t.Error("the node does not go on")
			}
			if len(p.memory.Of(p.nodeNamed("n1")).failures.skyhooks) != 1 {
				t.Error("nobody will hear of it")
			}
		})
	}
}

// TestPinThatCannotBeWritten: while the API server refuses a pin nothing goes on that depends on it.
func TestPinThatCannotBeWritten(t *testing.T) {
	p := newPinning(t, map[string]corev1.NodeSystemInfo{"n1": containerd})
	p.pullFirst("n1")
	p.change(interceptor.Funcs{Create: refusePins(apierrors.NewServiceUnavailable("not now"))})
	p.pass("n1")
	if !strings.Contains(p.podOn("n1").Name, "apply") {
		t.Error("the stage counts although its image is not pinned")
	}
}

// refusePins answers in place of the API server when a pin is created.
func refusePins(err error) func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
	return func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
		if _, ok := o.(*appsv1.ControllerRevision); ok {
			return err
		}
		return c.Create(ctx, o, options...)
	}
}

// TestPinThatIsRefused: a pin that the API server refuses is told, and keeps no other Skyhook from its work.
func TestPinThatIsRefused(t *testing.T) {
	p := newPinning(t, map[string]corev1.NodeSystemInfo{"n1": containerd})
	p.pullFirst("n1")
	other := newSkyhook("aa")
	p.must(p.Client.Create(t.Context(), other))
	other.Status = v1alpha1.SkyhookStatus{ObservedGeneration: 1, Permits: []v1alpha1.Permit{{Node: "n1", Generation: 1}}}
	p.must(p.Client.Status().Update(t.Context(), other))
	p.change(interceptor.Funcs{Create: refusePins(
		apierrors.NewForbidden(appsv1.Resource("controllerrevisions"), "x", errors.New("exceeded quota: revisions")),
	)})
	for range 5 {
		p.clock.SetTime(p.clock.Now().Add(15 * time.Second))
		_ = p.pass1("n1") // one of them is repeated at once, for the record to tell
	}
	if pods := p.pods(client.MatchingLabels{v1alpha1.LabelName: "aa"}); len(pods) != 1 {
		t.Errorf("the other Skyhook has %d pods", len(pods))
	}
	got, err := record.Read("demo", p.nodeNamed("n1").Annotations)
	p.must(err)
	if got.Wait == nil || got.Wait.Reason != v1alpha1.ReasonPassFailed || !strings.Contains(got.Wait.Message, "exceeded quota") {
		t.Errorf("the node tells %+v", got.Wait)
	}
	if pods := p.pods(client.MatchingLabels{v1alpha1.LabelName: "demo"}); len(pods) != 1 || !strings.Contains(pods[0].Name, "apply") {
		t.Errorf("the stage counts although its image is not pinned: %d pods", len(pods))
	}
}

// TestMovedIsNotedOnThePinThatWasRead: another pin has that name by now, and what this node pulled may be what it says.
func TestMovedIsNotedOnThePinThatWasRead(t *testing.T) {
	p := newPinning(t, map[string]corev1.NodeSystemInfo{"n1": containerd, "n2": containerd})
	p.pass("n1")
	p.pass("n2")
	p.push(1)
	p.pull("n1", -1)
	p.pass("n1")
	second := p.push(1)
	p.pull("n2", -1)
	old := p.revision()
	again := old.DeepCopy()
	again.ResourceVersion, again.Data.Raw = "", []byte(strings.ReplaceAll(string(old.Data.Raw), p.ran["n1"][0], second))
	p.must(p.Client.Delete(t.Context(), old))
	p.must(p.Client.Create(t.Context(), again))
	p.must(p.Client.Update(t.Context(), again)) // the API server in memory counts versions anew for each object
	p.change(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if revisions, ok := list.(*appsv1.ControllerRevisionList); ok {
				revisions.Items = []appsv1.ControllerRevision{*old}
				return nil
			}
			return c.List(ctx, list, opts...)
		},
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if revision, ok := o.(*appsv1.ControllerRevision); ok {
				old.DeepCopyInto(revision)
				return nil
			}
			return c.Get(ctx, key, o, opts...)
		},
	})
	if err := p.pass1("n2"); err == nil {
		t.Error("the decision stands although the pin is another one")
	}
	p.Client, _ = p.Live.(client.Client)
	if got := p.pins(); len(got) != 1 || got[0] != second {
		t.Errorf("pinned: %v; the node pulled %s", got, second)
	}
}

// revision is what keeps the pin.
func (p *pinning) revision() *appsv1.ControllerRevision {
	p.t.Helper()
	var list appsv1.ControllerRevisionList
	p.must(p.Client.List(p.t.Context(), &list))
	if len(list.Items) != 1 {
		p.t.Fatalf("%d revisions", len(list.Items))
	}
	return &list.Items[0]
}
