package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// steer is a command that sets or removes an annotation of a Skyhook.
type steer struct {
	verb, done string
	annotation string
	// set puts the annotation there; otherwise it is removed.
	set   bool
	short string
	long  string
}

var (
	pause = steer{
		"pause", "paused", v1alpha1.AnnotationPause, true,
		"Start nothing new for a Skyhook; running scripts finish",
		"Pauses a Skyhook: no stage, drain or interrupt begins on any node until it is resumed. Running scripts finish.\n" +
			"Later Skyhooks keep waiting for it. kubectl skyhook stop also ends running scripts.",
	}
	resume = steer{
		"resume", "resumed", v1alpha1.AnnotationPause, false,
		"Continue a paused Skyhook, or all stopped ones",
		"Continues a paused Skyhook or, with --all, what kubectl skyhook stop --all stopped. Skyhooks that were paused one\n" +
			"by one stay paused.",
	}
	disable = steer{
		"disable", "disabled", v1alpha1.AnnotationDisable, true,
		"Take a Skyhook out of the order; what is installed stays",
		"Disables a Skyhook: it starts nothing, and later Skyhooks no longer wait for it. What is installed stays.",
	}
	enable = steer{
		"enable", "enabled", v1alpha1.AnnotationDisable, false,
		"Continue a disabled Skyhook", "Continues a disabled Skyhook.",
	}
)

func (a *app) steerCommand(st steer) *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use:     st.verb + " SKYHOOK",
		Short:   st.short,
		Long:    st.long,
		Example: fmt.Sprintf("  kubectl skyhook %s gpu-init\n  kubectl skyhook %s gpu-init --yes", st.verb, st.verb),
		Args:    cobra.ExactArgs(1),

		ValidArgsFunction: a.completeSkyhooks,
		RunE: func(c *cobra.Command, args []string) error {
			s, err := a.connect(c)
			if err != nil {
				return err
			}
			return s.steer(c.Context(), st, args[0], yes)
		},
	}
	confirmFlag(c, &yes)
	return c
}

func (s *session) steer(ctx context.Context, st steer, name string, yes bool) error {
	found, err := s.skyhook(ctx, name)
	if err != nil {
		return err
	}
	if err := s.supports(ctx, found, st); err != nil {
		return err
	}
	if s.dryRun == dryRunClient {
		fmt.Fprintf(s.out, "[dry-run] Would %s Skyhook %q\n", st.verb, name)
		return nil
	}
	if !s.confirmed(yes, fmt.Sprintf("This will %s Skyhook %q.", st.verb, name)) {
		return nil
	}
	var value any // null removes it
	if st.set {
		value = "true"
	}
	if err := s.annotate(ctx, found, st.annotation, value); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "Skyhook %q %s%s\n", name, st.done, s.dryNote())
	return nil
}

// annotate sets an annotation of a Skyhook, or removes it where the value is nil. What is set stands, whatever was there:
// to pause must not wait for others. Only the value that was seen is removed: what somebody set since then stays.
func (s *session) annotate(ctx context.Context, skyhook *v1alpha1.Skyhook, key string, value any) error {
	seen, there := skyhook.Annotations[key]
	var err error
	if value == nil && there {
		err = s.withoutSeen(ctx, skyhook, key, seen)
	} else {
		err = s.merge(ctx, skyhook, map[string]any{"metadata": map[string]any{"annotations": map[string]any{key: value}}})
	}
	if err != nil {
		return fmt.Errorf("updating skyhook %q: %w", skyhook.Name, err)
	}
	return nil
}

// merge sends a merge patch, and leaves in the Skyhook what is stored then.
func (s *session) merge(ctx context.Context, skyhook *v1alpha1.Skyhook, change map[string]any) error {
	body, err := json.Marshal(change)
	if err != nil {
		return err
	}
	return s.client.Patch(ctx, skyhook, client.RawPatch(types.MergePatchType, body), s.dry()...)
}

// withoutSeen removes an annotation that has the value that was seen. It is done as well if nobody has it any more.
func (s *session) withoutSeen(ctx context.Context, skyhook *v1alpha1.Skyhook, key, seen string) error {
	path := "/metadata/annotations/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
	body, err := json.Marshal([]map[string]any{
		{"op": "test", "path": "/metadata/uid", "value": skyhook.UID},
		{"op": "test", "path": path, "value": seen},
		{"op": "remove", "path": path},
	})
	if err != nil {
		return err
	}
	refused := s.client.Patch(ctx, skyhook.DeepCopy(), client.RawPatch(types.JSONPatchType, body), s.dry()...)
	if !apierrors.IsInvalid(refused) {
		return refused
	}
	now, err := s.skyhook(ctx, skyhook.Name)
	if err != nil {
		return err
	}
	value, there := now.Annotations[key]
	switch {
	case !there:
		return nil
	case value != seen || now.UID != skyhook.UID:
		return fmt.Errorf("its annotation %s changed from %q to %q meanwhile, so nothing was done; run the command again", key,
			seen, value)
	}
	return refused
}

// dryNote says behind a result that nothing was stored.
func (s *session) dryNote() string {
	if s.dryRun == dryRunServer {
		return " (server dry run)"
	}
	return ""
}
