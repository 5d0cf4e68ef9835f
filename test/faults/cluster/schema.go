package cluster

import (
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	fieldpath "k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/test/apiserver"
)

// property is a CRD's schema of one place, bound to the Go type that is there. Checking a status that way costs a fraction
// of turning it into JSON, and it is written in every other pass. Rules in CEL are left out.
type property struct {
	schema  apiextensionsv1.JSONSchemaProps
	enum    []string
	pattern *regexp.Regexp
	// encoded says that JSON shows the type as a text of its own making.
	encoded bool
	fields  []member
	// items of lists and maps; nil when nothing is to check in them.
	items *property
	// key is the field whose value every item of the list has once.
	key []int
}

// member is a field of a struct. Its property is nil when nothing is to check in it.
type member struct {
	field
	*property
	name     string
	required bool
	fallback json.RawMessage
}

// schemas are the properties of the custom resources, by kind.
var schemas = sync.OnceValue(func() map[Kind]*property {
	definitions, err := apiserver.Definitions()
	if err != nil {
		panic(err) // they are part of the build
	}
	all := map[Kind]*property{}
	for _, d := range definitions {
		k := allKinds[Kind(d.Spec.Names.Kind)]
		s := *d.Spec.Versions[0].Schema.OpenAPIV3Schema
		delete(s.Properties, "metadata")
		all[k.name] = newProperty(s, reflect.TypeOf(k.fresh()))
	}
	return all
})

var (
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

func newProperty(s apiextensionsv1.JSONSchemaProps, t reflect.Type) *property {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	p := &property{schema: s, encoded: t.Implements(jsonMarshaler) || t.Implements(textMarshaler)}
	for _, e := range s.Enum {
		p.enum = append(p.enum, unquote(e.Raw))
	}
	if s.Pattern != "" {
		p.pattern = regexp.MustCompile(s.Pattern)
	}
	switch {
	case p.encoded:
	case t.Kind() == reflect.Struct:
		p.fields = members(s, t)
	case t.Kind() == reflect.Slice && s.Items != nil:
		p.items = newProperty(*s.Items.Schema, t.Elem())
		if len(s.XListMapKeys) == 1 {
			p.key = fieldsOf(t.Elem())[s.XListMapKeys[0]].index
		}
	case t.Kind() == reflect.Map && s.AdditionalProperties != nil:
		p.items = newProperty(*s.AdditionalProperties.Schema, t.Elem())
	}
	if p.idle() {
		return nil
	}
	return p
}

func unquote(raw []byte) string {
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		panic(err) // our enums are texts
	}
	return text
}

func members(s apiextensionsv1.JSONSchemaProps, t reflect.Type) []member {
	var list []member
	fields := fieldsOf(t)
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		f, ok := fields[name]
		if !ok {
			continue
		}
		m := member{field: f, name: name, required: slices.Contains(s.Required, name)}
		m.property = newProperty(s.Properties[name], t.FieldByIndex(f.index).Type)
		if d := s.Properties[name].Default; d != nil {
			m.fallback = d.Raw
		}
		if m.property != nil || m.required || m.fallback != nil {
			list = append(list, m)
		}
	}
	return list
}

// idle is true when there is nothing to check and nothing to fill in.
func (p *property) idle() bool {
	s := p.schema
	return p.enum == nil && p.pattern == nil && len(p.fields) == 0 && p.items == nil && p.key == nil &&
		s.MaxLength == nil && s.MinLength == nil && s.MaxItems == nil && s.MaxProperties == nil && s.Minimum == nil && s.Maximum == nil
}

// check fills in defaults and checks the part that is written.
func (p *property) check(o client.Object, part string) (fieldpath.ErrorList, error) {
	name := "spec"
	if part == partStatus {
		name = part
	}
	i := slices.IndexFunc(p.fields, func(m member) bool { return m.name == name })
	if i < 0 {
		return nil, nil
	}
	m := p.fields[i]
	v := reflect.ValueOf(o).Elem().FieldByIndex(m.index)
	if part == partMain {
		if err := m.complete(v); err != nil {
			return nil, err
		}
	}
	return m.walk(v, fieldpath.NewPath(name)), nil
}

// complete fills in the defaults of what JSON leaves out.
func (p *property) complete(v reflect.Value) error {
	if p == nil || p.encoded {
		return nil
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return p.complete(v.Elem())
		}
	case reflect.Struct:
		return p.completeStruct(v)
	case reflect.Slice:
		for i := range v.Len() {
			if err := p.items.complete(v.Index(i)); err != nil {
				return err
			}
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			item := reflect.New(v.Type().Elem()).Elem()
			item.Set(v.MapIndex(key))
			if err := p.items.complete(item); err != nil {
				return err
			}
			v.SetMapIndex(key, item)
		}
	default:
	}
	return nil
}

