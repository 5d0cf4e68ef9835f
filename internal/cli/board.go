package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/skyhook-operator/skyhook/internal/board"
)

func (a *app) boardCommand() *cobra.Command {
	port := 0
	c := &cobra.Command{
		Use:   "board [SKYHOOK]",
		Short: "Show a rollout in the browser, node by node",
		Long: "Serves a page that shows a rollout live: each node with its status, in its compartment and batch; and of each node\n" +
			"its stages, why it does not progress, what helps, and the end of what it printed. Without a name it shows the\n" +
			"Skyhook that most needs somebody; all others can be chosen there. The page only reads, with your rights. Only\n" +
			"this machine can open it, and only with the address that is printed; over SSH, forward the port.",
		Example:           "  kubectl skyhook board\n  kubectl skyhook board gpu-init --port 8080",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completeSkyhooks,
		RunE: a.run(func(ctx context.Context, s *session, args []string) error {
			return s.board(ctx, strings.Join(args, ""), port)
		}),
	}
	c.Flags().IntVar(&port, "port", 0, "the `PORT` to listen on; 0 takes a free one")
	return c
}

// board serves the page until Ctrl-C.
func (s *session) board(ctx context.Context, skyhook string, port int) error {
	if !s.tables() {
		return fmt.Errorf("board is a page for people; leave out --output %s", s.output)
	}
	if _, err := s.gauge.rollouts(ctx, skyhook); err != nil {
		return err // better here than in the browser
	}
	f, err := newFleet(ctx, s, skyhook)
	if err != nil {
		return err
	}
	l, err := board.Listen(ctx, port)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("port %d is taken by another program; choose another one with --port, or leave --port out", port)
	}
	if err != nil {
		return fmt.Errorf("listening: %w; choose another port with --port, or leave --port out", err)
	}
	f.watch()
	server := board.New(f)
	fmt.Fprintf(s.out, "The board is at %s\n%sCtrl-C ends it\n", server.Address(l.Addr()), forwarded(l.Addr()))
	return server.Serve(ctx, l)
}

// forwarded says how a browser on another machine gets there; empty where nobody came from another one.
func forwarded(at net.Addr) string {
	tcp, ok := at.(*net.TCPAddr)
	if !ok || os.Getenv("SSH_CONNECTION") == "" {
		return ""
	}
	return fmt.Sprintf("To open it on the machine that you came from by SSH, run there first, with this machine as HOST:\n"+
		"  ssh -N -L %[1]d:%[2]s:%[1]d HOST\n", tcp.Port, tcp.IP)
}
