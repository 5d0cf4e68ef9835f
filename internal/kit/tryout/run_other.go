//go:build !linux

package tryout

import (
	"context"
	"errors"
	"io"
)

// Run needs namespaces and overlays, which only Linux has.
func (Trial) Run(context.Context, io.Writer, io.Writer) (Report, error) {
	return Report{}, errors.New("packages can only be tried on Linux: use a virtual machine or a privileged container")
}
