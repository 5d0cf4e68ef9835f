package workload_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

// retainedYAML is a Skyhook with a package that uses all that there is.
const retainedYAML = `
metadata: {name: demo, uid: 1c5b, generation: 7}
spec:
  packages:
    firewall:
      version: 1.0.0
      image: ghcr.io/a/shellscript:ignored
      containerSHA: sha256:00ff
      agentImageOverride: x/agent:2
      configMap: {uninstall.sh: "iptables -D $PORT", level: "3"}
      env:
      - {name: PORT, value: "12379"}
      - {name: TOKEN, valueFrom: {secretKeyRef: {name: firewall, key: token}}}
      resources: {cpuRequest: 50m, cpuLimit: 1000m, memoryRequest: 64Mi, memoryLimit: 1Gi}
      gracefulShutdown: 90s
      stageTimeout: 5m
      maxRetries: 3
      interrupt: {type: service, services: [kubelet]}
      configInterrupts: {level: {type: noop}}
      dependsOn: {base: 2.0.0}
      uninstall: {enabled: true, apply: true, whenRemoved: Uninstall}
    base:
      version: 2.0.0
      image: ghcr.io/a/base
`

func definition(t *testing.T, change func(*v1alpha1.Package)) workload.Definition {
	t.Helper()
	s := read[v1alpha1.Skyhook](t, retainedYAML)
	if change != nil {
		pkg := s.Spec.Packages["firewall"]
		change(&pkg)
		s.Spec.Packages["firewall"] = pkg
	}
	return workload.DefinitionOf(s, "firewall")
}

// TestDefinitionHash: the name follows from all that is needed to uninstall the package, and from nothing else.
func TestDefinitionHash(t *testing.T) {
	before := definition(t, nil).Hash()
	if len(before) != 10 || strings.Trim(before, "0123456789abcdef") != "" {
		t.Errorf("the hash is %q, want ten hex digits", before)
	}
	for _, c := range []struct {
		name   string
		change func(*v1alpha1.Package)
		same   bool
	}{
		{"nothing", nil, true},
		{"uninstall is asked for no more", func(p *v1alpha1.Package) { p.Uninstall.Apply = false }, true},
		{"the name that admission fills in", func(p *v1alpha1.Package) { p.Name = "firewall" }, true},
		{"uninstall is not enabled", func(p *v1alpha1.Package) { p.Uninstall.Enabled = new(bool) }, false},
		{"whenRemoved", func(p *v1alpha1.Package) { p.Uninstall.WhenRemoved = v1alpha1.WhenRemovedRefuse }, false},
		{"version", func(p *v1alpha1.Package) { p.Version = "1.0.1" }, false},
		{"image", func(p *v1alpha1.Package) { p.Image = "ghcr.io/b/shellscript" }, false},
		{"containerSHA", func(p *v1alpha1.Package) { p.ContainerSHA = "" }, false},
		{"agent", func(p *v1alpha1.Package) { p.AgentImageOverride = "" }, false},
		{"a config value", func(p *v1alpha1.Package) { p.ConfigMap["level"] = "4" }, false},
		{"an env value", func(p *v1alpha1.Package) { p.Env[0].Value = "1" }, false},
		{"a reference to a Secret", func(p *v1alpha1.Package) { p.Env[1].ValueFrom.SecretKeyRef.Key = "other" }, false},
		{"resources", func(p *v1alpha1.Package) { p.Resources = nil }, false},
		{"interrupt", func(p *v1alpha1.Package) { p.Interrupt = nil }, false},
		{"dependencies", func(p *v1alpha1.Package) { p.DependsOn = nil }, false},
		{"limits", func(p *v1alpha1.Package) { p.MaxRetries = nil }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if after := definition(t, c.change).Hash(); (after == before) != c.same {
				t.Errorf("before %s, after %s", before, after)
			}
		})
	}
}

// TestDefinitionHashIsForEver: records on nodes name it, so another version of the program must find the same.
func TestDefinitionHashIsForEver(t *testing.T) {
	for name, want := range map[string]string{"firewall": "d6010942d3", "base": "f7b69a2702"} {
		if got := workload.DefinitionOf(read[v1alpha1.Skyhook](t, retainedYAML), name).Hash(); got != want {
			t.Errorf("%s: the hash is %s, want %s", name, got, want)
		}
	}
	other := definition(t, nil)
	other.Package = "other"
	if other.Hash() == definition(t, nil).Hash() {
		t.Error("another package has the same hash")
	}
}

