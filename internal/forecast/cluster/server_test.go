package cluster_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// TestServer holds the cluster in memory to what a real API server does.
func TestServer(t *testing.T) {
	for name, c := range servers(t) {
		for i, test := range []struct {
			name string
			run  func(scene)
		}{
			{"versions", versions},
			{"a write that changes nothing", idleWrites},
			{"generations", generations},
			{"generations of policies", policyGenerations},
			{"status apart", statusApart},
			{"status at creation", statusAtCreation},
			{"merge patches", mergePatches},
			{"metadata with a status", metadataWithStatus},
			{"strategic merge patches of node conditions", conditionPatches},
			{"errors", plainErrors},
			{"delete preconditions", deletePreconditions},
			{"graceful deletion", gracefulDeletion},
			{"deletion at once", deletionAtOnce},
			{"finalizers", finalizers},
			{"finalizers of pods", podFinalizers},
			{"propagation", propagation},
			{"eviction", eviction},
			{"defaults", defaults},
			{"lists", lists},
		} {
			t.Run(name+"/"+test.name, func(t *testing.T) { test.run(scene{t, c, fmt.Sprintf("server-%d", i)}) })
		}
	}
}

func versions(s scene) {
	n := s.node()
	old := n.DeepCopy()
	s.must(s.patch(n, `{"metadata":{"labels":{"x":"1"}}}`))
	if n.ResourceVersion == old.ResourceVersion || n.Labels["x"] != "1" {
		s.Error("the answer does not show the write")
	}
	old.Labels = map[string]string{"x": "2"}
	s.want(apierrors.IsConflict, s.Update(s.Context(), old))
	s.want(apierrors.IsConflict, s.Status().Update(s.Context(), old))
	s.want(apierrors.IsConflict, s.patch(n, `{"metadata":{"resourceVersion":"`+old.ResourceVersion+`","labels":{"x":"2"}}}`))
	s.want(apierrors.IsConflict, s.patchStatus(n, `{"metadata":{"resourceVersion":"`+old.ResourceVersion+`"},"status":{"phase":"Running"}}`))
	s.must(s.patch(n, `{"metadata":{"resourceVersion":"`+n.ResourceVersion+`","labels":{"x":"3"}}}`))

	unconditional := n.DeepCopy()
	unconditional.ResourceVersion = ""
	s.must(s.Update(s.Context(), unconditional))
	unconditional.ResourceVersion, unconditional.UID = "", "other"
	s.want(apierrors.IsConflict, s.Update(s.Context(), unconditional))
	h := s.skyhook()
	h.ResourceVersion = ""
	s.want(apierrors.IsInvalid, s.Update(s.Context(), h))
	s.now(h)
	before := h.DeepCopy()
	h.Labels = map[string]string{"x": "1"}
	s.must(s.Patch(s.Context(), h, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})))
	again := before.DeepCopy()
	again.Labels = map[string]string{"x": "2"}
	s.want(apierrors.IsConflict, s.Patch(s.Context(), again, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})))
}

func idleWrites(s scene) {
	n, h := s.node(), s.skyhook()
	s.must(s.patchStatus(h, `{"status":{"status":"waiting","completeNodes":"0/1","nodesInProgress":0,"packageList":"a:1.0.0"}}`))
	for name, f := range map[string]func() error{
		"patch": func() error {
			return s.patch(n, `{"metadata":{"annotations":{"a":"1"}},"spec":{"unschedulable":false}}`)
		},
		"removal of nothing":       func() error { return s.patch(n, `{"metadata":{"annotations":{"b":null}}}`) },
		"update":                   func() error { return s.Update(s.Context(), n) },
		"status update":            func() error { return s.Status().Update(s.Context(), n) },
		"a status by the main way": func() error { return s.patch(n, `{"status":{"phase":"Running"}}`) },
	} {
		if s.writes(n, f) {
			s.Errorf("%s counts as a write", name)
		}
	}
	if s.writes(h, func() error { return s.patchStatus(h, `{"status":{"status":"waiting"}}`) }) {
		s.Error("a status patch counts as a write")
	}
}

