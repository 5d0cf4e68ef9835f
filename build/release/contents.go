package release

import (
	"archive/tar"
	"bytes"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/package-url/packageurl-go"

	"github.com/skyhook-operator/skyhook/build/images"
)

// imageDocuments writes what is in an image, for each of its platforms.
func imageDocuments(o Options, dir string, image images.Result) error {
	manifest, err := image.Index.IndexManifest()
	if err != nil {
		return err
	}
	repository := strings.TrimSuffix(image.Reference, ":"+image.Version)
	for _, entry := range manifest.Manifests {
		platform, err := image.Index.Image(entry.Digest)
		if err != nil {
			return err
		}
		programs, err := goPrograms(platform)
		if err != nil {
			return err
		}
		arch := entry.Platform.Architecture
		file := fmt.Sprintf("%s-%s-%s%s", imageFile(image), entry.Platform.OS, arch, sbomExt)
		err = writeDocument(filepath.Join(dir, file), o, subject{
			name: repository, version: image.Version, purpose: "CONTAINER", sha256: entry.Digest.Hex, license: unknown,
			purl:     imageURL(repository, image.Version, arch, entry.Digest),
			programs: programs,
			debian:   slices.DeleteFunc(slices.Clone(image.Debian), func(f images.DebianFile) bool { return f.Arch != arch }),
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func imageURL(repository, tag, arch string, digest v1.Hash) string {
	qualifiers := packageurl.QualifiersFromMap(map[string]string{"arch": arch, "repository_url": repository, "tag": tag})
	return packageurl.NewPackageURL(packageurl.TypeOCI, "", path.Base(repository), digest.String(), qualifiers,
		"").ToString()
}

// goPrograms finds all binaries of Go in an image, whatever put them there.
func goPrograms(image v1.Image) ([]goProgram, error) {
	content := mutate.Extract(image)
	defer content.Close()
	var found []goProgram
	files := tar.NewReader(content)
	for {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return nil, err
		}
		if header.Typeflag != tar.TypeReg || header.Mode&0o111 == 0 {
			continue
		}
		file, err := io.ReadAll(files)
		if err != nil {
			return nil, err
		}
		// What cannot be read is not of Go.
		if info, err := buildinfo.Read(bytes.NewReader(file)); err == nil {
			found = append(found, goProgram{"/" + strings.TrimPrefix(header.Name, "/"), info})
		}
	}
}
