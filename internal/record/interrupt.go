package record

import (
	"encoding/json"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// Interrupt is the interrupt in flight on a node. It is written in the same patch as the entries that show it, and
// removed in the one that records its end. While it is there no package pod of any Skyhook starts on the node.
type Interrupt struct {
	// Skyhook that owns it.
	Skyhook string `json:"skyhook"`
	// Packages that it runs for, as name|version, sorted. The first entry of them that is active runs it.
	Packages []string `json:"packages"`
	// Type of the interrupt, and the services that it restarts. The type is empty when another operator began it, which
	// kept none.
	Type     v1alpha1.InterruptType `json:"type,omitempty"`
	Services []string               `json:"services,omitempty"`
	// BootID of the node when it began. On any other one a reboot is done.
	BootID string `json:"bootID,omitempty"`
	// Run tells it from any other to the agent. It stays the same when a lost pod is replaced.
	Run string `json:"run,omitempty"`
	// Since is when it began, in whole seconds.
	Since metav1.Time `json:"since,omitzero"`
}

// IsReboot reports whether the boot id tells when it is done.
func (i *Interrupt) IsReboot() bool { return i != nil && i.Type == v1alpha1.InterruptReboot }

// OwnedBy reports whether it is in flight for the given Skyhook.
func (i *Interrupt) OwnedBy(skyhook string) bool { return i != nil && i.Skyhook == skyhook }

// Spec is what the agent is asked to do.
func (i *Interrupt) Spec() *v1alpha1.Interrupt {
	return &v1alpha1.Interrupt{Type: i.Type, Services: i.Services}
}

// ReadInterrupt returns the interrupt in flight; nil when there is none, or when the annotation cannot be read: then
// the entries of the records tell whether one runs.
func ReadInterrupt(annotations map[string]string) *Interrupt {
	raw := annotations[v1alpha1.AnnotationInterrupt]
	if raw == "" {
		return nil // of nearly all nodes of a fleet, without taking memory for each
	}
	var i Interrupt
	if json.Unmarshal([]byte(raw), &i) != nil || i.Skyhook == "" || i.Type != "" && !i.Type.Known() {
		return nil
	}
	return &i
}

// WriteInterrupt returns the change that makes the annotations show the interrupt in flight, nil for none.
func WriteInterrupt(i *Interrupt, annotations map[string]string) (Patch, error) {
	text := ""
	if i != nil {
		raw, err := json.Marshal(i)
		if err != nil {
			return Patch{}, err
		}
		text = string(raw)
	}
	var p Patch
	p.set(p.annotate, v1alpha1.AnnotationInterrupt, text, annotations)
	return p, nil
}

// Clone returns a copy that shares nothing; nil for nil.
func (i *Interrupt) Clone() *Interrupt {
	if i == nil {
		return nil
	}
	c := *i
	c.Packages, c.Services = slices.Clone(i.Packages), slices.Clone(i.Services)
	return &c
}

// Names are the names of the packages that it runs for.
func (i *Interrupt) Names() []string {
	names := make([]string, 0, len(i.Packages))
	for _, key := range i.Packages {
		name, _, _ := strings.Cut(key, "|")
		names = append(names, name)
	}
	return names
}