func generations(s scene) {
	h := s.skyhook()
	for _, step := range []struct {
		name string
		do   func() error
		want int64
	}{
		{"nothing", func() error { return nil }, 1},
		{"a label, an annotation", func() error { return s.patch(h, `{"metadata":{"labels":{"x":"1"},"annotations":{"x":"1"}}}`) }, 1},
		{"a status", func() error {
			return s.patchStatus(h, `{"status":{"status":"waiting","completeNodes":"0/1","nodesInProgress":0,"packageList":""}}`)
		}, 1},
		{"the spec", func() error { return s.patch(h, `{"spec":{"serial":true}}`) }, 2},
		{"the same spec", func() error { return s.patch(h, `{"spec":{"serial":true}}`) }, 2},
		{"a package", func() error { return s.patch(h, `{"spec":{"packages":{"a":{"version":"2.0.0"}}}}`) }, 3},
		{"a finalizer", func() error { return s.patch(h, `{"metadata":{"finalizers":["x/y"]}}`) }, 3},
		{"a generation", func() error { return s.patch(h, `{"metadata":{"generation":9}}`) }, 3},
		{"its deletion", func() error { return s.Delete(s.Context(), h) }, 4},
		{"its deletion again", func() error { return s.Delete(s.Context(), h) }, 4},
		{"the spec of what is being deleted", func() error { return s.patch(h, `{"spec":{"serial":false}}`) }, 5},
	} {
		s.must(step.do())
		s.now(h)
		if h.Generation != step.want {
			s.Errorf("after %s: generation %d, want %d", step.name, h.Generation, step.want)
		}
	}
	s.must(s.patch(h, `{"metadata":{"finalizers":null}}`))
}

func policyGenerations(s scene) {
	p := &v1alpha1.DeploymentPolicy{ObjectMeta: metav1.ObjectMeta{Name: s.name}}
	count := 3
	p.Spec.Default.Budget.Count = &count
	p.Spec.Default.Strategy.Fixed = &v1alpha1.FixedStrategy{}
	s.create(p)
	s.must(s.patch(p, `{"metadata":{"labels":{"x":"1"}}}`))
	if p.Generation != 1 {
		s.Errorf("generation %d after a label", p.Generation)
	}
	s.must(s.patch(p, `{"spec":{"default":{"budget":{"count":4}}}}`))
	if p.Generation != 2 {
		s.Errorf("generation %d after an edit", p.Generation)
	}
	s.must(s.Delete(s.Context(), p))
}

func statusApart(s scene) {
	n := s.node()
	s.must(s.patchStatus(n, `{"status":{"nodeInfo":{"bootID":"b1"}}}`))
	s.must(s.patch(n, `{"spec":{"unschedulable":true},"status":{"nodeInfo":{"bootID":"b2"}}}`))
	if n.Status.NodeInfo.BootID != "b1" || !n.Spec.Unschedulable {
		s.Errorf("the main way changed the status to %q", n.Status.NodeInfo.BootID)
	}
	n.Status.NodeInfo.BootID, n.Spec.Unschedulable = "b3", false
	s.must(s.Status().Update(s.Context(), n))
	if n.Status.NodeInfo.BootID != "b3" || !n.Spec.Unschedulable {
		s.Error("the status way changed the spec, or not the status")
	}

	p := s.pod(s.name)
	s.must(s.patchStatus(p, `{"status":{"phase":"Running"}}`))
	s.must(s.patch(p, `{"metadata":{"labels":{"x":"1"}},"status":{"phase":"Failed"}}`))
	if p.Status.Phase != corev1.PodRunning || p.Labels["x"] != "1" {
		s.Errorf("the pod is %s", p.Status.Phase)
	}

	h := s.skyhook()
	h.Status.Status, h.Spec.Serial = v1alpha1.StatusComplete, true
	s.must(s.Update(s.Context(), h))
	if h.Status.Status != "" || !h.Spec.Serial {
		s.Errorf("an update of a Skyhook left %q", h.Status.Status)
	}
	s.must(s.patchStatus(h, `{"metadata":{"labels":{"x":"1"}},"spec":{"serial":false},"status":{"status":"paused","completeNodes":"0/1","nodesInProgress":0,"packageList":""}}`))
	if h.Status.Status != v1alpha1.StatusPaused || !h.Spec.Serial || h.Labels["x"] != "" {
		s.Errorf("the status way left %s, labels %v", toJSON(s, h.Spec), h.Labels)
	}
}

