package workload

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// PackageConfigMap builds the ConfigMap with a package's configMap by which people and tools find it. No pod mounts it,
// and what it holds changes with the spec; an operator from before pods had ConfigMaps of their own mounts it and has
// to change it.
func (o Options) PackageConfigMap(s *v1alpha1.Skyhook, name string) *corev1.ConfigMap {
	cm := o.MountedConfigMap(s, name, s.Spec.Packages[name])
	cm.Name, cm.Immutable = ConfigMapName(s.Name, name, s.Spec.Packages[name].Version), nil
	return cm
}

// MountedConfigMap builds the ConfigMap that pods of a package mount. Its name says what it holds, and it is immutable,
// so that a pod never starts with anything else: a kubelet may keep what it read of an immutable ConfigMap while a pod
// on its node uses it, also when another one has that name by then.
func (o Options) MountedConfigMap(s *v1alpha1.Skyhook, name string, pkg v1alpha1.Package) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: o.packageMeta(s, MountedConfigMapName(s.Name, name, pkg.Version, pkg.ConfigMap), name, pkg.Version),
		Data:       maps.Clone(pkg.ConfigMap),
		Immutable:  new(true),
	}
}

// packageMeta is the metadata of an object that holds something of a package version.
func (o Options) packageMeta(s *v1alpha1.Skyhook, name, pkg, version string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: name, Namespace: o.Namespace, Labels: map[string]string{v1alpha1.LabelName: s.Name},
		Annotations: map[string]string{
			v1alpha1.AnnotationName: s.Name, v1alpha1.AnnotationPackageName: pkg,
			v1alpha1.AnnotationPackageVersion: version,
		},
		OwnerReferences: []metav1.OwnerReference{owner(s)},
	}
}

// EarlierName is the name of the ConfigMap with the configMap of a package version that the pods of other operators
// mount: it has no hash, also where ConfigMapName has one.
func EarlierName(skyhook, pkg, version string) string {
	return strings.ToLower(skyhook + "-" + pkg + "-" + version)
}

// Earlier reports whether a ConfigMap of that name is of this very package version: several may have the same name.
func Earlier(cm *corev1.ConfigMap, pkg, version string) bool {
	return !Sealed(cm) && cm.Annotations[v1alpha1.AnnotationPackageName] == pkg &&
		cm.Annotations[v1alpha1.AnnotationPackageVersion] == version
}

// Holds reports whether a ConfigMap holds this data and nothing else.
func Holds(cm *corev1.ConfigMap, data map[string]string) bool {
	return len(cm.BinaryData) == 0 && maps.Equal(cm.Data, data)
}

// Sealed reports whether nobody can change what a ConfigMap holds.
func Sealed(cm *corev1.ConfigMap) bool { return cm.Immutable != nil && *cm.Immutable }

// ContentDigest is a short digest of all that a ConfigMap holds.
func ContentDigest(cm *corev1.ConfigMap) string {
	raw, err := json.Marshal([]any{cm.Data, cm.BinaryData})
	if err != nil {
		panic(err) // only maps of strings and bytes are encoded; json cannot refuse them
	}
	return digest(raw, 16)
}

// NodeMeta builds the ConfigMap that shows a node's labels and annotations, and the Skyhook's packages, to steps.
// The operator's own records are left out of the annotations: they change with every stage and tell steps nothing.
func (o Options) NodeMeta(s *v1alpha1.Skyhook, node *corev1.Node) (*corev1.ConfigMap, error) {
	data := map[string]string{}
	for file, value := range map[string]any{
		"annotations.json": withoutRecords(node.Annotations),
		"labels.json":      withoutRecords(node.Labels),
		"packages.json":    o.packagesFile(s),
	} {
		raw, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("encode %s of node %s: %w", file, node.Name, err)
		}
		data[file] = string(raw)
	}
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name:            NodeMetaName(s.Name, node.Name),
			Namespace:       o.Namespace,
			Labels:          map[string]string{v1alpha1.LabelNodeMeta: s.Name},
			Annotations:     map[string]string{v1alpha1.AnnotationName: s.Name, v1alpha1.AnnotationNodeName: node.Name},
			OwnerReferences: []metav1.OwnerReference{owner(s)},
		},
		Data: data,
	}, nil
}