func (p *property) completeStruct(v reflect.Value) error {
	for _, m := range p.fields {
		at := v.FieldByIndex(m.index)
		if m.absent(at) {
			if m.fallback == nil {
				continue
			}
			if err := replace(at, m.fallback); err != nil {
				return err
			}
		}
		if err := m.complete(at); err != nil {
			return err
		}
	}
	return nil
}

// walk returns what is wrong with a value.
func (p *property) walk(v reflect.Value, at *fieldpath.Path) fieldpath.ErrorList {
	if p == nil {
		return nil
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return p.walk(v.Elem(), at)
	case reflect.String:
		if !p.encoded {
			return p.walkText(v.String(), at)
		}
	case reflect.Int, reflect.Int32, reflect.Int64:
		if !p.encoded {
			return p.walkNumber(v.Int(), at)
		}
	default:
	}
	switch {
	case p.encoded:
		raw, err := json.Marshal(v.Interface())
		if err != nil {
			return fieldpath.ErrorList{fieldpath.Invalid(at, "", err.Error())}
		}
		return p.walkText(unquote(raw), at)
	case v.Kind() == reflect.Struct:
		return p.walkStruct(v, at)
	case v.Kind() == reflect.Slice:
		return p.walkList(v, at)
	case v.Kind() == reflect.Map:
		return p.walkMap(v, at)
	}
	return nil
}

func (p *property) walkText(text string, at *fieldpath.Path) fieldpath.ErrorList {
	var errs fieldpath.ErrorList
	if p.enum != nil && !slices.Contains(p.enum, text) {
		errs = append(errs, fieldpath.NotSupported(at, text, p.enum))
	}
	if most := p.schema.MaxLength; most != nil && int64(len(text)) > *most && int64(len([]rune(text))) > *most {
		errs = append(errs, fieldpath.TooLong(at, text, int(*most)))
	}
	if least := p.schema.MinLength; least != nil && int64(len([]rune(text))) < *least {
		errs = append(errs, fieldpath.Invalid(at, text, fmt.Sprintf("should be at least %d chars long", *least)))
	}
	if p.pattern != nil && !p.pattern.MatchString(text) {
		errs = append(errs, fieldpath.Invalid(at, text, fmt.Sprintf("should match '%s'", p.schema.Pattern)))
	}
	return errs
}

func (p *property) walkNumber(n int64, at *fieldpath.Path) fieldpath.ErrorList {
	var errs fieldpath.ErrorList
	if least := p.schema.Minimum; least != nil && float64(n) < *least {
		errs = append(errs, fieldpath.Invalid(at, n, fmt.Sprintf("should be greater than or equal to %v", *least)))
	}
	if most := p.schema.Maximum; most != nil && float64(n) > *most {
		errs = append(errs, fieldpath.Invalid(at, n, fmt.Sprintf("should be less than or equal to %v", *most)))
	}
	return errs
}

func (p *property) walkStruct(v reflect.Value, at *fieldpath.Path) fieldpath.ErrorList {
	var errs fieldpath.ErrorList
	for _, m := range p.fields {
		value := v.FieldByIndex(m.index)
		switch {
		case !m.absent(value):
			if m.property != nil {
				errs = append(errs, m.walk(value, at.Child(m.name))...)
			}
		case m.required:
			errs = append(errs, fieldpath.Required(at.Child(m.name), ""))
		}
	}
	return errs
}

func (p *property) walkList(v reflect.Value, at *fieldpath.Path) fieldpath.ErrorList {
	var errs fieldpath.ErrorList
	if most := p.schema.MaxItems; most != nil && int64(v.Len()) > *most {
		errs = append(errs, fieldpath.TooMany(at, v.Len(), int(*most)))
	}
	seen := make(map[string]bool, v.Len())
	for i := range v.Len() {
		errs = append(errs, p.items.walk(v.Index(i), at.Index(i))...)
		if p.key == nil {
			continue
		}
		key := v.Index(i).FieldByIndex(p.key).String()
		if seen[key] {
			errs = append(errs, fieldpath.Duplicate(at.Index(i), key))
		}
		seen[key] = true
	}
	return errs
}

func (p *property) walkMap(v reflect.Value, at *fieldpath.Path) fieldpath.ErrorList {
	var errs fieldpath.ErrorList
	if most := p.schema.MaxProperties; most != nil && int64(v.Len()) > *most {
		errs = append(errs, fieldpath.TooMany(at, v.Len(), int(*most)))
	}
	if p.items == nil {
		return errs
	}
	for entries := v.MapRange(); entries.Next(); {
		errs = append(errs, p.items.walk(entries.Value(), at.Key(entries.Key().String()))...)
	}
	return errs
}
