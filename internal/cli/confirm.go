package cli

import (
	"bufio"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// confirmFlag adds the flag that answers the question beforehand, under the names that people know.
func confirmFlag(c *cobra.Command, yes *bool) {
	c.Flags().BoolVarP(yes, "confirm", "y", false, "do not ask for confirmation")
	c.Flags().BoolVar(yes, "yes", false, "the same as --confirm")
}

// confirmed shows what is about to happen and reports whether to do it. The end of the input is a no, and no error:
// then nothing happened.
func (s *session) confirmed(yes bool, question string) bool {
	switch {
	case s.dryRun == dryRunClient:
		fmt.Fprintln(s.out, "[dry-run] No changes applied")
		return false
	case yes, s.dryRun == dryRunServer:
		return true
	}
	fmt.Fprintf(s.out, "%s Continue? [y/N]: ", question)
	answer, err := s.line()
	if err != nil {
		fmt.Fprintln(s.out)
	}
	if a := strings.ToLower(strings.TrimSpace(answer)); err == nil && (a == "y" || a == "yes") {
		return true
	}
	fmt.Fprintln(s.out, "Aborted.")
	return false
}

// line reads what is typed. Ctrl-C does not end a read, so it is not waited for.
func (s *session) line() (string, error) {
	type typed struct {
		text string
		err  error
	}
	read := make(chan typed, 1)
	go func() {
		text, err := bufio.NewReader(s.in).ReadString('\n')
		read <- typed{text, err}
	}()
	select {
	case t := <-read:
		return t.text, t.err
	case <-s.interrupted:
		return "", context.Canceled
	}
}
