//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skyhook-operator/skyhook/test/install"
)

// existingVersion is that of the existing operator.
const existingVersion = "v0.15.0"

// ofBoth are the CRDs, and the objects beside them that both operators have by the same names.
var ofBoth = []string{
	"crd/skyhooks.skyhook.nvidia.com", "crd/deploymentpolicies.skyhook.nvidia.com",
	"clusterrole/skyhook-operator-manager-role", "clusterrolebinding/skyhook-operator-manager-rolebinding",
}

// leaveExisting puts what the existing operator leaves in the place of ours, which is stopped: objects of another Helm
// release, CRDs that it would convert, and a webhook that nobody answers.
func leaveExisting(t *testing.T) {
	t.Helper()
	for _, object := range ofBoth {
		mustKubectl(t, "", "annotate", "--overwrite", object, "meta.helm.sh/release-name=existing", "meta.helm.sh/release-namespace=skyhook")
	}
	for _, crd := range ofBoth[:2] {
		mustKubectl(t, "", "patch", crd, "--type=merge", "--patch", `{"spec":{"conversion":{"strategy":"Webhook","webhook":{
			"conversionReviewVersions":["v1"],"clientConfig":{"service":{
			"namespace":"skyhook","name":"skyhook-operator-webhook-service","path":"/convert"}}}}}}`)
	}
	mustKubectl(t, `apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: skyhook-operator-mutating-webhook}
webhooks:
  - name: mutate-skyhook.nvidia.com
    admissionReviewVersions: [v1]
    sideEffects: None
    failurePolicy: Fail
    clientConfig:
      service: {namespace: skyhook, name: skyhook-operator-webhook-service, path: /mutate-skyhook-nvidia-com-v1alpha1-skyhook}
    rules:
      - {apiGroups: [skyhook.nvidia.com], apiVersions: [v1alpha1], operations: [CREATE, UPDATE], resources: [skyhooks]}
`, "apply", "-f", "-")
}

// stopOperator removes ours as somebody does who goes to another one: what runs, what answers the API server, and Helm's
// notes. CRDs, Skyhooks, package pods and records stay.
func stopOperator(t *testing.T) {
	t.Helper()
	const manager = "control-plane=controller-manager"
	mustKubectl(t, "", "delete", "-l", "app.kubernetes.io/instance=skyhook",
		"validatingwebhookconfigurations,validatingadmissionpolicies,validatingadmissionpolicybindings")
	mustKubectl(t, "", "delete", "deployment", "-n", "skyhook", "-l", manager)
	mustKubectl(t, "", "wait", "--for=delete", "pod", "-n", "skyhook", "-l", manager, "--timeout=2m")
	mustKubectl(t, "", "delete", "secret", "-n", "skyhook", "-l", "owner=helm,name=skyhook")
}

// takeOwnership installs our chart over what is there, as docs/migrate.md says.
func takeOwnership(t *testing.T) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context()) // also after a test that failed half-way
	mustKubectl(t, "", "delete", "mutatingwebhookconfiguration", "skyhook-operator-mutating-webhook", "--ignore-not-found")
	mustKubectl(t, "", "delete", "secret", "-n", "skyhook", "webhook-cert", "--ignore-not-found")
	for _, crd := range ofBoth[:2] {
		mustKubectl(t, "", "patch", crd, "--type=json", "--patch", `[{"op":"replace","path":"/spec/conversion","value":{"strategy":"None"}}]`)
	}
	folder, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	err = install.Chart(ctx, here(t).client, folder, here(t).Kubeconfig(), append([]string{"--take-ownership"}, here(t).chart...)...)
	if err == nil {
		err = install.Available(ctx, here(t).client, patience)
	}
	if err != nil {
		t.Fatalf("install the chart over the existing operator: %v", err)
	}
}

// leaveRecord writes what the existing operator records of package scripts on a node.
func leaveRecord(t *testing.T, node, skyhook, status, stage, state string) {
	t.Helper()
	mustKubectl(t, "", "annotate", "node", node, "--overwrite",
		"skyhook.nvidia.com/version_"+skyhook+"="+existingVersion, "skyhook.nvidia.com/status_"+skyhook+"="+status,
		fmt.Sprintf(`skyhook.nvidia.com/nodeState_%s={"scripts|1.1.0":{"name":"scripts","version":"1.1.0",`+
			`"image":"ghcr.io/nvidia/skyhook-packages/shellscript","stage":"%s","state":"%s"}}`, skyhook, stage, state))
	mustKubectl(t, "", "label", "node", node, "--overwrite", "skyhook.nvidia.com/status_"+skyhook+"="+status)
	if status == "in_progress" {
		mustKubectl(t, "", "annotate", "node", node, "--overwrite", "skyhook.nvidia.com/cordon_"+skyhook+"=true")
		mustKubectl(t, "", "cordon", node)
	}
}

