package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	"golang.org/x/term"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/text"
	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

// parallel is how many nodes are written at a time.
const parallel = 32

// errSome says that some of many writes failed, which were told of one by one.
var errSome = errors.New("not all nodes could be changed: see the list above, and run the command again for them")

// nodeChange says what to change on a node as it is now.
type nodeChange func(*corev1.Node) (record.Patch, error)

// patchNodes changes the metadata of many nodes. change is asked for what to change on a node as it is now, so that a
// node which changes meanwhile is looked at again; an empty patch leaves it. It returns how many are as wanted, and
// tells of those that failed. Ctrl-C begins no other node; what was sent is waited for, so that it is known how it ended.
// doing is the word that scripts know for what is done.
func (w *writer) patchNodes(ctx context.Context, doing string, nodes []corev1.Node, change nodeChange) (int, error) {
	var (
		mu     sync.Mutex
		done   int
		failed []string
	)
	group := errgroup.Group{}
	group.SetLimit(parallel)
	sent := context.WithoutCancel(ctx)
	begun := 0
	for i := range nodes {
		if ctx.Err() != nil {
			break
		}
		begun++
		node := nodes[i].DeepCopy()
		group.Go(func() error {
			err := w.patchNode(sent, node, change)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed = append(failed, fmt.Sprintf("  - %s: %v", node.Name, err))
			}
			done++
			drawProgress(w.err, done, len(nodes))
			return nil
		})
	}
	_ = group.Wait() // no function returns an error
	if len(failed) > 0 {
		fmt.Fprintf(w.out, "Errors %s some nodes:\n", doing)
		slices.Sort(failed)
		for _, line := range failed {
			fmt.Fprintln(w.out, packagefile.PrintableLines(line))
		}
	}
	switch {
	case begun < len(nodes):
		return begun - len(failed), fmt.Errorf("interrupted: %d of %s left as they were; run the command again for them",
			len(nodes)-begun, text.Count(len(nodes), "node"))
	case len(failed) > 0:
		return begun - len(failed), errSome
	}
	return begun, nil
}

func (w *writer) patchNode(ctx context.Context, node *corev1.Node, change nodeChange) error {
	first := true
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if !first {
			if err := w.client.Get(ctx, client.ObjectKeyFromObject(node), node); err != nil {
				return err
			}
		}
		first = false
		p, err := change(node)
		if err != nil || p.Empty() {
			return err
		}
		body, err := metadataPatch(node.ResourceVersion, p)
		if err != nil {
			return err
		}
		return w.client.Patch(ctx, node, client.RawPatch(types.MergePatchType, body))
	})
}

// metadataPatch is a merge patch with the resource version as its precondition.
func metadataPatch(resourceVersion string, p record.Patch) ([]byte, error) {
	meta := map[string]any{"resourceVersion": resourceVersion}
	if len(p.Annotations) > 0 {
		meta["annotations"] = p.Annotations
	}
	if len(p.Labels) > 0 {
		meta["labels"] = p.Labels
	}
	return json.Marshal(map[string]any{"metadata": meta})
}

// drawProgress redraws one line while many nodes are changed before a person's eyes.
func drawProgress(out io.Writer, done, total int) {
	const worth = 50
	f, ok := out.(interface{ Fd() uintptr })
	if !ok || total < worth || !term.IsTerminal(int(f.Fd())) {
		return
	}
	const bar = 30
	filled := bar * done / total
	fmt.Fprintf(out, "\r[%-*s] %d/%d", bar, strings.Repeat("=", filled), done, total)
	if done == total {
		fmt.Fprintln(out)
	}
}
