//go:build integration

package operator_test

import (
	"os"
	"strings"
	"sync"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/test/helm"
	"github.com/skyhook-operator/skyhook/test/permissions"
)

const (
	account    = "skyhook-skyhook-operator-controller-manager"
	pullSecret = "pull"
)

// installed is the chart with everything on that needs a permission; each operator has its roles.
var installed struct {
	once sync.Once
	helm.Objects
}

func chart(t *testing.T) helm.Objects {
	t.Helper()
	installed.once.Do(func() {
		installed.Objects = helm.Render(t, "../..", "--set", "imagePullSecret="+pullSecret+",controllerManager.manager.env.discoverUninstall=true")
	})
	if installed.Objects == nil {
		t.Fatal("the chart could not be rendered")
	}
	return installed.Objects
}

func chartRoles(objects helm.Objects) permissions.Roles {
	return permissions.Roles{
		Home:    objects["Role/skyhook-operator-manager-role"].(*rbacv1.Role).Rules,
		Cluster: objects["ClusterRole/skyhook-operator-manager-role"].(*rbacv1.ClusterRole).Rules,
	}
}

// install makes the operator's ServiceAccount with the chart's roles in the test's namespace, and returns how it
// reaches the API server.
func (f *cluster) install() *rest.Config {
	f.t.Helper()
	all, ctx := chart(f.t), f.t.Context()
	cluster := helm.Get[*rbacv1.ClusterRole](f.t, all, "ClusterRole/skyhook-operator-manager-role").DeepCopy()
	if err := f.client.Create(ctx, cluster); !apierrors.IsAlreadyExists(err) {
		f.must(err)
	}
	everywhere := helm.Get[*rbacv1.ClusterRoleBinding](f.t, all, "ClusterRoleBinding/skyhook-operator-manager-rolebinding").DeepCopy()
	everywhere.Name += "-" + f.namespace
	everywhere.Subjects[0].Namespace = f.namespace
	home := helm.Get[*rbacv1.RoleBinding](f.t, all, "RoleBinding/skyhook-operator-manager-rolebinding").DeepCopy()
	home.Subjects[0].Namespace = f.namespace
	user := helm.Get[*corev1.ServiceAccount](f.t, all, "ServiceAccount/"+account).DeepCopy()
	for _, object := range []client.Object{user, everywhere, home, helm.Get[*rbacv1.Role](f.t, all, "Role/skyhook-operator-manager-role").DeepCopy()} {
		if object.GetNamespace() != "" {
			object.SetNamespace(f.namespace)
		}
		f.must(f.client.Create(ctx, object))
	}
	token := &authenticationv1.TokenRequest{}
	f.must(f.client.SubResource("token").Create(ctx, user, token))
	config := rest.AnonymousClientConfig(f.config)
	config.BearerToken = token.Status.Token
	f.untilMay(config, authorizationv1.ResourceAttributes{Verb: "list", Resource: "nodes"})
	f.untilMay(config, authorizationv1.ResourceAttributes{Namespace: f.namespace, Verb: "watch", Resource: "pods"})
	return config
}

// untilMay waits until the API server has seen a role and its binding.
func (f *cluster) untilMay(config *rest.Config, what authorizationv1.ResourceAttributes) {
	f.t.Helper()
	c, err := client.New(config, client.Options{})
	f.must(err)
	f.becomes("the operator may "+what.Verb+" "+what.Resource, func() bool {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &what}}
		f.must(c.Create(f.t.Context(), review))
		return review.Status.Allowed
	})
}

// checkPermissions compares what the chart's roles grant with what the operators of all tests asked for. That something
// is not used tells nothing when only some tests ran.
func checkPermissions(auditLog string) error {
	log, err := os.Open(auditLog)
	if err != nil {
		return err
	}
	defer log.Close()
	roles := func() (permissions.Roles, error) { return chartRoles(installed.Objects), nil }
	return permissions.Check(log, account, roles, func(grant string) bool {
		// The API server asks for it itself, about every object whose owner's deletion it blocks.
		return strings.HasPrefix(grant, "update skyhooks/finalizers.")
	})
}
