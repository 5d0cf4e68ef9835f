//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/test/install"
	"github.com/skyhook-operator/skyhook/test/permissions"
)

// rare is what the operator needs and this suite has no occasion for. The tests of internal/operator have, and prove
// that it is used.
var rare = map[string]string{
	"update skyhooks/finalizers.skyhook.nvidia.com in the cluster": "the API server asks for it itself, where owners block deletion",

	"list configmaps in its own namespace":                                                                                       "for API servers that cannot stream (before 1.34)",
	"list controllerrevisions.apps in its own namespace":                                                                         "the same",
	"list secrets named webhook-cert in its own namespace":                                                                       "the same",
	"list deploymentpolicies.skyhook.nvidia.com in the cluster":                                                                  "the same",
	"list validatingwebhookconfigurations.admissionregistration.k8s.io named skyhook-operator-validating-webhook in the cluster": "the same",

	"get configmaps in its own namespace":                    "where its name is taken",
	"get controllerrevisions.apps in its own namespace":      "where its name is taken",
	"get pods in its own namespace":                          "where its name is taken",
	"patch controllerrevisions.apps in its own namespace":    "when an earlier definition counts again",
	"get skyhooks.skyhook.nvidia.com in the cluster":         "where a node has a record of one that the cache does not know",
	"list skyhooks.skyhook.nvidia.com in the cluster":        "when a policy in use is deleted",
	"update secrets named webhook-cert in its own namespace": "when the certificate is renewed",

	"patch events.events.k8s.io in the cluster":                       "when the same event is repeated within minutes",
	"create tokenreviews.authentication.k8s.io in the cluster":        "when somebody reads metrics",
	"create subjectaccessreviews.authorization.k8s.io in the cluster": "when somebody reads metrics",
}

// all says that the tests of nightly runs are in the program too: the others do not use all that is granted.
var all bool

// checkPermissions compares what the installed roles grant the operator with what it asked for in either cluster while
// the suite ran. That something is not used tells nothing when only some tests ran.
func checkPermissions(ctx context.Context) error {
	var logs []io.Reader
	var up *bed
	for _, b := range []*bed{shared, alone} {
		if b.client == nil {
			continue // no test asked for it
		}
		log, err := b.audited()
		if err != nil {
			return err
		}
		logs, up = append(logs, log), b
	}
	if up == nil {
		return nil
	}
	return permissions.Check(io.MultiReader(logs...), install.Release+"-skyhook-operator-controller-manager",
		func() (permissions.Roles, error) { return up.installedRoles(ctx) }, func(grant string) bool { return !all || rare[grant] != "" })
}

// audited is the audit log of this run, in whole lines.
func (b *bed) audited() (io.Reader, error) {
	log, err := os.ReadFile(b.AuditLog())
	if err != nil {
		return nil, err
	}
	log = log[:bytes.LastIndexByte(log, '\n')+1]
	// An operator that is still about while the chart is uninstalled has lost its roles already.
	gone := b.uninstalled
	return io.MultiReader(
		bytes.NewReader(log[b.auditFrom:max(b.auditFrom, gone.from)]), bytes.NewReader(log[max(b.auditFrom, gone.to):]),
	), nil
}

func (b *bed) installedRoles(ctx context.Context) (permissions.Roles, error) {
	var home rbacv1.Role
	var cluster rbacv1.ClusterRole
	if err := b.client.Get(ctx, client.ObjectKey{Namespace: install.Namespace, Name: "skyhook-operator-manager-role"}, &home); err != nil {
		return permissions.Roles{}, fmt.Errorf("get the operator's Role: %w", err)
	}
	if err := b.client.Get(ctx, client.ObjectKey{Name: "skyhook-operator-manager-role"}, &cluster); err != nil {
		return permissions.Roles{}, fmt.Errorf("get the operator's ClusterRole: %w", err)
	}
	return permissions.Roles{Home: home.Rules, Cluster: cluster.Rules}, nil
}
