package record

import "strings"

// Host tells which host a record is of. Hosts without a written machine id get another one at each boot, so that an id
// identifies a host only once it has outlived a boot.
type Host struct {
	// MachineID is what the kubelet reported last; empty for not known.
	MachineID string
	// BootID is the boot with which the machine id was first seen; empty once it has outlived that.
	BootID string
}

// maxID is how many bytes of a machine id and of a boot id are kept; those of Linux have 32 and 36.
const maxID = 64

// Seen returns what is known of the host once its node reports these ids.
func (h Host) Seen(machineID, bootID string) Host {
	switch {
	case !usable(machineID) || !usable(bootID):
		return h
	case h.MachineID != machineID:
		return Host{MachineID: machineID, BootID: bootID}
	case h.BootID != bootID:
		return Host{MachineID: machineID}
	}
	return h
}

// Replaced reports whether a node that reports this machine id has another host than the one that is known, or the same
// one installed anew.
func (h Host) Replaced(machineID string) bool {
	return h.MachineID != "" && h.BootID == "" && usable(machineID) && h.MachineID != machineID
}

// usable reports whether an id is fit to be kept: a kubelet can report anything.
func usable(id string) bool {
	return id != "" && len(id) <= maxID && !strings.Contains(id, hostSeparator)
}

const hostSeparator = "/"

// encode writes it as "machine id", or "machine id/boot id"; empty for nothing known.
func (h Host) encode() string {
	if h.BootID == "" {
		return h.MachineID
	}
	return h.MachineID + hostSeparator + h.BootID
}

// ReadHost reads the annotation of a record that tells the host.
func ReadHost(annotation string) Host {
	var h Host
	h.MachineID, h.BootID, _ = strings.Cut(annotation, hostSeparator)
	return h
}
