// Command release makes what a release consists of in dist/release/<version>, and prints what it made.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"text/tabwriter"

	"github.com/skyhook-operator/skyhook/build/release"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o := release.Options{Log: stderr}
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.Root, "root", ".", "folder of the repository")
	flags.StringVar(&o.Dist, "dist", "", "where the folder release goes (default dist in the repository)")
	flags.StringVar(&o.Key, "key", "", "file with the private key to sign with; without one nothing is signed")
	if err := flags.Parse(args); err != nil {
		return err
	}
	result, err := release.Make(ctx, o)
	if err != nil {
		return err
	}
	return report(stdout, result)
}

func report(w io.Writer, r release.Result) error {
	entries, err := os.ReadDir(r.Dir)
	if err != nil {
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(t, "%.1f kB\t  %s\n", float64(info.Size())/1e3, entry.Name())
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nrelease %s is in %s\n", r.Version, r.Dir)
	if strings.HasSuffix(r.Revision, "-dirty") {
		fmt.Fprintln(w, "the folder has changes that are in no commit: commit them and make it again before you publish it")
	}
	if !r.Signed {
		fmt.Fprintln(w, "nothing was signed: give the file with the private key, make release COSIGN_KEY=cosign.key")
	}
	return nil
}
