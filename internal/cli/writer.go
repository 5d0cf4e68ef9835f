package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/rollout"
)

// writer changes the cluster, and asks before.
type writer struct {
	read *reader
	// client stores nothing in a dry run by the server.
	client client.Client
	dryRun string
	in     io.Reader
	// out is told what happens, and err how far it is.
	out, err io.Writer
	// interrupted is closed by Ctrl-C.
	interrupted <-chan struct{}
}

// writer is for a command that writes what it reads.
func (a *app) writer(c *cobra.Command, read *reader) *writer {
	w := &writer{
		read: read, client: read.client, dryRun: a.dryRun, in: c.InOrStdin(), out: c.OutOrStdout(), err: c.ErrOrStderr(),
	}
	if c.Context() != nil { // a completion has none
		w.interrupted = c.Context().Done()
	}
	if a.dryRun == dryRunServer {
		w.client = client.NewDryRunClient(w.client)
	}
	return w
}

// confirmFlag adds the flag that answers the question beforehand, under the names that people know.
func confirmFlag(c *cobra.Command, yes *bool) {
	c.Flags().BoolVarP(yes, "confirm", "y", false, "do not ask for confirmation")
	c.Flags().BoolVar(yes, "yes", false, "the same as --confirm")
}

// confirmed shows what is about to happen and reports whether to do it. The end of the input is a no, and no error:
// then nothing happened.
func (w *writer) confirmed(yes bool, question string) bool {
	switch {
	case w.dryRun == dryRunClient:
		fmt.Fprintln(w.out, "[dry-run] No changes applied")
		return false
	case yes, w.dryRun == dryRunServer:
		return true
	}
	fmt.Fprintf(w.out, "%s Continue? [y/N]: ", question)
	answer, err := w.line()
	if err != nil {
		fmt.Fprintln(w.out)
	}
	if a := strings.ToLower(strings.TrimSpace(answer)); err == nil && (a == "y" || a == "yes") {
		return true
	}
	fmt.Fprintln(w.out, "Aborted.")
	return false
}

// line reads what is typed. Ctrl-C does not end a read, so it is not waited for.
func (w *writer) line() (string, error) {
	type typed struct {
		text string
		err  error
	}
	read := make(chan typed, 1)
	go func() {
		text, err := bufio.NewReader(w.in).ReadString('\n')
		read <- typed{text, err}
	}()
	select {
	case t := <-read:
		return t.text, t.err
	case <-w.interrupted:
		return "", context.Canceled
	}
}

// dryNote says behind a result that nothing was stored.
func (w *writer) dryNote() string {
	if w.dryRun == dryRunServer {
		return " (server dry run)"
	}
	return ""
}

// changeSkyhook sends a merge patch, made from the Skyhook as it is now. Only the spec that was shown is changed: where
// somebody changed it meanwhile, nothing is written.
func (w *writer) changeSkyhook(
	ctx context.Context, shown *v1alpha1.Skyhook, patch func(now *v1alpha1.Skyhook) map[string]any,
) error {
	now := shown
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() (err error) {
		if now == nil {
			if now, err = w.read.skyhook(ctx, shown.Name); err != nil {
				return err
			}
		}
		if now.UID != shown.UID || now.Generation != shown.Generation {
			return errors.New("it changed meanwhile, so nothing was done; run the command again to see what follows now")
		}
		change := patch(now)
		meta, _ := change["metadata"].(map[string]any)
		if meta == nil {
			meta = map[string]any{}
		}
		meta["resourceVersion"] = now.ResourceVersion
		change["metadata"] = meta
		sent := now.DeepCopy()
		now = nil
		return w.merge(ctx, sent, change)
	})
	if err != nil {
		return fmt.Errorf("updating skyhook %q: %w", shown.Name, err)
	}
	return nil
}