// TestDefinitionOf: it is a copy of all of the package, but for what was asked for.
func TestDefinitionOf(t *testing.T) {
	s := read[v1alpha1.Skyhook](t, retainedYAML)
	before := s.DeepCopy()
	d := workload.DefinitionOf(s, "firewall")
	spec := s.Spec.Packages["firewall"]
	want := spec.DeepCopy()
	want.Name, want.Uninstall.Apply = "firewall", false
	if diff := cmp.Diff(workload.Definition{Package: "firewall", Enabled: true, Spec: *want}, d); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	d.Spec.ConfigMap["level"], d.Spec.Env[0].Value, d.Spec.DependsOn["base"] = "changed", "changed", "changed"
	if diff := cmp.Diff(before, s); diff != "" {
		t.Errorf("the Skyhook changed with the definition:\n%s", diff)
	}
	if base := workload.DefinitionOf(s, "base"); base.Enabled || base.Spec.Uninstall != nil {
		t.Errorf("a package that says nothing is %+v", base)
	}
}

// TestDefinitionOfDiscovered: what is known of the image counts when the spec is silent, and stays known.
func TestDefinitionOfDiscovered(t *testing.T) {
	s := read[v1alpha1.Skyhook](t, retainedYAML)
	silent := workload.DefinitionOf(s, "base")
	pkg := s.Spec.Packages["base"]
	pkg.Uninstall = &v1alpha1.Uninstall{Enabled: new(true)}
	s.Spec.Packages["base"] = pkg
	said := workload.DefinitionOf(s, "base")
	if silent.Enabled || !said.Enabled || silent.Hash() == said.Hash() {
		t.Errorf("silent %+v, said %+v", silent, said)
	}
}

const revisionYAML = `
metadata:
  name: demo-firewall-HASH
  namespace: skyhook
  labels:
    skyhook.nvidia.com/name: demo
    skyhook.nvidia.com/definition: HASH
  annotations:
    skyhook.nvidia.com/name: demo
    skyhook.nvidia.com/Package.Name: firewall
    skyhook.nvidia.com/Package.Version: 1.0.0
  ownerReferences: ` + ownerYAML + `
revision: 7
data:
  package: firewall
  enabled: true
  spec:
    name: firewall
    version: 1.0.0
    image: ghcr.io/a/shellscript:ignored
    containerSHA: sha256:00ff
    agentImageOverride: x/agent:2
    configMap: {uninstall.sh: "iptables -D $PORT", level: "3"}
    env:
    - {name: PORT, value: "12379"}
    - {name: TOKEN, valueFrom: {secretKeyRef: {name: firewall, key: token}}}
    resources: {cpuRequest: 50m, cpuLimit: "1", memoryRequest: 64Mi, memoryLimit: 1Gi}
    gracefulShutdown: 1m30s
    stageTimeout: 5m0s
    maxRetries: 3
    interrupt: {type: service, services: [kubelet]}
    configInterrupts: {level: {type: noop}}
    dependsOn: {base: 2.0.0}
    uninstall: {enabled: true, apply: false, whenRemoved: Uninstall}
`

