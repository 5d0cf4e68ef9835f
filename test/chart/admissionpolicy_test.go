//go:build integration

package chart

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/test/apiserver"
)

const (
	policyKey  = "ValidatingAdmissionPolicy/skyhook-operator-workloads"
	bindingKey = "ValidatingAdmissionPolicyBinding/skyhook-operator-workloads"

	operatorUser  = "system:serviceaccount:skyhook:skyhook-skyhook-operator-controller-manager"
	collectorUser = "system:serviceaccount:kube-system:generic-garbage-collector"
)

// guarded is an API server with the chart's policy in force in namespace "skyhook".
type guarded struct {
	t      *testing.T
	config *rest.Config
}

func newGuarded(t *testing.T, args ...string) guarded {
	t.Helper()
	g := guarded{t: t, config: apiserver.Start(t)}
	all, admin := render(t, args...), g.as("admin")
	for _, namespace := range []string{"skyhook", "elsewhere"} {
		g.must(admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))
		// No controller makes it here, and pods need one.
		g.must(admin.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "default"}}))
	}
	g.must(admin.Create(t.Context(), get[*admissionregistrationv1.ValidatingAdmissionPolicy](t, all, policyKey)))
	g.must(admin.Create(t.Context(), get[*admissionregistrationv1.ValidatingAdmissionPolicyBinding](t, all, bindingKey)))
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		return apierrors.IsForbidden(admin.Create(ctx, marked(configMap("first")), client.DryRunAll)), nil
	})
	if err != nil {
		t.Fatalf("the policy is not in force: %v", err)
	}
	return g
}

func (g guarded) must(err error) {
	g.t.Helper()
	if err != nil {
		g.t.Fatal(err)
	}
}

// as returns a client of somebody who may do everything, as far as roles say.
func (g guarded) as(user string) client.Client {
	g.t.Helper()
	config := rest.CopyConfig(g.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:masters"}}
	c, err := client.New(config, client.Options{})
	g.must(err)
	return c
}

func (g guarded) check(what string, err error, allowed bool) {
	g.t.Helper()
	if (err == nil) != allowed || err != nil && !strings.Contains(err.Error(), "only the Skyhook operator makes or changes such") {
		g.t.Errorf("%s: %v, want it allowed: %t", what, err, allowed)
	}
}

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "skyhook", Name: name}, Data: map[string]string{"apply.sh": "true"}}
}

func pod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "skyhook", Name: name},
		Spec:       corev1.PodSpec{NodeName: "node1", Containers: []corev1.Container{{Name: "c", Image: "image"}}},
	}
}

func revision(name string) *appsv1.ControllerRevision {
	return &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Namespace: "skyhook", Name: name}, Data: runtime.RawExtension{Raw: []byte(`{"package":"tuning"}`)}, Revision: 1,
	}
}

func marked[T client.Object](object T) T {
	object.SetLabels(map[string]string{"skyhook.nvidia.com/name": "demo"})
	return object
}

func owned[T client.Object](object T) T {
	object.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: "skyhook.nvidia.com/v1alpha1", Kind: "Skyhook", Name: "demo", UID: "demo", Controller: new(true), BlockOwnerDeletion: new(true),
	}})
	return object
}

func annotated[T client.Object](object T) T {
	object.SetAnnotations(map[string]string{"skyhook.nvidia.com/package": "{}"})
	return object
}

func TestOnlyTheOperatorMakesItsObjects(t *testing.T) {
	g := newGuarded(t, "--set", "admissionPolicy.allow[0]=system:serviceaccount:velero:velero")
	for _, test := range []struct {
		name   string
		object func() client.Object
		ours   bool
	}{
		{"pod with a label", func() client.Object { return marked(pod("a")) }, true},
		{"pod with an owner", func() client.Object { return owned(pod("b")) }, true},
		{"pod with an annotation", func() client.Object { return annotated(pod("c")) }, true},
		{"config map with a label", func() client.Object { return marked(configMap("d")) }, true},
		{"config map with an owner", func() client.Object { return owned(configMap("e")) }, true},
		{"config map by the name of a node's metadata", func() client.Object { return configMap("demo-node1-metadata-0123abcd") }, true},
		{"definition with a label", func() client.Object { return marked(revision("f")) }, true},
		{"definition with an owner", func() client.Object { return owned(revision("g")) }, true},
		{"any pod", func() client.Object { return pod("h") }, false},
		{"any config map", func() client.Object { return configMap("kube-root-ca.crt") }, false},
		{"any revision", func() client.Object { return revision("i") }, false},
	} {
		for user, trusted := range map[string]bool{
			"admin": false, "system:node:node1": false, collectorUser: false, "system:serviceaccount:elsewhere:" + operatorUser[len("system:serviceaccount:skyhook:"):]: false,
			operatorUser: true, "system:serviceaccount:velero:velero": true,
		} {
			err := g.as(user).Create(t.Context(), test.object(), client.DryRunAll)
			g.check(user+" makes a "+test.name, err, trusted || !test.ours)
		}
	}
	elsewhere := marked(pod("a"))
	elsewhere.Namespace = "elsewhere"
	g.check("the same in another namespace", g.as("admin").Create(t.Context(), elsewhere), true)
}

