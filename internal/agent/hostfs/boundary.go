//go:build !faults

package hostfs

// boundary marks a moment just before or after something changes on the host.
// Tests build with the tag "faults" to be killed at each of them.
func boundary() {}
