package workload_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

const ownerYAML = `[{apiVersion: skyhook.nvidia.com/v1alpha1, kind: Skyhook, name: demo, uid: 1c5b, controller: true, blockOwnerDeletion: true}]`

func TestPackageConfigMap(t *testing.T) {
	want := read[corev1.ConfigMap](t, `
metadata:
  name: demo-tuning-1.2.0
  namespace: skyhook
  labels: {skyhook.nvidia.com/name: demo}
  annotations:
    skyhook.nvidia.com/name: demo
    skyhook.nvidia.com/Package.Name: tuning
    skyhook.nvidia.com/Package.Version: 1.2.0
  ownerReferences: `+ownerYAML+`
data: {apply.sh: echo, level: "3"}
`)
	got := options.PackageConfigMap(read[v1alpha1.Skyhook](t, skyhookYAML), "tuning")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestNodeMeta(t *testing.T) {
	node := read[corev1.Node](t, `
metadata:
  name: node-1
  labels:
    kubernetes.io/hostname: node-1
    skyhook.nvidia.com/status_demo: complete
    skyhook.nvidia.com/ignore: "false"
  annotations:
    example.com/rack: "7"
    skyhook.nvidia.com/nodeState_demo: "{}"
    skyhook.nvidia.com/status_other: complete
    skyhook.nvidia.com/version_demo: v1
    skyhook.nvidia.com/permit_demo: 1/0
    skyhook.nvidia.com/autoTaint_x: "true"
`)
	before := node.DeepCopy()
	s := read[v1alpha1.Skyhook](t, skyhookYAML)
	base := s.Spec.Packages["base"]
	base.Interrupt = &v1alpha1.Interrupt{Type: v1alpha1.InterruptService, Services: []string{"kubelet"}}
	base.AgentImageOverride = "x/agent:2"
	base.ConfigInterrupts = map[string]v1alpha1.Interrupt{"a": {Type: v1alpha1.InterruptReboot}}
	s.Spec.Packages["base"] = base

	cm, err := options.NodeMeta(s, node)
	if err != nil {
		t.Fatal(err)
	}
	want := read[corev1.ConfigMap](t, `
metadata:
  name: demo-node-1-metadata-898a45d7
  namespace: skyhook
  labels: {skyhook.nvidia.com/skyhook-node-meta: demo}
  annotations: {skyhook.nvidia.com/name: demo, skyhook.nvidia.com/Node.name: node-1}
  ownerReferences: `+ownerYAML+`
`)
	got := cm.DeepCopy()
	got.Data = nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metadata, -want +got\n%s", diff)
	}
	if len(cm.Data) != 3 {
		t.Errorf("files: %v", cm.Data)
	}
	for file, want := range map[string]string{
		"labels.json":      `{"kubernetes.io/hostname":"node-1","skyhook.nvidia.com/ignore":"false"}`,
		"annotations.json": `{"example.com/rack":"7","skyhook.nvidia.com/autoTaint_x":"true"}`,
		"packages.json": `{"agentVersion":"1.4.0","packages":{` +
			`"base":{"name":"base","version":"2.0.0","image":"ghcr.io/a/base","agentImageOverride":"x/agent:2",` +
			`"interrupt":{"type":"service","services":["kubelet"]},"configInterrupts":{"a":{"type":"reboot"}}},` +
			`"tuning":{"name":"tuning","version":"1.2.0","image":"localhost:5000/a/tuning"}}}`,
	} {
		if got := cm.Data[file]; got != want {
			t.Errorf("%s is\n%s\nwant\n%s", file, got, want)
		}
	}
	if diff := cmp.Diff(before, node); diff != "" {
		t.Errorf("the node changed:\n%s", diff)
	}
}

func TestNodeMetaOfBareNode(t *testing.T) {
	cm, err := options.NodeMeta(&v1alpha1.Skyhook{}, &corev1.Node{})
	if err != nil {
		t.Fatal(err)
	}
	if cm.Data["labels.json"] != "{}" || cm.Data["annotations.json"] != "{}" {
		t.Errorf("files: %v", cm.Data)
	}
}

func TestAgentVersion(t *testing.T) {
	for image, want := range map[string]string{
		"ghcr.io/a/agent:1.4.0":                 "1.4.0",
		"ghcr.io/a/agent:1.4.0@sha256:00ff":     "1.4.0",
		"localhost:5000/agent:1.4.0":            "1.4.0",
		"localhost:5000/agent":                  "",
		"localhost:5000/agent@sha256:00ff":      "",
		"agent:v1":                              "v1",
		"registry.example:443/a/b/agent:latest": "latest",
	} {
		o := options
		o.AgentImage = image
		cm, err := o.NodeMeta(&v1alpha1.Skyhook{}, &corev1.Node{})
		if err != nil {
			t.Fatal(err)
		}
		var file struct {
			AgentVersion string `json:"agentVersion"`
		}
		if err := json.Unmarshal([]byte(cm.Data["packages.json"]), &file); err != nil {
			t.Fatal(err)
		}
		if file.AgentVersion != want {
			t.Errorf("%s: agent version %q, want %q", image, file.AgentVersion, want)
		}
	}
}

// TestHistory: it goes with its Skyhook, and is no ConfigMap of a package, whose label wakes others.
func TestHistory(t *testing.T) {
	s := &v1alpha1.Skyhook{ObjectMeta: metav1.ObjectMeta{Name: "demo", UID: "uid-demo"}}
	cm := workload.Options{Namespace: "skyhook"}.History(s, map[string]string{"k": "v"})
	if _, ofPackage := cm.Labels[v1alpha1.LabelName]; ofPackage || cm.Labels[v1alpha1.LabelHistory] != "demo" {
		t.Errorf("labels %v", cm.Labels)
	}
	if cm.Name != workload.HistoryName("demo") || cm.Namespace != "skyhook" || cm.Data["k"] != "v" || workload.Sealed(cm) {
		t.Errorf("%+v", cm)
	}
	if owner := cm.OwnerReferences[0]; !metav1.IsControlledBy(cm, s) || owner.BlockOwnerDeletion == nil || !*owner.BlockOwnerDeletion {
		t.Errorf("owner %+v", owner)
	}
}
