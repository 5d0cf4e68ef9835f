package settings

import "github.com/skyhook-operator/skyhook/internal/registry"

func (e *environment) mirror(name string) registry.Mirror {
	v := e.optional(name)
	m, err := registry.ParseMirror(v)
	if err != nil {
		e.bad(name, v, err.Error()+"; name a registry, with or without the beginning of a path, like "+
			"registry.example.com:5000/copies")
	}
	return m
}
