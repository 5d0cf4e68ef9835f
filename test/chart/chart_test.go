//go:build integration

package chart

import (
	"maps"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/skyhook-operator/skyhook"
	"github.com/skyhook-operator/skyhook/charts"
	"github.com/skyhook-operator/skyhook/internal/settings"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

const deploymentKey = "Deployment/skyhook-skyhook-operator-controller-manager"

func TestDefaultObjects(t *testing.T) {
	got := slices.Sorted(maps.Keys(render(t)))
	want := []string{
		"ClusterRole/skyhook-operator-manager-role",
		"ClusterRole/skyhook-operator-metrics-reader",
		"ClusterRoleBinding/skyhook-operator-manager-rolebinding",
		"CustomResourceDefinition/deploymentpolicies.skyhook.nvidia.com",
		"CustomResourceDefinition/skyhooks.skyhook.nvidia.com",
		deploymentKey,
		networkPolicyKey,
		"PodDisruptionBudget/skyhook-skyhook-operator-controller-manager-pdb",
		"PriorityClass/skyhook-packages",
		"Role/skyhook-operator-manager-role",
		"RoleBinding/skyhook-operator-manager-rolebinding",
		"Service/skyhook-operator-controller-manager-metrics-service",
		"Service/skyhook-operator-webhook-service",
		"ServiceAccount/skyhook-skyhook-operator-controller-manager",
		booleansPolicy,
		policyKey,
		booleansBinding,
		bindingKey,
		"ValidatingWebhookConfiguration/skyhook-operator-validating-webhook",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// TestCRDsAreTheGeneratedOnes: what Helm makes of them has the same specification.
func TestCRDsAreTheGeneratedOnes(t *testing.T) {
	all := render(t)
	definitions, err := charts.Definitions()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range definitions {
		got := get[*apiextensionsv1.CustomResourceDefinition](t, all, "CustomResourceDefinition/"+want.Name)
		if a, b := marshal(t, got.Spec), marshal(t, want.Spec); a != b {
			t.Errorf("the specification of %s differs from files/crds", want.Name)
		}
		if got.Annotations["helm.sh/resource-policy"] != "keep" {
			t.Errorf("%s would be deleted with the release, and every object of it", want.Name)
		}
	}
}

func marshal(t *testing.T, v any) string {
	t.Helper()
	text, err := yaml.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestCRDOptions(t *testing.T) {
	const key = "CustomResourceDefinition/skyhooks.skyhook.nvidia.com"
	if _, exists := render(t, "--set", "crds.install=false")[key]; exists {
		t.Error("crds.install=false renders CRDs")
	}
	crd := get[*apiextensionsv1.CustomResourceDefinition](t, render(t, "--set", "crds.keep=false"), key)
	if policy := crd.Annotations["helm.sh/resource-policy"]; policy != "" {
		t.Errorf("crds.keep=false renders resource policy %q", policy)
	}
}

func TestManagerIsConfined(t *testing.T) {
	pod := get[*appsv1.Deployment](t, render(t), deploymentKey).Spec.Template.Spec
	if s := pod.SecurityContext; !*s.RunAsNonRoot || s.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
		t.Errorf("the pod's security context is %+v", s)
	}
	s := pod.Containers[0].SecurityContext
	if *s.AllowPrivilegeEscalation || !*s.ReadOnlyRootFilesystem || !slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) {
		t.Errorf("the container's security context is %+v", s)
	}
}

func TestProbesFollowTheirPort(t *testing.T) {
	all := render(t, "--set", "controllerManager.manager.env.probePort=:9999", "--set", "controllerManager.manager.env.metricsPort=127.0.0.1:7777")
	manager := get[*appsv1.Deployment](t, all, deploymentKey).Spec.Template.Spec.Containers[0]
	ports := map[string]int32{}
	for _, port := range manager.Ports {
		ports[port.Name] = port.ContainerPort
	}
	if want := map[string]int32{"probes": 9999, "metrics": 7777, "webhook-server": 9443}; !maps.Equal(ports, want) {
		t.Errorf("ports are %v, want %v", ports, want)
	}
	for _, probe := range []*corev1.Probe{manager.LivenessProbe, manager.ReadinessProbe} {
		if probe.HTTPGet.Port.String() != "probes" {
			t.Errorf("a probe uses port %s", probe.HTTPGet.Port.String())
		}
	}
}

func TestEnvironment(t *testing.T) {
	all := render(t, "--set", "imagePullSecret=pull", "--set", "controllerManager.manager.env.copyDirRoot=/opt/skyhook",
		"--set", "controllerManager.manager.env.leaderElection=true")
	pod := get[*appsv1.Deployment](t, all, deploymentKey).Spec.Template.Spec
	got := map[string]string{}
	for _, variable := range pod.Containers[0].Env {
		got[variable.Name] = variable.Value
		if variable.ValueFrom != nil {
			got[variable.Name] = variable.ValueFrom.FieldRef.FieldPath
		}
	}
	want := map[string]string{
		"METRICS_PORT": ":8080", "METRICS_SECURE": "true", "METRICS_SERVICE_NAME": "skyhook-operator-controller-manager-metrics-service",
		"PROBE_PORT": ":8081", "LEADER_ELECTION": "true", "LOG_LEVEL": "info",
		"NAMESPACE": "metadata.namespace", "POD_NAME": "metadata.name", "IMAGE_PULL_SECRET": "pull", "COPY_DIR_ROOT": "/opt/skyhook",
		"AGENT_LOG_ROOT": "/var/log/skyhook", "REAPPLY_ON_REBOOT": "false", "DETECT_REPLACED_HOSTS": "true", "DRAIN_FORCE": "false", "DISCOVER_UNINSTALL": "false", "PIN_IMAGES": "true", "PACKAGE_PULL_POLICY": "Auto",
		"REQUIRE_DIGEST": "false", "ALLOWED_REGISTRIES": "", "FORBID_AGENT_IMAGE_OVERRIDE": "false", "PACKAGE_PRIORITY_CLASS": "skyhook-packages", "INTERRUPT_MEMORY": "256Mi", "DEFAULT_STAGE_TIMEOUT": "", "DEFAULT_MAX_RETRIES": "",
		"PACKAGE_REGISTRY": "", "DEFAULT_TOLERATIONS": "[]", "KUBERNETES_CLUSTER_DOMAIN": "cluster.local", "WEBHOOK_PORT": ":9443", "WEBHOOK_MANAGE_CERTIFICATE": "true",
		"RUNTIME_REQUIRED_TAINT": "skyhook.nvidia.com=runtime-required:NoSchedule",
		"ENABLE_WEBHOOKS":        "true", "WEBHOOK_SECRET_NAME": "webhook-cert", "WEBHOOK_SERVICE_NAME": "skyhook-operator-webhook-service",
		"AGENT_IMAGE": "ghcr.io/skyhook-operator/skyhook/agent:" + skyhook.Version(),
	}
	if !maps.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if !slices.Equal(pod.ImagePullSecrets, []corev1.LocalObjectReference{{Name: "pull"}}) {
		t.Errorf("pull secrets are %v", pod.ImagePullSecrets)
	}
}

// TestSettingsOfPackages: the operator is told what the values say of packages, in a form that it can read.
func TestSettingsOfPackages(t *testing.T) {
	const env = "controllerManager.manager.env."
	for _, c := range []struct{ flag, value, variable, want string }{
		{"--set", "requireDigest=true", "REQUIRE_DIGEST", "true"},
		{"--set-string", "requireDigest=true", "REQUIRE_DIGEST", "true"},
		{"--set-json", `allowedRegistries=["ghcr.io/org","r.example:5000"]`, "ALLOWED_REGISTRIES", "ghcr.io/org,r.example:5000"},
		{"--set", "forbidAgentImageOverride=true", "FORBID_AGENT_IMAGE_OVERRIDE", "true"},
		{"--set", "pinImages=false", "PIN_IMAGES", "false"},
		{"--set", "packageRegistry=r.example:5000/copies", "PACKAGE_REGISTRY", "r.example:5000/copies"},
		{"--set", "packageRegistry=null", "PACKAGE_REGISTRY", ""},
		{"--set-json", `defaultTolerations=[{"key":"nvidia.com/gpu","operator":"Exists"}]`, "DEFAULT_TOLERATIONS", `[{"key":"nvidia.com/gpu","operator":"Exists"}]`},
		{"--set", "defaultTolerations=null", "DEFAULT_TOLERATIONS", "[]"},
		{"--set", "packagePullPolicy=IfNotPresent", "PACKAGE_PULL_POLICY", "IfNotPresent"},
	} {
		t.Run(c.value, func(t *testing.T) {
			environment := environmentOf(t, render(t, c.flag, env+c.value))
			if got := environment[c.variable]; got != c.want {
				t.Errorf("%s is %q, want %q", c.variable, got, c.want)
			}
			_, err := settings.FromEnvironment(func(name string) (string, bool) {
				v, ok := environment[name]
				return v, ok && v != ""
			}, skyhook.Version())
			if err != nil {
				t.Errorf("the operator does not start: %v", err)
			}
		})
	}
}

func TestImageReferences(t *testing.T) {
	const image = "controllerManager.manager.image."
	digest := "sha256:" + strings.Repeat("a", 64)
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"default", nil, "r.example:5000/op:" + skyhook.Version()},
		{"tag", []string{"--set", image + "tag=v9"}, "r.example:5000/op:v9"},
		{"digest", []string{"--set", image + "digest=" + digest}, "r.example:5000/op@" + digest},
		{"both", []string{"--set", image + "tag=v9", "--set", image + "digest=" + digest}, "r.example:5000/op:v9@" + digest},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			all := render(t, append(test.args, "--set", image+"repository=r.example:5000/op")...)
			manager := get[*appsv1.Deployment](t, all, deploymentKey).Spec.Template.Spec.Containers[0]
			if manager.Image != test.want || manager.ImagePullPolicy != corev1.PullAlways {
				t.Errorf("got %s (%s), want %s (Always)", manager.Image, manager.ImagePullPolicy, test.want)
			}
		})
	}
}

