// Command build makes what a release consists of, or the images alone, in dist, and prints what it made.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"text/tabwriter"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/spf13/cobra"

	"github.com/skyhook-operator/skyhook/build/images"
	"github.com/skyhook-operator/skyhook/build/manifest"
	"github.com/skyhook-operator/skyhook/build/release"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "build:", err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	c := &cobra.Command{Use: "build", SilenceUsage: true, SilenceErrors: true}
	root := c.PersistentFlags().String("root", ".", "folder of the repository")
	c.AddCommand(imagesCommand(root), releaseCommand(root), publishCommand(root))
	return c
}

func imagesCommand(root *string) *cobra.Command {
	var o images.Options
	var platforms []string
	c := &cobra.Command{Use: "images [NAME...]", Short: "Build operator, agent and packages, or those named"}
	c.Flags().StringVar(&o.Out, "out", "", "where images go (default dist/images in the repository)")
	c.Flags().StringVar(&o.Version, "version", "", "version of operator and agent (default the file VERSION)")
	c.Flags().StringVar(&o.Revision, "revision", "", "commit for the labels (default git's)")
	c.Flags().StringSliceVar(&platforms, "platform", []string{"linux/amd64", "linux/arm64"}, "what to build for")
	c.RunE = func(c *cobra.Command, names []string) error {
		o.Root, o.Only, o.Log = *root, names, c.ErrOrStderr()
		for _, text := range platforms {
			platform, err := v1.ParsePlatform(text)
			if err != nil {
				return fmt.Errorf("flag --platform: %w", err)
			}
			o.Platforms = append(o.Platforms, *platform)
		}
		results, err := images.Build(c.Context(), o)
		if err != nil {
			return err
		}
		return images.WriteTable(c.OutOrStdout(), results)
	}
	return c
}

func releaseCommand(root *string) *cobra.Command {
	var o release.Options
	c := &cobra.Command{Use: "release", Short: "Make a release in dist/release/<version>", Args: cobra.NoArgs}
	c.Flags().StringVar(&o.Dist, "dist", "", "where the folder release goes (default dist in the repository)")
	c.Flags().StringVar(&o.Debs, "debs", "", "folder of Debian's packages to take, which gets those that it lacks (default the newest)")
	c.Flags().StringVar(&o.Key, "key", "", "file with the private key to sign with; without one nothing is signed")
	c.RunE = func(c *cobra.Command, _ []string) error {
		o.Root, o.Log = *root, c.ErrOrStderr()
		result, err := release.Make(c.Context(), o)
		if err != nil {
			return err
		}
		return report(c.OutOrStdout(), result)
	}
	return c
}

func publishCommand(root *string) *cobra.Command {
	var p release.Publisher
	c := &cobra.Command{
		Use: "publish", Short: "Push the images and the chart of the release in dist/release/<version>", Args: cobra.NoArgs,
	}
	c.Flags().StringVar(&p.Dir, "dir", "", "folder of the release (default that of the version in dist)")
	c.Flags().StringVar(&p.Registry, "registry", "", "the registry that takes the place of the one in images.txt")
	c.RunE = func(c *cobra.Command, _ []string) (err error) {
		if p.Dir == "" {
			version, err := images.Version(*root)
			if err != nil {
				return err
			}
			p.Dir = filepath.Join(*root, "dist", "release", version)
		}
		if p.Helm, err = manifest.Helm(c.Context(), *root, c.ErrOrStderr()); err != nil {
			return err
		}
		p.Log = c.OutOrStdout()
		return p.Publish(c.Context())
	}
	return c
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
