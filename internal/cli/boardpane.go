package cli

import (
	"context"
	"fmt"

	"github.com/skyhook-operator/skyhook/internal/board"
)

// Node implements board.Source.
func (f *fleet) Node(_ context.Context, skyhook, node string) (*board.Details, error) {
	return nil, fmt.Errorf("%w: %s %s", board.ErrNotFound, skyhook, node)
}

// Logs implements board.Source.
func (f *fleet) Logs(_ context.Context, skyhook, node, pkg string) (*board.Logs, error) {
	return nil, fmt.Errorf("%w: %s %s %s", board.ErrNotFound, skyhook, node, pkg)
}
