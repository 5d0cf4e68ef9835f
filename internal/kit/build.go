package kit

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/spf13/cobra"

	"github.com/skyhook-operator/skyhook/build/images"
	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

const buildHelp = `Checks a package and builds its image for several platforms, without a container engine. The same
folder and base give the same digest. Without --base that is Debian's static bash and busybox, of the newest version
that its archive has, which needs apt-get and dpkg-deb.

PACKAGE is the package's folder, or the config.json in it; its package_version becomes the image's tag.

Exit codes: 0 the image was built, 1 it was not, 2 wrong usage.`

func buildCommand() *cobra.Command {
	var o images.Options
	var platforms []string
	c := &cobra.Command{
		Use:     "build [options] PACKAGE",
		Short:   "Check a package and build its image",
		Long:    buildHelp,
		Example: "  kubectl skyhook package build --repository registry.example/packages ./my-package",
		Args:    wants(1, "one package folder"),
		RunE: func(c *cobra.Command, args []string) error {
			o.Package, o.Log = args[0], c.ErrOrStderr()
			for _, text := range platforms {
				platform, err := v1.ParsePlatform(text)
				if err != nil {
					return fmt.Errorf("--platform: %w", err)
				}
				o.Platforms = append(o.Platforms, *platform)
			}
			if err := build(c.Context(), o, c.OutOrStdout()); err != nil {
				return FailedError{err}
			}
			return nil
		},
		DisableFlagsInUseLine: true,
	}
	flags := c.Flags()
	flags.StringVar(&o.Base, "base", "", baseHelp+"\n(default bash and busybox)")
	flags.StringVar(&o.Name, "name", "", "`NAME` of the image and its files (default the folder's)")
	flags.StringVar(&o.Out, "out", filepath.Join("dist", "images"), "the folder `DIR` for the image's files")
	flags.StringSliceVar(&platforms, "platform", []string{"linux/amd64", "linux/arm64"},
		"the `PLATFORMS` to build for, separated by commas")
	flags.StringVar(&o.Repository, "repository", "",
		"the `REPOSITORY` that the image will be pushed to, without a tag (default localhost/NAME)")
	// Of make package: images of the project's own packages have a repository, and labels of their own.
	flags.StringVar(&o.Root, "project", "", "the folder of the Skyhook project")
	_ = flags.MarkHidden("project")
	return c
}

func build(ctx context.Context, o images.Options, stdout io.Writer) error {
	if err := checkOut(o); err != nil {
		return err
	}
	results, err := images.Build(ctx, o)
	if err != nil {
		return err
	}
	if err := images.WriteTable(stdout, results); err != nil {
		return err
	}
	r, archive := results[0], results[0].Tarballs[0]
	_, err = fmt.Fprintf(stdout, `
It is in %s, an OCI layout, and for each platform in a docker archive beside it.

  check    skyhook package validate %s
  push     crane push %s %s
  load     docker load -i %s
           ctr -n k8s.io images import %s
`, r.Layout, r.Layout, r.Layout, r.Reference, archive, archive)
	return err
}

// checkOut keeps an image from being part of the next one.
func checkOut(o images.Options) error {
	dir, err := filepath.Abs(o.Package)
	if err != nil {
		return err
	}
	out, err := filepath.Abs(o.Out)
	if err != nil {
		return err
	}
	if below, err := filepath.Rel(packagefile.FolderOf(dir), out); err == nil && filepath.IsLocal(below) {
		return fmt.Errorf("the folder for the image, %s, must not be in the package; name one outside of it with --out", out)
	}
	return nil
}
