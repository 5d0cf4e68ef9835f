package faults

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// host is what is on one machine's disk.
type host struct {
	// installed are the packages by "skyhook/package".
	installed map[string]*installed
	// done are the interrupts that agents remember to have run.
	done map[string]bool
	// interrupts counts those that took place, and reboots.
	interrupts int
	// lost are the runs whose record a user took away: nobody learns what they leave on the disk.
	lost map[string]bool
	// forged are the Skyhooks whose records the machine made up itself: what follows from them is its own fault.
	forged map[string]bool
}

// installed is one package on a disk.
type installed struct {
	version string
	// digest of the image that was applied.
	digest string
	// configured is the version whose config stage ran last, with its config and environment.
	configured  string
	config, env map[string]string
	// interrupts is how many interrupts the host had seen when this version was applied.
	interrupts int
	// forgotten says that a user edited the record that told of it: nobody knows of it any more.
	forgotten bool
}

func newHost() *host {
	return &host{
		installed: map[string]*installed{}, done: map[string]bool{}, lost: map[string]bool{},
		forged: map[string]bool{},
	}
}

// identity is what a package pod says it is: a contract of this API.
type identity struct {
	Name    string         `json:"name"`
	Version string         `json:"version"`
	Skyhook string         `json:"skyhook"`
	Stage   v1alpha1.Stage `json:"stage"`
}

func (i identity) key() string { return i.Skyhook + "/" + i.Name }

func identityOf(pod *corev1.Pod) identity {
	var id identity
	if json.Unmarshal([]byte(pod.Annotations[v1alpha1.GroupName+"/package"]), &id) != nil {
		return identity{}
	}
	return id
}

func runOf(pod *corev1.Pod) string { return pod.Annotations[v1alpha1.GroupName+"/run"] }

// ownerOf returns the Skyhook that a package pod belongs to.
func ownerOf(pod *corev1.Pod) (metav1.OwnerReference, bool) {
	ref := metav1.GetControllerOfNoCopy(pod)
	if ref == nil || ref.Kind != "Skyhook" || pod.Namespace != namespace {
		return metav1.OwnerReference{}, false
	}
	return *ref, true
}

func isInterruptStage(s v1alpha1.Stage) bool {
	return s == v1alpha1.StageInterrupt || s == v1alpha1.StageUninstallInterrupt
}

// content is what a pod works with.
type content struct {
	id          identity
	run         string
	digest      string
	config, env map[string]string
	services    []string
	kind        string
}

func (w *World) contentOf(pod *corev1.Pod) content {
	c := content{id: identityOf(pod), run: runOf(pod), config: map[string]string{}, env: map[string]string{}}
	for _, container := range pod.Spec.InitContainers {
		for _, e := range container.Env {
			if !strings.HasPrefix(e.Name, "SKYHOOK_") && e.Name != "COPY_RESOLV" {
				c.env[e.Name] = e.Value
			}
		}
	}
	for _, v := range pod.Spec.Volumes {
		if v.ConfigMap == nil || v.Name != c.id.Name {
			continue
		}
		for _, cm := range w.cluster.ConfigMaps() {
			if cm.Namespace == pod.Namespace && cm.Name == v.ConfigMap.Name {
				c.config = maps.Clone(cm.Data)
			}
		}
	}
	if isInterruptStage(c.id.Stage) {
		c.kind, c.services = interruptArgs(pod)
	}
	return c
}

func interruptArgs(pod *corev1.Pod) (kind string, services []string) {
	args := pod.Spec.InitContainers[0].Args
	raw, err := base64.StdEncoding.DecodeString(args[len(args)-1])
	var form struct {
		Type     string   `json:"type"`
		Services []string `json:"services"`
	}
	if err != nil || json.Unmarshal(raw, &form) != nil {
		return "", nil
	}
	return form.Type, form.Services
}

// poisoned reports whether what the pod works with makes it fail; an interrupt, what was configured on the host.
func (h *host) poisoned(c content) bool {
	if spoils(c.id.Version, c.id.Stage) {
		return true
	}
	config := c.config
	if on := h.installed[c.id.key()]; isInterruptStage(c.id.Stage) && on != nil {
		config = on.config
	}
	for _, text := range config {
		if spoils(text, c.id.Stage) {
			return true
		}
	}
	for _, text := range c.env {
		if spoils(text, c.id.Stage) {
			return true
		}
	}
	return false
}

// spoils reports whether a text makes a stage fail, see poisonPackage.
func spoils(text string, stage v1alpha1.Stage) bool {
	switch stage {
	case v1alpha1.StageUpgrade:
		stage = v1alpha1.StageApply
	case v1alpha1.StageUninstallInterrupt:
		stage = v1alpha1.StageInterrupt
	default:
	}
	_, mark, ok := strings.Cut(text, poisonMark)
	return ok && mark == string(stage)
}

// finish brings the disk to what a stage leaves behind when its last container ends well.
func (h *host) finish(c content) {
	key := c.id.key()
	on := h.installed[key]
	switch c.id.Stage {
	case v1alpha1.StageApply, v1alpha1.StageUpgrade:
		if on == nil {
			on = &installed{}
			h.installed[key] = on
		}
		on.digest = c.digest
		on.version, on.interrupts, on.forgotten = c.id.Version, h.interrupts, h.lost[c.id.Skyhook+"/"+c.run]
	case v1alpha1.StageConfig:
		if on != nil {
			on.configured, on.config, on.env = c.id.Version, c.config, c.env
		}
	case v1alpha1.StageInterrupt, v1alpha1.StageUninstallInterrupt:
		h.interrupts++
	case v1alpha1.StageUninstall:
		delete(h.installed, key)
	default:
	}
}

// forget notes that nobody knows any more what a Skyhook has on the disk, and what it was doing there by its record.
func (h *host) forget(skyhook string, was record.Node) {
	for _, e := range was.Packages {
		h.lost[skyhook+"/"+e.Run] = true
	}
	for key, on := range h.installed {
		on.forgotten = on.forgotten || strings.HasPrefix(key, skyhook+"/")
	}
}

// String shows the disk in traces.
func (h *host) String() string {
	var parts []string
	for _, key := range sortedKeys(h.installed) {
		parts = append(parts, fmt.Sprintf("%s=%s", key, h.installed[key].version))
	}
	return strings.Join(parts, " ")
}
