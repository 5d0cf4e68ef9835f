package hostroot

import (
	"encoding/json"
	"maps"
	"path/filepath"
)

// Package is the folder of a package on a host.
type Package struct {
	*Host
	// Dir is the folder as the host sees it.
	Dir string
	// Config is its config.json, which [Package.Save] writes.
	Config map[string]any
}

// Package is one called shell, in version 1.1.0, without any steps.
func (h *Host) Package(dir string) *Package {
	return &Package{Host: h, Dir: dir, Config: map[string]any{
		"schema_version": "v1", "package_name": "shell", "package_version": "1.1.0",
		"expected_config_files": []any{}, "modes": map[string]any{},
	}}
}

// Step is a step of config.json.
type Step map[string]any

// NewStep runs a script on the host, once.
func NewStep(path string, arguments ...any) Step {
	return Step{
		"name": "step", "path": path, "arguments": append([]any{}, arguments...), "returncodes": []any{0},
		"on_host": true, "idempotence": false, "upgrade_step": false,
	}
}

// With is the step with another value.
func (s Step) With(key string, value any) Step {
	s = maps.Clone(s)
	s[key] = value
	return s
}

// Script writes a bash script of the package, and returns a step that runs it.
func (p *Package) Script(name, body string, arguments ...any) Step {
	p.T.Helper()
	p.Write(filepath.Join(p.Dir, "skyhook_dir", name), "#!/bin/bash\n"+body+"\n")
	return NewStep(name, arguments...)
}

// Modes are the steps by mode.
func (p *Package) Modes() map[string]any { return p.Config["modes"].(map[string]any) }

// Save writes config.json.
func (p *Package) Save() {
	p.T.Helper()
	raw, err := json.Marshal(p.Config)
	p.Must(err)
	p.Write(filepath.Join(p.Dir, "config.json"), string(raw))
}
