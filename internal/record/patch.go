package record

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// Patch is a change of node metadata: a nil value removes the key.
type Patch struct {
	Annotations map[string]*string
	Labels      map[string]*string
}

// Empty reports whether nothing changes.
func (p Patch) Empty() bool { return len(p.Annotations) == 0 && len(p.Labels) == 0 }

// Merge adds the changes of q to p.
func (p *Patch) Merge(q Patch) {
	for k, v := range q.Annotations {
		p.annotate(k, v)
	}
	for k, v := range q.Labels {
		p.label(k, v)
	}
}

func (p *Patch) annotate(k string, v *string) {
	if p.Annotations == nil {
		p.Annotations = map[string]*string{}
	}
	p.Annotations[k] = v
}

func (p *Patch) label(k string, v *string) {
	if p.Labels == nil {
		p.Labels = map[string]*string{}
	}
	p.Labels[k] = v
}

// Only reports whether a change sets some of these annotations, and nothing else.
func (p Patch) Only(annotations ...string) bool {
	for key, v := range p.Annotations {
		if v == nil || !slices.Contains(annotations, key) {
			return false
		}
	}
	return !p.Empty() && len(p.Labels) == 0
}

// Write returns the change that makes the given metadata hold the record n of a Skyhook; empty when it does already.
func Write(skyhook string, n Node, annotations, labels map[string]string) (Patch, error) {
	if n.Packages == nil {
		n.Packages = map[string]Entry{}
	}
	state, err := json.Marshal(n.Packages)
	if err != nil {
		return Patch{}, fmt.Errorf("encode the record of Skyhook %s: %w", skyhook, err)
	}
	var p Patch
	want := map[string]string{
		v1alpha1.AnnotationNodeStatePrefix + skyhook: string(state),
		v1alpha1.AnnotationStatusPrefix + skyhook:    string(n.Status),
		v1alpha1.AnnotationVersionPrefix + skyhook:   n.OperatorVersion,
		v1alpha1.AnnotationPermitPrefix + skyhook:    n.FinishedPermit,
		v1alpha1.AnnotationCordonPrefix + skyhook:    trueOrNone(n.Cordoned),
		v1alpha1.AnnotationBegunPrefix + skyhook:     trueOrNone(n.Begun),
		v1alpha1.AnnotationBootPrefix + skyhook:      n.BootID,
		v1alpha1.AnnotationHostPrefix + skyhook:      n.Host.encode(),
	}
	if want[v1alpha1.AnnotationWaitPrefix+skyhook], err = encodeWait(n.Wait); err != nil {
		return Patch{}, fmt.Errorf("encode what Skyhook %s waits for: %w", skyhook, err)
	}
	if n.Unreadable {
		delete(want, v1alpha1.AnnotationNodeStatePrefix+skyhook) // what nobody can read stays as it is
	}
	for k, v := range want {
		p.set(p.annotate, k, v, annotations)
	}
	label := string(n.Status)
	if n.bare() {
		label = ""
	}
	p.set(p.label, v1alpha1.LabelStatusPrefix+skyhook, label, labels)
	return p, nil
}

// WriteWait returns the change that makes a Skyhook's record tell of the given wait, nil for none, and nothing else: of
// a node from which the Skyhook is removed, where all else is removed in one patch.
func WriteWait(skyhook string, w *Wait, annotations map[string]string) (Patch, error) {
	var p Patch
	want, err := encodeWait(w)
	if err != nil {
		return p, fmt.Errorf("encode what Skyhook %s waits for: %w", skyhook, err)
	}
	p.set(p.annotate, v1alpha1.AnnotationWaitPrefix+skyhook, want, annotations)
	return p, nil
}

// encodeStates encodes the package states; plain values always can be.
func encodeStates(n Node) string {
	raw, err := json.Marshal(n.Packages)
	if err != nil {
		return ""
	}
	return string(raw)
}

// AcceptBoot returns the change that makes every Skyhook that remembers a boot id remember the given one: the node
// rebooted because one of them asked for it, which is no reason for the others to start over.
func AcceptBoot(bootID string, annotations map[string]string) Patch {
	var p Patch
	for key := range annotations {
		if strings.HasPrefix(key, v1alpha1.AnnotationBootPrefix) {
			p.set(p.annotate, key, bootID, annotations)
		}
	}
	return p
}

// Clear returns the change that removes a Skyhook's record. Package states stay as long as there are any, with their seal
// and what else is outlasting. The permit that n is done with stays, too, if any, and whether work had begun with it: the
// operator has yet to read that.
func Clear(skyhook string, n Node, annotations, labels map[string]string) Patch {
	var p Patch
	for i, k := range annotationKeys(skyhook) {
		if slices.Contains(outlasting, keyPrefixes[i]) && (len(n.Packages) > 0 || n.Unreadable) {
			if before, err := Read(skyhook, annotations); k == v1alpha1.AnnotationNodeStatePrefix+skyhook && err == nil &&
				len(before.Packages) >= len(n.Packages) && !reflect.DeepEqual(before.Packages, n.Packages) {
				p.set(p.annotate, k, encodeStates(n), annotations)
			}
			continue
		}
		want := ""
		switch {
		case k == v1alpha1.AnnotationPermitPrefix+skyhook:
			want = n.FinishedPermit
		case k == v1alpha1.AnnotationBegunPrefix+skyhook && n.FinishedPermit != "":
			want = trueOrNone(n.Begun)
		}
		p.set(p.annotate, k, want, annotations)
	}
	p.set(p.label, v1alpha1.LabelStatusPrefix+skyhook, "", labels)
	if len(n.Packages) == 0 && !n.Unreadable { // else the seal stays with what it seals
		p.set(p.label, v1alpha1.LabelSealPrefix+skyhook, "", labels)
	}
	return p
}

// set records a difference; an empty wanted value means that the key must be absent.
func (p *Patch) set(put func(string, *string), key, want string, have map[string]string) {
	got, ok := have[key]
	switch {
	case want == "" && ok:
		put(key, nil)
	case want != "" && got != want:
		put(key, &want)
	}
}

func trueOrNone(b bool) string {
	if b {
		return "true"
	}
	return ""
}