func TestNames(t *testing.T) {
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"release without the chart's name", nil, "skyhook-skyhook-operator"},
		{"release with the chart's name", []string{"--name-template", "my-skyhook-operator"}, "my-skyhook-operator"},
		{"full name", []string{"--set", "fullnameOverride=full"}, "full"},
		{"chart renamed", []string{"--set", "nameOverride=other"}, "skyhook-other"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			all := render(t, test.args...)
			d := get[*appsv1.Deployment](t, all, "Deployment/"+test.want+"-controller-manager")
			get[*corev1.ServiceAccount](t, all, "ServiceAccount/"+d.Spec.Template.Spec.ServiceAccountName)
		})
	}
}

func TestResources(t *testing.T) {
	tests := []struct {
		name string
		args []string
		want [4]string // CPU and memory limit, CPU and memory request
	}{
		{"default", nil, [4]string{"1", "512Mi", "100m", "256Mi"}},
		{
			"4000 nodes, 5 packages",
			[]string{"--set", "estimatedNodeCount=4000,estimatedPackageCount=5"},
			[4]string{"1600m", "512Mi", "400m", "256Mi"},
		},
		// values.yaml and pages of docs say up to where the least is enough.
		{"2500 nodes", []string{"--set", "estimatedNodeCount=2500"}, [4]string{"1", "512Mi", "250m", "256Mi"}},
		{
			"5000 nodes, 7 packages",
			[]string{"--set", "estimatedNodeCount=5000,estimatedPackageCount=7"},
			[4]string{"2", "512Mi", "500m", "256Mi"},
		},
		{"10000 nodes, 1 package", []string{"--set", "estimatedNodeCount=10000"}, [4]string{"4", "512Mi", "1", "256Mi"}},
		{
			"10000 nodes, 20 packages",
			[]string{"--set", "estimatedNodeCount=10000,estimatedPackageCount=20"},
			[4]string{"4", "1256Mi", "1", "628Mi"},
		},
		{
			"given",
			[]string{"--set-json", `controllerManager.manager.resources={"limits":{"cpu":"2","memory":"1Gi"},"requests":{"cpu":"1m","memory":"1Mi"}}`},
			[4]string{"2", "1Gi", "1m", "1Mi"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := get[*appsv1.Deployment](t, render(t, test.args...), deploymentKey).Spec.Template.Spec.Containers[0].Resources
			got := [4]string{r.Limits.Cpu().String(), r.Limits.Memory().String(), r.Requests.Cpu().String(), r.Requests.Memory().String()}
			if got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestPlacement(t *testing.T) {
	all := render(t, "--set-json", `controllerManager.nodeAffinity.matchExpressions=[{"key":"pool","operator":"Exists"}]`,
		"--set-json", `controllerManager.tolerations=[{"key":"infra","operator":"Exists"}]`)
	pod := get[*appsv1.Deployment](t, all, deploymentKey).Spec.Template.Spec
	var keys []string
	for _, e := range pod.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchExpressions {
		keys = append(keys, e.Key)
	}
	if want := []string{"kubernetes.io/arch", "kubernetes.io/os", "pool"}; !slices.Equal(keys, want) {
		t.Errorf("node affinity has keys %v, want %v in this order", keys, want)
	}
	if len(pod.Tolerations) != 1 || pod.Tolerations[0].Key != "infra" {
		t.Errorf("tolerations are %v", pod.Tolerations)
	}
	selected := get[*appsv1.Deployment](t, render(t, "--set", "controllerManager.selectors.pool=infra"), deploymentKey)
	if got := selected.Spec.Template.Spec.NodeSelector; !maps.Equal(got, map[string]string{"pool": "infra"}) {
		t.Errorf("node selector is %v", got)
	}
}

// TestReplicasArePlacedApart: on different nodes and zones if there are any, and before others' pods.
func TestReplicasArePlacedApart(t *testing.T) {
	template := get[*appsv1.Deployment](t, render(t), deploymentKey).Spec.Template
	pod := template.Spec
	if pod.PriorityClassName != "system-cluster-critical" {
		t.Errorf("the priority class is %q", pod.PriorityClassName)
	}
	apart, spread := pod.Affinity.PodAntiAffinity, pod.TopologySpreadConstraints
	if apart.RequiredDuringSchedulingIgnoredDuringExecution != nil || len(apart.PreferredDuringSchedulingIgnoredDuringExecution) != 1 || len(spread) != 1 {
		t.Fatalf("affinity is %+v, spread is %+v", apart, spread)
	}
	term := apart.PreferredDuringSchedulingIgnoredDuringExecution[0].PodAffinityTerm
	if term.TopologyKey != corev1.LabelHostname || spread[0].TopologyKey != corev1.LabelTopologyZone || spread[0].WhenUnsatisfiable != corev1.ScheduleAnyway {
		t.Errorf("they are apart by %s and %s (%s)", term.TopologyKey, spread[0].TopologyKey, spread[0].WhenUnsatisfiable)
	}
	for _, selector := range []*metav1.LabelSelector{term.LabelSelector, spread[0].LabelSelector} {
		for name, value := range selector.MatchLabels {
			if template.Labels[name] != value {
				t.Errorf("apart from %s=%s, but the pods have %q", name, value, template.Labels[name])
			}
		}
	}
	none := get[*appsv1.Deployment](t, render(t, "--set", "controllerManager.priorityClassName="), deploymentKey)
	if class := none.Spec.Template.Spec.PriorityClassName; class != "" {
		t.Errorf("the priority class is %q, though none is wanted", class)
	}
}

// TestPriorityOfPackagePods: the operator is told which, or that there is to be none.
func TestPriorityOfPackagePods(t *testing.T) {
	for given, want := range map[string]string{"own": "own", "": "", "null": ""} {
		all := render(t, "--set", "controllerManager.manager.env.packagePriorityClass="+given)
		if got := environmentOf(t, all)["PACKAGE_PRIORITY_CLASS"]; got != want {
			t.Errorf("%q: the operator is told %q", given, got)
		}
	}
}

// TestClassOfPackagePods: it is below the critical ones, for whose pods kubelets end others, and preempts nothing. It
// belongs to the release only if package pods have it.
func TestClassOfPackagePods(t *testing.T) {
	const key = "PriorityClass/skyhook-packages"
	class := get[*schedulingv1.PriorityClass](t, render(t), key)
	if p := class.PreemptionPolicy; class.Value <= 0 || class.Value > 1_000_000_000 || class.GlobalDefault || p == nil || *p != corev1.PreemptNever {
		t.Errorf("the class is %+v", class)
	}
	if class.Name != workload.PriorityClass {
		t.Errorf("the operator's default is %s", workload.PriorityClass)
	}
	for _, other := range []string{"own", ""} {
		if _, exists := render(t, "--set", "controllerManager.manager.env.packagePriorityClass="+other)[key]; exists {
			t.Errorf("%q: there is a class that nothing has", other)
		}
	}
}

// TestQuotaOfCriticalPods: it is there for clusters that ask for one, and for both classes.
func TestQuotaOfCriticalPods(t *testing.T) {
	const key = "ResourceQuota/skyhook-skyhook-operator-critical-pods"
	if _, exists := render(t)[key]; exists {
		t.Error("there is a quota by default")
	}
	quota := get[*corev1.ResourceQuota](t, render(t, "--set", "criticalPodsQuota.enable=true,criticalPodsQuota.pods=2000000"), key)
	pods := quota.Spec.Hard[corev1.ResourcePods]
	scope := quota.Spec.ScopeSelector.MatchExpressions[0]
	if pods.Value() != 2000000 || scope.ScopeName != corev1.ResourceQuotaScopePriorityClass || scope.Operator != corev1.ScopeSelectorOpIn ||
		!slices.Equal(scope.Values, []string{"system-cluster-critical", "system-node-critical"}) {
		t.Errorf("%s pods of %+v", pods.String(), scope)
	}
}

func TestDisruptionBudget(t *testing.T) {
	const key = "PodDisruptionBudget/skyhook-skyhook-operator-controller-manager-pdb"
	all := render(t)
	budget := get[*policyv1.PodDisruptionBudget](t, all, key)
	for name, value := range budget.Spec.Selector.MatchLabels {
		if got := get[*appsv1.Deployment](t, all, deploymentKey).Spec.Template.Labels[name]; got != value {
			t.Errorf("the budget selects %s=%s, the pods have %q", name, value, got)
		}
	}
	for _, none := range []string{"controllerManager.podDisruptionBudget=null", "controllerManager.podDisruptionBudget.minAvailable=0"} {
		if _, exists := render(t, "--set", none)[key]; exists {
			t.Errorf("--set %s renders a budget", none)
		}
	}
}
