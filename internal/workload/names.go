package workload

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

const (
	maxPodName       = 63
	maxConfigMapName = 253
	// maxContainerPrefix leaves room for "-post-interruptcheck" in a container name of at most 63 characters.
	maxContainerPrefix = 43
	hashLength         = 8
	// longHashLength is that of names whose text was cut: it may be all that tells the nodes of a fleet apart.
	longHashLength = 12
	// configMapHashLength is that of ConfigMaps of packages, where they have one.
	configMapHashLength = 10
)

// hashOf is of the parts themselves, with what no part can hold between them: "a-b" and "c" join to the same text as
// "a" and "b-c".
func hashOf(length int, parts []string) string {
	return digest([]byte(strings.Join(parts, "\x00")), length)
}

// safeName joins parts with "-" into a name of at most limit characters that is unique for the parts: dots become
// dashes, the text is cut, and digits of a hash of the parts are appended: 8, or 12 if the text was cut.
func safeName(limit int, parts ...string) string {
	return hashed(limit, strings.ReplaceAll(strings.Join(parts, "-"), ".", "-"), hashLength, parts)
}

func hashed(limit int, text string, length int, parts []string) string {
	if len(text) > limit-length-1 {
		length = max(length, longHashLength)
		text = strings.TrimRight(text[:limit-length-1], ".-") // a part of a DNS name must not begin with the hash's dash
	}
	return strings.ToLower(text + "-" + hashOf(length, parts))
}

// PodName is the name of the pod that runs a stage of a package on a node. It is the same for every run, so that
// creating it twice is harmless.
func PodName(skyhook, pkg, version string, stage v1alpha1.Stage, node string) string {
	return safeName(maxPodName, skyhook, pkg, version, string(stage), node)
}

var (
	// plainName reads "<skyhook>-<package>-<version>" back, for packages without a dash.
	plainName = regexp.MustCompile(`^(.+)-([a-z][a-z0-9]*)-(v?[0-9]+(?:[.][0-9]+(?:[.][0-9]+(?:-[0-9a-z.-]+)?)?)?)$`)
	// hashedName is how the ConfigMaps with a hash end, those of packages and of nodes.
	hashedName = regexp.MustCompile(`-[0-9a-f]{10}$|-[0-9a-f]{12}$|-metadata-[0-9a-f]{8}$`)
)

// ConfigMapName is the name of a package's ConfigMap: "<skyhook>-<package>-<version>" in lower case, by which people
// and tools find it, if that reads back as these very parts. Whatever joins to a text that means something else, as the
// package "driver-tuning" of "gpu" does to that of "tuning" of "gpu-driver", gets a hash of its parts at the end; and
// so does what would be too long.
func ConfigMapName(skyhook, pkg, version string) string {
	name := skyhook + "-" + pkg + "-" + version
	back := plainName.FindStringSubmatch(name)
	if len(name) <= maxConfigMapName && back != nil && slices.Equal(back[1:], []string{skyhook, pkg, version}) &&
		!hashedName.MatchString(name) {
		return name
	}
	return hashed(maxConfigMapName, name, configMapHashLength, []string{"package", skyhook, pkg, version})
}

// MountedConfigMapName is the name of the ConfigMap with this data that pods of a package version mount: several may be
// of one version. Values may hold any character, so their lengths tell where they end.
func MountedConfigMapName(skyhook, pkg, version string, data map[string]string) string {
	content := make([]string, 0, 3*len(data))
	for _, key := range slices.Sorted(maps.Keys(data)) {
		content = append(content, key, strconv.Itoa(len(data[key])), data[key])
	}
	return mountedName(skyhook, pkg, version, hashOf(configMapHashLength, content))
}

func mountedName(skyhook, pkg, version, content string) string {
	parts := []string{"mounted", skyhook, pkg, version, content}
	return hashed(maxConfigMapName, strings.Join(parts[1:], "-"), configMapHashLength, parts)
}

// NodeMetaName is the name of the ConfigMap that shows a node's metadata to a Skyhook's packages.
func NodeMetaName(skyhook, node string) string {
	return safeName(maxConfigMapName, skyhook, node, "metadata")
}

// HistoryName is the name of the ConfigMap that holds a Skyhook's history. Its hash is as long as those of packages'
// ConfigMaps, whose names are made so that none without a hash ends like one.
func HistoryName(skyhook string) string {
	return hashed(maxConfigMapName, skyhook+"-history", configMapHashLength, []string{"history", skyhook})
}

func containerPrefix(pkg string) string {
	return pkg[:min(len(pkg), maxContainerPrefix)]
}