func statusAtCreation(s scene) {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: s.name}}
	n.Status.NodeInfo.BootID = "b1"
	s.create(n)
	p := newPod(s.name, s.name)
	p.Status.Phase = corev1.PodSucceeded
	s.create(p)
	h := newSkyhook(s.name)
	h.Status.Status = v1alpha1.StatusComplete
	s.create(h)
	if n.Status.NodeInfo.BootID != "b1" || p.Status.Phase != corev1.PodPending || h.Status.Status != "" {
		s.Errorf("node %q, pod %q, Skyhook %q", n.Status.NodeInfo.BootID, p.Status.Phase, h.Status.Status)
	}
	if *p.Spec.TerminationGracePeriodSeconds != 30 {
		s.Error("the pod has no time to end")
	}
}

func mergePatches(s scene) {
	h := s.skyhook()
	for _, step := range []struct{ body, want string }{
		{`{"spec":{"packages":{"a":{"configMap":{"k":"1","l":"2"}}}}}`, `"configMap":{"k":"1","l":"2"}`},
		{`{"spec":{"packages":{"a":{"configMap":{"k":null,"m":"3"}}}}}`, `"configMap":{"l":"2","m":"3"}`},
		{`{"spec":{"packages":{"a":{"interrupt":{"type":"service","services":["a","b"]}}}}}`, `"interrupt":{"type":"service","services":["a","b"]}`},
		{`{"spec":{"packages":{"a":{"interrupt":{"services":["c"]}}}}}`, `"interrupt":{"type":"service","services":["c"]}`},
		{`{"spec":{"packages":{"a":{"interrupt":null}},"unheardOf":1}}`, `"packages":{"a":{"version":"1.0.0","image":"x/a","configMap":{"l":"2","m":"3"}}}`},
		{`{"spec":{"packages":{"b":{"version":"1.0.0","image":"x/b"},"a":null}}}`, `"packages":{"b":{"version":"1.0.0","image":"x/b"}}`},
		{`{"spec":{"interruptionBudget":{"count":2,"percent":null}}}`, `"interruptionBudget":{"count":2}`},
		{`{"spec":{"additionalTolerations":[{"key":"x","operator":"Exists","tolerationSeconds":5}]}}`, `[{"key":"x","operator":"Exists","tolerationSeconds":5}]`},
		{`{"spec":{"additionalTolerations":[{"key":"y","operator":"Exists"}]}}`, `[{"key":"y","operator":"Exists"}]`},
		{`{"spec":{"priority":null}}`, `"priority":200`},
	} {
		s.must(s.patch(h, step.body))
		if got := toJSON(s, h.Spec); !strings.Contains(got, step.want) {
			s.Errorf("after %s: %s", step.body, got)
		}
	}
	s.want(apierrors.IsBadRequest, s.patch(h, `{"spec":`))
	n := s.node()
	s.must(s.patch(n, `{"metadata":{"annotations":null},"spec":{"taints":[{"key":"x","effect":"NoSchedule"}]}}`))
	s.must(s.patch(n, `{"spec":{"taints":null}}`))
	if len(n.Annotations) > 0 || slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == "x" }) {
		s.Errorf("annotations %v, taints %v", n.Annotations, n.Spec.Taints)
	}
}

// metadataWithStatus: whoever writes the status of what is no custom resource may change its labels and annotations.
func metadataWithStatus(s scene) {
	for _, o := range []client.Object{s.node(), s.pod(s.name)} {
		s.must(s.patch(o, `{"metadata":{"labels":{"gone":"1","x":"0"}}}`))
		s.must(s.patchStatus(o, `{"metadata":{"labels":{"gone":null,"x":"1"},"annotations":{"b":"2"}},"status":{"phase":"Running"}}`))
		s.now(o)
		if _, gone := o.GetLabels()["gone"]; gone || o.GetLabels()["x"] != "1" || o.GetAnnotations()["b"] != "2" {
			s.Errorf("%T has labels %v, annotations %v", o, o.GetLabels(), o.GetAnnotations())
		}
		if s.writes(o, func() error { return s.patchStatus(o, `{"metadata":{"labels":{"x":"1"}}}`) }) {
			s.Errorf("the same labels of %T count as a write", o)
		}
		if !s.writes(o, func() error { return s.patchStatus(o, `{"metadata":{"labels":{"x":"2"}}}`) }) {
			s.Errorf("other labels of %T count as no write", o)
		}
		s.want(apierrors.IsInvalid, s.patchStatus(o, `{"metadata":{"labels":{"x":"not one"}}}`))
		o.SetAnnotations(map[string]string{"c": "3"})
		s.must(s.Status().Update(s.Context(), o))
		if got := o.GetAnnotations(); len(got) != 1 || got["c"] != "3" {
			s.Errorf("after an update %T has annotations %v", o, got)
		}
	}
}

