package release

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"sigs.k8s.io/yaml"
)

const (
	home = "https://github.com/skyhook-operator/skyhook"
	// downloads is where a release's files are published.
	downloads = home + "/releases/download/"
)

// The manifest by which krew installs a plugin, see https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest.
type (
	krewPlugin struct {
		APIVersion string            `json:"apiVersion"`
		Kind       string            `json:"kind"`
		Metadata   map[string]string `json:"metadata"`
		Spec       krewSpec          `json:"spec"`
	}
	krewSpec struct {
		Version          string         `json:"version"`
		Homepage         string         `json:"homepage"`
		ShortDescription string         `json:"shortDescription"`
		Description      string         `json:"description"`
		Platforms        []krewPlatform `json:"platforms"`
	}
	krewPlatform struct {
		Selector krewSelector `json:"selector"`
		URI      string       `json:"uri"`
		SHA256   string       `json:"sha256"`
		Bin      string       `json:"bin"`
	}
	krewSelector struct {
		MatchLabels map[string]string `json:"matchLabels"`
	}
)

// writeKrew writes the manifest for the plugin's archives, which are in dir.
func writeKrew(o Options, dir string) error {
	at := slices.IndexFunc(programs, func(p program) bool { return p.Name == plugin })
	var platforms []krewPlatform
	for _, platform := range programs[at].Platforms {
		if !o.wants(platform) {
			continue
		}
		of, err := krewOf(o, programs[at], platform, dir)
		if err != nil {
			return err
		}
		platforms = append(platforms, of)
	}
	manifest, err := yaml.Marshal(krewPlugin{
		APIVersion: "krew.googlecontainertools.github.com/v1alpha2", Kind: "Plugin", Metadata: map[string]string{"name": plugin},
		Spec: krewSpec{
			Version: o.version, Homepage: home, ShortDescription: "Show and steer packages on nodes",
			Description: strings.TrimSpace(`
Shows what Skyhook installs on which nodes, why it waits and what helps, with a live view in the terminal and in the
browser. Plans, pauses, stops, resumes and rolls back; excludes, resets and repeats nodes and packages. Validates, tries
and builds packages.`) + "\n",
			Platforms: platforms,
		},
	})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, krewFile), manifest, 0o644)
}

func krewOf(o Options, p program, platform v1.Platform, dir string) (krewPlatform, error) {
	file := p.archive(o, platform) + archiveExt
	sum, err := fileSum(filepath.Join(dir, file))
	return krewPlatform{
		Selector: krewSelector{map[string]string{"os": platform.OS, "arch": platform.Architecture}},
		URI:      downloads + o.version + "/" + file,
		SHA256:   hex.EncodeToString(sum),
		Bin:      p.binary(platform),
	}, err
}
