package operator

import (
	"flag"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/skyhook-operator/skyhook/internal/controller/capability"
)

// Flags adds the options that may be given as flags as well. What the environment says is their default.
func (o *Options) Flags(flags *flag.FlagSet) {
	flags.BoolVar(&o.DiscoverUninstall, "discover-uninstall", o.DiscoverUninstall,
		"ask the images of packages whether they can be uninstalled, where uninstall.enabled is unset (DISCOVER_UNINSTALL)")
}

// addCapability adds the controller that asks images, if it is wanted.
func addCapability(mgr ctrl.Manager, o Options) error {
	if !o.DiscoverUninstall {
		return nil
	}
	r := &capability.Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Events: mgr.GetEventRecorder(recorder), Clock: clock.RealClock{},
		Look:       capability.Registries{UserAgent: "skyhook-operator/" + o.Version}.Look,
		PullSecret: types.NamespacedName{Namespace: o.Workload.Namespace, Name: o.Workload.ImagePullSecret},
		Images:     o.Images,
	}
	if err := r.SetupWithManager(mgr); err != nil {
		return fmt.Errorf("set up the uninstall capability controller: %w", err)
	}
	return nil
}
