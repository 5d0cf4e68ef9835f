package interrupt_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/skyhook-operator/skyhook/internal/agent/interrupt"
)

func encode(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// TestParse_GoldenVectors are what operators send.
func TestParse_GoldenVectors(t *testing.T) {
	tests := map[string]struct {
		data     string
		kind     string
		commands string
	}{
		"reboot":             {"eyJ0eXBlIjoibm9kZV9yZXN0YXJ0In0=", interrupt.Reboot, "[[reboot]]"},
		"service":            {"eyJ0eXBlIjoic2VydmljZV9yZXN0YXJ0Iiwic2VydmljZXMiOlsiY29udGFpbmVyZCIsImt1YmVsZXQiXX0=", interrupt.RestartService, "[[systemctl daemon-reload] [systemctl restart containerd] [systemctl restart kubelet]]"},
		"restartAllServices": {"eyJ0eXBlIjoicmVzdGFydF9hbGxfc2VydmljZXMifQ==", interrupt.RestartAll, "[[service procps force-reload]]"},
		"noop":               {"eyJ0eXBlIjoibm9fb3AifQ==", interrupt.Noop, "[]"},
		"script":             {encode(`{"type":"script_interrupt"}`), interrupt.Script, "[]"},
		"reboot with a list": {encode(`{"type":"node_restart","services":["x"]}`), interrupt.Reboot, "[[reboot]]"},
		"noop with a list":   {encode(`{"type":"no_op","services":["-x"]}`), interrupt.Noop, "[]"},
		"no services":        {encode(`{"type":"service_restart"}`), interrupt.RestartService, "[[systemctl daemon-reload]]"},
		"services null":      {encode(`{"type":"service_restart","services":null}`), interrupt.RestartService, "[[systemctl daemon-reload]]"},
		"unknown key":        {encode(`{"type":"no_op","new":{}}`) + "\n", interrupt.Noop, "[]"},
		"template unit":      {encode(`{"type":"service_restart","services":["getty@tty1.service"]}`), interrupt.RestartService, "[[systemctl daemon-reload] [systemctl restart getty@tty1.service]]"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r, err := interrupt.Parse(test.data)
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(r.Commands()); r.Type != test.kind || got != test.commands {
				t.Errorf("%s: %s", r.Type, got)
			}
		})
	}
}

func TestParse_Errors(t *testing.T) {
	tests := map[string]struct{ data, want string }{
		"empty":             {"", "not a JSON object"},
		"not base64":        {"{}", "not base64"},
		"not JSON":          {encode("reboot"), "not a JSON object"},
		"not an object":     {encode(`["node_restart"]`), "not a JSON object"},
		"no type":           {encode(`{}`), "the type is missing"},
		"unknown type":      {encode(`{"type":"restart_everything"}`), "known types: node_restart, service_restart"},
		"CR's name":         {encode(`{"type":"reboot"}`), "known types: node_restart"},
		"services a string": {encode(`{"type":"service_restart","services":"x"}`), "not a JSON object"},
		"option":            {encode(`{"type":"service_restart","services":["--force"]}`), "cannot be the name of a service"},
		"empty service":     {encode(`{"type":"service_restart","services":[""]}`), "cannot be the name of a service"},
		"two in one":        {encode(`{"type":"service_restart","services":["a b"]}`), "cannot be the name of a service"},
		"path":              {encode(`{"type":"service_restart","services":["/etc/x"]}`), "cannot be the name of a service"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := interrupt.Parse(test.data); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`{"type":"service_restart","services":["a","-b"]}`)
	f.Add(`{"type":"node_restart"}`)
	f.Fuzz(func(t *testing.T, text string) {
		r, err := interrupt.Parse(encode(text))
		if err != nil {
			return
		}
		for _, command := range r.Commands() {
			for _, word := range command {
				if word == "" || word[0] == '-' {
					t.Errorf("command %q", command)
				}
			}
		}
	})
}
