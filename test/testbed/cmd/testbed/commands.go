//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/skyhook-operator/skyhook/test/testbed"
)

// errInside marks failures of a command that was run for the user, rather than of the testbed.
var errInside = errors.New("command failed")

func rootCommand() *cobra.Command {
	o := &testbed.Options{Progress: os.Stderr}
	root := &cobra.Command{
		Use: "testbed", Short: "Run a real Kubernetes cluster on this machine, with nothing but Go and Debian packages",
		SilenceUsage: true, SilenceErrors: true,
	}
	root.PersistentFlags().StringVar(&o.State, "state", "",
		"folder of the cluster (default $TESTBED_STATE, else testbed-state in the cache folder)")
	root.AddCommand(upCommand(o), downCommand(o), buildCommand(o), kubeconfigCommand(o), kubectlCommand(o),
		statusCommand(o),
		loadCommand(o), execCommand(o), rebootCommand(o), logsCommand(o))
	return root
}

// onCluster is what a command does with the cluster that runs.
func onCluster(
	o *testbed.Options, do func(c *cobra.Command, cl *testbed.Cluster, args []string) error,
) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		cl, err := testbed.Open(o.State)
		if err != nil {
			return err
		}
		return do(c, cl, args)
	}
}

func upCommand(o *testbed.Options) *cobra.Command {
	c := &cobra.Command{
		Use: "up", Short: "Start the cluster, or bring a running one to this number of nodes", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := testbed.Up(c.Context(), *o)
			return err
		},
	}
	c.Flags().IntVar(&o.Nodes, "nodes", 2, "number of nodes")
	return c
}

func downCommand(o *testbed.Options) *cobra.Command {
	return &cobra.Command{
		Use: "down", Short: "End the cluster and leave nothing but its logs", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return testbed.Down(c.Context(), *o) },
	}
}

func buildCommand(o *testbed.Options) *cobra.Command {
	build := testbed.Build
	var programsOnly bool
	c := &cobra.Command{
		Use: "build", Args: cobra.NoArgs,
		Short: "Build into the cache, start nothing, and print the folder of etcd, kube-apiserver and the like",
		RunE: func(c *cobra.Command, _ []string) error {
			if programsOnly {
				build = testbed.BuildPrograms
			}
			bin, err := build(c.Context(), *o)
			if err == nil {
				fmt.Fprintln(c.OutOrStdout(), bin)
			}
			return err
		},
	}
	c.Flags().BoolVar(&programsOnly, "programs", false, "only the programs, for envtest: needs no root")
	return c
}

func kubeconfigCommand(o *testbed.Options) *cobra.Command {
	return &cobra.Command{
		Use: "kubeconfig", Short: "Print the path of the administrator's kubeconfig", Args: cobra.NoArgs,
		RunE: onCluster(o, func(c *cobra.Command, cl *testbed.Cluster, _ []string) error {
			_, err := fmt.Fprintln(c.OutOrStdout(), cl.Kubeconfig())
			return err
		}),
	}
}

func kubectlCommand(o *testbed.Options) *cobra.Command {
	c := &cobra.Command{
		Use: "kubectl ARG...", Short: "Run the cluster's own kubectl as administrator",
		RunE: onCluster(o, func(c *cobra.Command, cl *testbed.Cluster, args []string) error {
			args = append([]string{"--kubeconfig", cl.Kubeconfig()}, args...)
			return runInside(exec.CommandContext(c.Context(), cl.Bin()+"/kubectl", args...))
		}),
	}
	c.Flags().SetInterspersed(false) // flags are kubectl's
	return c
}

func statusCommand(o *testbed.Options) *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "Show addresses, folders and nodes", Args: cobra.NoArgs,
		RunE: onCluster(o, func(c *cobra.Command, cl *testbed.Cluster, _ []string) error {
			s, err := cl.Status(c.Context())
			if err != nil {
				return err
			}
			return printStatus(c, cl, s)
		}),
	}
}

func printStatus(c *cobra.Command, cl *testbed.Cluster, nodes []testbed.NodeStatus) error {
	w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "kubeconfig\t%s\nregistry\t%s\nprograms\t%s\naudit log\t%s\n\n", cl.Kubeconfig(), cl.Registry(),
		cl.Bin(), cl.AuditLog())
	fmt.Fprintln(w, "NODE\tREADY\tADDRESS\tPID 1\tBOOT ID")
	for _, n := range nodes {
		fmt.Fprintf(w, "%s\t%t\t%s\t%d\t%s\n", n.Name, n.Ready, n.Address, n.PID, n.BootID)
	}
	return w.Flush()
}

func loadCommand(o *testbed.Options) *cobra.Command {
	var as []string
	c := &cobra.Command{
		Use: "load IMAGE.tar...", Short: "Push images (docker archive, OCI layout) to the cluster's registry",
		Args: cobra.MinimumNArgs(1),
		RunE: onCluster(o, func(c *cobra.Command, cl *testbed.Cluster, files []string) error {
			for _, f := range files {
				names, err := cl.Load(c.Context(), f, as...)
				if err != nil {
					return err
				}
				for _, n := range names {
					fmt.Fprintln(c.OutOrStdout(), n)
				}
			}
			return nil
		}),
	}
	c.Flags().StringArrayVar(&as, "as", nil, "a further name for the image, as manifests use it (repeatable)")
	return c
}

func execCommand(o *testbed.Options) *cobra.Command {
	c := &cobra.Command{
		Use: "exec NODE -- CMD [ARG...]", Short: "Run a command inside a node", Args: cobra.MinimumNArgs(2),
		RunE: onCluster(o, func(c *cobra.Command, cl *testbed.Cluster, args []string) error {
			if args[1] == "--" {
				args = slices.Delete(args, 1, 2)
			}
			if len(args) < 2 {
				return errors.New("exec: no command behind the node")
			}
			cmd, err := cl.Command(c.Context(), args[0], args[1:]...)
			if err != nil {
				return err
			}
			return runInside(cmd)
		}),
	}
	c.Flags().SetInterspersed(false) // flags behind the node are the command's
	return c
}

// runInside lends the command this process's terminal and marks its failure.
func runInside(cmd *exec.Cmd) error {
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return errors.Join(errInside, err)
	}
	return nil
}

func rebootCommand(o *testbed.Options) *cobra.Command {
	return &cobra.Command{
		Use: "reboot NODE", Short: "Reboot a node, or start one that is off, and wait until it is ready",
		Args: cobra.ExactArgs(1),
		RunE: onCluster(o, func(c *cobra.Command, cl *testbed.Cluster, args []string) error {
			return cl.Reboot(c.Context(), args[0])
		}),
	}
}

func logsCommand(o *testbed.Options) *cobra.Command {
	return &cobra.Command{
		Use: "logs NODE [-- JOURNALCTL-ARG...]", Short: "Print a node's console and journal", Args: cobra.MinimumNArgs(1),
		RunE: onCluster(o, func(c *cobra.Command, cl *testbed.Cluster, args []string) error {
			return cl.Logs(c.Context(), args[0], c.OutOrStdout(), args[1:]...)
		}),
	}
}
