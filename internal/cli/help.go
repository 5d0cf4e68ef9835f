package cli

import (
	_ "embed"
	"encoding/json"
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

// advice is what helps against a reason, with names; empty where nothing is known of it.
func (s subject) advice(reason string) string {
	text := reasons()[reason].Do
	for _, r := range []struct{ word, name string }{
		{"NAME", s.skyhook}, {"NODE", s.node}, {"PACKAGE", s.pkg}, {"-n skyhook", "-n " + s.namespace},
	} {
		if r.name != "" && r.name != "-n " {
			text = strings.ReplaceAll(text, r.word, r.name)
		}
	}
	return text
}
