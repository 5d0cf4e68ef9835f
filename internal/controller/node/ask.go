package node

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/controller/state"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/situation"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

// ask adds to an observation what is known only by questions.
func (i *item) ask(ctx context.Context, o *lifecycle.Observation) error {
	var err error
	if o.ConfigReady, err = i.configReady(ctx); err != nil {
		return err
	}
	if o.RetainedReady, err = i.retainedReady(ctx, *o); err != nil {
		return err
	}
	if o.Configured, err = i.configured(ctx, o.Unhashed(o.Record)); err != nil {
		return err
	}
	o.Hold, err = i.hold(ctx)
	return err
}

// configReady tells for each package whether the ConfigMap that its pod would mount holds what the spec says. Before
// the plan for this generation is there, none is: the package's definition may not be retained yet, without which it
// could not be undone.
func (i *item) configReady(ctx context.Context) (map[string]bool, error) {
	s := i.skyhook
	ready := make(map[string]bool, len(s.Spec.Packages))
	if s.Status.ObservedGeneration != s.Generation {
		return ready, nil
	}
	for name, pkg := range s.Spec.Packages {
		var err error
		if ready[name], err = i.holds(ctx, name, pkg); err != nil {
			return nil, err
		}
	}
	return ready, nil
}

// retainedReady tells the same of the definitions that something on this node is undone with. Before the plan for this
// generation is there, none is: which nodes may begin with it is decided there. A deletion does not wait for that.
func (i *item) retainedReady(ctx context.Context, o lifecycle.Observation) (map[string]bool, error) {
	ready := map[string]bool{}
	if i.skyhook.Status.ObservedGeneration != i.skyhook.Generation && i.skyhook.DeletionTimestamp == nil {
		return ready, nil
	}
	for _, l := range o.Removals(o.Record) {
		if l.FromSpec || l.Missing {
			continue
		}
		var err error
		if ready[l.Package.Definition], err = i.holds(ctx, l.Package.Name, l.Package.Package); err != nil {
			return nil, err
		}
	}
	return ready, nil
}

// holds reports whether the ConfigMap that a package's pod mounts is the Skyhook's and holds what it should for good;
// without data none is needed.
func (i *item) holds(ctx context.Context, pkgName string, pkg v1alpha1.Package) (bool, error) {
	if len(pkg.ConfigMap) == 0 {
		return true, nil
	}
	var cm corev1.ConfigMap
	name := workload.MountedConfigMapName(i.skyhook.Name, pkgName, pkg.Version, pkg.ConfigMap)
	key := client.ObjectKey{Namespace: i.pass.Workload.Namespace, Name: name}
	err := i.pass.Client.Get(ctx, key, &cm, client.UnsafeDisableDeepCopy)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("get ConfigMap %s: %w", name, err)
	}
	ours := err == nil && metav1.IsControlledBy(&cm, i.skyhook)
	return ours && workload.Sealed(&cm) && workload.Holds(&cm, pkg.ConfigMap), nil
}

// configured has hashes of what another operator configured the named packages of the spec with, of those whose
// ConfigMap it left.
func (i *item) configured(ctx context.Context, names []string) (map[string]map[string]string, error) {
	s := i.skyhook
	hashes := map[string]map[string]string{}
	for _, pkg := range names {
		var cm corev1.ConfigMap
		version := s.Spec.Packages[pkg].Version
		key := client.ObjectKey{Namespace: i.pass.Workload.Namespace, Name: workload.EarlierName(s.Name, pkg, version)}
		err := i.pass.Client.Get(ctx, key, &cm, client.UnsafeDisableDeepCopy)
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("get ConfigMap %s: %w", key.Name, err)
		}
		if err == nil && metav1.IsControlledBy(&cm, s) && workload.Earlier(&cm, pkg, version) {
			hashes[pkg] = record.HashConfig(cm.Data)
		}
	}
	return hashes, nil
}

// hold returns the first reason for which the node must not start new work for a Skyhook; nil when there is none.
func (i *item) hold(ctx context.Context) (*situation.Hold, error) {
	p := i.pass
	pace, err := p.Policies.Of(ctx, p.Client, i.skyhook)
	if err != nil {
		return nil, err
	}
	around := state.Surroundings{Pace: pace, Undone: p.undone}
	if p.inFlight != nil {
		around.Interrupting = p.inFlight.Skyhook
	}
	at := p.snapshot.At(p.node, p.Records)
	return at.Hold(i.skyhook, around), nil
}
