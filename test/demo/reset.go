package main

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

const (
	skyhookName = "demo"
	// helloFile is what the demo's package writes on the host.
	helloFile = "/skyhook-hello-world"
	// deletePatience is how long the operator may take to let a deleted Skyhook go.
	deletePatience = 2 * time.Minute
)

// hostTraces are what an earlier run left on a host: with the agent's flags still there, finished steps are not
// repeated.
var hostTraces = []string{helloFile, "/var/lib/skyhook/" + skyhookName, "/var/log/skyhook/" + skyhookName}

// reset removes what an earlier run left, so that this one shows real work.
func (d *demo) reset(ctx context.Context) error {
	skyhook := &v1alpha1.Skyhook{ObjectMeta: metav1.ObjectMeta{Name: skyhookName}}
	switch err := d.client.Delete(ctx, skyhook); {
	case err == nil:
		d.out.line("delete the Skyhook of an earlier run")
		if err := d.waitGone(ctx, skyhook); err != nil {
			return err
		}
	case !apierrors.IsNotFound(err):
		return fmt.Errorf("delete the Skyhook of an earlier run: %w", err)
	}
	for _, name := range d.nodes {
		if err := d.forget(ctx, name); err != nil {
			return err
		}
		if _, err := d.place.onHost(ctx, name, append([]string{"rm", "-rf"}, hostTraces...)...); err != nil {
			return fmt.Errorf("remove the files of an earlier run from node %s: %w", name, err)
		}
	}
	return nil
}

func (d *demo) waitGone(ctx context.Context, skyhook *v1alpha1.Skyhook) error {
	err := wait.PollUntilContextTimeout(ctx, interval, deletePatience, true, func(ctx context.Context) (bool, error) {
		err := d.client.Get(ctx, client.ObjectKeyFromObject(skyhook), skyhook)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
	if err != nil {
		return fmt.Errorf("wait until Skyhook %s of an earlier run is deleted: %w", skyhookName, err)
	}
	return nil
}

// forget removes what a node remembers of the demo's packages. A deleted Skyhook leaves it there as long as the
// packages' files may be on the host; the demo removes those files itself.
func (d *demo) forget(ctx context.Context, name string) error {
	var node corev1.Node
	if err := d.client.Get(ctx, client.ObjectKey{Name: name}, &node); err != nil {
		return fmt.Errorf("get node %s: %w", name, err)
	}
	before := node.DeepCopy()
	maps.DeleteFunc(node.Annotations, func(key, _ string) bool {
		return strings.HasPrefix(key, v1alpha1.GroupName+"/") && strings.HasSuffix(key, "_"+skyhookName)
	})
	if len(node.Annotations) == len(before.Annotations) {
		return nil
	}
	if err := d.client.Patch(ctx, &node, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("remove the record of an earlier run from node %s: %w", name, err)
	}
	return nil
}