func conditionPatches(s scene) {
	n := s.node()
	s.must(s.patchStatus(n, `{"status":{"conditions":[{"type":"Ready","status":"True","reason":"KubeletReady"}]}}`))
	for _, step := range []struct {
		conditions, want string
		writes           bool
	}{
		{`{"type":"a","status":"True","reason":"1"},{"type":"b","status":"True","reason":"1"}`, "Ready=KubeletReady a=1 b=1", true},
		{`{"type":"a","status":"True","reason":"1"}`, "Ready=KubeletReady a=1 b=1", false},
		{`{"type":"b","status":"False","reason":"2"},{"type":"a","$patch":"delete"}`, "Ready=KubeletReady b=2", true},
		{`{"type":"a","$patch":"delete"}`, "Ready=KubeletReady b=2", false},
		{`{"type":"b","$patch":"delete"}`, "Ready=KubeletReady", true},
	} {
		writes := s.writes(n, func() error { return s.patchStrategically(n, `{"status":{"conditions":[`+step.conditions+`]}}`) })
		if got := conditions(n); got != step.want || writes != step.writes {
			s.Errorf("after %s: %q, wrote %t", step.conditions, got, writes)
		}
	}
	old := n.ResourceVersion
	s.must(s.patchStrategically(n, `{"metadata":{"resourceVersion":"`+old+`","annotations":{"a":null,"b":"2"},"labels":{"l":"1"}},
		"spec":{"unschedulable":true},"status":{"conditions":[{"type":"c","status":"True","reason":"1"}]}}`))
	if _, gone := n.Annotations["a"]; n.ResourceVersion == old || gone || n.Annotations["b"] != "2" || n.Labels["l"] != "1" ||
		n.Spec.Unschedulable || conditions(n) != "Ready=KubeletReady c=1" {
		s.Errorf("the answer is %s", toJSON(s, n))
	}
	s.want(apierrors.IsConflict, s.patchStrategically(n, `{"metadata":{"resourceVersion":"`+old+`","annotations":{"b":"3"}}}`))
	absent := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: s.name + "-absent"}}
	s.want(apierrors.IsNotFound, s.patchStrategically(absent, `{"metadata":{"annotations":{"b":"3"}}}`))
	s.want(apierrors.IsBadRequest, s.patchStrategically(n, `{"status":`))
}

// conditions are what a node has, each as type=reason, by type.
func conditions(n *corev1.Node) string {
	var list []string
	for _, c := range n.Status.Conditions {
		list = append(list, fmt.Sprintf("%s=%s", c.Type, c.Reason))
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

func plainErrors(s scene) {
	n := s.node()
	copied := n.DeepCopy()
	s.want(func(err error) bool { return err != nil && !apierrors.IsAlreadyExists(err) }, s.Create(s.Context(), copied))
	copied.ResourceVersion = ""
	s.want(apierrors.IsAlreadyExists, s.Create(s.Context(), copied))
	absent := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: s.name + "-absent", ResourceVersion: "1"}}
	s.want(apierrors.IsNotFound, s.Get(s.Context(), client.ObjectKeyFromObject(absent), absent))
	s.want(apierrors.IsNotFound, s.Update(s.Context(), absent))
	s.want(apierrors.IsNotFound, s.patch(absent, `{}`))
	s.want(apierrors.IsNotFound, s.patchStatus(absent, `{}`))
	s.want(apierrors.IsNotFound, s.Delete(s.Context(), absent))
	s.want(apierrors.IsNotFound, s.Status().Patch(s.Context(), &v1alpha1.DeploymentPolicy{ObjectMeta: metav1.ObjectMeta{Name: "x"}},
		client.RawPatch(types.MergePatchType, []byte(`{}`))))
}

func deletePreconditions(s scene) {
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: s.name, Namespace: namespace}}
	s.create(cm)
	other, old := types.UID("other"), cm.ResourceVersion
	s.want(apierrors.IsConflict, s.Delete(s.Context(), cm, client.Preconditions{UID: &other}))
	s.must(s.patch(cm, `{"data":{"x":"1"}}`))
	s.want(apierrors.IsConflict, s.Delete(s.Context(), cm, client.Preconditions{UID: &cm.UID, ResourceVersion: &old}))
	s.must(s.Delete(s.Context(), cm, client.Preconditions{UID: &cm.UID, ResourceVersion: &cm.ResourceVersion}))
	first := cm.UID
	again := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: s.name, Namespace: namespace}}
	s.create(again)
	if again.UID == first || len(again.Data) > 0 {
		s.Error("a new object is the old one")
	}
	s.want(apierrors.IsConflict, s.Delete(s.Context(), again, client.Preconditions{UID: &first}))
}

