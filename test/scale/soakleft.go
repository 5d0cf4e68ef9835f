package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8slabels "k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// cluster is what there is at a moment.
type cluster struct {
	skyhooks []v1alpha1.Skyhook
	nodes    []corev1.Node
	pods     []corev1.Pod
	maps     []corev1.ConfigMap
}

// objects are how many ConfigMaps there are: those that show nodes their metadata, and those of packages.
func (c cluster) objects() counts {
	n := counts{}
	for i := range c.maps {
		kind := packageMaps
		if c.maps[i].Labels[v1alpha1.LabelNodeMeta] != "" {
			kind = nodeMaps
		}
		n[kind]++
	}
	return n
}

const (
	nodeMaps    = "ConfigMaps of nodes"
	packageMaps = "ConfigMaps of packages"
)

func (s *soak) cluster(ctx context.Context) (c cluster, err error) {
	var skyhooks v1alpha1.SkyhookList
	var nodes corev1.NodeList
	var pods corev1.PodList
	var all corev1.ConfigMapList
	for _, list := range []client.ObjectList{&skyhooks, &nodes} {
		if err := s.control.client.List(ctx, list); err != nil {
			return c, fmt.Errorf("see what is left: %w", err)
		}
	}
	for _, list := range []client.ObjectList{&pods, &all} {
		if err := s.control.client.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return c, fmt.Errorf("see what is left: %w", err)
		}
	}
	return cluster{skyhooks: skyhooks.Items, nodes: nodes.Items, pods: pods.Items, maps: all.Items}, nil
}

// incomplete says which Skyhooks are not complete on exactly the nodes that they select.
func (c cluster) incomplete() []string {
	var all []string
	for _, p := range soakParts {
		i := slices.IndexFunc(c.skyhooks, func(s v1alpha1.Skyhook) bool { return s.Name == p.name })
		if i < 0 {
			all = append(all, "Skyhook "+p.name+" is missing")
			continue
		}
		s, want := &c.skyhooks[i], 0
		for j := range c.nodes {
			if selects(s, &c.nodes[j]) {
				want++
			}
		}
		if s.Status.ObservedGeneration != s.Generation || s.Status.Status != v1alpha1.StatusComplete ||
			s.Status.Nodes.Complete != want || s.Status.Nodes.Total != want {
			all = append(all, fmt.Sprintf("Skyhook %s is not complete on its %d nodes: %s",
				s.Name, want, progress(map[string]*v1alpha1.Skyhook{s.Name: s})))
		}
	}
	return all
}

func selects(s *v1alpha1.Skyhook, n *corev1.Node) bool {
	selector, err := metav1.LabelSelectorAsSelector(&s.Spec.NodeSelectors)
	return err == nil && selector.Matches(k8slabels.Set(n.Labels))
}

// left is what should not be there when every Skyhook is complete.
func (c cluster) left() []string {
	var all []string
	exists := map[string]bool{}
	for i := range c.nodes {
		exists[c.nodes[i].Name] = true
		all = append(all, c.leftOn(&c.nodes[i])...)
	}
	for i := range c.pods {
		all = append(all, "pod "+c.pods[i].Name+" of node "+c.pods[i].Spec.NodeName)
	}
	for i := range c.maps {
		cm := &c.maps[i]
		if node := cm.Annotations[v1alpha1.AnnotationNodeName]; cm.Labels[v1alpha1.LabelNodeMeta] != "" && !exists[node] {
			all = append(all, fmt.Sprintf("ConfigMap %s of node %s, which is gone", cm.Name, node))
		}
	}
	return all
}

// leftOn a node: what interrupts leave while they run, and what Skyhooks have there that do not select it. Of those,
// the packages stay, and with them the annotations that tell which.
func (c cluster) leftOn(n *corev1.Node) []string {
	var all []string
	tell := func(what string) { all = append(all, "node "+n.Name+": "+what) }
	if n.Spec.Unschedulable {
		tell("it is cordoned")
	}
	there := map[string]bool{}
	for i := range c.skyhooks {
		there[c.skyhooks[i].Name] = selects(&c.skyhooks[i], n)
	}
	for _, key := range slices.Sorted(maps.Keys(n.Annotations)) {
		prefix, skyhook, _ := strings.Cut(key, "_")
		stays := prefix+"_" == v1alpha1.AnnotationNodeStatePrefix || prefix+"_" == v1alpha1.AnnotationVersionPrefix
		switch {
		case key == v1alpha1.AnnotationInterrupt, prefix+"_" == v1alpha1.AnnotationCordonPrefix:
			tell("annotation " + key)
		case strings.HasPrefix(key, v1alpha1.KeyPrefix) && !there[skyhook] && !stays:
			tell("annotation " + key + " of a Skyhook that does not select it")
		}
	}
	for _, key := range slices.Sorted(maps.Keys(n.Labels)) {
		if skyhook, ok := strings.CutPrefix(key, v1alpha1.LabelStatusPrefix); ok && !there[skyhook] {
			tell("label " + key + " of a Skyhook that does not select it")
		}
	}
	for _, condition := range n.Status.Conditions {
		rest, ok := strings.CutPrefix(string(condition.Type), v1alpha1.KeyPrefix)
		if skyhook, _, _ := strings.Cut(rest, "/"); ok && !there[skyhook] {
			tell("condition " + string(condition.Type) + " of a Skyhook that does not select it")
		}
	}
	return all
}

// logged is what the operator's logs have: how often each error, and the panics.
type logged struct {
	Errors counts   `json:"errors"`
	Panics []string `json:"panics"`
}

func readLogs(files []string) (logged, error) {
	l := logged{Errors: counts{}}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return l, fmt.Errorf("read the operator's log: %w", err)
		}
		for line := range strings.Lines(string(text)) {
			l.read(file, strings.TrimSpace(line))
		}
	}
	return l, nil
}

func (l *logged) read(file, line string) {
	var entry struct{ Level, Msg string }
	if err := json.Unmarshal([]byte(line), &entry); err == nil && entry.Level == "ERROR" {
		l.Errors[entry.Msg]++
	}
	if strings.HasPrefix(line, "panic:") || strings.HasPrefix(line, "fatal error:") ||
		strings.Contains(line, "Observed a panic") {
		l.Panics = append(l.Panics, file+": "+line)
	}
}
