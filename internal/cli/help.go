package cli

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"regexp"
	"strings"
	"sync"
)

//go:embed reasons.json
var reasonsJSON []byte

// help is what the documentation says of a reason.
type help struct {
	Meaning string   `json:"meaning"`
	EndedBy []string `json:"endedBy"`
	Do      string   `json:"do"`
}

var reasons = sync.OnceValue(func() map[string]help {
	all := map[string]help{}
	if err := json.Unmarshal(reasonsJSON, &all); err != nil {
		panic(err) // it is part of the program
	}
	return all
})

// subject is what the names in capitals of a help text stand for.
type subject struct{ skyhook, node, pkg, namespace string }

// placeholder is a word in capitals; NAME is no part of NAMESPACE, nor NODE of NODES.
var placeholder = regexp.MustCompile(`[A-Z][A-Z_]*`)

// advice is what helps against a reason, with names; empty where nothing is known of it.
func (s subject) advice(reason string) string {
	names := map[string]string{"NAME": s.skyhook, "NODE": s.node, "PACKAGE": s.pkg}
	text := placeholder.ReplaceAllStringFunc(reasons()[reason].Do, func(word string) string {
		return cmp.Or(names[word], word)
	})
	if s.namespace == "" {
		return text
	}
	return strings.ReplaceAll(text, "-n skyhook", "-n "+s.namespace)
}