func gracefulDeletion(s scene) {
	p := s.pod(s.name)
	ends := func(want int64) {
		s.Helper()
		s.now(p)
		if p.DeletionTimestamp == nil || *p.DeletionGracePeriodSeconds != want {
			s.Errorf("deletion %v within %v s, want %d", p.DeletionTimestamp, p.DeletionGracePeriodSeconds, want)
		}
	}
	s.must(s.Delete(s.Context(), p, client.Preconditions{UID: &p.UID}))
	ends(30)
	first := *p.DeletionTimestamp
	if s.writes(p, func() error { return s.Delete(s.Context(), p) }) {
		s.Error("a second deletion is a write")
	}
	if s.writes(p, func() error { return s.Delete(s.Context(), p, client.GracePeriodSeconds(60)) }) {
		s.Error("a longer deletion is a write")
	}
	s.must(s.Delete(s.Context(), p, client.GracePeriodSeconds(10)))
	ends(10)
	if earlier := first.Sub(p.DeletionTimestamp.Time).Seconds(); earlier != 20 {
		s.Errorf("it ends %v s earlier, want 20", earlier)
	}
	s.must(s.patchStatus(p, `{"status":{"phase":"Failed"}}`))
	ends(10)
	s.must(s.Delete(s.Context(), p, client.GracePeriodSeconds(0), client.Preconditions{UID: &p.UID}))
	s.want(apierrors.IsNotFound, s.Get(s.Context(), client.ObjectKeyFromObject(p), p))
}

func deletionAtOnce(s scene) {
	ended := s.pod(s.name)
	s.must(s.patchStatus(ended, `{"status":{"phase":"Succeeded"}}`))
	unbound := newPod(s.name+"-unbound", "")
	s.create(unbound)
	running := newPod(s.name+"-running", s.name)
	s.create(running)
	for _, p := range []*corev1.Pod{ended, unbound} {
		s.must(s.Delete(s.Context(), p))
		s.want(apierrors.IsNotFound, s.Get(s.Context(), client.ObjectKeyFromObject(p), p))
	}
	s.must(s.Delete(s.Context(), running, client.GracePeriodSeconds(0)))
	s.want(apierrors.IsNotFound, s.Get(s.Context(), client.ObjectKeyFromObject(running), running))
}

func finalizers(s scene) {
	h := newSkyhook(s.name)
	h.Finalizers = []string{"x/one", "x/two"}
	s.create(h)
	s.must(s.Delete(s.Context(), h))
	s.now(h)
	if h.DeletionTimestamp == nil || *h.DeletionGracePeriodSeconds != 0 {
		s.Errorf("deletion %v within %v s", h.DeletionTimestamp, h.DeletionGracePeriodSeconds)
	}
	if s.writes(h, func() error { return s.Delete(s.Context(), h) }) {
		s.Error("a second deletion is a write")
	}
	s.want(apierrors.IsInvalid, s.patch(h, `{"metadata":{"finalizers":["x/one","x/two","x/three"]}}`))
	s.must(s.patch(h, `{"metadata":{"deletionTimestamp":null,"finalizers":["x/two"]}}`))
	s.now(h)
	if h.DeletionTimestamp == nil {
		s.Error("a deletion was taken back")
	}
	s.must(s.patch(h, `{"metadata":{"finalizers":null}}`))
	s.want(apierrors.IsNotFound, s.Get(s.Context(), client.ObjectKeyFromObject(h), h))
}

func podFinalizers(s scene) {
	p := newPod(s.name, s.name)
	p.Finalizers = []string{"x/one"}
	s.create(p)
	s.must(s.Delete(s.Context(), p))
	s.now(p)
	if *p.DeletionGracePeriodSeconds != 30 {
		s.Errorf("it ends within %d s", *p.DeletionGracePeriodSeconds)
	}
	s.must(s.Delete(s.Context(), p, client.GracePeriodSeconds(0)))
	s.now(p)
	if *p.DeletionGracePeriodSeconds != 0 {
		s.Errorf("it ends within %d s", *p.DeletionGracePeriodSeconds)
	}
	s.must(s.patch(p, `{"metadata":{"finalizers":null}}`))
	s.want(apierrors.IsNotFound, s.Get(s.Context(), client.ObjectKeyFromObject(p), p))
}

