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
	return images.WriteTable(stdout, results)
}
