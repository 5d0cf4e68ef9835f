package images

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/skyhook-operator/skyhook/pkg/image"
)

const (
	repository   = "ghcr.io/skyhook-operator/skyhook/"
	versionVar   = "github.com/skyhook-operator/skyhook.linked"
	hostPath     = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	operatorUser = "10001:10001"
)

func operatorRecipe(o Options) recipe {
	return recipe{
		name: "operator", repository: repository + "operator", version: o.Version,
		title: "skyhook-operator", source: Source, licenses: "Apache-2.0",
		description: "Walks the nodes of a cluster through the stages of the packages that Skyhooks declare",
		config:      v1.Config{Entrypoint: []string{"/skyhook-operator"}, User: operatorUser, WorkingDir: "/"},
		layers:      programLayers(o, "skyhook-operator"),
	}
}

func agentRecipe(o Options) recipe {
	return recipe{
		name: "agent", repository: repository + "agent", version: o.Version,
		title: "skyhook-agent", source: Source, licenses: "Apache-2.0",
		description: "Runs and checks the steps of a package in the root of the host",
		// Steps inherit the agent's environment and run in the host's root, so the search path is the host's.
		config: v1.Config{Entrypoint: []string{"/skyhook-agent"}, Env: []string{"PATH=" + hostPath}, WorkingDir: "/"},
		layers: programLayers(o, "skyhook-agent"),
	}
}

// programLayers makes images from scratch: one binary, a folder for temporary files, and a mount point for the host.
func programLayers(o Options, command string) func(context.Context, v1.Platform) ([]v1.Layer, error) {
	return func(ctx context.Context, platform v1.Platform) ([]v1.Layer, error) {
		binary, err := compile(ctx, o, command, platform)
		if err != nil {
			return nil, err
		}
		layer, err := image.Tree{
			command: image.Program(binary), "tmp": image.Folder(0o1777),
			"root": image.Folder(0o700),
		}.Layer()
		return []v1.Layer{layer}, err
	}
}

// Program builds one command of the repository as a static binary, with the flags of those in images, and returns its
// content.
func Program(ctx context.Context, o Options, command string, platform v1.Platform) ([]byte, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	return compile(ctx, o, command, platform)
}

// Tags are of every build of a program. Without gRPC's traces, and with google.golang.org/protobuf from 1.36.12 on,
// nothing in the operator calls methods by name, and the linker leaves out what nobody calls: a quarter of the program,
// which is 8 MiB of memory.
const Tags = "grpcnotrace"

// compile builds one command as a static binary. The output stays where it is, so that the linker has nothing to do
// when nothing changed.
func compile(ctx context.Context, o Options, command string, platform v1.Platform) ([]byte, error) {
	out := filepath.Join(filepath.Dir(o.Out), "bin", platform.OS+"-"+platform.Architecture, command)
	fmt.Fprintf(o.Log, "compiling %s for %s\n", command, platform)
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-tags", Tags,
		"-ldflags", "-s -w -X "+versionVar+"="+o.Version, "-o", out, "./cmd/"+command)
	cmd.Dir = o.Root
	// A newer instruction set or other flags in the caller's environment would change the digest.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+platform.OS, "GOARCH="+platform.Architecture,
		"GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=", "GOEXPERIMENT=")
	if output, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("compile %s: %w\n%s", command, err, output)
	}
	return os.ReadFile(out)
}
