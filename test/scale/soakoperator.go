package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
)

// lives are those of the operator, one after another: whatever ends it, a Deployment starts it again.
type lives struct {
	start func(ctx context.Context, folder string) (*operator, error)
	// folder has one of each life, with its log.
	folder string

	mu    sync.Mutex
	now   *operator // nil while there is none
	count int
	// broken is why there is no other operator any more.
	broken error
}

func newLives(program Program, kubeconfig, folder string) *lives {
	return &lives{folder: folder, start: func(ctx context.Context, folder string) (*operator, error) {
		return startOperator(ctx, program, kubeconfig, folder)
	}}
}

// begin starts the next operator and waits until it works.
func (l *lives) begin(ctx context.Context) error {
	l.mu.Lock()
	l.count++
	folder := filepath.Join(l.folder, "life-"+strconv.Itoa(l.count))
	l.mu.Unlock()
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("make a folder for the operator's log: %w", err)
	}
	o, err := l.start(ctx, folder)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now = o
	return err
}

// current is the operator that works now and the how many'th it is; nil while there is none. An operator that exited by
// itself is an error.
func (l *lives) current() (o *operator, life int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.now != nil && l.broken == nil {
		select {
		case err := <-l.now.ended:
			l.broken = errors.Join(fmt.Errorf("the operator exited by itself; its log is %s", l.now.log), err)
		default:
		}
	}
	return l.now, l.count, l.broken
}

// kill ends the operator without a warning.
func (l *lives) kill() error {
	o, _, err := l.current()
	if err != nil {
		return err
	}
	l.mu.Lock()
	l.now = nil
	l.mu.Unlock()
	return o.kill()
}

// stop ends the last operator as a Deployment does.
func (l *lives) stop() error {
	o, _, err := l.current()
	if err != nil || o == nil {
		return err
	}
	return o.stop()
}

// logs of all lives.
func (l *lives) logs() ([]string, error) {
	return filepath.Glob(filepath.Join(l.folder, "life-*", "operator.log"))
}
