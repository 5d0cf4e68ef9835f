// Command images builds the project's images into dist/images and prints what it built.
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

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/skyhook-operator/skyhook/build/images"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "images:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o := images.Options{Log: stderr}
	flags := flag.NewFlagSet("images", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.Root, "root", ".", "folder of the repository")
	flags.StringVar(&o.Out, "out", "", "where images go (default dist/images in the repository)")
	flags.StringVar(&o.Version, "version", "", "version of operator and agent (default the file VERSION)")
	flags.StringVar(&o.Revision, "revision", "", "commit for the labels (default git's)")
	flags.StringVar(&o.Package, "package", "", "build the package in this folder, and nothing else")
	flags.StringVar(&o.Base, "base", "", "with -package: the package folder or image that it is derived from")
	flags.StringVar(&o.Name, "name", "", "with -package: name of the image (default the folder's)")
	flags.StringVar(&o.Repository, "repository", "", "with -package: where the image will be pushed, without a tag")
	platforms := flags.String("platform", "linux/amd64,linux/arm64", "platforms, separated by commas")
	if err := flags.Parse(args); err != nil {
		return err
	}
	for _, text := range strings.Split(*platforms, ",") {
		platform, err := v1.ParsePlatform(text)
		if err != nil {
			return fmt.Errorf("flag -platform: %w", err)
		}
		o.Platforms = append(o.Platforms, *platform)
	}
	o.Only = flags.Args()
	results, err := images.Build(ctx, o)
	if err != nil {
		return err
	}
	if err := table(stdout, results); err != nil || o.Package == "" {
		return err
	}
	return next(stdout, results[0])
}

// next says what to do with the image of a package.
func next(w io.Writer, r images.Result) error {
	archive := r.Tarballs[0]
	_, err := fmt.Fprintf(w, `
It is in %s, an OCI layout, and for each platform in a docker archive beside it.

  check    skyhook-agent validate %s
  push     crane push %s %s
  load     docker load -i %s
           ctr -n k8s.io images import %s
`, r.Layout, r.Layout, r.Layout, r.Reference, archive, archive)
	return err
}

func table(w io.Writer, results []images.Result) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "IMAGE\tVERSION\tSIZE\tDIGEST")
	for _, r := range results {
		fmt.Fprintf(t, "%s\t%s\t%.1f MB\t%s\n", strings.TrimSuffix(r.Reference, ":"+r.Version), r.Version, float64(r.Size)/1e6, r.Digest)
	}
	return t.Flush()
}
