package webhook

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/admission"
)

// counting is a cluster of memory that counts reads, and fails them all when err is set, or lists when listErr is.
type counting struct {
	client.Client
	reads, lists int
	err, listErr error
}

func newCounting(objects ...client.Object) *counting {
	c := &counting{}
	read := func() error {
		c.reads++
		return c.err
	}
	c.Client = interceptor.NewClient(fake.NewClientBuilder().WithScheme(kinds()).WithObjects(objects...).Build(), interceptor.Funcs{
		Get: func(ctx context.Context, w client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if err := read(); err != nil {
				return err
			}
			return w.Get(ctx, key, o, opts...)
		},
		List: func(ctx context.Context, w client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
			c.lists++
			if c.listErr != nil {
				return c.listErr
			}
			if err := read(); err != nil {
				return err
			}
			return w.List(ctx, l, opts...)
		},
	})
	return c
}

// stored is a Skyhook as the API server sends it of what is stored.
func stored(t *testing.T, spec string) *v1alpha1.Skyhook {
	s := parse[*v1alpha1.Skyhook](t, manifest("demo", spec))
	s.UID, s.ResourceVersion = "u", "999"
	return s
}

func node(name, annotation string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{"none": "here"}, Annotations: map[string]string{"skyhook.nvidia.com/nodeState_demo": annotation},
	}}
}

// TestNodesThatLeftAreNotWaitedFor: on a node that no Skyhook selects any more nothing is undone.
func TestNodesThatLeftAreNotWaitedFor(t *testing.T) {
	const installed = `{"tuning|1.2.0":{"name":"tuning","version":"1.2.0","stage":"config","state":"complete"}}`
	left := node("left", installed)
	left.Labels = nil
	for name, c := range map[string]struct {
		node    *corev1.Node
		refused bool
	}{"selected": {node("stays", installed), true}, "left": {left, false}} {
		old := stored(t, wanted)
		v := &skyhooks{cached: newCounting(c.node, old), live: newCounting()}
		_, err := v.ValidateUpdate(t.Context(), old, parse[*v1alpha1.Skyhook](t, manifest("demo", "")))
		if (err != nil) != c.refused {
			t.Errorf("%s: removing the package gives %v", name, err)
		}
	}
}

// TestNodesAreReadOnlyIfTheyMatter: nodes are many, and most changes are no matter of theirs.
func TestNodesAreReadOnlyIfTheyMatter(t *testing.T) {
	for _, c := range []struct {
		name, old, spec string // no old spec: the Skyhook is new
		want            int
	}{
		{"new", "", wanted, 1},
		{"new, to be uninstalled", "", applied, 1},
		{"nothing", applied, applied, 0},
		{"configuration", wanted, strings.Replace(wanted, "image: x", "image: x, configMap: {k: v}", 1), 0},
		{"policy of removal", wanted, whenRemoved, 0},
		{"cancelled", applied, wanted, 0},
		{"removed", wanted, "", 1},
		{"another version", wanted, strings.Replace(wanted, "1.2.0", "1.3.0", 1), 1},
		{"to be uninstalled", wanted, applied, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			old := stored(t, c.old)
			nodes := newCounting(old)
			v := &skyhooks{cached: nodes, live: newCounting()}
			s := parse[*v1alpha1.Skyhook](t, manifest("demo", c.spec))
			var err error
			if c.old == "" {
				_, err = v.ValidateCreate(t.Context(), s)
			} else {
				_, err = v.ValidateUpdate(t.Context(), old, s)
			}
			if err != nil || nodes.lists != c.want {
				t.Errorf("read nodes %d times, want %d; error %v", nodes.lists, c.want, err)
			}
		})
	}
}

