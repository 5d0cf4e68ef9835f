package cluster

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
)

// merge applies a JSON merge patch (RFC 7386) to a typed value, which costs no more than the patch is long. Fields that
// the type does not have are dropped, as a server does.
func merge(target any, patch []byte) error {
	return mergeInto(reflect.ValueOf(target).Elem(), patch)
}

func mergeInto(v reflect.Value, patch json.RawMessage) error {
	patch = bytes.TrimSpace(patch)
	if bytes.Equal(patch, []byte("null")) {
		v.SetZero()
		return nil
	}
	if len(patch) == 0 || patch[0] != '{' || v.Addr().Type().Implements(unmarshaler) {
		return replace(v, patch)
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		return mergeInto(v.Elem(), patch)
	case reflect.Struct:
		return mergeStruct(v, patch)
	case reflect.Map:
		return mergeMap(v, patch)
	default:
		return replace(v, patch)
	}
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// replace decodes into a new value: decoding over an old one would keep parts of it.
func replace(v reflect.Value, raw json.RawMessage) error {
	fresh := reflect.New(v.Type())
	if err := json.Unmarshal(raw, fresh.Interface()); err != nil {
		return fmt.Errorf("decode %s: %w", v.Type(), err)
	}
	v.Set(fresh.Elem())
	return nil
}

func mergeStruct(v reflect.Value, patch json.RawMessage) error {
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(patch, &parts); err != nil {
		return fmt.Errorf("decode a patch: %w", err)
	}
	fields := fieldsOf(v.Type())
	for name, part := range parts {
		f, ok := fields[name]
		if !ok {
			continue
		}
		if err := mergeInto(v.FieldByIndex(f.index), part); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// mergeTexts is mergeMap for labels, annotations and data, which most patches are made of.
func mergeTexts(v reflect.Value, have map[string]string, patch json.RawMessage) error {
	var parts map[string]*string
	if err := json.Unmarshal(patch, &parts); err != nil {
		return fmt.Errorf("decode a patch: %w", err)
	}
	if have == nil {
		have = make(map[string]string, len(parts))
		v.Set(reflect.ValueOf(have))
	}
	for name, text := range parts {
		if text == nil {
			delete(have, name)
		} else {
			have[name] = *text
		}
	}
	return nil
}

func mergeMap(v reflect.Value, patch json.RawMessage) error {
	if have, ok := v.Interface().(map[string]string); ok {
		return mergeTexts(v, have, patch)
	}
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(patch, &parts); err != nil {
		return fmt.Errorf("decode a patch: %w", err)
	}
	if v.IsNil() {
		v.Set(reflect.MakeMapWithSize(v.Type(), len(parts)))
	}
	for name, part := range parts {
		key := reflect.ValueOf(name).Convert(v.Type().Key())
		if string(part) == "null" {
			v.SetMapIndex(key, reflect.Value{})
			continue
		}
		element := reflect.New(v.Type().Elem()).Elem()
		if have := v.MapIndex(key); have.IsValid() {
			element.Set(have)
		}
		if err := mergeInto(element, part); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		v.SetMapIndex(key, element)
	}
	return nil
}

// field is a struct's field as JSON shows it.
type field struct {
	index []int
	// omitempty and omitzero are what the tag says.
	omitempty, omitzero bool
}

// absent reports whether JSON leaves the field out.
func (f field) absent(v reflect.Value) bool {
	if f.omitzero && v.IsZero() {
		return true
	}
	switch v.Kind() {
	case reflect.Struct:
		return false // omitempty is for everything else
	case reflect.Map, reflect.Slice:
		return f.omitempty && v.Len() == 0
	default:
		return f.omitempty && v.IsZero()
	}
}

var fieldCache sync.Map // reflect.Type to map[string]field

// fieldsOf returns a struct's fields by their JSON names.
func fieldsOf(t reflect.Type) map[string]field {
	if known, ok := fieldCache.Load(t); ok {
		return known.(map[string]field)
	}
	fields := map[string]field{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported():
			continue
		case f.Anonymous && name == "":
			for name, inner := range fieldsOf(f.Type) {
				inner.index = append([]int{i}, inner.index...)
				fields[name] = inner
			}
			continue
		case name == "":
			name = f.Name
		}
		fields[name] = field{
			index: []int{i}, omitempty: strings.Contains(options, "omitempty"), omitzero: strings.Contains(options, "omitzero"),
		}
	}
	fieldCache.Store(t, fields)
	return fields
}
