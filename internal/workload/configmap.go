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

// PackageConfigMap builds the ConfigMap with a package's configMap.
func (o Options) PackageConfigMap(s *v1alpha1.Skyhook, name string) *corev1.ConfigMap {
	return o.configMap(s, name, s.Spec.Packages[name])
}

func (o Options) configMap(s *v1alpha1.Skyhook, name string, pkg v1alpha1.Package) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name:      ConfigMapName(s.Name, name, pkg.Version),
			Namespace: o.Namespace,
			Labels:    map[string]string{v1alpha1.LabelName: s.Name},
			Annotations: map[string]string{
				v1alpha1.AnnotationName: s.Name, v1alpha1.AnnotationPackageName: name, v1alpha1.AnnotationPackageVersion: pkg.Version,
			},
			OwnerReferences: []metav1.OwnerReference{owner(s)},
		},
		Data: maps.Clone(pkg.ConfigMap),
	}
}

// NodeMeta builds the ConfigMap that shows a node's labels and annotations, and the Skyhook's packages, to steps.
// The operator's own records are left out of the annotations: they change with every stage and tell steps nothing.
func (o Options) NodeMeta(s *v1alpha1.Skyhook, node *corev1.Node) (*corev1.ConfigMap, error) {
	annotations := maps.Clone(node.Annotations)
	maps.DeleteFunc(annotations, func(k, _ string) bool { return record.Owns(k) })
	labels := maps.Clone(node.Labels)
	maps.DeleteFunc(labels, func(k, _ string) bool { return record.Owns(k) })
	data := map[string]string{}
	for file, value := range map[string]any{
		"annotations.json": orEmpty(annotations),
		"labels.json":      orEmpty(labels),
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

// NodeOfMeta returns the node whose metadata a ConfigMap shows; empty for any other object.
func NodeOfMeta(o metav1.Object) string {
	if _, ok := o.GetLabels()[v1alpha1.LabelNodeMeta]; !ok {
		return ""
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

func orEmpty(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}
