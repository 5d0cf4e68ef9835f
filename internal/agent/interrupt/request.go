// Package interrupt says what an interrupt does to a host. It must not know how
// commands run, nor what the operator waits for.
package interrupt

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// The types on the wire.
const (
	Reboot         = "node_restart"
	RestartService = "service_restart"
	RestartAll     = "restart_all_services"
	Noop           = "no_op"
	// Script does nothing; packages ran scripts for it long ago.
	Script = "script_interrupt"
)

var types = []string{Reboot, RestartService, RestartAll, Noop, Script}

// Request is a decoded interrupt.
type Request struct {
	Type string `json:"type"`
	// Services are systemd units, in the order to restart them. Other types
	// than RestartService may carry some too; they mean nothing there.
	Services []string `json:"services"`
}

// Parse decodes standard base64 of a JSON object. Keys it does not know are
// ignored: a newer operator may send more.
func Parse(data string) (Request, error) {
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(data))
	if err != nil {
		return Request{}, fmt.Errorf("decode the interrupt: not base64: %w", err)
	}
	var r Request
	if err := json.Unmarshal(raw, &r); err != nil {
		return Request{}, fmt.Errorf("decode the interrupt: not a JSON object with a type: %w", err)
	}
	if r.Type == "" {
		return Request{}, errors.New("decode the interrupt: the type is missing")
	}
	if !slices.Contains(types, r.Type) {
		return Request{}, fmt.Errorf("the interrupt type %q is unknown; known types: %s",
			r.Type, strings.Join(types, ", "))
	}
	for _, service := range r.Services {
		if r.Type == RestartService && !isUnit(service) {
			return Request{}, fmt.Errorf("%q cannot be the name of a service; correct interrupt.services of the "+
				"package", service)
		}
	}
	return r, nil
}

// isUnit refuses what systemctl would take for an option or never know.
func isUnit(name string) bool {
	strange := func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) || r == '/' }
	return name != "" && !strings.HasPrefix(name, "-") && !strings.ContainsFunc(name, strange)
}

// Commands are the programs to run, with their arguments, in order.
func (r Request) Commands() [][]string {
	switch r.Type {
	case Reboot:
		return [][]string{{"reboot"}}
	case RestartService:
		commands := [][]string{{"systemctl", "daemon-reload"}}
		for _, service := range r.Services {
			commands = append(commands, []string{"systemctl", "restart", service})
		}
		return commands
	case RestartAll:
		return [][]string{{"service", "procps", "force-reload"}}
	}
	return nil
}