func TestOnlyTheOperatorChangesItsObjects(t *testing.T) {
	g := newGuarded(t)
	operator, admin, collector := g.as(operatorUser), g.as("admin"), g.as(collectorUser)
	for _, object := range []client.Object{owned(marked(configMap("ours"))), owned(marked(pod("ours"))), owned(marked(revision("ours")))} {
		g.must(operator.Create(t.Context(), object))
		kind := fmt.Sprintf("%T: ", object)
		g.check(kind+"admin removes the label", admin.Patch(t.Context(), object, jsonPatch(`{"metadata":{"labels":null}}`), client.DryRunAll), false)
		g.check(kind+"admin gives an annotation of ours", admin.Patch(t.Context(), object, jsonPatch(`{"metadata":{"annotations":{"skyhook.nvidia.com/run":"x"}}}`), client.DryRunAll), false)
		g.check(kind+"admin takes the owner away", admin.Patch(t.Context(), object, jsonPatch(`{"metadata":{"ownerReferences":null}}`), client.DryRunAll), false)
		g.check(kind+"somebody leaves a note", admin.Patch(t.Context(), object, jsonPatch(`{"metadata":{"labels":{"a":"b"},"annotations":{"c":"d"}}}`), client.DryRunAll), true)
		g.check(kind+"the collector takes the owner away", collector.Patch(t.Context(), object, jsonPatch(`{"metadata":{"ownerReferences":null}}`), client.DryRunAll), true)
		g.check(kind+"the collector takes a label away", collector.Patch(t.Context(), object, jsonPatch(`{"metadata":{"labels":null}}`), client.DryRunAll), false)
		g.check(kind+"the operator does", operator.Patch(t.Context(), object, jsonPatch(`{"metadata":{"labels":null}}`), client.DryRunAll), true)
	}
	for what, change := range map[string]struct {
		object client.Object
		patch  string
	}{
		"data of a config map":  {configMap("ours"), `{"data":{"apply.sh":"false"}}`},
		"bytes of a config map": {configMap("ours"), `{"binaryData":{"x":"eA=="}}`},
		"image of a pod":        {pod("ours"), `{"spec":{"containers":[{"name":"c","image":"other"}]}}`},
		"number of a revision":  {revision("ours"), `{"revision":2}`},
	} {
		g.check("admin changes the "+what, admin.Patch(t.Context(), change.object, jsonPatch(change.patch), client.DryRunAll), false)
		g.check("the operator changes the "+what, operator.Patch(t.Context(), change.object, jsonPatch(change.patch), client.DryRunAll), true)
	}
	debugged := pod("ours")
	g.must(admin.Get(t.Context(), client.ObjectKeyFromObject(debugged), debugged))
	debugged.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "debug", Image: "shell"}}}
	g.check("admin puts a container in", admin.SubResource("ephemeralcontainers").Update(t.Context(), debugged), false)

	g.must(admin.Create(t.Context(), configMap("theirs")))
	g.check("admin makes theirs ours", admin.Patch(t.Context(), configMap("theirs"), jsonPatch(`{"metadata":{"labels":{"skyhook.nvidia.com/name":"demo"}}}`)), false)
	for _, object := range []client.Object{configMap("ours"), pod("ours"), revision("ours"), configMap("theirs")} {
		g.check("admin deletes", admin.Delete(t.Context(), object), true)
	}
}

func jsonPatch(text string) client.Patch {
	return client.RawPatch("application/merge-patch+json", []byte(text))
}

// TestAdmissionPolicyIsLeftOut where nobody wants it, and where the API server does not know it.
func TestAdmissionPolicyIsLeftOut(t *testing.T) {
	for _, args := range [][]string{{"--set", "admissionPolicy.enable=false"}, {"--kube-version", "1.29.3"}} {
		all := render(t, args...)
		for _, key := range []string{policyKey, bindingKey, booleansPolicy, booleansBinding} {
			if _, exists := all[key]; exists {
				t.Errorf("%v renders %s", args, key)
			}
		}
	}
	if all := render(t, "--kube-version", "1.30.1-gke.1"); all[policyKey] == nil || all[bindingKey] == nil ||
		all[booleansPolicy] == nil || all[booleansBinding] == nil {
		t.Error("it is not rendered for a cluster that knows it")
	}
}