func propagation(s scene) {
	for policy, want := range map[metav1.DeletionPropagation]string{
		metav1.DeletePropagationForeground: metav1.FinalizerDeleteDependents, metav1.DeletePropagationOrphan: metav1.FinalizerOrphanDependents,
	} {
		h := newSkyhook(s.name + "-" + strings.ToLower(string(policy)))
		s.create(h)
		s.must(s.Delete(s.Context(), h, client.PropagationPolicy(policy)))
		s.now(h)
		if h.DeletionTimestamp == nil || !slices.Equal(h.Finalizers, []string{want}) {
			s.Errorf("%s: finalizers %v", policy, h.Finalizers)
		}
	}
}

func eviction(s scene) {
	p := s.pod(s.name)
	other, grace := types.UID("other"), int64(7)
	evict := func(uid *types.UID) error {
		return s.SubResource("eviction").Create(s.Context(), p, &policyv1.Eviction{
			DeleteOptions: &metav1.DeleteOptions{GracePeriodSeconds: &grace, Preconditions: &metav1.Preconditions{UID: uid}},
		})
	}
	s.want(apierrors.IsConflict, evict(&other))
	s.must(evict(&p.UID))
	s.now(p)
	if p.DeletionTimestamp == nil || *p.DeletionGracePeriodSeconds != 7 {
		s.Errorf("deletion %v within %v s", p.DeletionTimestamp, p.DeletionGracePeriodSeconds)
	}
	s.must(s.Delete(s.Context(), p, client.GracePeriodSeconds(0)))
	s.want(apierrors.IsNotFound, evict(&p.UID))
}

func defaults(s scene) {
	h := newSkyhook(s.name)
	a := h.Spec.Packages["a"]
	a.Uninstall = &v1alpha1.Uninstall{}
	h.Spec.Packages["a"] = a
	h.Spec.Drain = &v1alpha1.Drain{}
	s.create(h)
	for _, want := range []string{`"priority":200`, `"sequencing":"node"`, `"whenRemoved":"Refuse"`, `"deleteEmptyDirData":true`} {
		if got := toJSON(s, h.Spec); !strings.Contains(got, want) {
			s.Errorf("%s is not in %s", want, got)
		}
	}
	p := &v1alpha1.DeploymentPolicy{ObjectMeta: metav1.ObjectMeta{Name: s.name}}
	count := 3
	p.Spec.Default.Budget.Count = &count
	p.Spec.Default.Strategy.Exponential = &v1alpha1.ExponentialStrategy{}
	s.create(p)
	const want = `"strategy":{"exponential":{"initialBatch":1,"batchThreshold":100,"safetyLimit":50,"growthFactor":2}}`
	if got := toJSON(s, p.Spec); !strings.Contains(got, want) {
		s.Errorf("the policy is %s", got)
	}
}

func lists(s scene) {
	s.node()
	for node, name := range map[string]string{s.name: "-a", s.name + "-else": "-b"} {
		s.create(newPod(s.name+name, node))
	}
	var pods corev1.PodList
	s.must(s.List(s.Context(), &pods, client.MatchingFields{"spec.nodeName": s.name}))
	if len(pods.Items) != 1 || pods.Items[0].Name != s.name+"-a" {
		s.Errorf("%d pods are on the node", len(pods.Items))
	}
	s.must(s.List(s.Context(), &pods, client.InNamespace("elsewhere")))
	if len(pods.Items) > 0 {
		s.Errorf("%d pods are elsewhere", len(pods.Items))
	}
	s.must(s.List(s.Context(), &pods, client.MatchingLabels{"skyhook.nvidia.com/name": "none"}))
	if len(pods.Items) > 0 {
		s.Errorf("%d pods have the label", len(pods.Items))
	}
	s.want(apierrors.IsBadRequest, s.List(s.Context(), &pods, client.MatchingFields{"spec.hostname": "x"}))
	nodes := metav1.PartialObjectMetadataList{}
	nodes.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NodeList"))
	s.must(s.List(s.Context(), &nodes))
	i := slices.IndexFunc(nodes.Items, func(n metav1.PartialObjectMetadata) bool { return n.Name == s.name })
	if i < 0 || nodes.Items[i].Annotations["a"] != "1" || nodes.ResourceVersion == "" {
		s.Errorf("metadata %+v", nodes.Items)
	}
}
