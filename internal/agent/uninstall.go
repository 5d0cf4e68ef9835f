package agent

import (
	"fmt"

	"github.com/skyhook-operator/skyhook/internal/agent/rootdir"
	"github.com/skyhook-operator/skyhook/internal/agent/state"
)

// forget leaves nothing on the host that would make a later installation
// differ from the first, but the history. It begins when nothing of the
// package is to run any more, and can be begun again.
func (s *stage) forget() error {
	kept := s.state()
	if err := kept.MarkUninstalled(s.pkg); err != nil {
		return err
	}
	if err := s.removeHostFiles(s.pkg); err != nil {
		return err
	}
	if err := kept.ForgetSteps(s.pkg); err != nil {
		return fmt.Errorf("remove the flags of package %s: %w", s.pkg.Name, err)
	}
	if err := kept.RecordInstalled(s.pkg, state.Uninstalled, s.now()); err != nil {
		return err
	}
	if err := kept.ForgetOwn(s.pkg, rootdir.KeptDir); err != nil {
		return fmt.Errorf("remove the state of package %s: %w", s.pkg.Name, err)
	}
	return nil
}
