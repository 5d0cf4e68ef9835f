package v1alpha1

import "strconv"

// Paused reports whether the annotation skyhook.nvidia.com/pause keeps anything new from starting.
func (s *Skyhook) Paused() bool { return isTrue(s.Annotations[AnnotationPause]) }

// Disabled reports whether the annotation skyhook.nvidia.com/disable takes the Skyhook out of the order.
func (s *Skyhook) Disabled() bool { return isTrue(s.Annotations[AnnotationDisable]) }

// Ignored reports whether the label skyhook.nvidia.com/ignore of a node excludes it from every Skyhook.
func Ignored(labels map[string]string) bool { return isTrue(labels[LabelIgnore]) }

// isTrue takes every spelling that Go and YAML users know, such as True and 1. Whatever is no boolean is not true.
func isTrue(value string) bool {
	if value == "" {
		return false // of nearly all, without an error that takes memory
	}
	is, err := strconv.ParseBool(value)
	return err == nil && is
}
