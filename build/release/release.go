package release

import (
	"context"
	"crypto/ecdsa"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/skyhook-operator/skyhook/build/images"
)

const (
	sumsFile   = "SHA256SUMS"
	imagesFile = "images.txt"
	bundleExt  = ".sigstore.json"
	publicKey  = "cosign.pub"
	krewFile   = "krew.yaml"
	imageExt   = ".oci.tar"
	archiveExt = ".tar.gz"
	// plugin is the program that is kubectl's plugin.
	plugin = "skyhook"
)

// Result is a release that was made.
type Result struct {
	// Dir has its files.
	Dir     string
	Version string
	// Revision is the commit, with "-dirty" if the folder had changes.
	Revision string
	Images   []images.Result
	// Signed says whether there are signatures.
	Signed bool
}

// Make makes the release of what is in the repository's folder. Files of an earlier one with the same version are
// replaced when all are there.
func Make(ctx context.Context, o Options) (Result, error) {
	o, err := o.withDefaults()
	if err != nil {
		return Result{}, err
	}
	// First, because an unusable key would be found only after minutes.
	key, err := optionalKey(o.Key)
	if err != nil {
		return Result{}, err
	}
	result := Result{
		Dir: filepath.Join(o.Dist, "release", o.version), Version: o.version, Revision: o.revision, Signed: key != nil,
	}
	partial := result.Dir + ".partial"
	if err := os.RemoveAll(partial); err != nil {
		return Result{}, err
	}
	if err := os.MkdirAll(partial, 0o755); err != nil {
		return Result{}, err
	}
	if result.Images, err = images.Build(ctx, o.images()); err != nil {
		return Result{}, err
	}
	if err := fill(ctx, o, partial, result.Images); err != nil {
		return Result{}, err
	}
	if key != nil {
		if err := sign(partial, key, result.Images); err != nil {
			return Result{}, fmt.Errorf("sign: %w", err)
		}
	}
	if err := os.RemoveAll(result.Dir); err != nil {
		return Result{}, err
	}
	return result, os.Rename(partial, result.Dir)
}

// fill writes all but the signatures, the checksums last.
func fill(ctx context.Context, o Options, dir string, built []images.Result) error {
	for _, image := range built {
		fmt.Fprintf(o.Log, "archive of image %s\n", image.Name)
		if err := tarFolder(filepath.Join(dir, imageFile(image)+imageExt), image.Layout); err != nil {
			return err
		}
		if err := imageDocuments(o, dir, image); err != nil {
			return fmt.Errorf("what is in image %s: %w", image.Name, err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, imagesFile), imageList(built), 0o644); err != nil {
		return err
	}
	for _, program := range programs {
		if err := program.write(ctx, o, dir); err != nil {
			return fmt.Errorf("program %s: %w", program.Name, err)
		}
	}
	if err := writeKrew(o, dir); err != nil {
		return fmt.Errorf("manifest for krew: %w", err)
	}
	if err := writeChart(ctx, o, dir, built); err != nil {
		return fmt.Errorf("chart: %w", err)
	}
	return writeSums(dir)
}

// imageFile is what files about an image begin with.
func imageFile(image images.Result) string { return image.Name + "-" + image.Version }

// imageList has a line for each image: its reference with the digest, as manifests may name it.
func imageList(built []images.Result) []byte {
	var list strings.Builder
	for _, image := range built {
		fmt.Fprintf(&list, "%s@%s\n", image.Reference, image.Digest)
	}
	return []byte(list.String())
}

func optionalKey(file string) (*ecdsa.PrivateKey, error) {
	if file == "" {
		return nil, nil //nolint:nilnil // No key is an answer: nothing is to be signed.
	}
	return ReadKey(file)
}

// sign signs the checksums, so all files, and the digest of each image, so that one can be checked without the archive.
func sign(dir string, key *ecdsa.PrivateKey, built []images.Result) error {
	sum, err := fileSum(filepath.Join(dir, sumsFile))
	if err != nil {
		return err
	}
	if err := writeBundle(filepath.Join(dir, sumsFile+bundleExt), key, sum); err != nil {
		return err
	}
	for _, image := range built {
		digest, err := hex.DecodeString(image.Digest.Hex)
		if err != nil {
			return err
		}
		if err := writeBundle(filepath.Join(dir, imageFile(image)+bundleExt), key, digest); err != nil {
			return err
		}
	}
	return writePublicKey(filepath.Join(dir, publicKey), &key.PublicKey)
}
