//go:build !linux

package main

import (
	"context"
	"errors"
	"io"
)

func newLocal(context.Context, string, io.Writer) (place, error) {
	return nil, errors.New("the demo's own cluster needs Linux: run it on Debian, or set KUBECONFIG to use a cluster of your own")
}
