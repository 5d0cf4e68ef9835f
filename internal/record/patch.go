package record

import (
	"encoding/json"
	"fmt"
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
		stateKeyPrefix + skyhook:   string(state),
		statusKeyPrefix + skyhook:  string(n.Status),
		versionKeyPrefix + skyhook: n.OperatorVersion,
		permitKeyPrefix + skyhook:  n.Done,
		cordonKeyPrefix + skyhook:  trueOrNone(n.Cordoned),
		bootKeyPrefix + skyhook:    n.BootID,
	}
	if want[waitKeyPrefix+skyhook], err = encodeWait(n.Wait); err != nil {
		return Patch{}, fmt.Errorf("encode what Skyhook %s waits for: %w", skyhook, err)
	}
	for k, v := range want {
		p.set(p.annotate, k, v, annotations)
	}
	label := string(n.Status)
	if n.bare() {
		label = ""
	}
	p.set(p.label, statusKeyPrefix+skyhook, label, labels)
	return p, nil
}

// Clear returns the change that removes a Skyhook's record. Package states stay as long as there are any: their files
// may still be on the host, and only these annotations tell which. The permit that n is done with stays, too, if any:
// the operator has yet to read it.
func Clear(skyhook string, n Node, annotations, labels map[string]string) Patch {
	var p Patch
	for _, k := range annotationKeys(skyhook) {
		if keep := k == stateKeyPrefix+skyhook || k == versionKeyPrefix+skyhook; keep && (len(n.Packages) > 0 || n.Unreadable) {
			continue
		}
		want := ""
		if k == permitKeyPrefix+skyhook {
			want = n.Done
		}
		p.set(p.annotate, k, want, annotations)
	}
	p.set(p.label, statusKeyPrefix+skyhook, "", labels)
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

func encodeWait(w *Wait) (string, error) {
	if w == nil {
		return "", nil
	}
	raw, err := json.Marshal(w)
	return string(raw), err
}
