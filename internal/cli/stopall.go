package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/rollout"
	"github.com/skyhook-operator/skyhook/internal/text"
)

// stopAll says how to stop everything.
type stopAll struct {
	reason  string
	timeout time.Duration
}

// stopAll sets the switch that the operator reads, waits until it confirms that, and ends what runs then.
func (s *session) stopAll(ctx context.Context, o stopAll, yes bool) error {
	skyhooks, err := s.read.skyhooks(ctx)
	if err != nil {
		return err
	}
	every := func(*corev1.Pod) bool { return true }
	running, err := s.read.packagePods(ctx, every)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, "Skyhooks to stop: %s\n", everySkyhook(skyhooks))
	announcePods(s.out, running)
	if !s.write.confirmed(yes, "Nothing starts any more, and what runs ends.") {
		return nil
	}
	failed := s.stopSwitch().stopEach(ctx, o)
	ended, err := s.write.endAll(ctx, every)
	if err == nil {
		fmt.Fprintf(s.out, "Ended %s%s\n", text.Count(ended, "pod"), s.write.dryNote())
	}
	return errors.Join(failed, err, s.write.beyondRecall(ctx, func(_, _ string) bool { return true }))
}

func everySkyhook(all []v1alpha1.Skyhook) string {
	var names []string
	for i := range all {
		names = append(names, all[i].Name)
	}
	return strings.Join(append(names, "and those that are created later"), ", ")
}

// stopSwitch is the ConfigMap that stops all Skyhooks.
type stopSwitch struct {
	read  *reader
	write *writer
	core  kubernetes.Interface
}

func (s *session) stopSwitch() stopSwitch { return stopSwitch{s.read, s.write, s.core} }

// stopEach stops all Skyhooks by the switch, and pauses those that do not tell of it in time. Whoever may not set the
// switch pauses them all.
func (a stopSwitch) stopEach(ctx context.Context, o stopAll) error {
	cm, err := a.set(ctx, o.reason)
	if a.write.dryRun == dryRunServer && err == nil {
		return nil
	}
	if err != nil {
		o.timeout, err = 0, fmt.Errorf("%w; so Skyhooks that are created later are not stopped", err)
	}
	unaware, failed := a.unaware(ctx, o.timeout)
	if failed != nil {
		return errors.Join(err, failed)
	}
	switch {
	case err != nil:
	case len(unaware) == 0:
		fmt.Fprintln(a.write.out, "Everything is stopped; "+a.read.toCluster("kubectl skyhook resume --all")+" continues.")
	default:
		fmt.Fprintf(a.write.err, "Warning: the operator did not confirm within %s that it stopped: it does not run in namespace %q, "+
			"is slow (wait longer with --timeout), or its version knows no stop of all. So each Skyhook is paused; those that are "+
			"created later may start.\n", o.timeout, a.read.namespace)
		err = a.note(ctx, cm, unaware)
	}
	return errors.Join(err, a.pauseEach(ctx, unaware))
}

func (a stopSwitch) key() client.ObjectKey {
	return client.ObjectKey{Namespace: a.read.namespace, Name: v1alpha1.StopConfigMap}
}

// set creates the ConfigMap that stops everything, or returns the one that is there.
func (a stopSwitch) set(ctx context.Context, reason string) (*corev1.ConfigMap, error) {
	data := map[string]string{}
	if who, err := a.core.AuthenticationV1().SelfSubjectReviews().
		Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{}); err == nil {
		data[v1alpha1.StopBy] = who.Status.UserInfo.Username
	}
	if reason != "" {
		data[v1alpha1.StopReason] = reason
	}
	at := a.key()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: at.Namespace, Name: at.Name}, Data: data}
	err := a.write.client.Create(ctx, cm)
	if apierrors.IsAlreadyExists(err) {
		cm = &corev1.ConfigMap{}
		if err = a.read.client.Get(ctx, at, cm); err == nil {
			fmt.Fprintf(a.write.out, "Note: %s\n", rollout.StopOf(cm))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("creating ConfigMap %s, which stops everything: %w", at, err)
	}
	return cm, nil
}

// unaware are the Skyhooks that could still start something after a while: neither paused nor disabled, and their
// status does not say that all are stopped.
func (a stopSwitch) unaware(ctx context.Context, patience time.Duration) ([]v1alpha1.Skyhook, error) {
	var left []v1alpha1.Skyhook
	err := until(ctx, patience, func() (bool, error) {
		all, err := a.read.skyhooks(ctx)
		if err != nil {
			return false, err
		}
		left = slices.DeleteFunc(all, func(sk v1alpha1.Skyhook) bool {
			ready := meta.FindStatusCondition(sk.Status.Conditions, v1alpha1.ConditionReady)
			return sk.Paused() || sk.Disabled() || ready != nil && ready.Reason == v1alpha1.ReasonAllStopped
		})
		return len(left) == 0, nil
	})
	return left, err
}

