package permissions

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"testing"
)

// Check reads what an account asked for while a test program ran, and returns what it was refused, and what its roles
// grant that it never used, but for the rare. That something is not used tells nothing when only some of the program's
// tests ran.
func Check(log io.Reader, account string, roles func() (Roles, error), rare func(grant string) bool) error {
	requests, err := Read(log, account)
	if err != nil {
		return err
	}
	var errs []error
	for _, r := range Refused(requests) {
		errs = append(errs, fmt.Errorf("the operator is refused what it needs: %s; grant it in the chart", r))
	}
	if some := flag.Lookup("test.run").Value.String() + flag.Lookup("test.skip").Value.String(); some != "" ||
		testing.Short() {
		return errors.Join(errs...)
	}
	granted, err := roles()
	if err != nil {
		return err
	}
	for _, grant := range granted.Unused(requests) {
		if !rare(grant) {
			errs = append(errs, fmt.Errorf("the chart grants the operator what no call uses: %s", grant))
		}
	}
	return errors.Join(errs...)
}
