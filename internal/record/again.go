package record

import "github.com/skyhook-operator/skyhook/api/v1alpha1"

// Reset returns the change after which a node remembers nothing that a Skyhook installed, so that its packages are
// applied again. The cordon stays, which the operator lifts when nothing needs it any more; so does the mark of work that
// has begun, as that is no less begun; and so does the permit that the node is done with, by which the operator tells a
// new one. A seal without package states vouches for nothing.
func Reset(skyhook string, annotations, labels map[string]string) Patch {
	var p Patch
	for _, prefix := range keyPrefixes {
		switch prefix {
		case v1alpha1.AnnotationCordonPrefix, v1alpha1.AnnotationBegunPrefix, v1alpha1.AnnotationPermitPrefix:
		default:
			p.set(p.annotate, prefix+skyhook, "", annotations)
		}
	}
	p.set(p.label, v1alpha1.LabelStatusPrefix+skyhook, "", labels)
	return p
}

// Rerun returns the change after which a package version, by its key, has yet to run a stage again and those after it;
// from the beginning without a stage. It says so by the stage before, complete: then the operator starts the stage as it
// starts every other, with a permit and behind a drain. It is empty where the record has no such package.
func Rerun(skyhook, key string, stage v1alpha1.Stage, annotations map[string]string) (Patch, error) {
	n, err := Read(skyhook, annotations)
	if err != nil {
		return Patch{}, err
	}
	e, ok := n.Packages[key]
	if !ok {
		return Patch{}, nil
	}
	before := map[v1alpha1.Stage]v1alpha1.Stage{
		v1alpha1.StageConfig:        v1alpha1.StageApply,
		v1alpha1.StageInterrupt:     v1alpha1.StageConfig,
		v1alpha1.StagePostInterrupt: v1alpha1.StageInterrupt,
	}
	delete(n.Packages, key)
	if last, ok := before[stage]; ok {
		e.Stage, e.State, e.Changed = last, v1alpha1.StateComplete, nil
		e.Owes = nil
		if stage == v1alpha1.StageInterrupt {
			e.Owes = new(true)
		}
		e.Restarts, e.Attempts, e.AttemptsBefore, e.Rejected, e.Reason, e.Message = 0, 0, 0, 0, "", ""
		if stage != v1alpha1.StagePostInterrupt {
			e.Interrupt, e.BootID = nil, ""
		}
		n.Packages[key] = e
	}
	want := ""
	if len(n.Packages) > 0 {
		want = encodeStates(n)
	}
	var p Patch
	p.set(p.annotate, v1alpha1.AnnotationNodeStatePrefix+skyhook, want, annotations)
	return p, nil
}