// note keeps which Skyhooks are paused by this, so that resume --all continues no others.
func (a stopSwitch) note(ctx context.Context, cm *corev1.ConfigMap, skyhooks []v1alpha1.Skyhook) error {
	before := cm.DeepCopy()
	names := pausedBy(cm)
	for i := range skyhooks {
		if !slices.Contains(names, skyhooks[i].Name) {
			names = append(names, skyhooks[i].Name)
		}
	}
	if cm.Data == nil {
		cm.Data = map[string]string{}
	}
	cm.Data[v1alpha1.StopPaused] = strings.Join(names, ",")
	if err := a.write.client.Patch(ctx, cm, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("updating ConfigMap %s: %w", a.key(), err)
	}
	return nil
}

func pausedBy(cm *corev1.ConfigMap) []string {
	return strings.FieldsFunc(cm.Data[v1alpha1.StopPaused], func(r rune) bool { return r == ',' || r == ' ' })
}

// pauseEach pauses Skyhooks by their annotation, as far as their operator goes by it.
func (a stopSwitch) pauseEach(ctx context.Context, skyhooks []v1alpha1.Skyhook) error {
	var errs []error
	for i := range skyhooks {
		err := a.read.supports(ctx, &skyhooks[i], pause)
		if err == nil {
			err = a.write.annotate(ctx, &skyhooks[i], v1alpha1.AnnotationPause, "true")
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		fmt.Fprintf(a.write.out, "Skyhook %q paused\n", skyhooks[i].Name)
	}
	return errors.Join(errs...)
}

// resumeCommand is steerCommand, with --all.
func (a *app) resumeCommand() *cobra.Command {
	var yes, all bool
	c := &cobra.Command{
		Use:               "resume [SKYHOOK | --all]",
		Short:             resume.short,
		Long:              resume.long,
		Example:           "  kubectl skyhook resume gpu-init\n  kubectl skyhook resume --all --yes",
		Args:              oneOrAll(&all),
		ValidArgsFunction: a.completeSkyhooks,
		RunE: a.run(func(ctx context.Context, s *session, args []string) error {
			if all {
				return s.resumeAll(ctx, yes)
			}
			if err := s.steer(ctx, resume, args[0], yes); err != nil {
				return err
			}
			return s.stopSwitch().stillStopped(ctx, args[0])
		}),
	}
	c.Flags().BoolVar(&all, "all", false, "continue what stop --all stopped")
	confirmFlag(c, &yes)
	return c
}

// stillStopped says that a Skyhook does not continue while all are stopped.
func (a stopSwitch) stillStopped(ctx context.Context, name string) error {
	var cm corev1.ConfigMap
	switch err := a.read.client.Get(ctx, a.key(), &cm); {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		return nil // if it is there, the status of the Skyhook says so
	case err != nil:
		return fmt.Errorf("getting ConfigMap %s, which would stop everything: %w", a.key(), err)
	}
	fmt.Fprintf(a.write.out, "But Skyhook %q starts nothing, because %s; continue all with %s\n", name, rollout.StopOf(&cm),
		a.read.toCluster("kubectl skyhook resume --all"))
	return nil
}

// resumeAll takes back what stopAll did, the switch last: what is left of it after a failure is done by another try.
func (s *session) resumeAll(ctx context.Context, yes bool) error {
	var cm corev1.ConfigMap
	if err := s.read.client.Get(ctx, s.stopSwitch().key(), &cm); apierrors.IsNotFound(err) {
		return s.nothing(fmt.Sprintf("Nothing was stopped with stop --all in namespace %q; kubectl skyhook resume SKYHOOK continues one that is paused", s.namespace))
	} else if err != nil {
		return fmt.Errorf("getting ConfigMap %s, which stops everything: %w", s.stopSwitch().key(), err)
	}
	fmt.Fprintf(s.out, "Note: %s\n", rollout.StopOf(&cm))
	if !s.write.confirmed(yes, "This will continue all Skyhooks.") {
		return nil
	}
	for _, name := range pausedBy(&cm) {
		err := s.write.annotate(ctx, &v1alpha1.Skyhook{ObjectMeta: metav1.ObjectMeta{Name: name}}, v1alpha1.AnnotationPause, nil)
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	seen := client.Preconditions{UID: &cm.UID, ResourceVersion: &cm.ResourceVersion}
	if err := s.write.client.Delete(ctx, &cm, seen); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting ConfigMap %s: %w", s.stopSwitch().key(), err)
	}
	fmt.Fprintf(s.out, "Skyhooks continue%s\n", s.write.dryNote())
	return s.stopSwitch().stayPaused(ctx)
}

// stayPaused names the Skyhooks that somebody paused one by one.
func (a stopSwitch) stayPaused(ctx context.Context) error {
	all, err := a.read.skyhooks(ctx)
	if err != nil {
		return err
	}
	for i := range all {
		if name := all[i].Name; all[i].Paused() {
			fmt.Fprintf(a.write.out, "Skyhook %q stays paused; %s continues it\n", name, a.read.toCluster("kubectl skyhook resume "+name))
		}
	}
	return nil
}