func TestUnreadableRecordsAreToldOf(t *testing.T) {
	old := stored(t, wanted)
	v := &skyhooks{cached: newCounting(old, node("n2", "{"), node("n1", "]"), node("abandoned", "{"), node("n3", "{}"), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "other"}})}
	s := parse[*v1alpha1.Skyhook](t, manifest("demo", ""))
	s.Annotations = map[string]string{"skyhook.nvidia.com/abandon-uninstall": "abandoned"}
	got, err := v.ValidateUpdate(t.Context(), old, s)
	want := []string{"what is installed on nodes n1, n2 is not known, because the annotation skyhook.nvidia.com/nodeState_demo there " +
		"cannot be read; correct the annotation, or remove it"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestFailuresAreNoRefusals: what goes wrong here is told as an error of the server, not as a mistake of the user.
func TestFailuresAreNoRefusals(t *testing.T) {
	broken := newCounting()
	broken.err = errors.New("boom")
	whole := newCounting()
	old, used := stored(t, wanted), policy(t, "used", "zone")
	used.ResourceVersion = "999"
	listless := newCounting(old, used)
	listless.listErr = errors.New("boom")
	removal := func(v *skyhooks) error {
		_, err := v.ValidateUpdate(t.Context(), old, parse[*v1alpha1.Skyhook](t, manifest("demo", "")))
		return err
	}
	named := func(v *skyhooks) error {
		_, err := v.ValidateCreate(t.Context(), parse[*v1alpha1.Skyhook](t, manifest("demo", "  deploymentPolicy: p")))
		return err
	}
	deletion := func(cached client.Reader) error {
		_, err := (&policies{cached: cached, live: listless}).ValidateDelete(t.Context(), used)
		return err
	}
	for want, err := range map[string]error{
		"list nodes: boom":             removal(&skyhooks{cached: listless, live: whole}),
		"get skyhooks demo: boom":      removal(&skyhooks{cached: broken, live: whole}),
		"get DeploymentPolicy p: boom": named(&skyhooks{cached: whole, live: broken}),
		"list Skyhooks: boom":          deletion(listless),

		"get deploymentpolicies used: boom": deletion(broken),
	} {
		if !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// TestWithoutMatchConditions: where the chart's conditions are missing, the handlers themselves let metadata and
// deletion pass.
func TestWithoutMatchConditions(t *testing.T) {
	v, p := &skyhooks{}, &policies{}
	bad := parse[*v1alpha1.Skyhook](t, cycle("demo"))
	held := bad.DeepCopy()
	held.Annotations = map[string]string{"skyhook.nvidia.com/pause": "true"}
	going := parse[*v1alpha1.Skyhook](t, manifest("demo", ""))
	going.DeletionTimestamp = &metav1.Time{}
	for name, s := range map[string]*v1alpha1.Skyhook{"metadata": held, "deletion": going} {
		if got, err := v.ValidateUpdate(t.Context(), bad, s); got != nil || err != nil {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if got, err := v.ValidateDelete(t.Context(), bad); got != nil || err != nil {
		t.Errorf("deletion: %v, %v", got, err)
	}
	badPolicy := policy(t, "demo", "not a key")
	goingPolicy := policy(t, "demo", "not a key either")
	goingPolicy.DeletionTimestamp = &metav1.Time{}
	for name, s := range map[string]*v1alpha1.DeploymentPolicy{"metadata": badPolicy.DeepCopy(), "deletion": goingPolicy} {
		if got, err := p.ValidateUpdate(t.Context(), badPolicy, s); got != nil || err != nil {
			t.Errorf("policy, %s: %v, %v", name, got, err)
		}
	}
}

// TestImageRules: the operator's rules are told with their fields and what helps, for a new Skyhook and for a change.
func TestImageRules(t *testing.T) {
	c := newCounting()
	v := &skyhooks{cached: c, live: c, images: admission.ImageRules{RequireDigest: true, Registries: []string{"ghcr.io/org"}, ForbidAgentOverride: true}}
	wrong := stored(t, `  packages: {a: {version: 1.0.0, image: evil.io/a, agentImageOverride: x/y:1}}`)
	_, created := v.ValidateCreate(t.Context(), wrong)
	_, changed := v.ValidateUpdate(t.Context(), stored(t, `  packages: {}`), wrong)
	for _, err := range []error{created, changed} {
		for _, part := range []string{
			"spec.packages.a.image: ", "spec.packages.a.agentImageOverride: ", "spec.packages.a.containerSHA: ", "ALLOWED_REGISTRIES", "REQUIRE_DIGEST",
		} {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%v does not say %q", err, part)
			}
		}
	}
	paused := wrong.DeepCopy()
	paused.Annotations = map[string]string{v1alpha1.AnnotationPause: "true"}
	if _, err := v.ValidateUpdate(t.Context(), wrong, paused); err != nil {
		t.Errorf("it cannot be paused: %v", err)
	}
}
