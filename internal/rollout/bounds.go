package rollout

import (
	"strconv"
	"strings"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/text"
)

// The status stays below 128 KiB whatever the fleet, also as kubectl shows it: permits, package list, compartments and
// per-node maps share statusRoom; the rest is bounded piece by piece.
const (
	statusRoom = 104 << 10
	// maxMessage bounds the messages of conditions, maxDetail those that are repeated or of single nodes, in bytes.
	maxMessage = 700
	maxDetail  = 400
	// maxReason and maxBootID bound texts that come from nodes, in bytes.
	maxReason = 128
	maxBootID = 128
	// maxWayOut bounds the end of a message that says what helps, which text.Shorten leaves whole.
	maxWayOut = maxMessage * 3 / 5
	// compartmentSize is what one compartment takes in the status, without its name, at most.
	compartmentSize = 790
)

// permitRoom is how many bytes all permits together may take.
func permitRoom(in *Input) int {
	room := statusRoom - len(packageList(in.Skyhook))
	if in.Policy != nil {
		for i := range in.Policy.compartments {
			room -= len(in.Policy.compartments[i].name) + compartmentSize
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
	if revocable { // and once more by its order, when its batch is over
		size += 1 + len(",") + digits(int64(p.Order))
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
		size += len(`"":{"name":"","version":"","image":"","containerSHA":"",`) +
			len(`"stage":"","state":"","restarts":2147483647,"superseded":true},`) +
			len(key) + len(s.Name) + len(s.Version) + len(s.Image) + len(s.ContainerSHA) + len(s.Stage) + len(s.State)
	}
	return size
}

// nodeSize is what a node takes in the other per-node maps, in bytes, at most.
func nodeSize(n *Node) int {
	return 3*len(n.Name) + min(len(n.BootID), maxBootID) + len(`"":"in_progress","":"","":"2006-01-02T15:04:05Z",`)
}

// word makes a reason that the API accepts of any text, such as one from a node's annotation: letters, digits and _,:
// from the first letter on, and no , or : at the end.
func word(reason string) string {
	reason = strings.Map(func(r rune) rune {
		if isLetter(r) || r >= '0' && r <= '9' || strings.ContainsRune("_,:", r) {
			return r
		}
		return -1
	}, text.Cut(reason, 4*maxReason))
	reason = strings.TrimLeftFunc(reason, func(r rune) bool { return !isLetter(r) })
	reason = strings.TrimRight(reason[:min(len(reason), maxReason)], ",:")
	if reason == "" {
		return v1alpha1.ReasonUnknown
	}
	return reason
}

func isLetter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }
