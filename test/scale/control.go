package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/skyhook-operator/skyhook/charts"
	"github.com/skyhook-operator/skyhook/internal/settings"
	"github.com/skyhook-operator/skyhook/internal/workload"
	"github.com/skyhook-operator/skyhook/test/apiserver"
)

// control is a control plane without controllers: etcd and kube-apiserver, new for each world.
type control struct {
	env     *envtest.Environment
	counter *counter
	// client is an administrator's, and kubelets that of all nodes.
	client   client.WithWatch
	kubelets kubernetes.Interface
	// kubeconfig is a file for the operator.
	kubeconfig string
	// metrics reads the API server's.
	metrics func(context.Context) (families, error)
}

func startControl(ctx context.Context, folder string) (*control, error) {
	if err := apiserver.CheckAssets(); err != nil {
		return nil, err
	}
	definitions, err := charts.Definitions()
	if err != nil {
		return nil, err
	}
	c := &control{counter: newCounter(), env: &envtest.Environment{
		CRDInstallOptions:        envtest.CRDInstallOptions{CRDs: definitions, ErrorIfPathMissing: true},
		ControlPlaneStartTimeout: 2 * time.Minute,
	}}
	c.env.ControlPlane.Etcd = &envtest.Etcd{}
	// The default of 2 GiB is full before the API server compacts what 10,000 nodes write in five minutes.
	c.env.ControlPlane.Etcd.Configure().Set("quota-backend-bytes", "8589934592")
	admin, err := c.env.Start()
	if err != nil {
		return nil, fmt.Errorf("start etcd and the API server: %w", err)
	}
	if err := c.connect(ctx, admin, folder); err != nil {
		return nil, errors.Join(err, c.stop())
	}
	return c, nil
}

// connect makes the users: the API server takes turns between them as in a cluster, by their groups.
func (c *control) connect(ctx context.Context, admin *rest.Config, folder string) error {
	scheme, err := settings.Scheme()
	if err != nil {
		return err
	}
	if err := c.administer(admin, scheme); err != nil {
		return err
	}
	kubelet, err := c.env.AddUser(envtest.User{Name: "system:node:all", Groups: []string{"system:nodes"}}, admin)
	if err != nil {
		return fmt.Errorf("make the kubelets' user: %w", err)
	}
	operator, err := c.env.AddUser(envtest.User{
		Name: "system:serviceaccount:" + namespace + ":operator", Groups: []string{"system:serviceaccounts"},
	}, admin)
	if err != nil {
		return fmt.Errorf("make the operator's user: %w", err)
	}
	nodes := c.counted(kubelet.Config())
	nodes.ContentType = runtime.ContentTypeProtobuf
	if c.kubelets, err = kubernetes.NewForConfig(nodes); err != nil {
		return fmt.Errorf("make the kubelets' client: %w", err)
	}
	text, err := operator.KubeConfig()
	if err != nil {
		return fmt.Errorf("make the operator's kubeconfig: %w", err)
	}
	c.kubeconfig = filepath.Join(folder, "kubeconfig")
	if err := os.WriteFile(c.kubeconfig, text, 0o600); err != nil {
		return fmt.Errorf("write the operator's kubeconfig: %w", err)
	}
	return c.prepare(ctx)
}

func (c *control) administer(admin *rest.Config, scheme *runtime.Scheme) (err error) {
	admin = c.counted(admin)
	if c.client, err = client.NewWithWatch(admin, client.Options{Scheme: scheme}); err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	web, err := rest.HTTPClientFor(admin)
	if err != nil {
		return fmt.Errorf("make a client for metrics: %w", err)
	}
	c.metrics = func(ctx context.Context) (families, error) {
		return scrape(ctx, web, strings.TrimSuffix(admin.Host, "/")+"/metrics")
	}
	return nil
}

// counted is a configuration whose writes are counted and that waits for nobody but the API server.
func (c *control) counted(r *rest.Config) *rest.Config {
	r = rest.CopyConfig(r)
	r.QPS = -1
	r.Wrap(func(next http.RoundTripper) http.RoundTripper { return c.counter.wrap(next) })
	return r
}

// prepare creates namespaces, and lets both users do everything: what the operator's own roles grant, other tests
// check.
func (c *control) prepare(ctx context.Context) error {
	objects := []client.Object{&rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "scale"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects: []rbacv1.Subject{
			{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: "system:nodes"},
			{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: "system:serviceaccounts"},
		},
	}}
	objects = append(objects, &schedulingv1.PriorityClass{
		ObjectMeta: metav1.ObjectMeta{Name: workload.PriorityClass}, Value: 1, PreemptionPolicy: new(corev1.PreemptNever),
	}) // which the chart makes
	for _, name := range []string{namespace, workloads} {
		objects = append(objects, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}},
			&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: name}})
	}
	for _, o := range objects {
		if err := c.client.Create(ctx, o); err != nil {
			return fmt.Errorf("prepare the cluster: %w", err)
		}
	}
	return nil
}

func (c *control) stop() error {
	if err := c.env.Stop(); err != nil {
		return fmt.Errorf("stop etcd and the API server: %w", err)
	}
	return nil
}