// leaveConfigMap creates the ConfigMap that the existing operator's pods mount.
func leaveConfigMap(t *testing.T, skyhook, uid string, scripts map[string]string) {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, `apiVersion: v1
kind: ConfigMap
metadata:
  name: %[1]s-scripts-1.1.0
  namespace: skyhook
  labels: {skyhook.nvidia.com/name: %[1]s}
  annotations:
    skyhook.nvidia.com/name: %[1]s
    skyhook.nvidia.com/Package.Name: scripts
    skyhook.nvidia.com/Package.Version: 1.1.0
  ownerReferences:
    - {apiVersion: skyhook.nvidia.com/v1alpha1, kind: Skyhook, name: %[1]s, uid: %[2]s, controller: true, blockOwnerDeletion: true}
data:
`, skyhook, uid)
	for key, script := range scripts {
		fmt.Fprintf(&b, "  %s: |-\n    %s\n", key, strings.ReplaceAll(script, "\n", "\n    "))
	}
	mustKubectl(t, b.String(), "apply", "-f", "-")
}

// leavePod creates the pod with which the existing operator runs apply on a node. agent is an image that knows the stage.
func leavePod(t *testing.T, node, skyhook, uid, generation, agent string) {
	t.Helper()
	pod := strings.NewReplacer("<node>", node, "<name>", skyhook, "<uid>", uid, "<generation>", generation, "<agent>", agent,
		"<dir>", fmt.Sprintf("/var/lib/skyhook/%s/scripts-1.1.0-%s-%s", skyhook, uid, generation)).Replace(existingPod)
	mustKubectl(t, pod, "apply", "-f", "-")
}

const existingPod = `apiVersion: v1
kind: Pod
metadata:
  name: <name>-scripts-1-1-0-apply-<node>
  namespace: skyhook
  labels: {skyhook.nvidia.com/name: <name>, skyhook.nvidia.com/package: scripts-1.1.0}
  annotations:
    skyhook.nvidia.com/package: '{"name":"scripts","version":"1.1.0","skyhook":"<name>","stage":"apply","image":"ghcr.io/nvidia/skyhook-packages/shellscript"}'
  ownerReferences:
    - {apiVersion: skyhook.nvidia.com/v1alpha1, kind: Skyhook, name: <name>, uid: <uid>, controller: true, blockOwnerDeletion: true}
spec:
  nodeName: <node>
  restartPolicy: OnFailure
  hostPID: true
  hostNetwork: true
  tolerations: [{key: node.kubernetes.io/unschedulable, operator: Exists}]
  volumes:
    - {name: root-mount, hostPath: {path: /}}
    - {name: scripts, configMap: {name: <name>-scripts-1.1.0}}
  initContainers:
    - name: scripts-init
      image: ghcr.io/nvidia/skyhook-packages/shellscript:1.1.0
      command: [/bin/sh, -c, "mkdir -p /root/${SKYHOOK_DIR} && cp -r /skyhook-package/* /root/${SKYHOOK_DIR}"]
      env: [{name: SKYHOOK_DIR, value: <dir>}]
      securityContext: {privileged: true}
      volumeMounts: &mounts
        - {name: root-mount, mountPath: /root, mountPropagation: HostToContainer}
        - {name: scripts, mountPath: /skyhook-package/configmaps}
    - name: scripts-apply
      image: <agent>
      args: [apply, /root, <dir>]
      env: &env
        - {name: SKYHOOK_LOG_DIR, value: /var/log/skyhook/<name>}
        - {name: SKYHOOK_ROOT_DIR, value: /var/lib/skyhook/<name>}
        - {name: COPY_RESOLV, value: "false"}
        - {name: SKYHOOK_RESOURCE_ID, value: <name>-<uid>-<generation>_scripts_1.1.0}
        - {name: SKYHOOK_NODE_ORDER, value: "0"}
      securityContext: {privileged: true}
      volumeMounts: *mounts
    - name: scripts-applycheck
      image: <agent>
      args: [apply-check, /root, <dir>]
      env: *env
      securityContext: {privileged: true}
      volumeMounts: *mounts
  containers:
    - {name: pause, image: <agent>, args: [complete, /root, <dir>]}
`