// History builds the ConfigMap that holds a Skyhook's history. It has no label of a package's: a change of it wakes
// nobody.
func (o Options) History(s *v1alpha1.Skyhook, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name:            HistoryName(s.Name),
			Namespace:       o.Namespace,
			Labels:          map[string]string{v1alpha1.LabelHistory: s.Name},
			OwnerReferences: []metav1.OwnerReference{owner(s)},
		},
		Data: data,
	}
}

// slimPrefix is what the generateName of a slim metadata ConfigMap begins with; the digest of what was dropped and the
// node follow, each behind one. No stored object can have it, as it is part of no name; and other than annotations, a
// text costs no map.
const slimPrefix = "/"

// SlimMeta drops what a metadata ConfigMap holds from a cache's copy, but for a digest of what it really holds, and its
// node: there is one per node and Skyhook. An informer may ask for it twice.
func SlimMeta(cm *corev1.ConfigMap) {
	if _, _, slim := slimMeta(cm); slim {
		return
	}
	cm.GenerateName = slimPrefix + ContentDigest(cm) + slimPrefix + NodeOfMeta(cm)
	cm.Annotations, cm.Data, cm.BinaryData = nil, nil, nil // they may be shared
}

// slimMeta is what SlimMeta left.
func slimMeta(o metav1.Object) (digest, node string, slim bool) {
	rest, slim := strings.CutPrefix(o.GetGenerateName(), slimPrefix)
	digest, node, _ = strings.Cut(rest, slimPrefix)
	return digest, node, slim
}

// MetaDigest is the digest of what a metadata ConfigMap holds, whether or not it is slim.
func MetaDigest(cm *corev1.ConfigMap) string {
	if digest, _, slim := slimMeta(cm); slim {
		return digest
	}
	return ContentDigest(cm)
}

// NodeOfMeta returns the node whose metadata a ConfigMap shows; empty for any other object.
func NodeOfMeta(o metav1.Object) string {
	if _, ok := o.GetLabels()[v1alpha1.LabelNodeMeta]; !ok {
		return ""
	}
	if _, node, slim := slimMeta(o); slim {
		return node
	}
	return o.GetAnnotations()[v1alpha1.AnnotationNodeName]
}

type packagesFile struct {
	AgentVersion string                 `json:"agentVersion"`
	Packages     map[string]packageInfo `json:"packages"`
}

type packageInfo struct {
	Name               string                        `json:"name"`
	Version            string                        `json:"version"`
	Image              string                        `json:"image"`
	AgentImageOverride string                        `json:"agentImageOverride,omitempty"`
	Interrupt          *v1alpha1.Interrupt           `json:"interrupt,omitempty"`
	ConfigInterrupts   map[string]v1alpha1.Interrupt `json:"configInterrupts,omitempty"`
}

func (o Options) packagesFile(s *v1alpha1.Skyhook) packagesFile {
	f := packagesFile{AgentVersion: imageTag(o.AgentImage), Packages: map[string]packageInfo{}}
	for name, p := range s.Spec.Packages {
		f.Packages[name] = packageInfo{
			Name: name, Version: p.Version, Image: p.Repository(),
			AgentImageOverride: p.AgentImageOverride, Interrupt: p.Interrupt, ConfigInterrupts: p.ConfigInterrupts,
		}
	}
	return f
}

// imageTag returns the tag of an image reference, also when a digest follows it; empty when there is none.
func imageTag(image string) string {
	image, _, _ = strings.Cut(image, "@")
	last := image[strings.LastIndex(image, "/")+1:]
	_, tag, _ := strings.Cut(last, ":")
	return tag
}

func withoutRecords(metadata map[string]string) map[string]string {
	others := map[string]string{}
	for key, value := range metadata {
		if !record.Owns(key) {
			others[key] = value
		}
	}
	return others
}
