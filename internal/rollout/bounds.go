package rollout

import (
	"strconv"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// The status stays below 128 KiB whatever the fleet, also as kubectl shows it: permits, package list, compartments and per-node maps share
// statusRoom; the rest is bounded piece by piece.
const (
	statusRoom = 104 << 10
	// maxMessage bounds the messages of conditions, maxDetail those that are repeated or of single nodes, in bytes.
	maxMessage = 700
	maxDetail  = 400
	// compartmentSize is what one compartment takes in the status, without its name, at most.
	compartmentSize = 480
)

// permitRoom is how many bytes all permits together may take.
func permitRoom(in *Input) int {
	room := statusRoom - len(packageList(in.Skyhook))
	if in.Policy != nil {
		for i := range in.Policy.sections {
			room -= len(in.Policy.sections[i].name) + compartmentSize
		}
	}
	return room
}

// permitSize is what a permit takes in the status, in bytes, and as much as it takes if it may be revoked.
func permitSize(p *v1alpha1.Permit, revocable bool) int {
	size := len(listIndent) + len(`"=/",`) + 1 + len(p.Node) + digits(int64(p.Order)) + digits(p.Generation)
	if p.Round != 0 {
		size += 1 + digits(int64(p.Round))
	}
	if revocable {
		size++
	}
	return size
}

// listIndent is what kubectl puts in front of an entry of a list in the status, beside a new line.
const listIndent = "            "

func digits(n int64) int {
	var buffer [20]byte
	return len(strconv.AppendInt(buffer[:0], n, 10))
}

// stateSize is what the package states of a node take in the status, in bytes, at most.
func stateSize(n *Node) int {
	size := len(n.Name) + len(`"":{},`)
	for key, s := range n.States {
		size += len(`"":{"name":"","version":"","image":"","containerSHA":"","stage":"","state":"","restarts":2147483647},`) +
			len(key) + len(s.Name) + len(s.Version) + len(s.Image) + len(s.ContainerSHA) + len(s.Stage) + len(s.State)
	}
	return size
}

// nodeSize is what a node takes in the other per-node maps, in bytes, at most.
func nodeSize(n *Node) int {
	return 3*len(n.Name) + len(n.BootID) + len(`"":"in_progress","":"","":"2006-01-02T15:04:05Z",`)
}