func revision(t *testing.T) *appsv1.ControllerRevision {
	t.Helper()
	s := read[v1alpha1.Skyhook](t, retainedYAML)
	r, err := options.Revision(s, workload.DefinitionOf(s, "firewall"))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestRevision pins the whole object. Nothing in it was read from a Secret: the reference is all that there is.
func TestRevision(t *testing.T) {
	got := revision(t)
	text := strings.ReplaceAll(revisionYAML, "HASH", definition(t, nil).Hash())
	want := read[appsv1.ControllerRevision](t, text)
	wantData, gotData := asJSON(t, want.Data.Raw), asJSON(t, got.Data.Raw)
	if diff := cmp.Diff(wantData, gotData); diff != "" {
		t.Errorf("data, -want +got\n%s", diff)
	}
	want.Data = got.Data
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func asJSON(t *testing.T, raw []byte) any {
	t.Helper()
	var value any
	if err := yaml.Unmarshal(raw, &value); err != nil {
		t.Fatal(err)
	}
	return value
}

// TestReadRevision: what was retained is read back, also when the API server wrote the text anew.
func TestReadRevision(t *testing.T) {
	want, r := definition(t, nil), revision(t)
	var spaced map[string]any
	if err := json.Unmarshal(r.Data.Raw, &spaced); err != nil {
		t.Fatal(err)
	}
	raw, err := json.MarshalIndent(spaced, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	r.Data.Raw = raw
	got, name, err := workload.ReadRevision(r)
	if err != nil {
		t.Fatal(err)
	}
	if name != want.Hash() || workload.DefinitionName(r) != name || got.Hash() != name {
		t.Errorf("its name is %q, %q, and its content's %q; want %q", name, workload.DefinitionName(r), got.Hash(),
			want.Hash())
	}
	if got.Package != "firewall" || !got.Enabled || !reflect.DeepEqual(got.Spec.Env, want.Spec.Env) ||
		!reflect.DeepEqual(got.Spec.ConfigMap, want.Spec.ConfigMap) {
		t.Errorf("got %+v", got)
	}
	if workload.VersionKey(r) != "firewall|1.0.0" {
		t.Errorf("its entries have the key %s", workload.VersionKey(r))
	}
}

func TestReadRevisionErrors(t *testing.T) {
	for name, raw := range map[string]string{
		"nothing": "", "no JSON": "{", "a list": "[]", "a text for a package": `{"spec":"x"}`,
		"a number for a name": `{"package":1}`,
	} {
		t.Run(name, func(t *testing.T) {
			r := revision(t)
			r.Data.Raw = []byte(raw)
			d, _, err := workload.ReadRevision(r)
			if err == nil || !strings.Contains(err.Error(), "skyhook/"+r.Name+" does not hold a package definition") {
				t.Errorf("got %+v, error %v; want one that names the object", d, err)
			}
		})
	}
}

func TestSameVersion(t *testing.T) {
	a, sameVersion, otherVersion, otherPackage := revision(t), revision(t), revision(t), revision(t)
	sameVersion.Name = "another-definition"
	otherVersion.Annotations["skyhook.nvidia.com/Package.Version"] = "1.0.1"
	otherPackage.Annotations["skyhook.nvidia.com/Package.Name"] = "other"
	if !workload.SameVersion(a, sameVersion) || workload.SameVersion(a, otherVersion) ||
		workload.SameVersion(a, otherPackage) {
		t.Error("only package and version count")
	}
}

func TestMountedConfigMap(t *testing.T) {
	s := read[v1alpha1.Skyhook](t, retainedYAML)
	pkg := workload.DefinitionOf(s, "firewall").Spec
	delete(s.Spec.Packages, "firewall") // the spec forgot it
	want := read[corev1.ConfigMap](t, `
metadata:
  name: demo-firewall-1.0.0-a554e4a385-3ca300d2cd
  namespace: skyhook
  labels: {skyhook.nvidia.com/name: demo}
  annotations:
    skyhook.nvidia.com/name: demo
    skyhook.nvidia.com/Package.Name: firewall
    skyhook.nvidia.com/Package.Version: 1.0.0
  ownerReferences: `+ownerYAML+`
data: {uninstall.sh: "iptables -D $PORT", level: "3"}
immutable: true
`)
	got := options.MountedConfigMap(s, "firewall", pkg)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	pkg.ConfigMap["level"] = "4"
	if other := options.MountedConfigMap(s, "firewall", pkg); other.Name == got.Name {
		t.Errorf("%s holds two things", other.Name)
	}
}

// TestRevisionPutInPlace: the API server keeps what a ControllerRevision holds, but not from who may delete and create
// it.
func TestRevisionPutInPlace(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*appsv1.ControllerRevision)
		reads  bool
	}{
		{"as it was made", func(*appsv1.ControllerRevision) {}, true},
		{"written with other spaces", func(r *appsv1.ControllerRevision) {
			r.Data.Raw = bytes.ReplaceAll(r.Data.Raw, []byte(`,"`), []byte(", \n\""))
		}, true},
		{"another image", func(r *appsv1.ControllerRevision) {
			r.Data.Raw = bytes.ReplaceAll(r.Data.Raw, []byte("ghcr.io/"), []byte("evil.io/"))
		}, false},
		{"another label", func(r *appsv1.ControllerRevision) { r.Labels[v1alpha1.LabelDefinition] = "0123456789" }, false},
		{"another name", func(r *appsv1.ControllerRevision) { r.Name = "demo-firewall-0123456789" }, false},
		{"a field that this operator does not know", func(r *appsv1.ControllerRevision) {
			r.Data.Raw = append(bytes.TrimSuffix(r.Data.Raw, []byte("}")), []byte(`,"later":1}`)...)
			hash := sha256.Sum256(r.Data.Raw)
			r.Labels[v1alpha1.LabelDefinition] = hex.EncodeToString(hash[:5])
			r.Name = "demo-firewall-" + hex.EncodeToString(hash[:5])
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := revision(t)
			c.change(r)
			if _, _, err := workload.ReadRevision(r); (err == nil) != c.reads {
				t.Errorf("error %v", err)
			}
		})
	}
}
