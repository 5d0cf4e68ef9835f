package operator

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/skyhook-operator/skyhook/internal/controller/capability"
	"github.com/skyhook-operator/skyhook/internal/settings"
)

// addCapability adds the controller that asks images, if it is wanted.
func addCapability(mgr ctrl.Manager, o settings.Options, told events.EventRecorder) error {
	if !o.DiscoverUninstall {
		return nil
	}
	r := &capability.Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Events: told, Clock: clock.RealClock{},
		Look:       capability.Registries{UserAgent: "skyhook-operator/" + o.Version}.Look,
		PullSecret: types.NamespacedName{Namespace: o.Workload.Namespace, Name: o.Workload.ImagePullSecret},
		Images:     o.Images,
	}
	if err := r.SetupWithManager(mgr); err != nil {
		return fmt.Errorf("set up the uninstall capability controller: %w", err)
	}
	return nil
}
