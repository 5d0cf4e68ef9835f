package v1alpha1

import (
	"encoding/json"
	"strconv"
	"strings"
)

// revokedMark ends the text of a permit that is to be given back.
const revokedMark = "!"

// Token is how a node names the permit in its record: generation/order, and /round unless that is 0. It is unique
// within the life of a Skyhook's name on that node.
func (p Permit) Token() string {
	token := strconv.FormatInt(p.Generation, 10) + "/" + strconv.FormatInt(int64(p.Order), 10)
	if p.Round != 0 {
		token += "/" + strconv.FormatInt(int64(p.Round), 10)
	}
	return token
}

// ParsePermitToken reads what Token wrote. False for anything else.
func ParsePermitToken(token string) (Permit, bool) {
	generation, rest, _ := strings.Cut(token, "/")
	order, round, again := strings.Cut(rest, "/")
	g, errGeneration := strconv.ParseInt(generation, 10, 64)
	o, errOrder := strconv.ParseInt(order, 10, 32)
	if errGeneration != nil || errOrder != nil {
		return Permit{}, false
	}
	p := Permit{Generation: g, Order: int32(o)}
	if again {
		r, err := strconv.ParseInt(round, 10, 32)
		p.Round = int32(r)
		if err != nil {
			return Permit{}, false
		}
	}
	return p, p.Token() == token
}

// String is the permit's text in the status: node=token, with a ! at the end when it is revoked.
func (p Permit) String() string {
	text := p.Node + "=" + p.Token()
	if p.Revoked {
		text += revokedMark
	}
	return text
}

// MarshalJSON writes the permit as one short text: a Skyhook has up to a thousand of them.
func (p Permit) MarshalJSON() ([]byte, error) { return json.Marshal(p.String()) }

// UnmarshalJSON reads what MarshalJSON wrote, and what versions before wrote: an object. Anything else is a permit of
// no node, which nobody holds: one status that cannot be read must not hide all other Skyhooks.
func (p *Permit) UnmarshalJSON(raw []byte) error {
	*p = Permit{}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		var old struct {
			Node       string `json:"node"`
			Order      int32  `json:"order"`
			Generation int64  `json:"generation"`
		}
		if json.Unmarshal(raw, &old) == nil {
			*p = Permit{Node: old.Node, Order: old.Order, Generation: old.Generation}
		}
		return nil
	}
	node, token, _ := strings.Cut(text, "=")
	token, revoked := strings.CutSuffix(token, revokedMark)
	if read, ok := ParsePermitToken(token); ok && node != "" {
		*p = read
		p.Node, p.Revoked = node, revoked
	}
	return nil
}
