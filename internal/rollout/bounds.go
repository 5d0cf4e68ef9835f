package rollout

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// The status stays below 128 KiB whatever the fleet, also as kubectl shows it: permits, package list, compartments and per-node maps share
// statusRoom; the rest is bounded piece by piece.
const (
	statusRoom = 104 << 10
	// maxMessage bounds the messages of conditions, maxDetail those that are repeated or of single nodes, in bytes.
	maxMessage = 700
	maxDetail  = 400
	// maxReason and maxBootID bound texts that come from nodes, in bytes.
	maxReason = 128
	maxBootID = 128
	// maxNamesBytes bounds what names take in a message, but for the first, which is there in any case; maxWayOut, the end of a
	// message that says what helps, which shorten leaves whole.
	maxNamesBytes = 320
	maxWayOut     = maxMessage * 3 / 5
	// compartmentSize is what one compartment takes in the status, without its name, at most.
	compartmentSize = 480
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
		size += len(`"":{"name":"","version":"","image":"","containerSHA":"","stage":"","state":"","restarts":2147483647,"superseded":true},`) +
			len(key) + len(s.Name) + len(s.Version) + len(s.Image) + len(s.ContainerSHA) + len(s.Stage) + len(s.State)
	}
	return size
}

// nodeSize is what a node takes in the other per-node maps, in bytes, at most.
func nodeSize(n *Node) int {
	return 3*len(n.Name) + min(len(n.BootID), maxBootID) + len(`"":"in_progress","":"","":"2006-01-02T15:04:05Z",`)
}

// word makes a reason that the API accepts of any text, such as one from a node's annotation: letters, digits and _,: from
// the first letter on, and no , or : at the end.
func word(text string) string {
	text = strings.Map(func(r rune) rune {
		if isLetter(r) || r >= '0' && r <= '9' || strings.ContainsRune("_,:", r) {
			return r
		}
		return -1
	}, cut(text, 4*maxReason))
	text = strings.TrimLeftFunc(text, func(r rune) bool { return !isLetter(r) })
	text = strings.TrimRight(text[:min(len(text), maxReason)], ",:")
	if text == "" {
		return v1alpha1.ReasonUnknown
	}
	return text
}

func isLetter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }

// shorten makes a message of at most n bytes by leaving out of its middle, between two words: it begins with what is the matter
// and ends with what helps, such as a command, which is of no use in parts. Whoever writes a message keeps that end short.
func shorten(message string, n int) string {
	const gap = " ..."
	if len(message) <= n {
		return cut(message, n)
	}
	head := cut(message, n/3)
	if i := strings.LastIndexByte(head, ' '); i > 0 {
		head = head[:i]
	}
	tail := message[len(message)-(n-len(head)-len(gap)):]
	if i := strings.IndexByte(tail, ' '); i >= 0 {
		tail = tail[i:]
	}
	return head + gap + strings.ToValidUTF8(tail, "")
}

// cut shortens a text to at most n bytes, at the end of a character, and drops what is no text.
func cut(text string, n int) string {
	if len(text) > n {
		for n > 0 && !utf8.RuneStart(text[n]) {
			n--
		}
		text = text[:n]
	}
	return strings.ToValidUTF8(text, "")
}