// annotate sets an annotation of a Skyhook, or removes it where the value is nil. What is set stands, whatever was there:
// to pause must not wait for others. Only the value that was seen is removed: what somebody set since then stays.
func (w *writer) annotate(ctx context.Context, skyhook *v1alpha1.Skyhook, key string, value any) error {
	seen, there := skyhook.Annotations[key]
	var err error
	if value == nil && there {
		err = w.withoutSeen(ctx, skyhook, key, seen)
	} else {
		err = w.merge(ctx, skyhook, map[string]any{"metadata": map[string]any{"annotations": map[string]any{key: value}}})
	}
	if err != nil {
		return fmt.Errorf("updating skyhook %q: %w", skyhook.Name, err)
	}
	return nil
}

// merge sends a merge patch, and leaves in the Skyhook what is stored then.
func (w *writer) merge(ctx context.Context, skyhook *v1alpha1.Skyhook, change map[string]any) error {
	body, err := json.Marshal(change)
	if err != nil {
		return err
	}
	return w.client.Patch(ctx, skyhook, client.RawPatch(types.MergePatchType, body))
}

// withoutSeen removes an annotation that has the value that was seen. It is done as well if nobody has it any more.
func (w *writer) withoutSeen(ctx context.Context, skyhook *v1alpha1.Skyhook, key, seen string) error {
	path := "/metadata/annotations/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
	body, err := json.Marshal([]map[string]any{
		{"op": "test", "path": "/metadata/uid", "value": skyhook.UID},
		{"op": "test", "path": path, "value": seen},
		{"op": "remove", "path": path},
	})
	if err != nil {
		return err
	}
	refused := w.client.Patch(ctx, skyhook.DeepCopy(), client.RawPatch(types.JSONPatchType, body))
	if !apierrors.IsInvalid(refused) {
		return refused
	}
	now, err := w.read.skyhook(ctx, skyhook.Name)
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

// resetBatches makes a rollout begin with its first batch and its first place again.
func (w *writer) resetBatches(ctx context.Context, name string) error {
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		found, err := w.read.skyhook(ctx, name)
		if err != nil {
			return err
		}
		before := found.DeepCopy()
		found.Status = rollout.Restart(found.Status)
		whole := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
		return w.client.Status().Patch(ctx, found, whole)
	})
	if err != nil {
		return fmt.Errorf("resetting the batch state of skyhook %q: %w", name, err)
	}
	return nil
}

// late is for how long pods are ended that come meanwhile: the operator may be about to create one, and webhooks take
// their time.
const late = 2 * time.Second

// endAll ends what runs now: more may have started since a person was shown what did.
func (w *writer) endAll(ctx context.Context, wanted func(*corev1.Pod) bool) (ended int, err error) {
	err = until(ctx, late, func() (bool, error) {
		running, err := w.read.packagePods(ctx, wanted)
		if err != nil {
			return false, err
		}
		ended += len(running)
		return w.dryRun != dryRunNone, w.endPods(ctx, running)
	})
	return ended, err
}

// endPods deletes pods, those very ones.
func (w *writer) endPods(ctx context.Context, pods []corev1.Pod) error {
	var errs []error
	for i := range pods {
		if err := w.client.Delete(ctx, &pods[i], client.Preconditions{UID: &pods[i].UID}); client.IgnoreNotFound(err) != nil {
			errs = append(errs, fmt.Errorf("ending pod %s: %w", pods[i].Name, err))
		}
	}
	return errors.Join(errs...)
}

// beyondRecall lists the reboots that hosts may have begun, on some nodes for some Skyhooks.
func (w *writer) beyondRecall(ctx context.Context, of func(node, skyhook string) bool) error {
	nodes, err := w.read.nodes(ctx)
	if err != nil {
		return err
	}
	for i := range nodes {
		f := record.ReadInterrupt(nodes[i].Annotations)
		if f != nil && f.Type == v1alpha1.InterruptReboot && of(nodes[i].Name, f.Skyhook) {
			fmt.Fprintf(w.out, "Node %s may be rebooting already, which cannot be called back.\n", nodes[i].Name)
		}
	}
	return nil
}
