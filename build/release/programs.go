package release

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/skyhook-operator/skyhook/build/images"
)

// program is a command that people run on their own machines.
type program struct {
	// Name of its folder in cmd/, and of the binary.
	Name      string
	Platforms []v1.Platform
}

// desktops are what people have on their desks beside Linux.
var desktops = []v1.Platform{
	{OS: "darwin", Architecture: "amd64"}, {OS: "darwin", Architecture: "arm64"}, {OS: "windows", Architecture: "amd64"},
}

// programs are all of them. One more is one line more.
var programs = []program{
	// The plugin of kubectl, with which authors also check, try and build packages.
	{Name: plugin, Platforms: slices.Concat(images.AllPlatforms, desktops)},
}

// archive is the name of the archive for a platform, without its extension.
func (p program) archive(o Options, platform v1.Platform) string {
	return fmt.Sprintf("%s-%s-%s-%s", p.Name, o.version, platform.OS, platform.Architecture)
}

// binary is the program's name in its archive.
func (p program) binary(platform v1.Platform) string {
	if platform.OS == "windows" {
		return p.Name + ".exe"
	}
	return p.Name
}

// write makes an archive for each platform, and says what is in it.
func (p program) write(ctx context.Context, o Options, dir string) error {
	license, err := os.ReadFile(filepath.Join(o.Root, "LICENSE"))
	if err != nil {
		return err
	}
	for _, platform := range p.Platforms {
		if !o.wants(platform) {
			continue
		}
		binary, err := images.Program(ctx, o.images(), p.Name, platform)
		if err != nil {
			return err
		}
		info, err := buildinfo.Read(bytes.NewReader(binary))
		if err != nil {
			return fmt.Errorf("the modules of the binary for %s: %w", platform, err)
		}
		name := p.archive(o, platform)
		file := filepath.Join(dir, name+archiveExt)
		if err := tarGzip(file, []member{{p.binary(platform), 0o755, binary}, {"LICENSE", 0o644, license}}); err != nil {
			return err
		}
		sum, err := fileSum(file)
		if err != nil {
			return err
		}
		err = writeDocument(filepath.Join(dir, name+sbomExt), o, subject{
			name: p.Name, version: o.version, purpose: "ARCHIVE", file: filepath.Base(file), sha256: hex.EncodeToString(sum),
			license:  "Apache-2.0",
			programs: []goProgram{{p.Name, info}},
		})
		if err != nil {
			return err
		}
	}
	return nil
}
